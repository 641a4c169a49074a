//! Sparse tensors of any rank, in coordinate and compressed-row format, that mean exactly what their dense form means.
//!
//! A tensor is a *pattern* (where the entries are), one value for each entry, and a *fill*: the value of every position
//! that is not stored.
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
//! triplets.push(&[1, 3], 4.0_f64)?; // where all are bare literals, one of them needs its type
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
//! The [`guide`](documents::guide) goes on from here, and has [companions](documents).
//!
//! # The types
//!
//! | type | what it is |
//! | --- | --- |
//! | [`CooTensor`], [`CsrTensor`] | the two formats: one [`Tensor`] over two patterns |
//! | [`CooPattern`], [`CsrPattern`] | where the entries are; immutable, shared, all invariants checked once |
//! | [`Triplets`], [`Duplicates`] | input in any order, and what becomes of repetitions |
//! | [`Shape`], [`Axes`] | lengths of axes, and which of them a reduction removes |
//! | [`Element`], [`Real`], [`Float`] | the element types and what may be asked of them |
//! | [`Lazy`](lazy::Lazy), [`Program`](lazy::Program) | chains of operations that are computed as a whole |
//! | [`Error`], [`ErrorKind`] | the reason why an input was rejected, with numbers |
//!
//! # The operations
//!
//! Each is a function over every [`Operand`]: tensors of both formats, [`x.stored()`](Tensor::stored), which means
//! their entries alone, and `ndarray` arrays and views. And each is a method (of arrays through the [`prelude`], but for
//! names that `ndarray` has itself).
//! Options are a value with setters in the place of the plain argument: `x.nanmedian(1)`,
//! `x.nanmedian(Nanmedian::over(1).lower())`.
//!
//! What changes the form only is a method: [`to_dense`](Tensor::to_dense), `to_csr`, `to_coo`, `permute_axes`,
//! `reshape`, [`cast`](Tensor::cast), [`prune`](Tensor::prune), [`select`](Tensor::select),
//! [`filter_entries`](Tensor::filter_entries), [`nonzero`](Tensor::nonzero),
//! [`with_entries`](Tensor::with_entries), [`map_values`](Tensor::map_values), and the conversions to and from sprs,
//! Paddle's and PyTorch's layouts ([`PaddleCsr`], [`TorchCsr`]).
//!
//! | forward | backward |
//! | --- | --- |
//! | [`any()`] | [`any_backward`], a documented surrogate |
//! | [`all`], [`count_nonzero`] | |
//! | [`sum`], [`mean`], [`nansum`], [`nanmean`] | [`sum_backward`], [`mean_backward`], [`nansum_backward`], [`nanmean_backward`] |
//! | [`prod`], [`nanprod`] | [`prod_backward`], [`nanprod_backward`] |
//! | [`var`], [`std()`], [`nanvar`], [`nanstd`] ([`Var`]) | [`var_backward`], [`std_backward`], [`nanvar_backward`], [`nanstd_backward`] |
//! | [`norm()`] ([`Norm`]) | [`norm_backward`] |
//! | [`min`], [`max`], [`nanmin`], [`nanmax`] | [`min_backward`], [`max_backward`], [`nanmin_backward`], [`nanmax_backward`] |
//! | [`argmin`], [`argmax`], [`nanargmin`], [`nanargmax`] | |
//! | [`nanmedian()`], [`nanmedian_index`] ([`Nanmedian`]) | [`nanmedian_backward`] |
//! | [`median()`] ([`Nanmedian`]), [`quantile()`], [`nanquantile`] ([`Quantile`]) | [`median_backward`], [`quantile_backward`], [`nanquantile_backward`] |
//! | [`group_by()`] ([`GroupLabels`]), then any of these | those of these |
//! | [`topk()`], [`topk_index`], [`argsort`] | [`topk_backward`] |
//! | [`unique()`] | |
//! | [`take()`], [`take_axis`] ([`Take`]) | [`take_backward`], [`take_axis_backward`] |
//! | [`slice()`] | [`slice_backward`] |
//! | [`concat()`], [`stack`], [`block`] | [`concat_backward`], [`stack_backward`] |
//! | [`flip()`], [`roll()`], [`pad()`], [`tile()`], [`repeat()`], [`broadcast_to()`] | [`flip_backward`] and so on |
//! | [`squeeze()`], [`expand_dims()`], [`transpose()`], [`move_axis()`] | [`squeeze_backward`] and so on |
//! | [`tril()`], [`triu()`], [`diagonal()`] | [`tril_backward`] and so on |
//! | [`isin()`] ([`Isin`]) | |
//! | [`isnan`], [`isinf`], [`isfinite`], [`isreal`], [`isposinf`], [`isneginf`] | |
//! | [`neg`], [`abs`], [`square`], [`powi`], [`powf`], [`clamp`], [`recip`] | [`neg_backward`] and so on: `NAME_backward` |
//! | [`sqrt`], [`cbrt`], [`exp`], [`exp_m1`], [`ln`], [`ln_1p`], [`log2`], [`log10`] | [`sqrt_backward`] and so on |
//! | [`sin`], [`cos`], [`tan`], [`asin`], [`acos`], [`atan`], [`sinh`], [`cosh`], [`tanh`] | [`sin_backward`] and so on |
//! | [`sign`], [`round`], [`floor`], [`ceil`], [`trunc`], [`not`], [`conj`], [`real`], [`imag`] | |
//! | [`add()`], [`sub()`], [`mul()`], [`div()`] ([`Partner`]) | [`add_backward`], [`sub_backward`], [`mul_backward`], [`div_backward`] |
//! | [`mul_nonzero`] | [`mul_backward`] |
//! | [`minimum`], [`maximum`], [`pow()`] | [`minimum_backward`], [`maximum_backward`], [`pow_backward`] |
//! | [`rem()`], [`rem_euclid`], [`bit_and`], [`bit_or`], [`bit_xor`] | |
//! | [`equal`], [`not_equal`], [`less`], [`less_equal`], [`greater`], [`greater_equal`] | |
//! | [`where_`] ([`Choice`]) | [`where_backward`] |
//! | [`einsum()`] ([`Einsum`]), [`tensordot`] | [`einsum_backward`], [`tensordot_backward`] |
//! | [`outer()`], [`kron`] | [`outer_backward`], [`kron_backward`] |
//! | [`mttkrp()`], [`ttv`], [`ttm`] | [`mttkrp_backward`], [`ttv_backward`], [`ttm_backward`] |
//! | [`softmax()`], [`log_softmax`] | [`softmax_backward`], [`log_softmax_backward`] |
//! | [`CooPattern::sddmm`], [`Stored::sddmm`] | [`CooPattern::sddmm_backward`], [`Stored::sddmm_backward`] |
//! | [`matmul()`] | [`matmul_backward`] |
//! | [`matmul_with()`] ([`Matmul`], [`Semiring`]) | [`matmul_backward`] |
//! | [`scale()`] ([`Factors`]), [`CooTensor::permute_axes`], [`CooTensor::reshape`] | [those of other operations](documents::gradients) |
//! | [`zip_with`], [`allclose()`] ([`Tolerance`]) | |
//! | [`Stored::mask`], [`Stored::without`] | [`Stored::mask_backward`], [`Stored::without_backward`] |
//!
//! The elementwise ones, and `take` of arrays, have forms that fill a result that is there already: [`isin_into`],
//! [`isnan_into`] and the like ([`Answers`] says what they fill), [`take_into`].
//!
//! # What holds everywhere
//!
//! - If `f(x)` returns a result, `f(x).to_dense() == f(x.to_dense())`, bit for bit, and nothing builds the dense array to
//!   get there. What asks for something else says so: [`x.stored()`](Tensor::stored) looks at what is stored.
//! - What a result stores depends on what its input stores, never on values; a stored zero stays.
//! - A gradient of a sparse tensor has its pattern (shared), a fill of 0, and the element type of the upstream
//!   gradient.
//! - The same bits at any number of threads.
//! - No input makes a fallible function panic, or allocate out of proportion.
//!
//! # Features
//!
//! `rayon`, `sprs`, `machine` (huge pages, wide vectors, bare look-ups) and `io` (files) are on by default; `half`,
//! `serde`, `parquet` (files and folders of Parquet), `arrow` (record batches), `spy` (pictures) and `cli` (the program
//! `lacuna`) are not.

