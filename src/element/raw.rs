//! Values as plain bits, for code that only moves values. This code is compiled once per width, in the library.

/// Values as unsigned integers of their width, or as pairs of unsigned integers.
///
/// `bool` stays `bool`, because not every byte is a valid `bool`.
#[derive(Clone, Copy)]
pub enum RawSlice<'a> {
    Bool(&'a [bool]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    Pair32(&'a [[u32; 2]]),
    Pair64(&'a [[u64; 2]]),
}

/// Values moved as plain bits.
pub enum RawVec {
    Bool(Vec<bool>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    Pair32(Vec<[u32; 2]>),
    Pair64(Vec<[u64; 2]>),
}

/// The panic message for bits of an unexpected variant.
pub(super) const MIXED_UP: &str = "bits are read in the type in which they were written";

/// Implements the conversions of lists whose type is generic.
macro_rules! raw_types {
    ($($variant:ident $type:ty),*) => {$(
        impl<'a> From<RawSlice<'a>> for &'a [$type] {
            fn from(values: RawSlice<'a>) -> Self {
                let RawSlice::$variant(values) = values else { unreachable!("{MIXED_UP}") };
                values
            }
        }

        impl From<Vec<$type>> for RawVec {
            fn from(values: Vec<$type>) -> Self {
                RawVec::$variant(values)
            }
        }
    )*};
}

raw_types!(Bool bool, U8 u8, U16 u16, U32 u32, U64 u64, Pair32 [u32; 2], Pair64 [u64; 2]);

/// Runs code on plain bits of any width; the code is compiled once per width.
macro_rules! by_raw {
    ($values:expr, $own:ident => $body:expr) => {
        match $values {
            $crate::element::RawSlice::Bool($own) => $body,
            $crate::element::RawSlice::U8($own) => $body,
            $crate::element::RawSlice::U16($own) => $body,
            $crate::element::RawSlice::U32($own) => $body,
            $crate::element::RawSlice::U64($own) => $body,
            $crate::element::RawSlice::Pair32($own) => $body,
            $crate::element::RawSlice::Pair64($own) => $body,
        }
    };
}

pub(crate) use by_raw;

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use crate::element::Element;

    /// Converts values to bits and back.
    fn check<T: Element>(values: &[T]) {
        let copied = by_raw!(T::raw(values), own => own.to_vec().into());
        let back = T::from_raw(copied);
        assert!(back.len() == values.len() && back.iter().zip(values).all(|(back, value)| back.same(*value)));
    }

    #[test]
    fn values_of_all_types_are_their_bits() {
        check(&[true, false]);
        check(&[i8::MIN, -1]);
        check(&[u16::MAX, 1]);
        check(&[i32::MIN, -1]);
        check(&[u64::MAX, 1]);
        check(&[-0.0f32, f32::NAN]);
        check(&[-0.0, f64::INFINITY]);
        check(&[Complex::new(-0.0f32, f32::MAX)]);
        check(&[Complex::new(f64::NAN, -0.0), Complex::new(1.0, 2.0)]);
        #[cfg(feature = "half")]
        check(&[half::f16::NEG_ZERO, half::f16::MAX]);
    }
}
