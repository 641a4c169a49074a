//! The encodings of pages. Each decoder appends the bits of `count` values in 64 bits each, or returns `None` if the
//! bytes do not contain `count` values.

use super::footer::Physical;
use super::thrift::{varint, zigzag};

/// The number of values of a run that are unpacked at once: a multiple of eight, so that each batch begins at a byte.
const BATCH: usize = 64;

/// The maximum number of values in a block of differences.
const MAX_IN_BLOCK: u64 = 1 << 20;

/// Decodes plain values, or single bits.
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

/// Decodes split values: the first bytes of all values, then the second bytes, and so on.
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

/// Decodes differences of neighboring values, in blocks. Each block stores its smallest difference, and numbers that
/// are added to it, with their widths.
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
    (per_mini > 0 && per_mini % 8 == 0 && block <= MAX_IN_BLOCK && total == count as u64).then_some(())?;
    if count == 0 {
        return Some(());
    }
    values.push(first as u64 & mask);
    let (end, mut last) = (values.len() + count - 1, first as u64);
    while values.len() < end {
        let (min_delta, length) = varint(bytes.get(at..)?)?;
        let min_delta = zigzag(min_delta) as u64;
        at += length;
        let widths = bytes.get(at..at + minis as usize)?;
        at += widths.len();
        for &width in widths {
            let start = values.len();
            if start == end {
                break;
            }
            values.resize(end.min(start + per_mini as usize), 0);
            let mini = &mut values[start..];
            unpack(bytes.get(at..)?, width, mini)?;
            for value in mini {
                last = last.wrapping_add(value.wrapping_add(min_delta));
                *value = last & mask;
            }
            at = (at + usize::from(width) * per_mini as usize / 8).min(bytes.len());
        }
    }
    Some(())
}

/// Decodes runs of one value, and packed groups of eight values.
pub(super) fn runs(mut bytes: &[u8], width: u8, count: usize, mut value: impl FnMut(u64, usize)) -> Option<()> {
    (width <= 32).then_some(())?;
    let mut left = count;
    while left > 0 {
        let (head, length) = varint(bytes)?;
        bytes = &bytes[length..];
        let repeats = usize::try_from(head >> 1).ok()?;
        if head & 1 == 0 {
            let run = bytes.get(..usize::from(width).div_ceil(8))?;
            // A value wider than `width` bits is invalid, such as 2 for a bool.
            let repeated = Some(little_endian(run)).filter(|value| value >> width == 0)?;
            value(repeated, repeats.min(left));
            bytes = &bytes[run.len()..];
            left -= repeats.min(left);
        } else {
            let wanted = repeats.saturating_mul(8).min(left);
            left -= wanted;
            let mut packed = bytes;
            for start in (0..wanted).step_by(BATCH) {
                let mut batch = [0; BATCH];
                let batch = &mut batch[..BATCH.min(wanted - start)];
                unpack(packed, width, batch)?;
                batch.iter().for_each(|&bits| value(bits, 1));
                packed = &packed[(BATCH / 8 * usize::from(width)).min(packed.len())..];
            }
            bytes = &bytes[repeats.saturating_mul(usize::from(width)).min(bytes.len())..];
        }
    }
    Some(())
}

/// Unpacks numbers of `width` bits, lowest bit first.
fn unpack(bytes: &[u8], width: u8, numbers: &mut [u64]) -> Option<()> {
    let needed = (numbers.len() as u64).checked_mul(u64::from(width))?.div_ceil(8);
    (width <= 64 && needed <= bytes.len() as u64).then_some(())?;
    let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
    // Each group of eight numbers begins at a byte.
    for (group, numbers) in numbers.chunks_mut(8).enumerate() {
        let from = &bytes[(group * usize::from(width)).min(bytes.len())..];
        match (from.first_chunk(), numbers.as_chunks_mut()) {
            (Some(wide), ([low, high], [])) if width < 16 => {
                let wide = u128::from_le_bytes(*wide);
                unpack_four(wide as u64, width, mask, low);
                unpack_four((wide >> (4 * width)) as u64, width, mask, high);
            }
            _ => unpack_each(from, width, mask, numbers),
        }
    }
    Some(())
}

/// Unpacks four numbers of a word.
fn unpack_four(word: u64, width: u8, mask: u64, numbers: &mut [u64; 4]) {
    for (at, number) in (0..).zip(numbers) {
        *number = word >> (at * u64::from(width)) & mask;
    }
}

/// Unpacks numbers one at a time. This is used for any width, and at the end of the bytes.
fn unpack_each(bytes: &[u8], width: u8, mask: u64, numbers: &mut [u64]) {
    for (at, number) in numbers.iter_mut().enumerate() {
        let bit = at * usize::from(width);
        let from = &bytes[(bit / 8).min(bytes.len())..];
        *number = mask
            & match from.first_chunk() {
                // At most seven other bits precede the number.
                Some(eight) if width <= 57 => u64::from_le_bytes(*eight) >> (bit % 8),
                _ => {
                    let mut wide = [0; 16];
                    let length = from.len().min(16);
                    wide[..length].copy_from_slice(&from[..length]);
                    (u128::from_le_bytes(wide) >> (bit % 8)) as u64
                }
            };
    }
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
        // Invalid headers: zero miniblocks, a miniblock of seven values, a width of 65 bits.
        for wrong in [[128u8, 1, 0, 8, 14], [7, 1, 8, 14, 3]] {
            assert_eq!(decoded(of(Physical::Int64), &wrong, 8), None);
        }
        assert_eq!(decoded(of(Physical::Int64), &[8, 1, 2, 0, 0, 65, 1, 1, 1, 1, 1, 1, 1, 1, 1], 2), None);
    }

    /// Tests unpacking of eight numbers at a time, of single numbers, and up to the last byte.
    #[test]
    fn numbers_of_every_width_and_count() {
        for width in 0..=64u8 {
            let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            for count in [0, 1, 7, 8, 9, 31, 32, 67] {
                let numbers: Vec<u64> =
                    (0..count).map(|at: u64| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
                let mut bits: Vec<bool> = Vec::new();
                numbers.iter().for_each(|number| bits.extend((0..width).map(|bit| number >> bit & 1 == 1)));
                let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
                let mut bytes: Vec<u8> = bits.chunks(8).map(byte).collect();
                for more in [0, 30] {
                    bytes.extend(vec![0xff; more]);
                    let mut found = vec![1; numbers.len()];
                    assert_eq!(unpack(&bytes, width, &mut found), Some(()));
                    assert_eq!(found, numbers, "{width} bits");
                }
                let few = (count as usize * usize::from(width)).div_ceil(8).saturating_sub(1);
                let short = unpack(&bytes[..few], width, &mut vec![0; count as usize]);
                assert_eq!(short.is_some(), width == 0 || count == 0);
            }
        }
        assert_eq!(unpack(&[0xff; 99], 65, &mut [0]), None);
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
        assert_eq!(decoded(runs(1), &[6, 1], 3), Some(vec![1, 1, 1]));
        assert_eq!(decoded(runs(1), &[6, 2], 3), None);
        // Empty runs are skipped until the bytes end.
        assert_eq!(decoded(runs(0), &[0; 9], 1), None);
    }
}
