//! Exact sums of products of two values, and their quotients.

use super::dyadic::Dyadic;
pub(crate) use super::exact::FloatFormat;
use super::exact::Products;
use super::pair::{self, Pair};
use super::total::{Accumulator, FloatTotal};
use super::{Element, Float, Number};

/// The number of products computed together. The number is small, so that short slices fill blocks.
const BLOCK: usize = 64;

/// Returns two floats whose sum is a real value. The second float is 0 for values of float types.
#[inline]
pub(crate) fn exact_parts<T: Element>(value: T) -> [f64; 2] {
    match value.to_number() {
        // An `f64` represents these integers.
        Number::Integer(integer) if integer.unsigned_abs() >> 53 == 0 => [integer as f64, 0.0],
        Number::Integer(integer) => {
            let low = integer & 0xffff_ffff;
            [(integer - low) as f64, low as f64]
        }
        Number::Real(real) => [real, 0.0],
        Number::Complex(..) => [f64::NAN, 0.0],
    }
}

/// An exact sum of products.
///
/// The product of two values in the middle of the float range is the sum of two floats; other products are added to
/// digits.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProductTotal {
    medium: FloatTotal,
    /// The digits of all other products. They are allocated separately, because they are large and few sums need them.
    rest: Option<Box<Products>>,
}

impl ProductTotal {
    /// Adds the product of two values.
    pub(crate) fn add(&mut self, a: f64, b: f64) {
        match pair::product(a, b) {
            Some(product) => product.into_iter().for_each(|part| Accumulator::<f64>::add(&mut self.medium, part)),
            None => self.add_rest(a, b),
        }
    }

    /// Adds the products of the values of two slices of the same length.
    pub(crate) fn add_slices(&mut self, a: &[f64], b: &[f64]) {
        for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
            let mut products = [[0.0; 2]; BLOCK];
            for (made, (&a, &b)) in products.iter_mut().zip(a.iter().zip(b)) {
                match pair::product(a, b) {
                    Some(product) => *made = product,
                    None => self.add_rest(a, b),
                }
            }
            self.medium.add_slice(products[..a.len()].as_flattened());
        }
    }

    fn add_rest(&mut self, a: f64, b: f64) {
        self.rest.get_or_insert_with(|| Box::new(Products::new())).add_product(a, b, 1);
    }

    /// Returns the sum with all digits; a sum that is not finite is an error.
    pub(crate) fn number(&self) -> Result<Dyadic, f64> {
        let medium = self.medium.number()?;
        Ok(match &self.rest {
            Some(rest) => medium.plus(&rest.number()?),
            None => medium,
        })
    }

    /// Returns the sum as two floats, if they represent it.
    fn as_pair(&self) -> Option<Pair> {
        if self.rest.is_none() { self.medium.as_pair() } else { None }
    }
}

/// An exact sum of values.
#[derive(Debug, Clone)]
pub(crate) struct ExactSum {
    /// The sum as a float, if a float represents it.
    float: Option<f64>,
    /// The sum with all digits; a sum that is not finite is an error.
    number: Result<Dyadic, f64>,
}

impl ExactSum {
    /// Returns the sum of values.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut total = FloatTotal::default();
        values.for_each(|value| Accumulator::<f64>::add(&mut total, value));
        let float = total.as_pair().filter(|[_, low]| *low == 0.0).map(|[high, _]| high);
        ExactSum { float, number: total.number() }
    }

    /// Returns the product of two counts, which are below 2<sup>127</sup>.
    pub(crate) fn of_counts(left: u128, right: u128) -> Self {
        let float = left.checked_mul(right).filter(|product| product >> 53 == 0).map(|product| product as f64);
        let [left, right] = [left, right].map(|count| Dyadic::integer(count as i128));
        ExactSum { float, number: Ok(left.times(&right)) }
    }

    /// Returns whether the sum is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.number.is_ok()
    }
}

/// The difference of two products of finite sums.
pub(crate) enum Numerator {
    /// The difference as a sum of a few products.
    Products(ProductTotal),
    /// All digits.
    Digits(Dyadic),
}

impl Numerator {
    /// Returns a count times a sum of products, minus the product of two sums. All sums are finite.
    pub(crate) fn new(count: &ExactSum, products: &ProductTotal, [left, right]: [&ExactSum; 2]) -> Self {
        if let (Some(count), Some(pair), Some(a), Some(b)) = (count.float, products.as_pair(), left.float, right.float)
        {
            let mut total = ProductTotal::default();
            total.add_slices(&[count, count, -a], &[pair[0], pair[1], b]);
            return Numerator::Products(total);
        }
        let digits = |sum: &ExactSum| sum.number.clone().unwrap_or_default();
        let products = products.number().unwrap_or_default();
        Numerator::Digits(digits(count).times(&products).minus(&digits(left).times(&digits(right))))
    }

    /// Returns the difference divided by a sum, rounded to a float type. A division by zero yields NaN.
    pub(crate) fn over(&self, divisor: &ExactSum, kind: FloatFormat) -> f64 {
        match (self, &divisor.number) {
            (Numerator::Products(products), _) => products.quotient(divisor, kind),
            (Numerator::Digits(digits), Ok(divisor)) => digits.over(divisor, kind),
            (_, Err(_)) => f64::NAN,
        }
    }

    /// Returns the difference with all digits.
    pub(crate) fn into_number(self) -> Dyadic {
        match self {
            Numerator::Products(products) => products.number().unwrap_or_default(),
            Numerator::Digits(digits) => digits,
        }
    }
}

/// Returns the format to which results of a float type are rounded.
pub(crate) fn format_of<F: Float>() -> FloatFormat {
    F::ROUNDING
}

impl ProductTotal {
    /// Returns the sum divided by another sum, rounded to a float type.
    ///
    /// A zero is `+0.0`. A division by a sum that is zero or not finite yields NaN.
    pub(crate) fn over<F: Float>(&self, divisor: &ExactSum) -> F {
        F::from_f64(self.quotient(divisor, F::ROUNDING))
    }

    fn quotient(&self, divisor: &ExactSum, kind: FloatFormat) -> f64 {
        let quickly = self.as_pair().zip(divisor.float).and_then(|(pair, float)| pair::over_float(pair, float, kind));
        quickly.unwrap_or_else(|| match (self.number(), &divisor.number) {
            (Ok(number), Ok(divisor)) => number.over(divisor, kind),
            (Err(special), Ok(divisor)) => special * divisor.sign(),
            (_, Err(_)) => f64::NAN,
        })
    }

    /// Returns the quotient of a sum and of another sum. The first sum is this sum and the product of the divisor with a
    /// finite value, which is the sum of two floats.
    pub(crate) fn plus_times_over<F: Float>(&self, value: [f64; 2], divisor: &ExactSum) -> F {
        let value = ExactSum::of(value.into_iter()).number;
        F::from_f64(match (self.number(), value, &divisor.number) {
            (Ok(number), Ok(value), Ok(divisor)) => number.plus(&value.times(divisor)).over(divisor, F::ROUNDING),
            (Err(special), _, Ok(divisor)) => special * divisor.sign(),
            _ => f64::NAN,
        })
    }
}
