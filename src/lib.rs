//! Sparse tensors of any rank, in COO and CSR format, with the results of dense arrays.
//!
//! A tensor has a *pattern* (the positions of its entries), one value per entry, and a *fill* (the value of every
//! unstored position).
//!
//! ```text
//!       dense                      COO                        CSR
//!   . 2 . .            axis 0   [0, 1, 1]         offsets  [0, 1, 3, 3]
//!   3 . . 4            axis 1   [1, 0, 3]         columns  [1, 0, 3]
//!   . . . .            values   [2, 3, 4]         values   [2, 3, 4]
//! ```
//!
//! # A first program
//!
//! ```
//! use lacuna::{Axes, Duplicates, Triplets};
//!
//! let mut triplets = Triplets::new([3, 4])?;
//! triplets.push(&[1, 3], 4.0_f64)?; // if all values are literals, one literal needs its type
//! triplets.push(&[0, 1], 2.0)?;
//! triplets.push(&[1, 0], 3.0)?;
//! let x = triplets.coalesce(Duplicates::Sum)?;
//!
//! assert_eq!(x.get(&[1, 3])?, 4.0);
//! assert_eq!(x.any(1)?.values(), [true, true]); // stored for rows 0 and 1; row 2 holds the fill, false
//! assert_eq!(x.nanmedian(Axes::all())?.get(&[])?, 0.0); // nine of twelve positions hold 0
//! assert_eq!(x.to_csr()?.offsets(), [0, 1, 3, 3]);
//! # Ok::<(), lacuna::Error>(())
//! ```
//!
//! Next: [first steps](documents::first_tensor), and the [other pages](documents).
//!
//! # The types
//!
//! | type | content |
//! | --- | --- |
//! | [`CooTensor`], [`CsrTensor`] | the two formats: [`Tensor`] with either pattern type |
//! | [`CooPattern`], [`CsrPattern`] | the positions of the entries; immutable, shared, and checked once |
//! | [`Triplets`], [`Duplicates`] | entries in any order, and the rule for repeated positions |
//! | [`Shape`], [`Axes`] | the lengths of the axes, and the reduced axes |
//! | [`Element`], [`Real`], [`Float`] | traits of the element types |
//! | [`Lazy`](lazy::Lazy), [`Program`](lazy::Program) | chains of operations that are computed together |
//! | [`Error`], [`ErrorKind`] | the reason why an input was rejected, and its category |
//!
//! # The operations
//!
//! Most operations are functions in the root of this crate. Most functions accept every [`Operand`]: tensors of both
//! formats, stored views ([`x.stored()`](Tensor::stored), only stored entries), and `ndarray` arrays and views.
//! [`concat()`], [`stack`] and [`block`] accept only tensors.
//!
//! Most functions are also methods of tensors and stored views. [`Operations`] adds these methods to arrays, except
//! methods that `ndarray` has under the same name. [`slice()`] and shape operations such as [`pad()`] are methods only
//! of tensors, not of stored views or arrays. [`matmul()`] and [`softmax()`] have methods. Other products, [`where_`],
//! [`concat()`] and [`stack`] do not have methods.
//!
//! If an operation has options, an options value with setters can replace the plain argument: `x.nanmedian(1)`,
//! `x.nanmedian(Nanmedian::over(1).lower())`.
//!
//! The gradient of `NAME` is [`grad::NAME`](grad). The page [`gradients`](documents::gradients) lists the operations
//! without a gradient.
//!
//! | family | examples | options |
//! | --- | --- | --- |
//! | reductions | [`any()`], [`sum`], [`trace`], [`average()`], [`var`], [`cov()`], [`nanmedian()`] | [`Axes`], [`Var`], [`Norm`], [`Nanmedian`], [`Quantile`] |
//! | reductions by labels | [`Axes::by`], as the axes of a reduction | [`GroupLabels`] |
//! | order | [`sort()`], [`argsort`], [`topk()`], [`unique()`] | |
//! | along an axis | [`cumsum`], [`cumprod`], [`diff()`] | |
//! | elementwise functions | [`isnan`], [`exp`], [`powf`], [`isin()`] | [`Isin`] |
//! | binary operations | [`add()`], [`less`], [`pow()`], [`where_`], [`zip_with`], [`is_close`] | [`Partner`], [`Choice`], [`Factors`], [`Tolerance`] |
//! | products | [`matmul()`], [`einsum()`], [`kron`], [`mttkrp()`], [`softmax()`] | [`Matmul`], [`Semiring`], [`Einsum`] |
//! | indexing | [`take()`], [`take_axis`], [`gather()`], [`take_along_axis()`], [`slice()`] | [`Take`] |
//! | shapes | [`concat()`], [`stack`], [`flip()`], [`pad()`], [`transpose()`], [`tril()`] | |
//!
//! These operations are only methods:
//!
//! - of tensors: [`to_dense`](Tensor::to_dense), `to_csr`, `to_coo`, `permute_axes`, `reshape`, [`cast`](Tensor::cast),
//!   [`prune`](Tensor::prune), [`select`](Tensor::select), [`filter_entries`](Tensor::filter_entries),
//!   [`nonzero`](Tensor::nonzero), [`with_entries`](Tensor::with_entries), [`map_values`](Tensor::map_values) and
//!   [`map_entries`](Tensor::map_entries);
//! - of stored views: [`mask`](Stored::mask), [`without`](Stored::without) and [`sddmm`](Stored::sddmm);
//! - of patterns: [`sddmm`](CooPattern::sddmm).
//!
//! Methods convert to and from sprs, Paddle and PyTorch ([`PaddleCsr`], [`TorchCsr`]). `TryFrom` also converts to and
//! from sprs.
//!
//! Predicates such as [`isnan`] and [`isin()`] can also write into an existing tensor or array: [`isnan_into`],
//! [`isin_into`]. [`Answers`] lists the types of the existing results. [`take_into`] writes the elements of an array
//! into an existing array.
//!
//! # Guarantees
//!
//! - If `f(x)` returns a result, `f(x).to_dense()` is bitwise identical to `f(x.to_dense())`. The two exceptions are
//!   the payload of a computed NaN, and the sign of a computed zero at an unstored position. The computation does not
//!   build the dense array. This guarantee does not apply to stored views and [`matmul_with`], which use only stored
//!   entries.
//! - The pattern of a result depends on the patterns, fills and index arguments of an operation, and never on stored
//!   values. A stored zero stays stored. The exceptions are [`prune`](Tensor::prune), [`select`](Tensor::select),
//!   [`filter_entries`](Tensor::filter_entries), [`nonzero`](Tensor::nonzero) and conversions from dense arrays.
//! - A gradient with respect to a sparse tensor has the pattern of the tensor (shared) and a fill of 0. The element
//!   type of the gradient is the element type of the upstream gradient.
//! - Results are bitwise identical for any number of threads.
//! - A function that returns a [`Result`] does not panic for any input. The function returns [`Error::TooLarge`] for a
//!   result that would be far larger than its input.
//!
//! # Features
//!
//! | on by default | adds |
//! | --- | --- |
//! | `rayon` | several threads |
//! | `sprs` | conversions to and from sprs matrices |
//! | `machine` | huge pages, SIMD, unchecked indexing |
//! | `io` | files |
//!
//! | off by default | adds |
//! | --- | --- |
//! | `lazy` | graphs of operations |
//! | `dynamic` | operations on tensors whose element types are known at run time |
//! | `eval` | expressions |
//! | `half` | the element types `f16` and `bf16` |
//! | `serde` | serialization |
//! | `parquet` | Parquet files and folders |
//! | `arrow` | Arrow record batches |
//! | `spy` | pictures of patterns |
//! | `cli` | the program `lacuna` |

