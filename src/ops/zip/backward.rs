//! The gradients of operations of two operands.

use super::broadcast_shape;
use crate::base::alloc;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::element::{Element, Float, Numeric, math};
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;

/// The shape of the result; refuses an upstream gradient of another one.
fn shape_of<X: Operand, Y: Operand, U: Operand>(x: &X, y: &Y, upstream: &U) -> Result<Shape> {
    let shape = broadcast_shape(x.lengths(), y.lengths())?;
    check_upstream(upstream, &shape)?;
    Ok(shape)
}

/// A function of a gradient and of an element beside it, for all of them.
fn each<T: Element, E: Element>(
    gradients: Vec<T>,
    elements: &[E],
    of: impl Fn(T, E) -> Option<T> + Sync,
) -> Result<Vec<T>> {
    Ok(threads::filled(gradients.len(), 700, |range, slots| {
        let pairs = gradients[range.clone()].iter().zip(&elements[range]);
        // Of floats there is always a result.
        slots.iter_mut().zip(pairs).for_each(|(slot, (&g, &e))| *slot = of(g, e).unwrap_or(T::ZERO));
    })?)
}

/// The slopes at pairs of elements, beside which the gradients stand.
fn slopes<T: Element>(first: &[T], second: &[T], of: impl Fn(T, T) -> T + Sync) -> Result<Vec<T>> {
    Ok(threads::filled(first.len(), 3000, |range, slots| {
        let pairs = first[range.clone()].iter().zip(&second[range]);
        slots.iter_mut().zip(pairs).for_each(|(slot, (&a, &b))| *slot = of(a, b));
    })?)
}

/// The gradients of the entries of an operand where one is a stored view: those that `met` has where the other operand
/// has an element too; of an entry that stands alone what comes for its result, if it has one. What an array has alone
/// is in no result.
fn of_entries<X: Operand, Y: Operand, U: Operand<Elem: Float + Numeric>>(
    own: &X,
    other: &Y,
    met: Vec<U::Elem>,
    upstream: &U,
    alone: Option<fn(U::Elem) -> U::Elem>,
) -> Result<Vec<U::Elem>> {
    let Some(marks) = other.marks()? else { return Ok(met) };
    let (is_met, is_sparse) = (own.elements_of(&marks)?, own.marks()?.is_some());
    match alone.filter(|_| is_sparse) {
        None => each(met, &is_met, |g, is_met| is_met.then_some(g)),
        Some(of) => {
            let pairs = met.into_iter().zip(own.elements_of(upstream)?).zip(is_met);
            Ok(alloc::collect(pairs.map(|((met, g), is_met)| if is_met { met } else { of(g) }))?)
        }
    }
}

/// The two gradients of a function of two operands.
type Gradients<X, Y, T> = (<X as Operand>::Reduced<T>, <Y as Operand>::Reduced<T>);

