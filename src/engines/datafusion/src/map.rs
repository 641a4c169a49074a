//! The scalar function of DataFusion for all elementwise steps before a reduction.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, FixedSizeBinaryArray};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::cast::as_fixed_size_binary_array;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use lacuna::lazy::engine_api::{Partial, Query, QueryText, RankSearch, Reader, Side};
use lacuna::{DType, Number};

use crate::census::Counts;
use crate::table::{bytes_type, external};

/// The query of a plan: in the process that has the graph, or on a worker that has a description.
pub(crate) trait PlanQuery: Send + Sync {
    fn reader(&self) -> &Reader;

    /// Returns the axes that the reduction keeps.
    fn kept(&self) -> &[usize];

    /// Returns whether there are steps before the reduction.
    fn is_mapped(&self) -> bool;

    /// Returns the bytes of a value after the steps.
    fn width(&self) -> usize;

    /// Returns the element type and the fill after the steps.
    fn mapped(&self) -> (DType, Number);

    /// Returns the bytes per element of each repeated operand.
    fn side_widths(&self) -> Vec<usize>;

    /// Runs the steps on the bytes of values, and on the bytes of repeated operands at the same positions.
    fn map(&self, values: &[u8], sides: &[&[u8]]) -> lacuna::Result<Vec<u8>>;

    /// Returns a streaming reduction without groups, if the query is one.
    fn partial(&self) -> Option<Box<dyn Partial>>;

    /// Returns the order of values, if the query is a median.
    fn order(&self) -> Option<&dyn RankSearch>;

    /// Returns the description of the query.
    fn to_text(&self) -> lacuna::Result<QueryText>;

    /// Returns the number of positions in a group; `u128::MAX` on overflow.
    fn extent(&self) -> u128 {
        let shape = self.reader().shape();
        let reduced = (0..shape.rank()).filter(|axis| !self.kept().contains(axis));
        reduced.fold(1, |extent: u128, axis| extent.saturating_mul(shape[axis] as u128))
    }
}

impl PlanQuery for Query {
    fn reader(&self) -> &Reader {
        self.reader()
    }

    fn kept(&self) -> &[usize] {
        self.kept()
    }

    fn is_mapped(&self) -> bool {
        self.is_mapped()
    }

    fn width(&self) -> usize {
        self.width()
    }

    fn mapped(&self) -> (DType, Number) {
        self.mapped()
    }

    fn side_widths(&self) -> Vec<usize> {
        self.sides().iter().map(Side::width).collect()
    }

    fn map(&self, values: &[u8], sides: &[&[u8]]) -> lacuna::Result<Vec<u8>> {
        self.map(values, sides)
    }

    fn partial(&self) -> Option<Box<dyn Partial>> {
        self.partial()
    }

    fn order(&self) -> Option<&dyn RankSearch> {
        self.order()
    }

    fn to_text(&self) -> lacuna::Result<QueryText> {
        self.to_text()
    }
}

/// A query that functions share. Two are equal only if they are the same query.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) query: Arc<dyn PlanQuery>,
}

impl Shared {
    pub(crate) fn new(query: Arc<dyn PlanQuery>) -> Self {
        Shared { query }
    }

    /// Returns the accumulators for values: the streaming reduction, or the counts of a median.
    pub(crate) fn partial(&self) -> Box<dyn Partial> {
        self.query.partial().unwrap_or_else(|| Box::new(Counts::new(Arc::clone(&self.query))))
    }

    pub(crate) fn order(&self) -> Result<&dyn RankSearch> {
        self.query.order().ok_or_else(|| DataFusionError::Internal("lacuna: it is not a median".into()))
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "query over axes {:?}", self.query.kept())
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.query, &other.query)
    }
}

impl Eq for Shared {}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.query).cast::<()>().hash(state);
    }
}

/// Returns the bytes of all values of a column; for a slice, only the bytes of the slice.
pub(crate) fn bytes_of(column: &dyn Array) -> Result<&[u8]> {
    Ok(as_fixed_size_binary_array(column)?.value_data())
}

/// The function `lacuna_map`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    query: Shared,
    signature: Signature,
}

impl Map {
    pub(crate) fn new(query: Shared) -> Self {
        let widths = std::iter::once(query.query.reader().width()).chain(query.query.side_widths());
        let takes = widths.map(bytes_type).collect();
        Map { query, signature: Signature::exact(takes, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Map {
    fn name(&self) -> &str {
        "lacuna_map"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(bytes_type(self.query.query.width()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        let bytes = columns.iter().map(|column| bytes_of(column)).collect::<Result<Vec<_>>>()?;
        let (values, sides) =
            bytes.split_first().ok_or_else(|| DataFusionError::Internal("lacuna: there are no values".into()))?;
        let values = self.query.query.map(values, sides).map_err(external)?;
        let width = i32::try_from(self.query.query.width()).unwrap_or(i32::MAX);
        let mapped = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(values), None)?;
        Ok(ColumnarValue::Array(Arc::new(mapped)))
    }
}