#![cfg_attr(not(feature = "machine"), forbid(unsafe_code))]
// Graphs and operations on run-time types use what others leave unused.
#![cfg_attr(
    not(all(feature = "dynamic", feature = "lazy", feature = "io")),
    allow(dead_code, unreachable_pub, unused_imports, unused_macros)
)]

mod base;
mod convert;
pub mod dynamic;
mod element;
// The unit tests ask nothing of it, and would compile all operations once more.
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
pub use base::shape::Shape;
pub use convert::{PaddleCsr, TorchCsr};
pub use element::{
    Bits, ComplexElement, DType, Element, Float, Magnitude, Number, Numeric, Real, RealNumber, Remainder, Ring, Signed,
};
pub use ops::{
    Answers, EvenCount, Isin, IsinKind, MedianGradient, Nanmedian, Operand, Operations, Take, TakeMode, Var, all, any,
    any_backward, argmax, argmin, count_nonzero, isfinite, isfinite_into, isin, isin_into, isinf, isinf_into, isnan,
    isnan_into, isneginf, isneginf_into, isposinf, isposinf_into, isreal, isreal_into, max, max_backward, mean,
    mean_backward, min, min_backward, nanargmax, nanargmin, nanmax, nanmax_backward, nanmean, nanmean_backward,
    nanmedian, nanmedian_backward, nanmedian_index, nanmin, nanmin_backward, nanstd, nanstd_backward, nansum,
    nansum_backward, nanvar, nanvar_backward, std, std_backward, sum, sum_backward, take, take_axis,
    take_axis_backward, take_backward, take_into, var, var_backward,
};
pub use ops::{
    Choice, Factors, Partner, add, add_backward, bit_and, bit_or, bit_xor, div, div_backward, equal, greater,
    greater_equal, less, less_equal, maximum, minimum, mul, mul_backward, mul_nonzero, not_equal, rem, rem_euclid,
    scale, sub, sub_backward, where_, zip_with,
};
pub use ops::{
    Einsum, einsum, einsum_backward, kron, kron_backward, log_softmax, log_softmax_backward, mttkrp, mttkrp_backward,
    outer, outer_backward, softmax, softmax_backward, tensordot, tensordot_backward, ttm, ttm_backward, ttv,
    ttv_backward,
};
pub use ops::{GroupBy, GroupLabels, argsort, group_by, topk, topk_backward, topk_index, unique};
pub use ops::{Matmul, Semiring, matmul, matmul_backward, matmul_with};
pub use ops::{
    Norm, NormOrder, Quantile, QuantileMethod, median, median_backward, nanprod, nanprod_backward, nanquantile,
    nanquantile_backward, norm, norm_backward, prod, prod_backward, quantile, quantile_backward,
};
pub use ops::{Tolerance, allclose, maximum_backward, minimum_backward, pow, pow_backward, where_backward};
pub use ops::{
    abs, abs_backward, acos, acos_backward, asin, asin_backward, atan, atan_backward, cbrt, cbrt_backward, ceil, clamp,
    clamp_backward, conj, cos, cos_backward, cosh, cosh_backward, exp, exp_backward, exp_m1, exp_m1_backward, floor,
    imag, ln, ln_1p, ln_1p_backward, ln_backward, log2, log2_backward, log10, log10_backward, neg, neg_backward, not,
    powf, powf_backward, powi, powi_backward, real, recip, recip_backward, round, sign, sin, sin_backward, sinh,
    sinh_backward, sqrt, sqrt_backward, square, square_backward, tan, tan_backward, tanh, tanh_backward, trunc,
};
pub use ops::{
    block, broadcast_to, broadcast_to_backward, concat, concat_backward, diagonal, diagonal_backward, expand_dims,
    expand_dims_backward, flip, flip_backward, move_axis, move_axis_backward, pad, pad_backward, repeat,
    repeat_backward, roll, roll_backward, slice, slice_backward, squeeze, squeeze_backward, stack, stack_backward,
    tile, tile_backward, transpose, transpose_backward, tril, tril_backward, triu, triu_backward,
};
pub use pattern::{CooPattern, CsrPattern, Format, Pattern};
pub use tensor::Tensor;
pub use tensor::coo::CooTensor;
pub use tensor::csr::CsrTensor;
pub use tensor::entries::{Coords, Entries, IntoEntries};
pub use tensor::stored::Stored;
pub use tensor::triplets::{Duplicates, Triplets};

