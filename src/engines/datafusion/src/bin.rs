//! The scalar function of DataFusion for the passes of a median. It returns the first bits of a value's key, or null if
//! the key is not searched.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::{AsArray, ListArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_datafusion_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::census::FillComparison;
use crate::map::{Shared, bytes_of};
use crate::median::Prefixes;
use crate::table::bytes_type;

fn wrong() -> DataFusionError {
    exec_datafusion_err!("lacuna: the bytes are not values")
}

/// The function `lacuna_bin` of the coordinates on the kept axes, the value and the searched prefixes. The prefixes are
/// constant in a plan. The result is null for keys that are not searched.
#[derive(Debug)]
pub(crate) struct BinFunction {
    query: Shared,
    signature: Signature,
    search: OnceLock<PrefixSearch>,
}

/// The number of known leading bits of a key, and the number of leading bits in a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bits {
    pub(crate) known: u32,
    pub(crate) total: u32,
}

impl Bits {
    /// Returns `None` unless a bin has more bits than are known, and at most 64.
    fn new(known: u64, total: u64) -> Option<Self> {
        let bits = |bits: u64| u32::try_from(bits).ok().filter(|&bits| bits <= u64::BITS);
        let (known, total) = (bits(known)?, bits(total)?);
        (known < total).then_some(Bits { known, total })
    }

    /// Returns the known leading bits of the keys in a bin.
    pub(crate) fn prefix(self, bin: u64) -> u64 {
        bin.checked_shr(self.total - self.known).unwrap_or(0)
    }

    fn bin(self, key: u64) -> u64 {
        key >> (u64::BITS - self.total)
    }
}

/// The prefixes of keys that a pass searches.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PrefixSearch {
    pub(crate) groups: Prefixes,
    pub(crate) bits: Bits,
}

/// Returns the type of [`PrefixSearch`] in a plan.
fn words_type() -> DataType {
    DataType::new_list(DataType::UInt64, true)
}

impl PrefixSearch {
    /// Returns the searched prefixes as a constant. Plans share a list, but copy strings and bytes for each batch.
    pub(crate) fn to_scalar(&self) -> ScalarValue {
        let mut words = vec![self.bits.known.into(), self.bits.total.into()];
        for (coords, prefixes) in &self.groups {
            words.extend(coords);
            words.push(prefixes.len() as u64);
            words.extend(prefixes);
        }
        let words = words.into_iter().map(Some);
        ScalarValue::List(Arc::new(ListArray::from_iter_primitive::<UInt64Type, _, _>([Some(words)])))
    }

    /// Parses the list of [`PrefixSearch::to_scalar`], with `rank` coordinates per group.
    fn of(words: &[u64], rank: usize) -> Option<PrefixSearch> {
        let (&[known, total], mut words) = words.split_first_chunk::<2>()?;
        let mut take = |count: usize| {
            let taken;
            (taken, words) = words.split_at_checked(count)?;
            Some((taken, words.is_empty()))
        };
        let mut groups = Prefixes::new();
        let mut is_done = take(0)?.1;
        while !is_done {
            let (coords, _) = take(rank)?;
            let (count, _) = take(1)?;
            let (prefixes, is_last) = take(usize::try_from(count[0]).ok()?)?;
            groups.insert(coords.to_vec(), prefixes.to_vec());
            is_done = is_last;
        }
        Some(PrefixSearch { groups, bits: Bits::new(known, total)? })
    }

    /// Returns the bin of a key, if its known bits are one of the prefixes.
    fn bin(&self, prefixes: &[u64], key: u64) -> Option<u64> {
        let bin = self.bits.bin(key);
        prefixes.contains(&self.bits.prefix(bin)).then_some(bin)
    }
}

impl BinFunction {
    pub(crate) fn new(query: Shared) -> Self {
        let mut takes = vec![DataType::UInt64; query.query.kept().len()];
        takes.extend([bytes_type(query.query.width()), words_type()]);
        // A plan uses the bin several times. DataFusion would inline a function that is not volatile, and evaluate each
        // use.
        BinFunction { query, signature: Signature::exact(takes, Volatility::Volatile), search: OnceLock::new() }
    }

