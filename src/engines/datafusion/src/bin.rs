//! The scalar functions of DataFusion by which a pass of a median counts values: on which side of what is not stored a
//! value stands, and how its key begins, if anybody looks there.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::{AsArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_datafusion_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::census::Side;
use crate::map::{Shared, bytes_of};
use crate::median::Wanted;
use crate::table::bytes_type;

fn wrong() -> DataFusionError {
    exec_datafusion_err!("lacuna: bytes are no values")
}

/// What the function gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Gives {
    /// The side: 0 below, 1 above.
    Side,
    /// How the key begins.
    Key,
}

/// Takes the coordinates on the kept axes, the value, and what is looked for as bytes, which are the same for all rows
/// of a plan. Null for what nobody looks for.
#[derive(Debug)]
pub(crate) struct BinOf {
    query: Shared,
    gives: Gives,
    signature: Signature,
    looks: OnceLock<Looks>,
}

/// What is looked for, and how many bits of a key do not count.
#[derive(Debug)]
struct Looks {
    wanted: Wanted,
    shift: u32,
}

/// What is looked for as bytes.
pub(crate) fn to_bytes(wanted: &Wanted, shift: u32) -> Vec<u8> {
    let mut words = vec![u64::from(shift)];
    for (coords, sides) in wanted {
        words.extend(coords);
        words.push(sides.len() as u64);
        words.extend(sides.iter().flat_map(|&(side, prefix)| [u64::from(side == Side::Above), prefix]));
    }
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

impl Looks {
    /// Of bytes, for groups that are told by so many coordinates.
    fn of(bytes: &[u8], rank: usize) -> Option<Looks> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let shift = words.next().and_then(|shift| u32::try_from(shift).ok()).filter(|&shift| shift < u64::BITS)?;
        let mut wanted = Wanted::new();
        while words.len() > 0 {
            let coords: Vec<u64> = words.by_ref().take(rank).collect();
            let count = words.next().filter(|&count| count <= 1 << 20)?;
            let side = |above| if above == 0 { Side::Below } else { Side::Above };
            let sides = (0..count).map(|_| Some((side(words.next()?), words.next()?))).collect::<Option<_>>()?;
            wanted.insert(coords, sides);
        }
        Some(Looks { wanted, shift })
    }
}

impl BinOf {
    pub(crate) fn new(query: Shared, gives: Gives) -> Self {
        let mut takes = vec![DataType::UInt64; query.query.kept().len()];
        takes.extend([bytes_type(query.query.width()), DataType::Binary]);
        BinOf { query, gives, signature: Signature::exact(takes, Volatility::Immutable), looks: OnceLock::new() }
    }

    /// What is looked for.
    fn looks(&self, bytes: &ColumnarValue) -> Result<&Looks> {
        if let Some(looks) = self.looks.get() {
            return Ok(looks);
        }
        let ColumnarValue::Scalar(ScalarValue::Binary(Some(bytes))) = bytes else { return Err(wrong()) };
        let looks = Looks::of(bytes, self.query.query.kept().len()).ok_or_else(wrong)?;
        Ok(self.looks.get_or_init(|| looks))
    }

    /// Side and beginning of a key of a group, if these are looked for.
    fn of(&self, looks: &Looks, coords: &[u64], key: u64) -> Result<Option<(Side, u64)>> {
        let Some(wanted) = looks.wanted.get(coords) else { return Ok(None) };
        let (side, begins) = (Side::of(self.query.order()?, key), key >> looks.shift);
        let prefix = begins >> 16;
        Ok(side.filter(|&side| wanted.contains(&(side, prefix))).map(|side| (side, begins)))
    }
}

impl PartialEq for BinOf {
    fn eq(&self, other: &Self) -> bool {
        self.query == other.query && self.gives == other.gives
    }
}

impl Eq for BinOf {}

impl Hash for BinOf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.query, self.gives).hash(state);
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
        let (looks, columns) = args.args.split_last().ok_or_else(wrong)?;
        let (looks, columns) = (self.looks(looks)?, ColumnarValue::values_to_arrays(columns)?);
        let (values, axes) = columns.split_last().ok_or_else(wrong)?;
        let keys = self.query.order()?.keys(bytes_of(values)?).ok_or_else(wrong)?;
        let axes: Vec<&[u64]> = axes.iter().map(|axis| &**axis.as_primitive::<UInt64Type>().values()).collect();
        let mut coords = vec![0; axes.len()];
        let bin = |(row, key): (usize, u64)| {
            coords.iter_mut().zip(&axes).for_each(|(coord, axis)| *coord = axis[row]);
            let bin = self.of(looks, &coords, key)?;
            Ok(bin.map(|(side, key)| if self.gives == Gives::Key { key } else { u64::from(side == Side::Above) }))
        };
        let bins = keys.into_iter().enumerate().map(bin).collect::<Result<Vec<Option<u64>>>>()?;
        Ok(ColumnarValue::Array(Arc::new(UInt64Array::from(bins))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_for_is_read_again() {
        let wanted = Wanted::from([(vec![3, 1], vec![(Side::Above, 7), (Side::Below, 2)]), (vec![4, 0], Vec::new())]);
        let bytes = to_bytes(&wanted, 48);
        let looks = Looks::of(&bytes, 2).unwrap();
        assert_eq!((looks.wanted, looks.shift), (wanted, 48));
        for end in (0..bytes.len()).filter(|end| ![8, 64].contains(end)) {
            assert!(Looks::of(&bytes[..end], 2).is_none(), "{end} bytes");
        }
        assert!(Looks::of(&[0xff; 64], 2).is_none());
    }
}
