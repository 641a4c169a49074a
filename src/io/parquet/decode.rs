//! The encodings of pages: each gives the bits of as many values as were asked for, in 64 bits each, or `None` where
//! the bytes do not hold them.

use super::footer::Physical;
use super::thrift::{varint, zigzag};

/// The most values of a block of differences.
const MOST_IN_BLOCK: u64 = 1 << 20;

/// Values as they are, or single bits.
pub(super) fn plain(physical: Physical, bytes: &[u8], count: usize, values: &mut Vec<u64>) -> Option<()> {
    let Some(width) = physical.width() else {
        let bytes = bytes.get(..count.div_ceil(8))?;
        values.extend((0..count).map(|at| u64::from(bytes[at / 8] >> (at % 8) & 1)));
        return (physical == Physical::Boolean).then_some(());
    };
    let bytes = bytes.get(..count.checked_mul(width)?)?;
    match width {
        8 => values.extend(bytes.chunks_exact(8).map(|value| u64::from_le_bytes(value.try_into().unwrap_or_default()))),
        _ => values.extend(bytes.chunks_exact(width).map(little_endian)),
    }
    Some(())
}

/// The first bytes of all values, then the second ones.
pub(super) fn split(physical: Physical, bytes: &[u8], count: usize, values: &mut Vec<u64>) -> Option<()> {
    let width = physical.width()?;
    let bytes = bytes.get(..count.checked_mul(width)?)?;
    let start = values.len();
    values.resize(start + count, 0);
    for (place, bytes) in bytes.chunks_exact(count.max(1)).enumerate() {
        values[start..].iter_mut().zip(bytes).for_each(|(value, &byte)| *value |= u64::from(byte) << (8 * place));
    }
    Some(())
}

/// Differences of neighbours, in blocks, each with its least one and the widths of what is above it.
pub(super) fn differences(physical: Physical, bytes: &[u8], count: usize, values: &mut Vec<u64>) -> Option<()> {
    let mask = match physical {
        Physical::Int32 => u64::from(u32::MAX),
        Physical::Int64 => u64::MAX,
        _ => return None,
    };
    let mut at = 0;
    let mut next = |bytes: &[u8]| {
        let (value, length) = varint(bytes.get(at..)?)?;
        at += length;
        Some(value)
    };
    let (block, minis, total, first) = (next(bytes)?, next(bytes)?, next(bytes)?, zigzag(next(bytes)?));
    let per_mini = block.checked_div(minis)?;
    (per_mini > 0 && per_mini % 8 == 0 && block <= MOST_IN_BLOCK && total == count as u64).then_some(())?;
    if count == 0 {
        return Some(());
    }
    values.push(first as u64 & mask);
    let (end, mut last) = (values.len() + count - 1, first as u64);
    while values.len() < end {
        let (least, length) = varint(bytes.get(at..)?)?;
        at += length;
        let widths = bytes.get(at..at + minis as usize)?;
        at += widths.len();
        for &width in widths {
            let wanted = (end - values.len()).min(per_mini as usize);
            if wanted == 0 {
                break;
            }
            let packed = bytes.get(at..)?;
            unpack(packed, width, wanted, |above| {
                last = last.wrapping_add(zigzag(least) as u64).wrapping_add(above);
                values.push(last & mask);
            })?;
            at = (at + usize::from(width) * per_mini as usize / 8).min(bytes.len());
        }
    }
    Some(())
}

/// Runs of one value, and groups of eight that are packed.
pub(super) fn runs(mut bytes: &[u8], width: u8, count: usize, mut value: impl FnMut(u64, usize)) -> Option<()> {
    (width <= 32).then_some(())?;
    let mut left = count;
    while left > 0 {
        let (head, length) = varint(bytes)?;
        bytes = &bytes[length..];
        let repeats = usize::try_from(head >> 1).ok()?;
        if head & 1 == 0 {
            let run = bytes.get(..usize::from(width).div_ceil(8))?;
            value(little_endian(run), repeats.min(left));
            bytes = &bytes[run.len()..];
            left -= repeats.min(left);
        } else {
            let wanted = repeats.saturating_mul(8).min(left);
            unpack(bytes, width, wanted, |bits| value(bits, 1))?;
            left -= wanted;
            bytes = &bytes[repeats.saturating_mul(usize::from(width)).min(bytes.len())..];
        }
    }
    Some(())
}

