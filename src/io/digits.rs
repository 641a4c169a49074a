//! Decimal digits, eight at a time: read and printed without a branch per digit.

/// A word whose bytes are all 1.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Reads the decimal digits at the start of `text`. Returns the number and the count of digits. The number is `None` if
/// the text does not start with a digit, or if the number is 2^64 or more.
#[inline]
pub(crate) fn leading_digits(text: &[u8]) -> (Option<u64>, usize) {
    let (mut value, mut count) = (0, 0);
    if let Some(chunk) = text.first_chunk() {
        (value, count) = digits_of_eight(u64::from_le_bytes(*chunk));
        if count < 8 {
            return ((count > 0).then_some(value), count);
        }
    }
    let mut number = Some(value);
    for byte in &text[count..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.and_then(|number| number.checked_mul(10)?.checked_add(digit.into()));
        count += 1;
    }
    (number.filter(|_| count > 0), count)
}

/// Reads the leading digits of eight bytes at once; the first byte is the lowest byte of `bytes`.
///
/// A byte is not a digit if adding `0x46` overflows past `0x7f`, or subtracting `0x30` underflows. Carries and borrows
/// change only bytes after the first byte that is not a digit. The digits before this byte are shifted to the end, so
/// that zeros precede the digits. Then the digits are combined pairwise.
#[inline]
fn digits_of_eight(bytes: u64) -> (u64, usize) {
    let values = bytes.wrapping_sub(0x30 * EACH);
    let odd = (bytes.wrapping_add(0x46 * EACH) | values) & (0x80 * EACH);
    let count = odd.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    let digits = values << (64 - 8 * count);
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff, count)
}

/// Appends `number` in decimal.
#[inline]
pub(crate) fn print_digits(text: &mut Vec<u8>, number: u64) {
    if number >= 100_000_000 {
        print_digits(text, number / 100_000_000);
        return text.extend_from_slice(&(eight_digits(number % 100_000_000) + b'0' as u64 * EACH).to_le_bytes());
    }
    let digits = eight_digits(number);
    let zeros = (digits.trailing_zeros() as usize / 8).min(7);
    text.extend_from_slice(&((digits >> (8 * zeros)) + b'0' as u64 * EACH).to_le_bytes());
    text.truncate(text.len() - zeros);
}

/// Returns the eight digits of a number below 10^8; the first digit is in the lowest byte.
///
/// The number is split into halves, the halves into pairs and the pairs into digits, in all positions at once.
/// Multiplying by `10486 / 2^20` divides a number below 10^4 by 100; multiplying by `103 / 2^10` divides a number below
/// 100 by 10.
#[inline]
fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - 10 * tens) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_up_to_the_first_byte_that_is_none() {
        for number in (0..20).map(|digits| 12_345_678_901_234_567_890u64 / 10u64.pow(digits)) {
            for after in ["", " ", "\n 77777777", "x999", ".5", "\u{ff}12345678"] {
                let text = format!("{number}{after}");
                assert_eq!(leading_digits(text.as_bytes()), (Some(number), number.to_string().len()), "{text:?}");
            }
        }
        for (text, digits) in [("", 0), ("x1234567", 0), ("-1", 0), ("18446744073709551616", 20)] {
            assert_eq!(leading_digits(text.as_bytes()), (None, digits), "{text:?}");
        }
        assert_eq!(leading_digits(b"18446744073709551615"), (Some(u64::MAX), 20));
        assert_eq!(leading_digits(b"00000000000000000000000000001 "), (Some(1), 29));
    }

    #[test]
    fn every_byte_after_every_count_of_digits_ends_the_number() {
        for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
            for count in 1..8 {
                let mut text = b"98765432"[..count].to_vec();
                let expected = std::str::from_utf8(&text).unwrap().parse().unwrap();
                text.extend([byte; 8]);
                assert_eq!(leading_digits(&text), (Some(expected), count), "{text:?}");
            }
        }
    }

    #[test]
    fn numbers_of_every_length_are_printed() {
        let mut numbers: Vec<u64> = (0..100_000).collect();
        numbers.extend((0..20).flat_map(|digits| {
            let power = 10u64.pow(digits);
            [
                power - 1,
                power,
                power + 1,
                power.wrapping_mul(7),
                u64::MAX / power,
                (u64::MAX / power).wrapping_mul(power),
            ]
        }));
        numbers.extend((1..2_000u64).map(|factor| factor.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (factor % 64)));
        for number in numbers {
            let mut text = b"x".to_vec();
            print_digits(&mut text, number);
            assert_eq!(String::from_utf8(text).unwrap(), format!("x{number}"));
        }
    }

    #[test]
    fn the_pairs_and_the_digits_of_every_four_are_right() {
        for four in 0..10_000u64 {
            let expected: Vec<u8> = format!("{four:04}{:04}", 9_999 - four).bytes().map(|byte| byte - b'0').collect();
            assert_eq!(eight_digits(four * 10_000 + 9_999 - four).to_le_bytes()[..], expected[..]);
        }
    }
}
