//! What an operation looks at: all of a tensor, or its entries alone.

use super::{AnyTensor, Erased};
use crate::base::error::Result;
use crate::base::limit::default_limit;
use crate::element::Element;
use crate::pattern::Format;
use crate::tensor::Tensor;

/// The entries of a tensor whose types are known at run time only: see [`Stored`](crate::Stored).
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::dynamic::AnyTensor;
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![3i8, 5], 0)?;
/// let any = AnyTensor::from(x);
/// assert_eq!(any.nanmedian(0)?.into_coo::<f64, u64>()?.values(), [1.5]); // of 0, 3, 5, 0
/// assert_eq!(any.stored().nanmedian(0)?.into_coo::<f64, u64>()?.values(), [4.0]); // of 3, 5
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AnyStored<'a> {
    pub(super) tensor: &'a AnyTensor,
}

/// A tensor, and whether only what is stored counts.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) tensor: &'a AnyTensor,
    pub(crate) stored: bool,
}

impl AnyTensor {
    /// What is stored alone: see [`Tensor::stored`](crate::Tensor::stored).
    pub fn stored(&self) -> AnyStored<'_> {
        AnyStored { tensor: self }
    }

    pub(super) fn view(&self) -> View<'_> {
        View { tensor: self, stored: false }
    }
}

impl<'a> AnyStored<'a> {
    /// The tensor whose entries these are.
    pub fn tensor(&self) -> &'a AnyTensor {
        self.tensor
    }

    pub(super) fn view(&self) -> View<'a> {
        View { tensor: self.tensor, stored: true }
    }
}

impl View<'_> {
    /// A result, in the format of the tensor.
    pub(super) fn found<U: Element>(self, result: Result<Erased<U>>) -> Result<AnyTensor> {
        in_format(&result?, self.tensor.format(), self.tensor.stored_bytes())
    }
}

/// The tensor in a format; offsets out of proportion to so many bytes of input are refused.
pub(super) fn in_format<U: Element>(x: &Erased<U>, format: Format, input_bytes: usize) -> Result<AnyTensor> {
    let pattern = x.pattern().in_format(format, default_limit(input_bytes))?;
    Ok(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill()).into())
}

/// Runs an operation on all of a tensor, or on its entries alone, as the view says.
macro_rules! seen {
    ($view:expr, $x:expr, $seen:ident => $body:expr) => {{
        let x = $x;
        match $view.stored {
            false => {
                let $seen = &x;
                $body
            }
            true => {
                let $seen = &x.stored();
                $body
            }
        }
    }};
}

/// The same of several, which are seen alike.
macro_rules! all_seen {
    ($stored:expr, $all:expr, $seen:ident => $body:expr) => {{
        let all = $all;
        match $stored {
            false => {
                let $seen: Vec<_> = all.iter().collect();
                $body
            }
            true => {
                let views: Vec<_> = all.iter().map(|x| x.stored()).collect();
                let $seen: Vec<_> = views.iter().collect();
                $body
            }
        }
    }};
}

/// Methods that a tensor and its stored entries both have.
macro_rules! on_both {
    ($($methods:tt)*) => {
        /// # Operations
        ///
        /// Each gives what its typed form gives; the pages stand at the functions of the same names.
        impl $crate::dynamic::AnyTensor {
            $($methods)*
        }

        /// # Operations
        ///
        /// Each gives what its typed form gives; the pages stand at the functions of the same names.
        impl $crate::dynamic::AnyStored<'_> {
            $($methods)*
        }
    };
}

pub(super) use {all_seen, on_both, seen};