/// Numbers of `width` bits, the lowest bit first.
fn unpack(bytes: &[u8], width: u8, count: usize, mut value: impl FnMut(u64)) -> Option<()> {
    let needed = (count as u64).checked_mul(u64::from(width))?.div_ceil(8);
    (width <= 64 && needed <= bytes.len() as u64).then_some(())?;
    let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
    for at in 0..count {
        let bit = at * usize::from(width);
        let from = &bytes[(bit / 8).min(bytes.len())..];
        let wide = match from.first_chunk::<16>() {
            Some(wide) => u128::from_le_bytes(*wide),
            None => {
                let mut wide = [0; 16];
                wide[..from.len()].copy_from_slice(from);
                u128::from_le_bytes(wide)
            }
        };
        value((wide >> (bit % 8)) as u64 & mask);
    }
    Some(())
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(
        decode: impl Fn(&[u8], usize, &mut Vec<u64>) -> Option<()>,
        bytes: &[u8],
        count: usize,
    ) -> Option<Vec<u64>> {
        let mut values = Vec::new();
        decode(bytes, count, &mut values).map(|()| values)
    }

    #[test]
    fn plain_values_of_every_width() {
        let plain = |physical| move |bytes: &[u8], count, values: &mut Vec<u64>| plain(physical, bytes, count, values);
        assert_eq!(decoded(plain(Physical::Boolean), &[0b1010_0110, 1], 9), Some(vec![0, 1, 1, 0, 0, 1, 0, 1, 1]));
        assert_eq!(decoded(plain(Physical::Int32), &[1, 0, 0, 128, 2, 0, 0, 0], 2), Some(vec![0x8000_0001, 2]));
        assert_eq!(decoded(plain(Physical::Double), &[1, 2, 3, 4, 5, 6, 7, 8], 1), Some(vec![0x0807_0605_0403_0201]));
        assert_eq!(decoded(plain(Physical::Bytes(2)), &[1, 2, 3, 4], 2), Some(vec![0x201, 0x403]));
        assert_eq!(decoded(plain(Physical::Bytes(3)), &[1; 30], 2), None);
        assert_eq!(decoded(plain(Physical::Int64), &[0; 15], 2), None);
        assert_eq!(decoded(plain(Physical::Int64), &[0; 15], usize::MAX / 4), None);
    }

    #[test]
    fn split_bytes_come_together() {
        let split = |bytes: &[u8], count, values: &mut Vec<u64>| split(Physical::Float, bytes, count, values);
        assert_eq!(decoded(split, &[1, 5, 2, 6, 3, 7, 4, 8], 2), Some(vec![0x0403_0201, 0x0807_0605]));
        assert_eq!(decoded(split, &[1; 7], 2), None);
        assert_eq!(decoded(split, &[], 0), Some(vec![]));
    }

    /// The first example of the specification: 7, 5, 3, 1, 2, 3, 4, 5 in one block.
    #[test]
    fn differences_as_the_specification_has_them() {
        let bytes = [128, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0b1100_0000, 0b11_1111, 0, 0, 0, 0, 0, 0];
        let of =
            |physical| move |bytes: &[u8], count, values: &mut Vec<u64>| differences(physical, bytes, count, values);
        assert_eq!(decoded(of(Physical::Int64), &bytes, 8), Some(vec![7, 5, 3, 1, 2, 3, 4, 5]));
        assert_eq!(decoded(of(Physical::Int32), &bytes, 8), Some(vec![7, 5, 3, 1, 2, 3, 4, 5]));
        assert_eq!(decoded(of(Physical::Int64), &bytes, 9), None);
        assert_eq!(decoded(of(Physical::Double), &bytes, 8), None);
        assert_eq!(decoded(of(Physical::Int64), &bytes[..11], 8), None);
        // No miniblock, one of seven values, a width of 65 bits.
        for wrong in [[128u8, 1, 0, 8, 14], [7, 1, 8, 14, 3]] {
            assert_eq!(decoded(of(Physical::Int64), &wrong, 8), None);
        }
        assert_eq!(decoded(of(Physical::Int64), &[8, 1, 2, 0, 0, 65, 1, 1, 1, 1, 1, 1, 1, 1, 1], 2), None);
    }

    #[test]
    fn runs_of_both_kinds() {
        let runs = |width| {
            move |bytes: &[u8], count, values: &mut Vec<u64>| {
                runs(bytes, width, count, |value, times| values.extend(std::iter::repeat_n(value, times)))
            }
        };
        let bytes = [6, 5, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(decoded(runs(3), &bytes, 11), Some(vec![5, 5, 5, 0, 1, 2, 3, 4, 5, 6, 7]));
        assert_eq!(decoded(runs(3), &bytes, 4), Some(vec![5, 5, 5, 0]));
        assert_eq!(decoded(runs(3), &bytes, 12), None);
        assert_eq!(decoded(runs(0), &[0xfe, 0xff, 0xff, 0xff, 15], 3), Some(vec![0, 0, 0]));
        assert_eq!(decoded(runs(33), &bytes, 1), None);
        // Runs of nothing end with the bytes.
        assert_eq!(decoded(runs(0), &[0; 9], 1), None);
    }
}