/// What the pages of gradients have in common. In a body `x` and `y` are the operands in the shape of the result.
macro_rules! backward {
    ($(
        $(#[doc = $before:literal])*
        fn $name:ident |$x:ident, $y:ident, $upstream:ident| $body:expr;
        alone = $alone:expr;
        nan = $nan:literal;
        $(#[doc = $example:literal])*
        source = $source:literal;
    )*) => {$(
        $(#[doc = $before])*
        ///
        /// # Shapes
        ///
        /// `upstream` has exactly the shape of the forward result; each gradient has the shape of its operand. An
        /// element that was broadcast receives the sum of what comes for it, [exact](crate::sum()) and rounded once.
        ///
        /// # Implicit values
        ///
        /// The gradient of a sparse operand has its pattern (shared) and a fill of 0: at its entries it is that of the
        /// dense operand. There the other operand and `upstream` count with their fills where they store nothing. Where
        /// an operand is a [stored view](crate::Stored), an entry that stands alone receives what its result does, if
        /// it has one, and else 0.
        ///
        /// # NaN
        ///
        #[doc = $nan]
        ///
        /// # Gradient
        ///
        /// None: gradients of gradients are not here.
        ///
        /// # Errors
        ///
        /// - `NotBroadcastable`: the shapes do not fit;
        /// - `ShapeMismatch`: `upstream` has another shape than the forward result;
        /// - `TooLarge`: a sparse operand is broadcast to too many entries.
        ///
        /// # Complexity
        ///
        /// O(nnz) of each, broadcast, and at most a search of O(rank · log nnz) for each entry.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use lacuna::{CooTensor, ", stringify!($name), "};")]
        ///
        $(#[doc = $example])*
        /// # Ok::<(), lacuna::Error>(())
        /// ```
        ///
        #[doc = $source]
        pub fn $name<X, Y, U>(x: &X, y: &Y, $upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
        where
            X: Operand<Elem = U::Elem>,
            Y: Operand<Elem = U::Elem>,
            U: Operand<Elem: Float + Numeric>,
        {
            let shape = shape_of(x, y, $upstream)?;
            let counts_gaps = x.counts_gaps() && y.counts_gaps();
            let ($x, $y) = (x.in_shape(&shape)?, y.in_shape(&shape)?);
            let (of_x, of_y) = $body;
            let (of_x, of_y) = match counts_gaps {
                true => (of_x, of_y),
                false => {
                    let alone: [Option<fn(U::Elem) -> U::Elem>; 2] = $alone;
                    let of_x = of_entries(&$x, &$y, of_x, $upstream, alone[0])?;
                    (of_x, of_entries(&$y, &$x, of_y, $upstream, alone[1])?)
                }
            };
            Ok((x.gradient_of(of_x, &shape)?, y.gradient_of(of_y, &shape)?))
        }
    )*};
}

backward! {
    /// The gradient of [`add`](crate::add()): what comes, for both.
    ///
    /// *dx* = *dz*, *dy* = *dz*
    fn add_backward |x, y, upstream| (x.elements_of(upstream)?, y.elements_of(upstream)?);
    alone = [Some(|g| g), Some(|g| g)];
    nan = "Gradients are handed on as they are.";
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![2]], vec![4.0], 0.0)?;
    /// let (dx, dy) = add_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!((dx.values(), dy.values()), (&[10.0, 20.0][..], &[30.0][..]));
    /// assert!(dx.shares_pattern_with(&x));
    /// // a row beside a matrix receives the sums of the columns
    /// let (_, drow) = add_backward(&ndarray::arr2(&[[1.0; 3]; 2]), &x, &ndarray::arr2(&[[1.0, 2.0, 3.0],
    /// [10.0, 20.0, 30.0]]))?; assert_eq!(drow.values(), [11.0, 22.0]);
    source = "Source: the rule of calculus; \
         [`torch.add`](https://docs.pytorch.org/docs/stable/generated/torch.add.html).";

    /// The gradient of [`sub`](crate::sub()): what comes for the left, with the other sign for the right.
    ///
    /// *dx* = *dz*, *dy* = −*dz*
    fn sub_backward |x, y, upstream| {
        let negative = |g: U::Elem| g.checked_neg().unwrap_or(U::Elem::ZERO);
        (x.elements_of(upstream)?, threads::map(&y.elements_of(upstream)?, 700, negative)?)
    };
    alone = [Some(|g| g), Some(|g| g.checked_neg().unwrap_or(g))];
    nan = "As in [`sub`](crate::sub()).";
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![2]], vec![4.0], 0.0)?;
    /// let (dx, dy) = sub_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!((dx.values(), dy.values()), (&[10.0, 20.0][..], &[-30.0][..]));
    source = "Source: the rule of calculus; \
         [`torch.sub`](https://docs.pytorch.org/docs/stable/generated/torch.sub.html).";

    /// The gradient of [`mul`](crate::mul()): what comes, times the other operand.
    ///
    /// *dx* = *dz* · *y*, *dy* = *dz* · *x*
    fn mul_backward |x, y, upstream| {
        let of_x = each(x.elements_of(upstream)?, &x.elements_of(&y)?, U::Elem::checked_mul)?;
        (of_x, each(y.elements_of(upstream)?, &y.elements_of(&x)?, U::Elem::checked_mul)?)
    };
    alone = [None, None];
    nan = "As in [`mul`](crate::mul()).";
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![1, 2]], vec![4.0, 5.0], 0.0)?;
    /// let (dx, dy) = mul_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!((dx.values(), dy.values()), (&[0.0, 80.0][..], &[60.0, 0.0][..]));
    source = "Source: the rule of calculus; \
         [`torch.mul`](https://docs.pytorch.org/docs/stable/generated/torch.mul.html).";

    /// The gradient of [`div`](crate::div()).
    ///
    /// *dx* = *dz* / *y*, *dy* = −(*dz* · ((*x* / *y*) / *y*)), each step rounded
    fn div_backward |x, y, upstream| {
        let of_x = each(x.elements_of(upstream)?, &x.elements_of(&y)?, U::Elem::checked_div)?;
        let twice = |x: U::Elem, y: U::Elem| x.checked_div(y)?.checked_div(y);
        let quotients = each(y.elements_of(&x)?, &y.elements_of(&y)?, twice)?;
        let negative = |g: U::Elem, quotient: U::Elem| g.checked_mul(quotient)?.checked_neg();
        (of_x, each(y.elements_of(upstream)?, &quotients, negative)?)
    };
    alone = [None, None];
    nan = "As in [`div`](crate::div()): where *y* is zero the gradients are NaN or infinite.";
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![1, 2]], vec![4.0, 5.0], 1.0)?;
    /// let (dx, dy) = div_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!(dx.values(), [10.0, 5.0]);
    /// assert_eq!(dy.values(), [-3.75, 0.0]); // of 3 / 4 / 4, and of 0 / 5 / 5
    source = "Source: the rule of calculus, in the order of \
         [`torch.div`](https://docs.pytorch.org/docs/stable/generated/torch.div.html).";

    /// The gradient of [`minimum`](crate::minimum()): what comes, for the smaller one; half of it for each of two
    /// equals.
    ///
    /// *dx* = *dz* where *x* < *y*, *dz* / 2 where *x* = *y*, 0 else; and so for *y*
    fn minimum_backward |x, y, upstream| {
        let share = |own: U::Elem, other: U::Elem| share_of(own < other, own == other);
        let of_x = each(x.elements_of(upstream)?, &slopes(&x.elements_of(&x)?, &x.elements_of(&y)?, share)?, shared)?;
        (of_x, each(y.elements_of(upstream)?, &slopes(&y.elements_of(&y)?, &y.elements_of(&x)?, share)?, shared)?)
    };
    alone = [Some(|g| g), Some(|g| g)];
    nan = "Where either element is NaN, both receive 0. Zeros of both signs are equal.";
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![1, 2]], vec![3.0, -1.0], 0.0)?;
    /// let (dx, dy) = minimum_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!((dx.values(), dy.values()), (&[0.0, 10.0][..], &[10.0, 30.0][..]));
    source = "Definition: [`torch.minimum`](https://docs.pytorch.org/docs/stable/generated/torch.minimum.html) and its \
         gradient.";

    /// The gradient of [`maximum`](crate::maximum()): what comes, for the greater one; half of it for each of two
    /// equals.
    ///
    /// *dx* = *dz* where *x* > *y*, *dz* / 2 where *x* = *y*, 0 else; and so for *y*
    fn maximum_backward |x, y, upstream| {
        let share = |own: U::Elem, other: U::Elem| share_of(own > other, own == other);
        let of_x = each(x.elements_of(upstream)?, &slopes(&x.elements_of(&x)?, &x.elements_of(&y)?, share)?, shared)?;
        (of_x, each(y.elements_of(upstream)?, &slopes(&y.elements_of(&y)?, &y.elements_of(&x)?, share)?, shared)?)
    };
    alone = [Some(|g| g), Some(|g| g)];
    nan = "Where either element is NaN, both receive 0. Zeros of both signs are equal.";
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
    /// let y = CooTensor::new([3], vec![vec![1, 2]], vec![3.0, -1.0], 0.0)?;
    /// let (dx, dy) = maximum_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!((dx.values(), dy.values()), (&[10.0, 10.0][..], &[10.0, 0.0][..]));
    source = "Definition: [`torch.maximum`](https://docs.pytorch.org/docs/stable/generated/torch.maximum.html) and its \
         gradient.";

    /// The gradient of [`pow`](crate::pow()).
    ///
    /// *dx* = *dz* · (*y* · *x*<sup>*y* − 1</sup>), *dy* = *dz* · (*z* · ln *x*); each slope through `f64`, rounded
    /// once
    ///
    /// The slope of a constant is 0: *dx* where *y* = 0, and *dy* where *x* = 0 and *y* ≥ 0.
    fn pow_backward |x, y, upstream| {
        let of_base = |x: U::Elem, y: U::Elem| U::Elem::from_f64(math::slope_of_pow(x.into(), y.into()));
        let of_exponent = |x: U::Elem, y: U::Elem| U::Elem::from_f64(math::slope_of_exponent(x.into(), y.into()));
        let bases = slopes(&x.elements_of(&x)?, &x.elements_of(&y)?, of_base)?;
        let exponents = slopes(&y.elements_of(&x)?, &y.elements_of(&y)?, of_exponent)?;
        let of_x = each(x.elements_of(upstream)?, &bases, U::Elem::checked_mul)?;
        (of_x, each(y.elements_of(upstream)?, &exponents, U::Elem::checked_mul)?)
    };
    alone = [None, None];
    nan = "As in [`pow`](crate::pow()); of a negative base *dy* is NaN.";
    /// let x = CooTensor::new([3], vec![vec![0, 1]], vec![1.0, 3.0], 1.0)?;
    /// let y = CooTensor::new([3], vec![vec![0, 1]], vec![5.0, 2.0], 1.0)?;
    /// let (dx, dy) = pow_backward(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
    /// assert_eq!(dx.values(), [50.0, 120.0]);
    /// assert_eq!(dy.values()[0], 0.0); // the logarithm of 1
    source = "Source: the rule of calculus; \
         [`torch.pow`](https://docs.pytorch.org/docs/stable/generated/torch.pow.html).";
}

