//! Weighted means and covariances as real numbers, rounded once.

use num_bigint::{BigInt, Sign};

use super::exact::{Real, Summed, SummedFloat, quotient};
use super::reductions::Group;

/// A value as a real number. Real elements have one part.
fn real<T: Summed>(value: T) -> Real {
    value.parts()[0].clone()
}

/// The product of two numbers, times 2^2148.
fn product(a: &Real, b: &Real) -> Real {
    let sign = |number: &Real| match number {
        Real::Finite(number) => number.sign(),
        Real::Infinite(positive) => {
            if *positive {
                Sign::Plus
            } else {
                Sign::Minus
            }
        }
        Real::Nan => Sign::NoSign,
    };
    match (a, b) {
        (Real::Finite(a), Real::Finite(b)) => Real::Finite(a * b),
        _ if sign(a) == Sign::NoSign || sign(b) == Sign::NoSign => Real::Nan,
        _ => Real::Infinite(sign(a) == sign(b)),
    }
}

/// A number times 2^1074 over another one, rounded once; NaN without a finite divisor that is not zero.
fn over<F: SummedFloat>(above: &Real, below: &Real) -> F {
    let Real::Finite(below) = below else { return F::narrow(f64::NAN) };
    let is_negative = below.sign() == Sign::Minus;
    F::narrow(match above {
        _ if below.sign() == Sign::NoSign => f64::NAN,
        Real::Nan => f64::NAN,
        Real::Infinite(positive) => {
            if *positive == is_negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        Real::Finite(above) if is_negative => quotient(&-above, &(-below << 1074u32), F::KIND),
        Real::Finite(above) => quotient(above, &(below << 1074u32), F::KIND),
    })
}

/// The mean of a group with the weights of its positions.
pub fn average<T: Summed, F: SummedFloat>(group: &Group<T>, weights: &[T]) -> Option<F> {
    let weight = |at: u64| real(weights[at as usize]);
    let above = Real::sum(group.iter().map(|&(at, value)| product(&real(value), &weight(at))));
    Some(over(&above, &Real::sum(group.iter().map(|&(at, _)| weight(at)))))
}

/// The gradients of the elements of a group, from the gradient of its mean.
pub fn average_shares<T: Summed, G: SummedFloat>(group: &Group<T>, g: G, weights: &[T]) -> Vec<G> {
    let weight = |at: u64| real(weights[at as usize]);
    let below = Real::sum(group.iter().map(|&(at, _)| weight(at)));
    let share = |&(at, _): &(u64, T)| over(&product(&Real::of(g.wide()), &weight(at)), &below);
    group.iter().map(share).collect()
}

/// The numerator of the covariance of two variables, as a real number times 2^2148: their number times the sum of the
/// products, less the product of the sums.
fn numerator(a: &[BigInt], b: &[BigInt]) -> BigInt {
    let products: BigInt = a.iter().zip(b).map(|(a, b)| a * b).sum();
    BigInt::from(a.len()) * products - a.iter().sum::<BigInt>() * b.iter().sum::<BigInt>()
}

/// The values of a variable; none if one is not finite.
fn finite<T: Summed>(values: &[T]) -> Option<Vec<BigInt>> {
    let number = |&value: &T| if let Real::Finite(number) = real(value) { Some(number) } else { None };
    values.iter().map(number).collect()
}

/// The covariance of two variables.
pub fn covariance<T: Summed, F: SummedFloat>(a: &[T], b: &[T], ddof: u64) -> F {
    let (n, below) = (a.len() as i128, a.len() as i128 - i128::from(ddof));
    F::narrow(match (finite(a), finite(b)) {
        (Some(a), Some(b)) if below > 0 => {
            quotient(&numerator(&a, &b), &((BigInt::from(n) * BigInt::from(below)) << 2148u32), F::KIND)
        }
        _ => f64::NAN,
    })
}

/// The correlation of two variables: the root of the quotient of squares, with 200 bits before it is rounded.
pub fn correlation<T: Summed, F: SummedFloat>(a: &[T], b: &[T]) -> F {
    let (Some(a), Some(b)) = (finite(a), finite(b)) else { return F::narrow(f64::NAN) };
    let (above, below) = (numerator(&a, &b), numerator(&a, &a) * numerator(&b, &b));
    if below.sign() == Sign::NoSign {
        return F::narrow(f64::NAN);
    }
    // The bits of the root, and one more bit that is 1 if the root is not exact.
    const BITS: u32 = 2400;
    let square: BigInt = ((&above * &above) << (2 * BITS)) / &below;
    let root = square.sqrt();
    let is_exact = &root * &root * &below == (&above * &above) << (2 * BITS);
    let root: BigInt = (root << 1u32) + i32::from(!is_exact);
    let signed = if above.sign() == Sign::Minus { -root } else { root };
    F::narrow(quotient(&signed, &(BigInt::from(1) << (BITS + 1)), F::KIND))
}
