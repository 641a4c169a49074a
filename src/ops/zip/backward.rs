//! The gradients of sums, differences, products and quotients.

use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::base::threads;
use crate::element::{Element, Float, Numeric};
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;

/// Refuses what is not of one shape.
fn check_shapes<X: Operand, Y: Operand, U: Operand>(x: &X, y: &Y, upstream: &U) -> Result<()> {
    let (expected, found) = (Shape::from(x.lengths()), Shape::from(y.lengths()));
    if expected != found {
        return Err(Error::ShapeMismatch { what: "the operand on the right", expected, found });
    }
    check_upstream(upstream, &expected)
}

/// A function of a gradient and of an element beside it, for all of them.
fn each<T: Element>(gradients: Vec<T>, elements: &[T], of: impl Fn(T, T) -> Option<T> + Sync) -> Result<Vec<T>> {
    Ok(threads::filled(gradients.len(), 700, |range, slots| {
        let pairs = gradients[range.clone()].iter().zip(&elements[range]);
        // Of floats there is always a result.
        slots.iter_mut().zip(pairs).for_each(|(slot, (&g, &e))| *slot = of(g, e).unwrap_or(T::ZERO));
    })?)
}

/// The two gradients of a function of two operands.
type Gradients<X, Y, T> = (<X as Operand>::Reduced<T>, <Y as Operand>::Reduced<T>);

/// What the pages of gradients have in common: shapes, implicit values, errors.
macro_rules! backward {
    ($(#[doc = $before:literal])* $name:ident $elem:ident |$x:ident, $y:ident, $upstream:ident| $body:expr;
     $(#[doc = $after:literal])*) => {
        $(#[doc = $before])*
        ///
        /// # Shapes
        ///
        /// All three have one shape: a gradient of what was broadcast is not here yet.
        ///
        /// # Implicit values
        ///
        /// The gradient of a sparse operand has its pattern (shared) and a fill of 0: at its entries it is that of the
        /// dense operand. There the other operand and `upstream` count with their fills where they store nothing. Of
        /// [stored views](crate::Stored), the other operand is 0 where it has no entry.
        ///
        $(#[doc = $after])*
        pub fn $name<X, Y, U>($x: &X, $y: &Y, $upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
        where
            X: Operand<Elem = U::Elem>,
            Y: Operand<Elem = U::Elem>,
            U: Operand<Elem: $elem + Numeric>,
        {
            check_shapes($x, $y, $upstream)?;
            $body
        }
    };
}

backward! {
    /// The gradient of [`add`](crate::add()): what comes, for both.
    ///
    /// *dx* = *dz*, *dy* = *dz*
    add_backward Float |x, y, upstream| {
        Ok((x.gradient_of(x.elements_of(upstream)?), y.gradient_of(y.elements_of(upstream)?)))
    };
    /// # NaN
    ///
    /// Gradients are handed on as they are.
    ///
    /// # Gradient
    ///
    /// None: gradients of gradients are not here.
    ///
    /// # Errors
    ///
    /// `ShapeMismatch`: the shapes differ.
    ///
    /// # Complexity
    ///
    /// O(nnz) of each, and at most a search of O(rank · log nnz) for each entry.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CooTensor, add_backward};
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![2]], vec![4.0], 0.0)?;
    /// let (dx, dy) = add_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!((dx.values(), dy.values()), (&[10.0, 20.0][..], &[30.0][..]));
    /// assert!(dx.shares_pattern_with(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Source: the rule of calculus; [`torch.add`](https://docs.pytorch.org/docs/stable/generated/torch.add.html).
}

backward! {
    /// The gradient of [`sub`](crate::sub()): what comes for the left, with the other sign for the right.
    ///
    /// *dx* = *dz*, *dy* = −*dz*
    sub_backward Float |x, y, upstream| {
        let of_y = y.elements_of(upstream)?;
        let of_y = threads::map(&of_y, 700, |g| g.checked_neg().unwrap_or(U::Elem::ZERO))?;
        Ok((x.gradient_of(x.elements_of(upstream)?), y.gradient_of(of_y)))
    };
    /// # NaN
    ///
    /// As in [`sub`](crate::sub()).
    ///
    /// # Gradient
    ///
    /// None: gradients of gradients are not here.
    ///
    /// # Errors
    ///
    /// `ShapeMismatch`: the shapes differ.
    ///
    /// # Complexity
    ///
    /// O(nnz) of each, and at most a search of O(rank · log nnz) for each entry.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CooTensor, sub_backward};
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![2]], vec![4.0], 0.0)?;
    /// let (dx, dy) = sub_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!((dx.values(), dy.values()), (&[10.0, 20.0][..], &[-30.0][..]));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Source: the rule of calculus; [`torch.sub`](https://docs.pytorch.org/docs/stable/generated/torch.sub.html).
}

backward! {
    /// The gradient of [`mul`](crate::mul()): what comes, times the other operand.
    ///
    /// *dx* = *dz* · *y*, *dy* = *dz* · *x*
    mul_backward Float |x, y, upstream| {
        let of_x = each(x.elements_of(upstream)?, &x.elements_of(y)?, U::Elem::checked_mul)?;
        let of_y = each(y.elements_of(upstream)?, &y.elements_of(x)?, U::Elem::checked_mul)?;
        Ok((x.gradient_of(of_x), y.gradient_of(of_y)))
    };
    /// # NaN
    ///
    /// As in [`mul`](crate::mul()).
    ///
    /// # Gradient
    ///
    /// None: gradients of gradients are not here.
    ///
    /// # Errors
    ///
    /// `ShapeMismatch`: the shapes differ.
    ///
    /// # Complexity
    ///
    /// O(nnz) of each, and at most a search of O(rank · log nnz) for each entry.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CooTensor, mul_backward};
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![1, 2]], vec![4.0, 5.0], 0.0)?;
    /// let (dx, dy) = mul_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!((dx.values(), dy.values()), (&[0.0, 80.0][..], &[60.0, 0.0][..]));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Source: the rule of calculus; [`torch.mul`](https://docs.pytorch.org/docs/stable/generated/torch.mul.html).
}

