//! Serialization of plans for workers: a scan as its arguments, and functions as their names.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use lacuna::lazy::engine_api::Side;
use prost::Message;

use crate::map::Shared;
use crate::table::{Entries, Scan};

/// A serialized scan.
#[derive(Clone, PartialEq, prost::Message)]
struct ScanMessage {
    #[prost(uint32, tag = "1")]
    parts: u32,
    #[prost(uint64, tag = "2")]
    memory: u64,
    #[prost(uint32, repeated, tag = "3")]
    columns: Vec<u32>,
    #[prost(bool, tag = "4")]
    is_checked: bool,
    #[prost(message, repeated, tag = "5")]
    sides: Vec<SideMessage>,
}

/// A serialized operand that is repeated for the entries of the file.
#[derive(Clone, PartialEq, prost::Message)]
struct SideMessage {
    #[prost(uint64, repeated, tag = "1")]
    lengths: Vec<u64>,
    #[prost(uint32, tag = "2")]
    width: u32,
    #[prost(bytes = "vec", tag = "3")]
    bytes: Vec<u8>,
}

impl SideMessage {
    fn of(side: &Side) -> Self {
        let lengths = side.lengths().iter().map(|&length| length as u64).collect();
        SideMessage { lengths, width: side.width() as u32, bytes: side.bytes().to_vec() }
    }

    fn side(&self) -> Result<Side> {
        let lengths = self.lengths.iter().map(|&length| usize::try_from(length).unwrap_or(usize::MAX)).collect();
        Side::new(lengths, self.width as usize, self.bytes.as_slice().into()).map_err(|error| wrong(&error.to_string()))
    }
}

/// The maximum number of partitions of a step.
pub(crate) const PARTS: u32 = 1 << 12;

/// The codec for scans of the file that a query reads.
#[derive(Debug)]
pub(crate) struct Codec(pub(crate) Shared);

fn wrong(why: &str) -> DataFusionError {
    exec_datafusion_err!("lacuna: {why}")
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let said = ScanMessage::decode(bytes).map_err(|_| wrong("the bytes are not a scan"))?;
        if !inputs.is_empty() || !(1..=PARTS).contains(&said.parts) {
            return Err(wrong("it is not a scan"));
        }
        let sides = said.sides.iter().map(SideMessage::side).collect::<Result<Vec<_>>>()?;
        if !sides.iter().map(Side::width).eq(self.0.query.side_widths()) {
            return Err(wrong("the operands differ from the operands of its steps"));
        }
        let entries = Entries::new(self.0.query.reader().clone(), sides, said.parts as usize, said.memory)
            .checked(said.is_checked);
        let columns = said.columns.iter().map(|&column| column as usize).collect();
        Ok(Arc::new(Scan::new(entries, Some(&columns))?))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let scan = node.downcast_ref::<Scan>().ok_or_else(|| wrong("workers do not support this step"))?;
        let (parts, memory, columns, is_checked) = scan.settings();
        let parts = u32::try_from(parts).map_err(|_| wrong("there are too many parts"))?;
        let columns = columns.iter().map(|&column| column as u32).collect();
        let sides = scan.sides().iter().map(SideMessage::of).collect();
        let said = ScanMessage { parts, memory, columns, is_checked, sides };
        said.encode(bytes).map_err(|error| DataFusionError::External(Box::new(error)))
    }
}
