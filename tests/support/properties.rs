//! Running a property over generated cases, and stamping it for each element type.

use std::fmt::Debug;

use lacuna::Axes;
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Just, Strategy};

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

/// Stamps a test of the generic function `property` for each element type, in a module of the function's name. Those
/// behind `beside` and those of 16 bits are stamped only where more than two types are asked for.
macro_rules! stamp {
    ($property:ident: $($name:ident = $type:ty),*; half) => {
        stamp!($property: $($name = $type),*; half float16 = half::f16, bfloat16 = half::bf16);
    };
    ($property:ident: $($name:ident = $type:ty),*; beside $($beside:ident = $other:ty),*; half) => {
        stamp!($property: $($name = $type),*; beside $($beside = $other),*;
            half float16 = half::f16, bfloat16 = half::bf16);
    };
    ($property:ident: $($name:ident = $type:ty),*;
        $(beside $($beside:ident = $other:ty),*;)? half $($half_name:ident = $half:ty),*) => {
        mod $property {
            $(
                #[test]
                fn $name() {
                    super::$property::<$type>();
                }
            )*
            more! {
                $($(
                    #[test]
                    fn $beside() {
                        super::$property::<$other>();
                    }
                )*)?
                $(
                    #[cfg(feature = "half")]
                    #[test]
                    fn $half_name() {
                        super::$property::<$half>();
                    }
                )*
            }
        }
    };
}

/// True if all independent cases are tested: every element type, every pool of threads.
pub const ALL: bool = matches!(env!("LACUNA_TESTS").as_bytes(), b"all");

// `for_all_types` and `for_real_types`, as the variable says: each type costs seconds of compilation, and most of them
// tell nothing that their like does not tell.
include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/", env!("LACUNA_TESTS"), "_types.rs"));

/// Returns the values that a case combines with its input: all values if [`ALL`] is true, otherwise one of them.
pub fn some_of<T: Copy + Debug + 'static>(all: &'static [T]) -> BoxedStrategy<Vec<T>> {
    if ALL { Just(all.to_vec()).boxed() } else { select(all).prop_map(|one| vec![one]).boxed() }
}

/// Returns the number of cases of a slow property: one in `part`.
pub fn cases(part: u32) -> u32 {
    proptest::test_runner::Config::default().cases.div_ceil(part)
}

/// Runs a property over as many cases as `PROPTEST_CASES` says, 256 if it says nothing; failures are shrunk and shown.
#[track_caller]
pub fn check<S: Strategy + 'static>(strategy: S, property: impl Fn(S::Value)) {
    run(strategy.boxed(), &property);
}

/// The runner is compiled for each type of input, and not for each strategy and property.
#[track_caller]
fn run<T: Debug>(strategy: BoxedStrategy<T>, property: &dyn Fn(T)) {
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
