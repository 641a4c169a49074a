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
//! | [`Error`] | why an input was refused, with numbers |
//!
//! # The operations
//!
//! Each is a function over every [`Operand`]: tensors of both formats, [`x.stored()`](Tensor::stored), which means
//! their entries alone, and `ndarray` arrays and views. And each is a method (of arrays through the [`prelude`]).
//! Options are a value with setters in the place of the plain argument: `x.nanmedian(1)`,
//! `x.nanmedian(Nanmedian::over(1).lower())`.
//!
//! What changes the form only is a method: [`to_dense`](Tensor::to_dense), `to_csr`, `to_coo`, `permute_axes`,
//! `reshape`, [`cast`](Tensor::cast), [`prune`](Tensor::prune), [`map_values`](Tensor::map_values), and the conversions
//! to and from sprs, Paddle's and PyTorch's layouts ([`PaddleCsr`], [`TorchCsr`]).
//!
//! | forward | backward |
//! | --- | --- |
//! | [`any()`] | [`any_backward`], a documented surrogate |
//! | [`count_nonzero`] | |
//! | [`nanmedian()`], [`nanmedian_index`] ([`Nanmedian`]) | [`nanmedian_backward`] |
//! | [`take()`], [`take_axis`] ([`Take`]) | [`take_backward`], [`take_axis_backward`] |
//! | [`isin()`] ([`Isin`]) | |
//! | [`isnan`], [`isinf`], [`isfinite`], [`isreal`], [`isposinf`], [`isneginf`] | |
//! | [`add()`], [`sub()`], [`mul()`], [`div()`] ([`Partner`]) | [`add_backward`], [`sub_backward`], [`mul_backward`], [`div_backward`] |
//! | [`rem()`], [`rem_euclid`], [`minimum`], [`maximum`], [`bit_and`], [`bit_or`], [`bit_xor`] | |
//! | [`equal`], [`not_equal`], [`less`], [`less_equal`], [`greater`], [`greater_equal`] | |
//! | [`zip_with`], [`where_`] ([`Choice`]), [`scale()`], [`Stored::mask`], [`Stored::without`] | |
//!
//! The elementwise ones, and `take` of arrays, have forms that fill a result that is there already: [`isin_into`],
//! [`isnan_into`] and the like ([`Answers`] says what they fill), [`take_into`].
//!
//! # What holds everywhere
//!
//! - `f(x).to_dense() == f(x.to_dense())`, bit for bit, and nothing builds the dense array to get there. What asks for
//!   something else says so: [`x.stored()`](Tensor::stored) looks at what is stored.
//! - What a result stores depends on what its input stores, never on values; a stored zero stays.
//! - A gradient of a sparse tensor has its pattern (shared), a fill of 0, and the element type of the upstream
//!   gradient.
//! - The same bits at any number of threads.
//! - No input makes a fallible function panic, or allocate out of proportion.
//!
//! # Features
//!
//! `rayon`, `sprs` and `machine` (huge pages, wide vectors) are on by default; `half`, `serde`, `io` (files),
//! `spy` (pictures) and `cli` (the program `lacuna`) are not.

#![cfg_attr(not(feature = "machine"), forbid(unsafe_code))]

mod base;
mod convert;
pub mod dynamic;
mod element;
#[cfg(feature = "io")]
pub mod io;
mod kernels;
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
pub use base::error::{Error, IoSource, Result};
pub use base::index::{Index, Position};
pub use base::shape::Shape;
pub use convert::{PaddleCsr, TorchCsr};
pub use element::{Bits, DType, Element, Float, Number, Numeric, Real, Remainder};
pub use ops::{
    Answers, EvenCount, Isin, IsinKind, MedianGradient, Nanmedian, Operand, Operations, Take, TakeMode, any,
    any_backward, count_nonzero, isfinite, isfinite_into, isin, isin_into, isinf, isinf_into, isnan, isnan_into,
    isneginf, isneginf_into, isposinf, isposinf_into, isreal, isreal_into, nanmedian, nanmedian_backward,
    nanmedian_index, take, take_axis, take_axis_backward, take_backward, take_into,
};
pub use ops::{
    Choice, Partner, add, add_backward, bit_and, bit_or, bit_xor, div, div_backward, equal, greater, greater_equal,
    less, less_equal, maximum, minimum, mul, mul_backward, not_equal, rem, rem_euclid, scale, sub, sub_backward,
    where_, zip_with,
};
pub use pattern::{CooPattern, CsrPattern, Format, Pattern};
pub use tensor::Tensor;
pub use tensor::coo::CooTensor;
pub use tensor::csr::CsrTensor;
pub use tensor::entries::{Coords, Entries, IntoEntries};
pub use tensor::stored::Stored;
pub use tensor::triplets::{Duplicates, Triplets};

/// The trait that gives `ndarray` arrays the methods that tensors have: `use lacuna::prelude::*;`.
///
/// It collides with no method of iterators:
///
/// ```
/// use lacuna::prelude::*;
/// use ndarray::arr2;
///
/// let dense = arr2(&[[0, 2], [0, 0]]);
/// assert_eq!(dense.any(1)?, ndarray::arr1(&[true, false]).into_dyn());
/// assert!(dense.iter().any(|&element| element == 2));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub mod prelude {
    pub use crate::ops::Operations;
}

/// The guide and its companions, as they stand in the repository: pages without code, which no program can name.
///
/// Their snippets are run as tests.
///
/// | document | what it is for |
/// | --- | --- |
/// | [`guide`](documents::guide) | to learn the library from, in six steps |
/// | [`formats`](documents::formats) | what COO and CSR hold, and what it costs |
/// | [`files`](documents::files) | Matrix Market, `.tns`, `.npy` and `.npz` |
/// | [`semantics`](documents::semantics) | what each operation means, and every difference from other libraries |
/// | [`gradients`](documents::gradients) | what the backward passes promise |
/// | [`translation`](documents::translation) | for those who come from numpy, scipy, pydata/sparse or PyTorch |
/// | [`architecture`](documents::architecture) | how the sources are laid out, and how an operation is added |
#[cfg(any(doc, doctest))]
pub mod documents {
    // The documents lead to each other as files; of two targets for one name the first counts, and here that is a page.
    #[doc = "[formats]: crate::documents::formats\n[files]: crate::documents::files"]
    #[doc = "[semantics]: crate::documents::semantics\n[gradients]: crate::documents::gradients"]
    #[doc = "[translation]: crate::documents::translation\n[cli]: crate#features\n"]
    #[doc = include_str!("../docs/guide.md")]
    pub mod guide {}
    #[doc = include_str!("../docs/formats.md")]
    pub mod formats {}
    #[cfg(any(feature = "io", not(doctest)))]
    #[doc = "[duplicates]: crate::Duplicates\n[cli]: crate#features\n"]
    #[doc = include_str!("../docs/files.md")]
    pub mod files {}
    #[doc = "[gradients]: crate::documents::gradients\n"]
    #[doc = include_str!("../docs/semantics.md")]
    pub mod semantics {}
    #[doc = include_str!("../docs/gradients.md")]
    pub mod gradients {}
    #[doc = "[files]: crate::documents::files\n[semantics]: crate::documents::semantics\n"]
    #[doc = "[gradients]: crate::documents::gradients\n"]
    #[doc = include_str!("../docs/translation.md")]
    pub mod translation {}
    #[doc = include_str!("../docs/architecture.md")]
    pub mod architecture {}
    #[cfg(doctest)]
    #[doc = include_str!("../README.md")]
    pub mod readme {}
}