/// How much of a gradient an element receives that is preferred, or equal to the other.
fn share_of<T: Float>(is_preferred: bool, is_equal: bool) -> T {
    T::from_f64(if is_preferred { 1.0 } else { 0.5 * f64::from(u8::from(is_equal)) })
}

/// The share of a gradient; nothing of it is 0, whatever it is.
fn shared<T: Float + Numeric>(gradient: T, share: T) -> Option<T> {
    if share == T::ONE {
        Some(gradient)
    } else if share == T::ZERO {
        None
    } else {
        gradient.checked_mul(share)
    }
}

/// The gradients of [`where_`](crate::where_()): what comes, for the one that was chosen.
///
/// *da* = *dz* where the condition holds, 0 else; *db* the other way round
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result; each gradient has the shape of its operand. An element that
/// was broadcast receives the sum of what comes for it, [exact](crate::sum()) and rounded once. A number that was
/// chosen from is `ndarray::arr0` of it.
///
/// # Implicit values
///
/// The gradient of a sparse operand has its pattern (shared) and a fill of 0: at its entries it is that of the dense
/// operand. There the condition and `upstream` count with their fills where they store nothing.
///
/// # NaN
///
/// Gradients are handed on as they are.
///
/// # Gradient
///
/// None: gradients of gradients are not here. The condition has none.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes do not fit;
/// - `ShapeMismatch`: `upstream` has another shape than the forward result;
/// - `TooLarge`: a sparse operand is broadcast to too many entries.
///
/// # Complexity
///
/// O(nnz) of each, broadcast, and at most a search of O(rank · log nnz) for each entry.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, where_backward};
///
/// let x = CooTensor::new([3], vec![vec![0, 1]], vec![-2.0, 7.0], 0.0)?;
/// let y = CooTensor::new([3], vec![vec![0, 2]], vec![5.0, 6.0], 0.0)?;
/// let upstream = ndarray::arr1(&[10.0, 20.0, 30.0]);
/// let (dx, dy) = where_backward(&x.less(0.0)?, &x, &y, &upstream)?;
/// assert_eq!((dx.values(), dy.values()), (&[10.0, 0.0][..], &[0.0, 30.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: [`torch.where`](https://docs.pytorch.org/docs/stable/generated/torch.where.html) and its gradient.
pub fn where_backward<C, A, B, U>(condition: &C, yes: &A, no: &B, upstream: &U) -> Result<Gradients<A, B, U::Elem>>
where
    C: Operand<Elem = bool>,
    A: Operand,
    B: Operand,
    U: Operand<Elem: Float>,
{
    let shape = broadcast_shape(&broadcast_shape(condition.lengths(), yes.lengths())?, no.lengths())?;
    check_upstream(upstream, &shape)?;
    let (c, a, b) = (condition.in_shape(&shape)?, yes.in_shape(&shape)?, no.in_shape(&shape)?);
    let of_yes = each(a.elements_of(upstream)?, &a.elements_of(&c)?, |g, is_chosen| is_chosen.then_some(g))?;
    let of_no = each(b.elements_of(upstream)?, &b.elements_of(&c)?, |g, is_chosen| (!is_chosen).then_some(g))?;
    Ok((yes.gradient_of(of_yes, &shape)?, no.gradient_of(of_no, &shape)?))
}
