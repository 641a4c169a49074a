//! The fuzz targets as functions, for programs that hold all of them.
//!
//! A target names the crate of the fuzzer for the macro that makes a program of it. A program that holds all of them is
//! that crate itself, and its `fuzz_target!` makes a function.

mod fuzzer {
    macro_rules! fuzz_target {
        (|$data:ident: &[u8]| $body:expr) => {
            pub fn target($data: &[u8]) {
                $body
            }
        };
        (|$input:ident: $type:ty| $body:expr) => {
            pub fn target(data: &[u8]) {
                if let Ok($input) =
                    <$type as arbitrary::Arbitrary>::arbitrary_take_rest(arbitrary::Unstructured::new(data))
                {
                    $body
                }
            }
        };
    }
    pub(crate) use fuzz_target;
}
pub(crate) use fuzzer::fuzz_target;

/// Calls a macro with the names of all targets.
macro_rules! for_all_targets {
    ($do:ident) => {
        $do! {
            batched choose classify conversions coo_new csr_new einsum eval fold group isin lazy map matmul nanmedian
            program read_csv read_gz read_mtx read_npy read_npz read_parquet read_tns serde sprs take take_axis triplets
            zip
        }
    };
}
#[allow(unused_imports)] // a program may ask for the list alone
pub(crate) use for_all_targets;

macro_rules! modules {
    ($($target:ident)*) => {
        #[path = "../fuzz_targets"]
        mod programs {
            $(pub mod $target;)*
        }
        /// Each target by its name.
        pub const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($target), programs::$target::target)),*];
    };
}
for_all_targets!(modules);
