//! The scalar functions of DataFusion by which a pass of a median counts values: on which side of what is not stored a
//! value stands, and how its key begins, if anybody looks there.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::census::Side;
use crate::map::{Shared, bytes_of};
use crate::median::Wanted;
use crate::table::bytes_type;

/// What the function gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Gives {
    /// The side: 0 below, 1 above.
    Side,
    /// How the key begins.
    Key,
}

/// Takes the coordinates on the kept axes, and the value. Null for what nobody looks for.
#[derive(Debug)]
pub(crate) struct BinOf {
    query: Shared,
    wanted: Arc<Wanted>,
    shift: u32,
    gives: Gives,
    signature: Signature,
}

impl BinOf {
    pub(crate) fn new(query: Shared, wanted: Arc<Wanted>, shift: u32, gives: Gives) -> Self {
        let mut takes = vec![DataType::UInt64; query.query.kept().len()];
        takes.push(bytes_type(query.query.width()));
        BinOf { query, wanted, shift, gives, signature: Signature::exact(takes, Volatility::Immutable) }
    }

    /// Side and beginning of a key of a group, if these are looked for.
    fn of(&self, coords: &[u64], key: u64) -> Result<Option<(Side, u64)>> {
        let Some(wanted) = self.wanted.get(coords) else { return Ok(None) };
        let (side, begins) = (Side::of(self.query.order()?, key), key >> self.shift);
        let prefix = begins >> 16;
        Ok(side.filter(|&side| wanted.contains(&(side, prefix))).map(|side| (side, begins)))
    }
}

impl PartialEq for BinOf {
    fn eq(&self, other: &Self) -> bool {
        self.query == other.query && Arc::ptr_eq(&self.wanted, &other.wanted) && self.gives == other.gives
    }
}

impl Eq for BinOf {}

impl Hash for BinOf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.query, self.shift, self.gives).hash(state);
    }
}

impl ScalarUDFImpl for BinOf {
    fn name(&self) -> &str {
        match self.gives {
            Gives::Side => "lacuna_side",
            Gives::Key => "lacuna_key",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::UInt64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        let wrong = || exec_datafusion_err!("lacuna: bytes are no values");
        let (values, axes) = columns.split_last().ok_or_else(wrong)?;
        let keys = self.query.order()?.keys(bytes_of(values)?).ok_or_else(wrong)?;
        let axes: Vec<&[u64]> = axes.iter().map(|axis| &**axis.as_primitive::<UInt64Type>().values()).collect();
        let mut coords = vec![0; axes.len()];
        let bin = |(row, key): (usize, u64)| {
            coords.iter_mut().zip(&axes).for_each(|(coord, axis)| *coord = axis[row]);
            let bin = self.of(&coords, key)?;
            Ok(bin.map(|(side, key)| if self.gives == Gives::Key { key } else { u64::from(side == Side::Above) }))
        };
        let bins = keys.into_iter().enumerate().map(bin).collect::<Result<Vec<Option<u64>>>>()?;
        Ok(ColumnarValue::Array(Arc::new(UInt64Array::from(bins))))
    }
}