#![cfg_attr(not(feature = "machine"), forbid(unsafe_code))]
// Some items are used only by graphs and dynamically typed operations.
#![cfg_attr(
    not(all(feature = "dynamic", feature = "lazy", feature = "io")),
    allow(dead_code, unreachable_pub, unused_imports, unused_macros)
)]

mod base;
mod convert;
pub mod dynamic;
mod element;
// The unit tests do not need this module. With this module, they would compile all operations once more.
#[cfg(all(feature = "eval", not(test)))]
pub mod eval;
pub mod grad;
#[cfg(feature = "io")]
pub mod io;
mod kernels;
#[cfg(feature = "lazy")]
pub mod lazy;
mod ops;
mod pattern;
mod plan;
#[cfg(feature = "spy")]
pub mod spy;
mod tensor;

#[doc(no_inline)]
pub use ndarray;
#[doc(no_inline)]
pub use num_complex;

pub use base::axes::Axes;
pub use base::error::{Error, ErrorKind, IoSource, Result};
pub use base::index::{Index, Position};
pub use base::labels::GroupLabels;
pub use base::shape::Shape;
pub use convert::{PaddleCsr, TorchCsr};
pub use element::{
    Bits, ComplexElement, DType, Element, Float, Inexact, Magnitude, Number, Numeric, Real, Remainder, Ring, Shift,
    Signed,
};
pub use ops::*;
pub use pattern::{CooPattern, CsrPattern, Format, Pattern};
pub use tensor::Tensor;
pub use tensor::coo::CooTensor;
pub use tensor::csr::CsrTensor;
pub use tensor::entries::{Coords, Entries, IntoEntries};
pub use tensor::stored::Stored;
pub use tensor::triplets::{Duplicates, Triplets};

