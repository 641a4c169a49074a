//! The scalar function of DataFusion that stands for all steps element by element of a fold's operand.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, FixedSizeBinaryArray};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_fixed_size_binary_array;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use lacuna::lazy::outside::Query;

use crate::table::{bytes_type, external};

/// A query that functions share: two are the same only if they are one.
#[derive(Clone)]
pub(crate) struct Shared(pub(crate) Arc<Query>);

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "query over axes {:?}", self.0.kept())
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Shared {}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// The bytes of all values of a column: those of a slice of it alone.
pub(crate) fn bytes_of(column: &dyn Array) -> Result<&[u8]> {
    Ok(as_fixed_size_binary_array(column)?.value_data())
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    query: Shared,
    signature: Signature,
}

impl Map {
    pub(crate) fn new(query: Shared) -> Self {
        let takes = vec![bytes_type(query.0.reader().width())];
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
        Ok(bytes_type(self.query.0.width()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        let values = self.query.0.map(bytes_of(&columns[0])?).map_err(external)?;
        let width = i32::try_from(self.query.0.width()).unwrap_or(i32::MAX);
        let mapped = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(values), None)?;
        Ok(ColumnarValue::Array(Arc::new(mapped)))
    }
}