backward! {
    /// The gradient of [`div`](crate::div()).
    ///
    /// *dx* = *dz* / *y*, *dy* = −(*dz* · ((*x* / *y*) / *y*)), each step rounded
    div_backward Float |x, y, upstream| {
        let of_x = each(x.elements_of(upstream)?, &x.elements_of(y)?, U::Elem::checked_div)?;
        let own = y.elements_of(y)?;
        let twice = |x: U::Elem, y: U::Elem| x.checked_div(y)?.checked_div(y);
        let quotients = each(y.elements_of(x)?, &own, twice)?;
        let negative = |g: U::Elem, quotient: U::Elem| g.checked_mul(quotient)?.checked_neg();
        let of_y = each(y.elements_of(upstream)?, &quotients, negative)?;
        Ok((x.gradient_of(of_x), y.gradient_of(of_y)))
    };
    /// # NaN
    ///
    /// As in [`div`](crate::div()): where *y* is zero the gradients are NaN or infinite.
    ///
    /// # Gradient
    ///
    /// None: gradients of gradients are not here.
    ///
    /// # Errors
    ///
    /// `ShapeMismatch`: the shapes differ.
    ///
    /// # Complexity
    ///
    /// O(nnz) of each, and at most a search of O(rank · log nnz) for each entry.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CooTensor, div_backward};
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![1, 2]], vec![4.0, 5.0], 1.0)?;
    /// let (dx, dy) = div_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!(dx.values(), [10.0, 5.0]);
    /// assert_eq!(dy.values(), [-3.75, 0.0]); // of 3 / 4 / 4, and of 0 / 5 / 5
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Source: the rule of calculus, in the order of
    /// [`torch.div`](https://docs.pytorch.org/docs/stable/generated/torch.div.html).
}