/// The most common types and traits: `use lacuna::prelude::*;`.
///
/// The prelude adds the methods of tensors to `ndarray` arrays ([`Operations`]). Iterators keep
/// their own methods, such as `any`. Import functions, errors and less common types from the crate root.
///
/// ```
/// use lacuna::prelude::*;
/// use ndarray::arr2;
///
/// let dense = arr2(&[[0, 2], [0, 0]]);
/// assert_eq!(dense.any(1)?, ndarray::arr1(&[true, false]).into_dyn());
/// assert!(dense.iter().any(|&element| element == 2));
/// assert_eq!(CooTensor::from_dense(&dense, 0)?.any(Axes::all())?.item()?, true);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub mod prelude {
    pub use crate::{
        Axes, CooPattern, CooTensor, CsrPattern, CsrTensor, Duplicates, Element, Float, Operand, Operations, Pattern,
        Real, Shape, Stored, Tensor, Triplets,
    };
}

/// The pages of the book, one module per page.
///
/// The modules do not contain items. The code examples of the pages run as tests.
///
/// | page | content |
/// | --- | --- |
/// | [`first_tensor`](documents::first_tensor) | build, print, reduce and save a tensor |
/// | [`tutorial_readings`](documents::tutorial_readings) | missing readings in a record of carbon dioxide |
/// | [`tutorial_graph`](documents::tutorial_graph) | a social network: degrees, products, shortest paths |
/// | [`tutorial_model`](documents::tutorial_model) | gradients, and fitting a model |
/// | [`cookbook`](documents::cookbook) | recipes by task |
/// | [`choose_format`](documents::choose_format) | COO or CSR |
/// | [`files`](documents::files) | reading and writing files |
/// | [`larger_than_memory`](documents::larger_than_memory) | Parquet, chunks and memory limits |
/// | [`cluster`](documents::cluster) | workers on several machines |
/// | [`speed`](documents::speed) | speed against other libraries, and tips |
/// | [`from_numpy`](documents::from_numpy) | equivalents in numpy, scipy, pydata/sparse and PyTorch |
/// | [`concepts`](documents::concepts) | fill, pattern, stored view and guarantees |
/// | [`formats`](documents::formats) | the layout of COO and CSR in memory |
/// | [`gradients`](documents::gradients) | the guarantees of the gradients |
/// | [`lazy`](documents::lazy) | lazy graphs, programs and engines |
/// | [`exact_sums`](documents::exact_sums) | exact sums: reasons and method |
/// | [`differences`](documents::differences) | differences from other libraries |
/// | [`errors`](documents::errors) | all errors, their causes and what to do |
/// | [`architecture`](documents::architecture) | the layout of the sources, and how to add an operation |
///
/// # In the repository
///
/// The pages of the book link to this table in place of these files of the repository:
///
/// | file | content |
/// | --- | --- |
/// | `docs/install.md` | features and versions |
/// | `docs/cli.md`, `docs/expressions.md` | the command line `lacuna`, and its expressions |
/// | `docs/file-formats.md` | the layout of each file format |
/// | `docs/operations.md` | types, formats, gradients and engines of each operation |
/// | `docs/benchmarks.md`, `docs/speed-log.md` | benchmarks, and a log of tried optimizations |
/// | `docs/gpu.md` | the package `lacuna-gpu`: graphs on a GPU |
/// | `docs/decisions/` | the numbered decisions about the design, with reasons |
/// | `docs/examples/` | programs; run one with `cargo run --features lazy --example NAME` |
/// | `docs/testing.md` | how to run the tests |
/// | `src/engines/datafusion/README.md` | the package `lacuna-datafusion` |
#[cfg(any(doc, doctest))]
pub mod documents {
    /// Defines a page. If a link label has two targets, rustdoc uses the first target. The first target here is a page
    /// of this crate.
    macro_rules! page {
        ($name:ident, $file:literal) => {
            #[doc = include_str!("../docs/rustdoc-links.txt")]
            #[doc = include_str!(concat!("../docs/", $file, ".md"))]
            pub mod $name {}
        };
    }
    page!(first_tensor, "first-tensor");
    page!(tutorial_readings, "tutorial-readings");
    page!(tutorial_graph, "tutorial-graph");
    page!(tutorial_model, "tutorial-model");
    page!(cookbook, "cookbook");
    page!(choose_format, "choose-format");
    page!(files, "files");
    page!(larger_than_memory, "larger-than-memory");
    page!(cluster, "cluster");
    page!(speed, "speed");
    page!(from_numpy, "from-numpy");
    page!(concepts, "concepts");
    page!(formats, "formats");
    page!(gradients, "gradients");
    page!(lazy, "lazy");
    page!(exact_sums, "exact-sums");
    page!(differences, "differences");
    page!(errors, "errors");
    page!(architecture, "architecture");
    #[cfg(doctest)]
    #[doc = include_str!("../README.md")]
    pub mod readme {}
}