    /// Returns the searched prefixes, which are parsed only once.
    fn search(&self, words: &ColumnarValue) -> Result<&PrefixSearch> {
        if let Some(search) = self.search.get() {
            return Ok(search);
        }
        let ColumnarValue::Scalar(ScalarValue::List(words)) = words else { return Err(wrong()) };
        let words = words.values().as_primitive_opt::<UInt64Type>().ok_or_else(wrong)?;
        let search = PrefixSearch::of(words.values(), self.query.query.kept().len()).ok_or_else(wrong)?;
        Ok(self.search.get_or_init(|| search))
    }
}

impl PartialEq for BinFunction {
    fn eq(&self, other: &Self) -> bool {
        self.query == other.query
    }
}

impl Eq for BinFunction {}

impl Hash for BinFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.query.hash(state);
    }
}

impl ScalarUDFImpl for BinFunction {
    fn name(&self) -> &str {
        "lacuna_bin"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::UInt64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (search, columns) = args.args.split_last().ok_or_else(wrong)?;
        let (search, columns) = (self.search(search)?, ColumnarValue::values_to_arrays(columns)?);
        let (values, axes) = columns.split_last().ok_or_else(wrong)?;
        let order = self.query.order()?;
        let (keys, comparison) = (order.keys(bytes_of(values)?).ok_or_else(wrong)?, FillComparison::new(order));
        let axes: Vec<&[u64]> = axes.iter().map(|axis| &**axis.as_primitive::<UInt64Type>().values()).collect();
        let (mut coords, mut prefixes) = (vec![0; axes.len()], None);
        let bin = |(row, key): (usize, u64)| {
            // Most entries belong to the group of the previous entry.
            if row == 0 || axes.iter().any(|axis| axis[row] != axis[row - 1]) {
                coords.iter_mut().zip(&axes).for_each(|(coord, axis)| *coord = axis[row]);
                prefixes = search.groups.get(&coords);
            }
            prefixes.filter(|_| comparison.differs(key)).and_then(|prefixes| search.bin(prefixes, key))
        };
        let bins: UInt64Array = keys.into_iter().enumerate().map(bin).collect();
        Ok(ColumnarValue::Array(Arc::new(bins)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_for_is_read_again() {
        let groups = Prefixes::from([(vec![3, 1], vec![7, 2]), (vec![4, 0], Vec::new())]);
        let search = PrefixSearch { groups, bits: Bits { known: 16, total: 32 } };
        let ScalarValue::List(list) = search.to_scalar() else { panic!("a list") };
        let words = list.values().as_primitive::<UInt64Type>().values().to_vec();
        for end in (0..words.len()).filter(|end| ![2, 7].contains(end)) {
            assert_eq!(PrefixSearch::of(&words[..end], 2), None, "{end} words");
        }
        assert_eq!(PrefixSearch::of(&words, 2), Some(search));
        for bits in [[16, 16], [32, 16], [0, 65], [u64::MAX, 16]] {
            assert_eq!(PrefixSearch::of(&bits, 2), None, "{bits:?}");
        }
        assert_eq!(PrefixSearch::of(&[u64::MAX; 9], 2), None);
        assert_eq!(PrefixSearch::of(&[0, 16, 1, 2, u64::MAX, 5], 2), None);
    }

    #[test]
    fn keys_are_told_by_bins() {
        let key = 0x1234_5678_9abc_def0;
        for (known, total, prefix, bin) in [(0, 16, 0, 0x1234), (16, 32, 0x1234, 0x1234_5678), (16, 64, 0x1234, key)] {
            let search = PrefixSearch { groups: Prefixes::new(), bits: Bits { known, total } };
            assert_eq!(search.bin(&[7, prefix], key), Some(bin));
            assert_eq!(search.bin(&[prefix + 1], key), None);
        }
        // A prefix of no bits is 0.
        assert_eq!(Bits { known: 0, total: 64 }.prefix(key), 0);
    }
}
