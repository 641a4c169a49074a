//! Reductions and their gradients, of each kind of operand, against those of the reference.

use std::collections::BTreeSet;

use lacuna::{Pattern, Result, Tensor};

use super::{Both, assert_computed};
use crate::reference::dense::Dense;

/// Demands the expected array with the expected pattern, or an error where there is none.
#[track_caller]
pub fn assert_found<P: Pattern, U: Both>(
    found: Result<Tensor<P, U>>,
    expected: &Option<Dense<U>>,
    stored: &BTreeSet<Vec<usize>>,
) {
    match expected {
        Some(expected) => assert_computed(&found.unwrap(), expected, stored),
        None => assert!(found.is_err(), "{found:?}"),
    }
}

/// Demands that a reduction of each kind of operand is the reference's, and that of a stored view what the entries
/// give: `$nothing` is the fill of its result.
macro_rules! check_reduction {
    ($case:expr, $name:ident $(($argument:expr))?, $options:expr, $reference:expr, $nothing:expr) => {{
        use crate::reference::{reductions, structure};
        let crate::generators::Reduction { x, axes, normalised, keep_dims, .. } = $case;
        let dense = x.to_dense();
        let options = $options(axes_of(axes, *keep_dims));
        let expected = reductions::reduce(&dense, normalised, *keep_dims, $reference);
        let stored = structure::reduce(&x.coords(), normalised, *keep_dims);
        assert_found($name(&coo(x), $($argument,)? &options), &expected, &stored);
        assert_found($name(&csr(x), $($argument,)? &options), &expected, &stored);
        for_each_layout(&dense, |_, view| match &expected {
            Some(expected) => assert_array(&$name(&view, $($argument,)? &options).unwrap(), expected),
            None => assert!($name(&view, $($argument,)? &options).is_err()),
        });
        let found = $name(&coo(x).stored(), $($argument,)? &options);
        match reductions::reduce_stored(x, normalised, *keep_dims, $reference, $nothing) {
            Some(expected) => assert_entries(&found.unwrap(), &expected),
            None => assert!(found.is_err(), "{found:?}"),
        }
    }};
}

/// Demands that the gradients of all kinds of operands, from upstream gradients of all kinds, are the reference's.
macro_rules! check_gradient {
    ($case:expr, $name:ident $(($argument:expr))?, $options:expr, $shares:expr) => {{
        let crate::generators::Reduction { x, axes, normalised, keep_dims, upstream } = $case;
        let options = $options(axes_of(axes, *keep_dims));
        let (sparse, whole) = (coo(upstream), array(&upstream.to_dense()));
        let dense =
            crate::reference::reductions::backward(&x.to_dense(), normalised, *keep_dims, &upstream.to_dense(), $shares);
        let expected = x.pattern_of(&dense);
        assert_entries(&lacuna::grad::$name(&coo(x), &sparse, $($argument,)? &options).unwrap(), &expected);
        assert_entries(&lacuna::grad::$name(&csr(x), &whole, $($argument,)? &options).unwrap(), &expected);
        assert_array(&lacuna::grad::$name(&array(&x.to_dense()), &sparse, $($argument,)? &options).unwrap(), &dense);
    }};
}
