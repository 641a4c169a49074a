//! Values on a device of an engine in another package.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::broadcast_operands::unlike;
use super::node::ErasedValue;
use super::source::{Bins, ByRanges, OnDevice, PartitionRequest, Source};
use super::value::Kind;
use super::{Lazy, Value};
use crate::base::error::Result;
use crate::base::shape::Shape;

/// Returns a graph of a value on a device.
///
/// An engine without access to the device copies the value to memory.
#[track_caller]
pub fn placed<V: Value>(shape: &Shape, value: Arc<dyn OnDevice>) -> Lazy<V> {
    let source = DeviceSource { shape: shape.clone(), value, kind: V::KIND, copy: OnceLock::new() };
    Lazy::from_source("placed", Arc::new(source))
}

/// A value on a device as a source.
struct DeviceSource {
    shape: Shape,
    value: Arc<dyn OnDevice>,
    kind: &'static dyn Kind,
    /// The value in memory, after a part was read. Without this copy, each chunk would copy the value again.
    copy: OnceLock<ErasedValue>,
}

impl DeviceSource {
    fn copy(&self) -> Result<&ErasedValue> {
        match self.copy.get() {
            Some(copy) => Ok(copy),
            None => self.value.fetch().map(|value| self.copy.get_or_init(|| value)),
        }
    }

    fn ranges(&self) -> Result<&'static dyn ByRanges> {
        self.kind.by_ranges().ok_or_else(|| unlike("the value is not read in chunks"))
    }
}

impl Source for DeviceSource {
    fn description(&self) -> String {
        self.value.description()
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn bytes(&self) -> u64 {
        self.value.bytes()
    }

    fn read(&self, part: Option<(usize, Range<usize>)>) -> Result<ErasedValue> {
        match part {
            Some((axis, range)) => self.ranges()?.slice(self.copy()?, axis, range),
            None => self.value.fetch(),
        }
    }

    fn read_box(&self, ranges: &[Range<usize>]) -> Result<ErasedValue> {
        let (kind, copy) = (self.ranges()?, Arc::clone(self.copy()?));
        ranges.iter().cloned().enumerate().try_fold(copy, |value, (axis, range)| kind.slice(&value, axis, range))
    }

    fn stored_in(&self, ranges: &[Range<usize>]) -> Result<u64> {
        Ok(self.ranges()?.stored(&self.read_box(ranges)?) as u64)
    }

    /// Returns an estimate: equal bytes for each position.
    fn weights_in(&self, _: &[Range<usize>], axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        let each = self.bytes() / (self.shape[axis] as u64).max(1);
        Ok((0..bins.count()).map(|bin| each * bins.range(bin).len() as u64).collect())
    }

    fn placed(&self) -> Option<&Arc<dyn OnDevice>> {
        Some(&self.value)
    }

    fn partitioned(&self, _: &PartitionRequest<'_>) -> Result<Option<Box<dyn Source>>> {
        Ok(None)
    }
}
