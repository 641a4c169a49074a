//! The tests of the library as one program: the generators and the reference are compiled once, and so is what the
//! tests of several operations stamp alike. `files.rs` holds those of files, pictures and the command line; what counts
//! or refuses memory, and what answers another program, are programs of their own.

// Stands first, as its macros are known from here on.
#[macro_use]
mod support;

mod generators;
mod reference;

mod along;
mod any;
mod architecture;
mod batched;
mod choosing;
mod chunks;
mod classify;
mod constructors;
mod contracted;
mod conversions;
mod count_nonzero;
mod determinism;
mod drawing;
mod einsum;
mod entrances;
mod errors;
#[cfg(feature = "cli")]
mod eval_chunks;
mod format;
mod group_by;
mod habits;
mod imports;
mod interop_sprs;
mod io_properties;
mod isin;
mod lazy;
mod lazy_beside;
mod lazy_random;
mod lazy_rewrite;
#[cfg(feature = "cli")]
mod lazy_steps;
#[cfg(feature = "cli")]
mod lazy_text;
mod logsumexp;
mod matmul;
mod matmul_with;
mod moving;
mod nanmedian;
mod nanmedian_gradient;
#[cfg(feature = "cli")]
mod operations_table;
mod outer;
#[cfg(feature = "io")]
mod pictures;
mod products;
mod promises;
mod quantiles;
mod ranking;
mod readme;
mod reductions;
mod sddmm;
mod softmax;
mod statistics;
mod take;
mod triplets;
mod unary;
mod words;
mod zero_upstream;
mod zip;
