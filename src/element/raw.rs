//! Values as plain bits, for code that only moves them: it is compiled once per width, in the library.

/// Defines the enums of plain bits, and the conversions of their slices and vectors.
macro_rules! raw_types {
    ($($variant:ident $type:ty),*) => {
        /// Values as unsigned integers of their width, or as pairs of them. `bool` stays `bool`, because not every byte
        /// is valid.
        #[derive(Clone, Copy)]
        pub enum RawSlice<'a> {
            $($variant(&'a [$type])),*
        }

        /// Values moved as plain bits.
        pub enum RawVec {
            $($variant(Vec<$type>)),*
        }

        $(
            impl<'a> From<&'a [$type]> for RawSlice<'a> {
                fn from(values: &'a [$type]) -> Self {
                    RawSlice::$variant(values)
                }
            }

            impl<'a> From<RawSlice<'a>> for &'a [$type] {
                fn from(values: RawSlice<'a>) -> Self {
                    match values {
                        RawSlice::$variant(values) => values,
                        _ => unreachable!("bits are read as the type that they were written as"),
                    }
                }
            }

            impl From<Vec<$type>> for RawVec {
                fn from(values: Vec<$type>) -> Self {
                    RawVec::$variant(values)
                }
            }

            impl From<RawVec> for Vec<$type> {
                fn from(values: RawVec) -> Self {
                    match values {
                        RawVec::$variant(values) => values,
                        _ => unreachable!("bits are read as the type that they were written as"),
                    }
                }
            }
        )*
    };
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