/// The types and traits of daily work: `use lacuna::prelude::*;`.
///
/// With it `ndarray` arrays have the methods that tensors have ([`Operations`]), and nothing collides with a method of
/// iterators. Functions, errors and what few programs name stay where they are.
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

/// The guide and its companions, as they stand in the repository: pages without code, which no program can name.
///
/// Their snippets are run as tests.
///
/// | document | what it is for |
/// | --- | --- |
/// | [`guide`](documents::guide) | to learn the library from, in six steps |
/// | [`formats`](documents::formats) | what COO and CSR hold, and what it costs |
/// | [`files`](documents::files) | Matrix Market, `.tns`, `.npy`, `.npz`, Parquet and tables (`.csv`) |
/// | [`larger`](documents::larger) | what to do when a tensor does not fit memory |
/// | [`semantics`](documents::semantics) | what each operation means, and every difference from other libraries |
/// | [`sums`](documents::sums) | why sums are exact, and how |
/// | [`gradients`](documents::gradients) | what the backward passes promise |
/// | [`translation`](documents::translation) | for those who come from numpy, scipy, pydata/sparse or PyTorch |
/// | [`architecture`](documents::architecture) | how the sources are laid out, and how an operation is added |
///
/// # In the repository
///
/// Links of these pages to a file without a page lead here.
///
/// | file | content |
/// | --- | --- |
/// | `docs/cli.md` | the command line `lacuna`, and its expressions |
/// | `docs/operations.md` | types, formats, gradients and engines of each operation |
/// | `docs/performance.md` | benchmarks |
/// | `docs/decisions/` | the reasons of larger decisions, by number |
/// | `docs/examples/` | programs, run by `cargo run --features lazy --example NAME` |
/// | `src/engines/datafusion/README.md` | the package `lacuna-datafusion`, and workers on several machines |
#[cfg(any(doc, doctest))]
pub mod documents {
    // The documents lead to each other as files; of two targets for one name the first counts, and here that is a page.
    #[doc = "[formats]: crate::documents::formats\n[files]: crate::documents::files"]
    #[doc = "[larger]: crate::documents::larger\n[semantics]: crate::documents::semantics"]
    #[doc = "[gradients]: crate::documents::gradients\n[sums]: crate::documents::sums"]
    #[doc = "[gradients of a graph]: crate::documents::gradients#gradients-of-a-graph"]
    #[doc = "[translation]: crate::documents::translation\n[cli]: crate::documents#in-the-repository"]
    #[doc = "[operations]: crate::documents#in-the-repository\n[0015]: crate::documents#in-the-repository\n"]
    #[doc = "[small]: crate::documents::semantics#a-small-operand-with-a-large-one\n"]
    #[doc = include_str!("../docs/guide.md")]
    pub mod guide {}
    #[doc = include_str!("../docs/formats.md")]
    pub mod formats {}
    #[cfg(any(feature = "io", not(doctest)))]
    #[doc = "[duplicates]: crate::Duplicates"]
    #[doc = "[cli]: crate::documents#in-the-repository\n[encodings]: crate::documents#in-the-repository"]
    #[doc = "[0017]: crate::documents#in-the-repository\n"]
    #[doc = include_str!("../docs/files.md")]
    pub mod files {}
    #[doc = "[damaged]: crate::documents::files#damaged-parquet\n[folders]: crate::documents::files#folders-of-tables"]
    #[doc = "[figures]: crate::documents#in-the-repository\n[workers]: crate::documents#in-the-repository"]
    #[doc = "[0018]: crate::documents#in-the-repository\n[0019]: crate::documents#in-the-repository\n"]
    #[doc = include_str!("../docs/larger.md")]
    pub mod larger {}
    #[doc = "[gradients]: crate::documents::gradients\n[sums]: crate::documents::sums"]
    #[doc = "[0012]: crate::documents#in-the-repository\n"]
    #[doc = include_str!("../docs/semantics.md")]
    pub mod semantics {}
    #[doc = "[graphs]: crate::documents::guide#lazy-chains-and-static-graphs"]
    #[doc = "[semantics]: crate::documents::semantics\n[cli]: crate::documents#in-the-repository"]
    #[doc = "[operations]: crate::documents#in-the-repository\n"]
    #[doc = include_str!("../docs/gradients.md")]
    pub mod gradients {}
    #[doc = "[files]: crate::documents::files\n[semantics]: crate::documents::semantics"]
    #[doc = "[gradients]: crate::documents::gradients\n[tables]: crate::documents::files#tables-csv"]
    #[doc = "[graphs]: crate::documents::guide#lazy-chains-and-static-graphs"]
    #[doc = "[solvers]: crate::documents::guide#what-is-not-here"]
    #[doc = "[paths]: crate::documents#in-the-repository\n"]
    #[doc = include_str!("../docs/translation.md")]
    pub mod translation {}
    #[doc = "[figures]: crate::documents#in-the-repository\n"]
    #[doc = include_str!("../docs/sums.md")]
    pub mod sums {}
    #[doc = "[sums]: crate::documents::sums\n[0005]: crate::documents#in-the-repository"]
    #[doc = "[0016]: crate::documents#in-the-repository\n"]
    #[doc = include_str!("../docs/architecture.md")]
    pub mod architecture {}
    #[cfg(doctest)]
    #[doc = include_str!("../README.md")]
    pub mod readme {}
}
