//! Running a property over generated cases, and stamping it for each element type.

use lacuna::Axes;

use crate::generators::AxesChoice;

/// The axes as the library takes them.
pub fn axes_of(choice: &AxesChoice, keep_dims: bool) -> Axes {
    let axes = match choice {
        AxesChoice::None => Axes::none(),
        AxesChoice::All => Axes::all(),
        AxesChoice::One(axis) => Axes::from(*axis),
        AxesChoice::List(list) => Axes::from(list.as_slice()),
    };
    axes.with_keep_dims(keep_dims)
}

/// Stamps a test of the generic function `property` for each element type, in a module of the function's name.
#[macro_export]
macro_rules! stamp {
    ($property:ident: $($name:ident = $type:ty),*; half) => {
        mod $property {
            $(
                #[test]
                fn $name() {
                    super::$property::<$type>();
                }
            )*

            #[cfg(feature = "half")]
            #[test]
            fn float16() {
                super::$property::<half::f16>();
            }

            #[cfg(feature = "half")]
            #[test]
            fn bfloat16() {
                super::$property::<half::bf16>();
            }
        }
    };
}

/// Stamps a property for all element types.
#[macro_export]
macro_rules! for_all_types {
    ($($property:ident),*) => {$(
        $crate::stamp!($property:
            bool = bool, int8 = i8, int16 = i16, int32 = i32, int64 = i64, uint8 = u8, uint16 = u16, uint32 = u32,
            uint64 = u64, float32 = f32, float64 = f64, complex64 = num_complex::Complex<f32>,
            complex128 = num_complex::Complex<f64>; half);
    )*};
}

/// Stamps a property for the element types that have an order: all but the complex ones.
#[macro_export]
macro_rules! for_real_types {
    ($($property:ident),*) => {$(
        $crate::stamp!($property:
            bool = bool, int8 = i8, int16 = i16, int32 = i32, int64 = i64, uint8 = u8, uint16 = u16, uint32 = u32,
            uint64 = u64, float32 = f32, float64 = f64; half);
    )*};
}

/// Runs a property over as many cases as `PROPTEST_CASES` says, 256 if it says nothing; failures are shrunk and shown.
#[track_caller]
pub fn check<S: proptest::strategy::Strategy>(strategy: S, property: impl Fn(S::Value)) {
    let config = proptest::test_runner::Config { failure_persistence: None, ..Default::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&strategy, |input| {
        property(input);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
