//! A tensor in files as a table of DataFusion: the coordinates of each entry, the bytes of its value, and its hash.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, UInt64Array};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::TableType;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion_distributed::DistributedTaskContext;
use lacuna::lazy::engine_api::{Part, Reader, Rows, Side};

/// The column of the values.
pub(crate) const VALUE: &str = "value";
/// The column of the hashes.
pub(crate) const HASH: &str = "hash";

/// Returns the column of the elements of a repeated operand, at the positions of the entries.
pub(crate) fn side_column(side: usize) -> String {
    format!("beside{side}")
}

/// Returns the column of the coordinates on an axis.
pub(crate) fn axis_name(axis: usize) -> String {
    format!("i{axis}")
}

/// Returns the type of values with `width` bytes, which DataFusion does not interpret.
pub(crate) fn bytes_type(width: usize) -> DataType {
    DataType::FixedSizeBinary(i32::try_from(width).unwrap_or(i32::MAX))
}

/// Wraps an error of lacuna in an error of DataFusion.
pub(crate) fn external(error: lacuna::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Returns the error of a file that contradicts its metadata. A byte is damaged, whatever error the reader found first.
fn of_file(error: lacuna::Error) -> DataFusionError {
    external(match error {
        lacuna::Error::Format { place, message } if !message.contains("damaged") => {
            lacuna::Error::Format { place, message: format!("{message}; the file is damaged, or has changed") }
        }
        error => error,
    })
}

/// The table of the entries of a tensor.
#[derive(Clone)]
pub(crate) struct Entries {
    reader: Reader,
    /// Operands that are repeated for the entries.
    sides: Arc<[Side]>,
    schema: SchemaRef,
    /// The number of partitions, and the bytes that a chunk may take while it is read.
    parts: usize,
    memory: u64,
    /// True if each worker verifies the whole file before it reads its partitions.
    is_checked: bool,
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entries of shape {} in {} parts", self.reader.shape(), self.parts)
    }
}

impl Entries {
    pub(crate) fn new(reader: Reader, sides: Vec<Side>, parts: usize, memory: u64) -> Self {
        let mut fields: Vec<Field> =
            (0..reader.shape().rank()).map(|axis| Field::new(axis_name(axis), DataType::UInt64, false)).collect();
        fields.push(Field::new(VALUE, bytes_type(reader.width()), false));
        fields.push(Field::new(HASH, DataType::UInt64, false));
        let of_side = |(at, side): (usize, &Side)| Field::new(side_column(at), bytes_type(side.width()), false);
        fields.extend(sides.iter().enumerate().map(of_side));
        let (sides, schema) = (sides.into(), Arc::new(Schema::new(fields)));
        Entries { reader, sides, schema, parts, memory, is_checked: false }
    }

    /// Sets whether readers verify the whole file first.
    pub(crate) fn checked(self, is_checked: bool) -> Self {
        Entries { is_checked, ..self }
    }

    /// Reads the whole file to verify its checksums.
    fn check(&self) -> lacuna::Result<()> {
        self.reader.read(Part { number: 0, of: 1, memory: self.memory }, &mut |_| Ok(()))
    }

    /// Returns entries as a batch.
    fn batch(&self, rows: Rows) -> Result<RecordBatch> {
        let looked_up = |side: &Side| {
            let found = side.at(&rows.coords, rows.hashes.len()).map_err(external)?;
            bytes_column(found, side.width())
        };
        let sides = self.sides.iter().map(looked_up).collect::<Result<Vec<_>>>()?;
        let coords = rows.coords.into_iter().map(|axis| Arc::new(UInt64Array::from(axis)) as ArrayRef);
        let values = bytes_column(rows.values, self.reader.width())?;
        let rest = [values, Arc::new(UInt64Array::from(rows.hashes)) as ArrayRef];
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), coords.chain(rest).chain(sides).collect())?)
    }
}

/// Returns a column of consecutive values of `width` bytes each.
fn bytes_column(bytes: Vec<u8>, width: usize) -> Result<ArrayRef> {
    let width = i32::try_from(width).unwrap_or(i32::MAX);
    Ok(Arc::new(FixedSizeBinaryArray::try_new(width, Buffer::from_vec(bytes), None)?))
}

#[async_trait]
impl TableProvider for Entries {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Scan::new(self.clone(), projection)?))
    }
}

/// The plan of reading a table.
#[derive(Debug)]
pub(crate) struct Scan {
    entries: Entries,
    columns: Vec<usize>,
    properties: Arc<PlanProperties>,
}

impl Scan {
    pub(crate) fn new(entries: Entries, projection: Option<&Vec<usize>>) -> Result<Self> {
        let columns = projection.cloned().unwrap_or_else(|| (0..entries.schema.fields().len()).collect());
        let schema = Arc::new(entries.schema.project(&columns)?);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(entries.parts),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Scan { entries, columns, properties: Arc::new(properties) })
    }

    /// Returns the operands that are repeated for the entries.
    pub(crate) fn sides(&self) -> &[Side] {
        &self.entries.sides
    }

    /// Returns the number of partitions, the bytes per chunk, the columns, and whether the file is verified.
    pub(crate) fn settings(&self) -> (usize, u64, &[usize], bool) {
        (self.entries.parts, self.entries.memory, &self.columns, self.entries.is_checked)
    }
}

impl DisplayAs for Scan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lacuna: {:?}", self.entries)
    }
}

impl ExecutionPlan for Scan {
    fn name(&self) -> &str {
        "lacuna"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut stream = RecordBatchReceiverStream::builder(self.schema(), 2);
        let (give, entries, columns) = (stream.tx(), self.entries.clone(), self.columns.clone());
        // Each worker of a distributed scan reads a share of the partitions.
        let task = DistributedTaskContext::from_ctx(&context);
        let number = task.task_index * entries.parts + partition;
        let part = Part { number, of: task.task_count * entries.parts, memory: entries.memory };
        let size = context.session_config().batch_size().max(1);
        stream.spawn_blocking(move || {
            let gone =
                || lacuna::Error::Argument { operation: "scan", why: "the receiver of the entries is closed".into() };
            let take = |rows: Rows| -> Result<()> {
                let batch = entries.batch(rows)?.project(&columns)?;
                for start in (0..batch.num_rows()).step_by(size) {
                    let piece = batch.slice(start, size.min(batch.num_rows() - start));
                    give.blocking_send(Ok(piece)).map_err(|_| external(gone()))?;
                }
                Ok(())
            };
            if entries.is_checked && partition == 0 {
                entries.check().map_err(of_file)?;
            }
            let mut rejection = None;
            let done = entries.reader.read(part, &mut |rows| {
                take(rows).map_err(|error| {
                    rejection = Some(error);
                    gone()
                })
            });
            rejection.map_or_else(|| done.map_err(of_file), Err)
        });
        Ok(stream.build())
    }
}
