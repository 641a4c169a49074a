//! Elementwise operations of two arrays, word by word: broadcast, compute each position, and say what is stored.

use std::collections::{BTreeMap, BTreeSet};

use num_complex::Complex;

use super::dense::{Dense, Sparse, size, unravel};
use super::exact::SummedFloat;
use super::scalar::Scalar;
use super::unary::{FloatScalar, power, slope_of_power};

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The integer type does not hold it.
    Overflow,
    /// An integer is divided by zero.
    ByZero,
}

/// The operations that give the type that they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Arith {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a * b`, and `+0.0` where `a` is a zero.
    MulNonzero,
    /// `a / b`, of integers cut off towards zero.
    Div,
    /// `a % b`, with the sign of `a`.
    Rem,
    /// The remainder that is not negative.
    RemEuclid,
    /// The greatest integer that is at most `a / b`.
    DivFloor,
    /// What [`DivFloor`] leaves, with the sign of `b`.
    RemFloor,
    /// The smaller one.
    Minimum,
    /// The greater one.
    Maximum,
    /// The bits of both.
    BitAnd,
    /// The bits of either.
    BitOr,
    /// The bits of one of them.
    BitXor,
    /// One to the power of the other.
    Pow,
    /// `|a|` with the sign of `b`; a NaN in `b` is positive.
    Copysign,
    /// The distance of the point `(a, b)` from zero.
    Hypot,
    /// The angle of the point `(b, a)`.
    Atan2,
    /// `ln(exp(a) + exp(b))`.
    Logaddexp,
    /// The nearest number to `a` on the side of `b`.
    Nextafter,
    /// `a` doubled `b` times.
    ShiftLeft,
    /// `a` halved `b` times, rounded down.
    ShiftRight,
}

use Arith::*;

/// The result of an element without a partner, which is on the right if the flag is set.
type Unpaired<T> = fn(T, bool) -> Result<T, Why>;

/// Returns the result of a stored entry without a partner, on the left or on the right, if there is one.
pub fn alone<T: Computes>(op: Arith) -> Option<Unpaired<T>> {
    match op {
        Add | Minimum | Maximum | BitOr | BitXor => Some(|value, _| Ok(value)),
        Sub => Some(|value, on_the_left| if on_the_left { Ok(value) } else { value.negated() }),
        _ => None,
    }
}

/// Returns the gradients of both elements, for an upstream gradient that is not zero.
pub fn gradients(op: Arith, x: f64, y: f64, g: f64) -> (f64, f64) {
    let share = |is_preferred: bool| match is_preferred {
        _ if x == y => g * 0.5,
        true => g,
        false => 0.0,
    };
    match op {
        Add => (g, g),
        Sub => (g, -g),
        Mul => (g * y, g * x),
        Div => (g / y, -(g * (x / y / y))),
        Minimum | Maximum if x.is_nan() || y.is_nan() => (0.0, 0.0),
        Minimum => (share(x < y), share(y < x)),
        Maximum => (share(x > y), share(y > x)),
        Pow => {
            let of_exponent = if x == 0.0 && y >= 0.0 { 0.0 } else { power(x, y) * libm::log(x) };
            (g * slope_of_power(x, y), g * of_exponent)
        }
        Hypot | Atan2 if x == 0.0 && y == 0.0 => (g * 0.0, g * 0.0),
        Hypot => (g * (x / libm::hypot(x, y)), g * (y / libm::hypot(x, y))),
        Atan2 => {
            let distance = libm::hypot(x, y);
            (g * (y / distance / distance), -(g * (x / distance / distance)))
        }
        Logaddexp if x == y => (g * 0.5, g * 0.5),
        Logaddexp => (g * (1.0 / (1.0 + libm::exp(y - x))), g * (1.0 / (1.0 + libm::exp(x - y)))),
        Copysign if x == 0.0 => (0.0, 0.0),
        Copysign => (g * (x * f64::arith(Copysign, 1.0, y).unwrap()).signum(), 0.0),
        _ => panic!("no gradient of {op:?}"),
    }
}

/// A type that computes. An operation that a type has not panics.
pub trait Computes: Scalar {
    /// The result, a NaN canonical.
    fn arith(op: Arith, a: Self, b: Self) -> Result<Self, Why>;

    /// The value with the other sign.
    fn negated(self) -> Result<Self, Why>;

    /// Returns whether `fill` has the same result with every value on the other side, or with every value except a few
    /// (`Some(false)`). `other` is the fill on the other side; none if every position is stored.
    fn makes_all_one(op: Arith, fill: Self, other: Option<Self>, on_the_left: bool) -> Option<bool>;
}

impl Computes for bool {
    fn arith(op: Arith, a: bool, b: bool) -> Result<bool, Why> {
        Ok(match op {
            Add | BitOr | Maximum => a || b,
            Mul | MulNonzero | BitAnd | Minimum => a && b,
            BitXor => a != b,
            _ => panic!("no {op:?} of bool"),
        })
    }

    fn negated(self) -> Result<bool, Why> {
        panic!("no negation of bool");
    }

    fn makes_all_one(op: Arith, fill: bool, _: Option<bool>, _: bool) -> Option<bool> {
        match op {
            Mul | MulNonzero | BitAnd | Minimum => (!fill).then_some(true),
            BitOr | Maximum => fill.then_some(true),
            _ => None,
        }
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Computes for $type {
            fn arith(op: Arith, a: $type, b: $type) -> Result<$type, Why> {
                let (wide, other) = (i128::from(a), i128::from(b));
                if matches!(op, Div | Rem | RemEuclid | DivFloor | RemFloor) && b == 0 {
                    return Err(Why::ByZero);
                }
                let floor = || wide / other - i128::from(wide % other != 0 && (wide < 0) != (other < 0));
                let result = match op {
                    DivFloor => floor(),
                    RemFloor => wide - other * floor(),
                    ShiftLeft | ShiftRight if other < 0 => return Err(Why::Overflow),
                    ShiftLeft => (0..other.min(64)).fold(wide, |result, _| result.saturating_mul(2)),
                    ShiftRight => (0..other.min(64)).fold(wide, |result, _| result.div_euclid(2)),
                    Add => wide + other,
                    Sub => wide - other,
                    Mul | MulNonzero => wide.saturating_mul(other),
                    Div => wide / other,
                    Rem => wide % other,
                    RemEuclid => wide.rem_euclid(other),
                    Minimum => wide.min(other),
                    Maximum => wide.max(other),
                    BitAnd => return Ok(a & b),
                    BitOr => return Ok(a | b),
                    BitXor => return Ok(a ^ b),
                    Pow if other < 0 => return Err(Why::Overflow),
                    // As many factors as it takes to leave every type, odd or even.
                    Copysign | Hypot | Atan2 | Logaddexp | Nextafter => panic!("no {op:?} of integers"),
                    Pow => (0..other.min(128 + other % 2)).fold(1i128, |power, _| power.saturating_mul(wide)),
                };
                <$type>::try_from(result).map_err(|_| Why::Overflow)
            }

            fn negated(self) -> Result<$type, Why> {
                <$type>::try_from(-i128::from(self)).map_err(|_| Why::Overflow)
            }

            fn makes_all_one(op: Arith, fill: $type, other: Option<$type>, on_the_left: bool) -> Option<bool> {
                if matches!(op, Div | DivFloor) && other.is_none() && on_the_left && fill == 0 {
                    return Some(false);
                }
                let one = match op {
                    Mul | MulNonzero | BitAnd => fill == 0,
                    BitOr => fill == !0,
                    Minimum => fill == <$type>::MIN,
                    Maximum => fill == <$type>::MAX,
                    Pow => fill == 0 && !on_the_left,
                    _ => false,
                };
                one.then_some(true)
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($type:ty, $wide:ty, $widen:expr, $narrow:expr;)*) => {$(
        impl Computes for $type {
            fn arith(op: Arith, a: $type, b: $type) -> Result<$type, Why> {
                let (x, y): ($wide, $wide) = ($widen(a), $widen(b));
                let negative_first = |a: $type, b: $type| if a.is_sign_negative() { (a, b) } else { (b, a) };
                let result = match op {
                    Add => $narrow(x + y),
                    Sub => $narrow(x - y),
                    MulNonzero if !a.truthy() => <$type>::zero(),
                    Mul | MulNonzero => $narrow(x * y),
                    Div => $narrow(x / y),
                    Rem => $narrow(x % y),
                    RemEuclid => $narrow(if x % y < 0.0 { x % y + y.abs() } else { x % y }),
                    DivFloor | RemFloor | Hypot | Atan2 | Logaddexp => {
                        <$type as FloatScalar>::nearest(of_floats(op, f64::from(a), f64::from(b)))
                    }
                    Minimum | Maximum if x.is_nan() || y.is_nan() => <$type>::NAN,
                    Minimum if x == y => negative_first(a, b).0,
                    Maximum if x == y => negative_first(a, b).1,
                    Minimum => if x < y { a } else { b },
                    Maximum => if x > y { a } else { b },
                    Copysign => $narrow(if y.is_sign_negative() && !y.is_nan() { -x.abs() } else { x.abs() }),
                    Nextafter if Scalar::is_nan(a) || Scalar::is_nan(b) => <$type>::NAN,
                    Nextafter if a == b => b,
                    Nextafter => {
                        let tiny = <$type>::from_bits(1);
                        let bits = [a.to_bits().wrapping_add(1), a.to_bits().wrapping_sub(1)];
                        let near = bits.map(<$type>::from_bits).into_iter().chain([tiny, -tiny]);
                        let order = |x: &$type, y: &$type| x.partial_cmp(y).expect("a number");
                        let beside = near.filter(|&x| if b > a { x > a } else { x < a });
                        if b > a { beside.min_by(order) } else { beside.max_by(order) }.expect("a number")
                    }
                    Pow => <$type as SummedFloat>::narrow(power(f64::from(a), f64::from(b))),
                    _ => panic!("no {op:?} of floats"),
                };
                Ok(result.canonical())
            }

            fn negated(self) -> Result<$type, Why> {
                Ok((-self).canonical())
            }

            fn makes_all_one(op: Arith, fill: $type, other: Option<$type>, on_the_left: bool) -> Option<bool> {
                match op {
                    Pow => (<f64 as From<$type>>::from(fill) == f64::from(u8::from(on_the_left))).then_some(true),
                    Copysign => (on_the_left && (Scalar::is_nan(fill) || !fill.truthy())).then_some(true),
                    Hypot => fill.is_infinite().then_some(true),
                    // Zero times NaN is 0.
                    MulNonzero if !on_the_left && Scalar::is_nan(fill) => None,
                    MulNonzero if on_the_left && !fill.truthy() => Some(true),
                    _ if Scalar::is_nan(fill) => Some(true),
                    Mul | MulNonzero if !fill.truthy() && other.is_none_or(Scalar::is_finite) => Some(false),
                    Div | DivFloor if !fill.truthy() && other.is_none() && on_the_left => Some(false),
                    _ => None,
                }
            }
        }
    )*};
}

/// An operation that every float type rounds from `f64`.
fn of_floats(op: Arith, x: f64, y: f64) -> f64 {
    let rest = x % y;
    let goes_down = rest != 0.0 && rest.is_sign_negative() != y.is_sign_negative();
    match op {
        RemFloor if rest == 0.0 => 0f64.copysign(y),
        RemFloor if goes_down => rest + y,
        RemFloor => rest,
        DivFloor if y == 0.0 => x / y,
        DivFloor if goes_down => ((x - rest) / y).round() - 1.0,
        DivFloor if ((x - rest) / y).round() == 0.0 => 0f64.copysign(x / y),
        DivFloor => ((x - rest) / y).round(),
        Hypot => libm::hypot(x, y),
        Atan2 => libm::atan2(x, y),
        _ if x == y => x + std::f64::consts::LN_2,
        _ => x.max(y) + libm::log1p(libm::exp(-(x - y).abs())),
    }
}

floats! {
    f32, f32, std::convert::identity, std::convert::identity;
    f64, f64, std::convert::identity, std::convert::identity;
}
#[cfg(feature = "half")]
floats! {
    half::f16, f32, half::f16::to_f32, half::f16::from_f32;
    half::bf16, f32, half::bf16::to_f32, half::bf16::from_f32;
}

macro_rules! complex {
    ($($part:ty),*) => {$(
        impl Computes for Complex<$part> {
            fn arith(op: Arith, a: Self, b: Self) -> Result<Self, Why> {
                let result = match op {
                    Add => Complex::new(a.re + b.re, a.im + b.im),
                    Sub => Complex::new(a.re - b.re, a.im - b.im),
                    MulNonzero if !a.truthy() => Self::zero(),
                    Mul | MulNonzero => Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re),
                    // Smith's method, as numpy has it.
                    Div if b.re == 0.0 && b.im == 0.0 => Complex::new(a.re / b.re.abs(), a.im / b.re.abs()),
                    Div if b.re.abs() >= b.im.abs() => {
                        let (ratio, scale) = (b.im / b.re, 1.0 / (b.re + b.im * (b.im / b.re)));
                        Complex::new((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale)
                    }
                    Div => {
                        let (ratio, scale) = (b.re / b.im, 1.0 / (b.im + b.re * (b.re / b.im)));
                        Complex::new((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale)
                    }
                    Pow => {
                        let [a, b] = [a, b].map(|z| Complex::new(f64::from(z.re), f64::from(z.im)));
                        let power = super::complex::pow(a, b);
                        Complex::new(FloatScalar::nearest(power.re), FloatScalar::nearest(power.im))
                    }
                    _ => panic!("no {op:?} of complex numbers"),
                };
                Ok(result.canonical())
            }

            fn negated(self) -> Result<Self, Why> {
                Ok(Complex::new(-self.re, -self.im).canonical())
            }

            fn makes_all_one(op: Arith, fill: Self, other: Option<Self>, on_the_left: bool) -> Option<bool> {
                let (either, both) = (fill.re.is_nan() || fill.im.is_nan(), fill.re.is_nan() && fill.im.is_nan());
                match op {
                    Add | Sub => both.then_some(true),
                    MulNonzero if !on_the_left && either => None,
                    MulNonzero if on_the_left && !fill.truthy() => Some(true),
                    Mul | MulNonzero if either => Some(true),
                    Mul | MulNonzero => (!fill.truthy() && other.is_none_or(Scalar::is_finite)).then_some(false),
                    Pow => (!on_the_left && !fill.truthy()).then_some(true),
                    Div if !fill.truthy() && other.is_none() && on_the_left => Some(false),
                    Div => (if on_the_left { both } else { either }).then_some(true),
                    _ => None,
                }
            }
        }
    )*};
}

complex!(f32, f64);

/// A result, or why there is none, and where: nowhere is the fill.
pub type Outcome<U> = Result<Sparse<U>, Refused>;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// An element that is not finite meets an implicit zero.
    NotFinite(Vec<usize>),
    /// An element has no result.
    At(Why, Option<Vec<usize>>),
    /// Two views of different fills.
    Fills,
}

/// The results of an operation on two values, and of a fill with all values.
pub struct Rule<'a, T, U> {
    /// The result of two values.
    pub of: &'a dyn Fn(T, T) -> Result<U, Why>,
    /// [`Computes::makes_all_one`].
    pub makes_all_one: &'a dyn Fn(T, Option<T>, bool) -> Option<bool>,
}

/// The value without a sign of zero, and with the canonical NaN: a computed fill.
pub fn as_fill<U: Scalar>(value: U, plain_zero: U) -> U {
    if !value.truthy() { plain_zero } else { value.canonical() }
}

/// Returns whether some position is unstored.
fn has_gap<T: Scalar>(x: &Sparse<T>) -> bool {
    super::dense::checked_size(&x.shape).is_none_or(|size| size > x.entries.len() as u128)
}

/// Returns the result of two entire sparse arrays of one shape. `implicit` converts a value that becomes the fill.
pub fn whole<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    y: &Sparse<T>,
    rule: &Rule<'_, T, U>,
    implicit: impl Fn(U) -> U,
) -> Outcome<U> {
    let left = (rule.makes_all_one)(x.fill, Some(y.fill), true);
    let right = (rule.makes_all_one)(y.fill, Some(x.fill), false);
    united(x, y, rule, implicit, [left, right], (rule.of)(x.fill, y.fill))
}

/// Returns the result of two entire sparse arrays of one shape. `left` and `right` state whether a fill has one result
/// with all values on the other side. `fill` is the value of unstored positions.
fn united<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    y: &Sparse<T>,
    rule: &Rule<'_, T, U>,
    implicit: impl Fn(U) -> U,
    [left, right]: [Option<bool>; 2],
    fill: Result<U, Why>,
) -> Outcome<U> {
    let all: BTreeSet<Vec<usize>> = x.coords().union(&y.coords()).cloned().collect();
    let rule_of = |at: &Vec<usize>| match (x.entries.contains_key(at), y.entries.contains_key(at)) {
        (true, false) => right,
        (false, true) => left,
        _ => None,
    };
    for at in &all {
        let found = (rule.of)(x.get(at), y.get(at));
        match (rule_of(at), found, fill) {
            (Some(false), Err(why), _) => return Err(Refused::At(why, Some(at.clone()))),
            (Some(false), Ok(found), Ok(fill)) if !implicit(found).same(implicit(fill)) => {
                return Err(Refused::NotFinite(at.clone()));
            }
            _ => {}
        }
    }
    let kept: Vec<Vec<usize>> = all.into_iter().filter(|at| rule_of(at).is_none()).collect();
    let size = super::dense::checked_size(&x.shape);
    let has_gap = size.is_none_or(|size| size > kept.len() as u128);
    let fill = match fill {
        Ok(fill) => implicit(fill),
        Err(why) if has_gap => return Err(Refused::At(why, None)),
        Err(_) => U::zero(),
    };
    let mut entries = BTreeMap::new();
    for at in kept {
        let value = (rule.of)(x.get(&at), y.get(&at)).map_err(|why| Refused::At(why, Some(at.clone())))?;
        entries.insert(at, value);
    }
    Ok(Sparse::new(&x.shape, entries, fill))
}

/// The relation of an operand to its broadcast shape.
enum Part<T> {
    /// The shape is longer on none of its axes, and in front.
    Alike,
    /// The operand is one stored number.
    Number(T),
    /// The operand is repeated. The value is true if the operand stores every position.
    Repeated(bool),
}

fn part<T: Scalar>(x: &Sparse<T>, shape: &[usize]) -> Part<T> {
    let front = shape.len() - x.shape.len();
    let is_longer = x.shape.iter().zip(&shape[front..]).any(|(own, whole)| whole > own);
    if !is_longer && shape[..front].iter().all(|&length| length <= 1) {
        return Part::Alike;
    }
    match x.entries.values().next() {
        Some(&value) if x.shape.iter().all(|&length| length == 1) => Part::Number(value),
        _ => Part::Repeated(!has_gap(x)),
    }
}

/// A single stored number that is repeated to a shape, as an array that stores nothing.
pub fn number_everywhere<T: Scalar>(x: &Sparse<T>, shape: &[usize]) -> Option<Sparse<T>> {
    match part(x, shape) {
        Part::Number(number) => Some(Sparse::new(shape, BTreeMap::new(), number)),
        _ => None,
    }
}

/// Returns the result of two entire sparse arrays whose shapes are broadcast together.
pub fn broadcast_whole<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    y: &Sparse<T>,
    rule: &Rule<'_, T, U>,
    implicit: impl Fn(U) -> U,
) -> Outcome<U> {
    let shape = broadcast_shape(&x.shape, &y.shape).unwrap();
    let (wide_x, wide_y) = (broadcast(x, &shape), broadcast(y, &shape));
    let (is_x_full, is_y_full) = match (part(x, &shape), part(y, &shape)) {
        (Part::Alike, Part::Alike) | (Part::Repeated(_), Part::Repeated(_)) => {
            return whole(&wide_x, &wide_y, rule, implicit);
        }
        (_, Part::Number(number)) => return beside_number(&wide_x, number, rule, implicit),
        (Part::Number(number), _) => {
            let turned = Rule { of: &|a, b| (rule.of)(b, a), makes_all_one: rule.makes_all_one };
            return beside_number(&wide_y, number, &turned, implicit);
        }
        (of_x, of_y) => (matches!(of_x, Part::Repeated(true)), matches!(of_y, Part::Repeated(true))),
    };
    // The fill of an operand that is stored everywhere is nowhere, and meets nothing.
    let left = if is_x_full { None } else { (rule.makes_all_one)(x.fill, (!is_y_full).then_some(y.fill), true) };
    let right = if is_y_full { None } else { (rule.makes_all_one)(y.fill, (!is_x_full).then_some(x.fill), false) };
    let first = |x: &Sparse<T>| x.entries.values().next().copied().unwrap_or(x.fill);
    let fill = match (left, right) {
        (Some(false), _) if is_y_full => Ok(U::zero()),
        (_, Some(false)) if is_x_full => Ok(U::zero()),
        (Some(true), _) if is_y_full => (rule.of)(x.fill, first(y)),
        (_, Some(true)) if is_x_full => (rule.of)(first(x), y.fill),
        _ => (rule.of)(x.fill, y.fill),
    };
    united(&wide_x, &wide_y, rule, implicit, [left, right], fill)
}

/// Returns the result of the stored entries of two sparse arrays whose shapes are broadcast together. `own` is a fill
/// in the type of the results. If `of_one_fill` is true, operands that are alike or both repeated need the same fill.
pub fn broadcast_stored<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    y: &Sparse<T>,
    rule: &Rule<'_, T, U>,
    alone: Option<&dyn Fn(T, bool) -> Result<U, Why>>,
    own: impl Fn(T) -> U,
    of_one_fill: bool,
) -> Outcome<U> {
    let shape = broadcast_shape(&x.shape, &y.shape).unwrap();
    let (wide_x, wide_y) = (broadcast(x, &shape), broadcast(y, &shape));
    let (of_x, of_y) = (part(x, &shape), part(y, &shape));
    let mut entries = BTreeMap::new();
    let (big, is_left) = match (of_x, of_y) {
        (Part::Alike, Part::Alike) | (Part::Repeated(_), Part::Repeated(_)) => {
            return match of_one_fill && !x.fill.same(y.fill) {
                true => Err(Refused::Fills),
                false => stored(&wide_x, &wide_y, rule, alone, own(x.fill)),
            };
        }
        (_, Part::Number(_)) | (Part::Alike, _) => (&wide_x, true),
        (Part::Number(_), _) | (_, Part::Alike) => (&wide_y, false),
    };
    for (at, &value) in &big.entries {
        let found = match (wide_x.entries.get(at), wide_y.entries.get(at), alone) {
            (Some(&a), Some(&b), _) => (rule.of)(a, b),
            (_, _, Some(alone)) => alone(value, is_left),
            _ => continue,
        };
        entries.insert(at.clone(), found.map_err(|why| Refused::At(why, Some(at.clone())))?);
    }
    Ok(Sparse::new(&shape, entries, own(big.fill)))
}

/// Returns the result of the stored entries of two sparse arrays of one shape. Without `alone`, only entries of both
/// count. With `alone`, which returns the result of an entry on one side, all entries count.
pub fn stored<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    y: &Sparse<T>,
    rule: &Rule<'_, T, U>,
    alone: Option<&dyn Fn(T, bool) -> Result<U, Why>>,
    fill: U,
) -> Outcome<U> {
    let mut entries = BTreeMap::new();
    for at in x.coords().union(&y.coords()) {
        let value = match (x.entries.get(at), y.entries.get(at), alone) {
            (Some(&a), Some(&b), _) => (rule.of)(a, b),
            (Some(&a), None, Some(alone)) => alone(a, true),
            (None, Some(&b), Some(alone)) => alone(b, false),
            _ => continue,
        };
        entries.insert(at.clone(), value.map_err(|why| Refused::At(why, Some(at.clone())))?);
    }
    Ok(Sparse::new(&x.shape, entries, fill))
}

/// Returns the result of two dense arrays of one shape.
pub fn dense<T: Scalar, U: Scalar>(x: &Dense<T>, y: &Dense<T>, rule: &Rule<'_, T, U>) -> Result<Dense<U>, Refused> {
    let of = |at: Vec<usize>| (rule.of)(x.get(&at), y.get(&at)).map_err(|why| Refused::At(why, Some(at)));
    Ok(Dense::new(&x.shape, x.coords().into_iter().map(of).collect::<Result<_, _>>()?))
}

/// Returns the result of an entire sparse array and a dense array of the same shape, on the pattern of the sparse
/// array. `None` if unstored positions have several values or no result.
pub fn beside_dense<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    y: &Dense<T>,
    rule: &Rule<'_, T, U>,
    implicit: impl Fn(U) -> U,
    own: U,
) -> Option<Outcome<U>> {
    let gaps = y.coords().into_iter().filter(|at| !x.entries.contains_key(at));
    let fills: Option<Vec<U>> = gaps.map(|at| (rule.of)(x.fill, y.get(&at)).ok().map(&implicit)).collect();
    let fills = fills?;
    let fill = fills.first().copied().unwrap_or(own);
    if !fills.iter().all(|other| other.same(fill)) {
        return None;
    }
    Some(entries_beside(x, y, rule, fill))
}

/// Returns the result of the entries of a sparse array and a dense array.
pub fn entries_beside<T: Scalar, U: Scalar>(x: &Sparse<T>, y: &Dense<T>, rule: &Rule<'_, T, U>, fill: U) -> Outcome<U> {
    let mut entries = BTreeMap::new();
    for (at, &value) in &x.entries {
        let value = (rule.of)(value, y.get(at)).map_err(|why| Refused::At(why, Some(at.clone())))?;
        entries.insert(at.clone(), value);
    }
    Ok(Sparse::new(&x.shape, entries, fill))
}

/// Returns the result of an entire sparse array and a number.
pub fn beside_number<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    number: T,
    rule: &Rule<'_, T, U>,
    implicit: impl Fn(U) -> U,
) -> Outcome<U> {
    let fill = match (rule.of)(x.fill, number) {
        Ok(fill) => implicit(fill),
        Err(why) if has_gap(x) => return Err(Refused::At(why, None)),
        Err(_) => U::zero(),
    };
    let of = |(at, &value): (&Vec<usize>, &T)| {
        let value = (rule.of)(value, number).map_err(|why| Refused::At(why, Some(at.clone())))?;
        Ok((at.clone(), value))
    };
    Ok(Sparse::new(&x.shape, x.entries.iter().map(of).collect::<Result<_, _>>()?, fill))
}

/// The shape that two shapes are broadcast to.
pub fn broadcast_shape(left: &[usize], right: &[usize]) -> Option<Vec<usize>> {
    let rank = left.len().max(right.len());
    let padded = |shape: &[usize]| [vec![1; rank - shape.len()], shape.to_vec()].concat();
    let pairs = padded(left).into_iter().zip(padded(right));
    pairs
        .map(|(a, b)| {
            if a == b || b == 1 {
                Some(a)
            } else if a == 1 {
                Some(b)
            } else {
                None
            }
        })
        .collect()
}

/// The coordinates in `shape` of what stands at `at` where it is broadcast.
fn source(at: &[usize], shape: &[usize]) -> Vec<usize> {
    let added = at.len() - shape.len();
    shape.iter().zip(&at[added..]).map(|(&length, &coord)| if length == 1 { 0 } else { coord }).collect()
}

/// A sparse array broadcast to a shape.
pub fn broadcast<T: Scalar>(x: &Sparse<T>, shape: &[usize]) -> Sparse<T> {
    let places = (0..size(shape)).map(|position| unravel(position as u128, shape));
    let entries = places.filter_map(|at| x.entries.get(&source(&at, &x.shape)).map(|&value| (at, value)));
    Sparse::new(shape, entries.collect(), x.fill)
}

/// A dense array broadcast to a shape.
pub fn broadcast_dense<T: Scalar>(x: &Dense<T>, shape: &[usize]) -> Dense<T> {
    let places = (0..size(shape)).map(|position| unravel(position as u128, shape));
    Dense::new(shape, places.map(|at| x.get(&source(&at, &x.shape))).collect())
}

/// Returns the slice of an axis that starts at `first` and is one position shorter than the axis.
fn shorter<T: Scalar>(x: &Sparse<T>, axis: usize, first: usize) -> Sparse<T> {
    let mut shape = x.shape.clone();
    shape[axis] = shape[axis].saturating_sub(1);
    let mut entries = BTreeMap::new();
    for (at, &value) in &x.entries {
        let mut to = at.clone();
        if at[axis] >= first && at[axis] - first < shape[axis] {
            to[axis] = at[axis] - first;
            entries.insert(to, value);
        }
    }
    Sparse::new(&shape, entries, x.fill)
}

/// Returns the differences of neighbours along an axis, taken `n` times, of all positions or of stored entries.
pub fn diff<T: Computes>(
    x: &Sparse<T>,
    n: usize,
    axis: usize,
    is_stored: bool,
    implicit: impl Fn(T) -> T,
) -> Outcome<T> {
    let rule = Rule {
        of: &|a, b| T::arith(Sub, a, b),
        makes_all_one: &|fill, other, left| T::makes_all_one(Sub, fill, other, left),
    };
    let alone = alone::<T>(Sub);
    let mut x = x.clone();
    for _ in 0..n.min(x.shape[axis]) {
        let (upper, lower) = (shorter(&x, axis, 1), shorter(&x, axis, 0));
        x = match is_stored {
            true => stored(&upper, &lower, &rule, alone.as_ref().map(|alone| alone as _), x.fill)?,
            false => whole(&upper, &lower, &rule, &implicit)?,
        };
    }
    Ok(x)
}

/// Returns the gradient of [`diff`]: each difference adds its upstream gradient to its second element, and subtracts it
/// from its first element.
pub fn diff_backward<T: Computes>(shape: &[usize], upstream: &Dense<T>, n: usize, axis: usize) -> Dense<T> {
    let mut g = upstream.clone();
    for order in (0..n.min(shape[axis])).rev() {
        let mut lengths = shape.to_vec();
        lengths[axis] -= order;
        let mut of_order = Dense::full(&lengths, T::zero());
        for at in of_order.coords() {
            let part = |at: &[usize]| if at[axis] < g.shape[axis] { g.get(at) } else { T::zero() };
            let mut before = at.clone();
            let upper = if at[axis] == 0 {
                T::zero()
            } else {
                before[axis] -= 1;
                part(&before)
            };
            of_order.set(&at, T::arith(Sub, upper, part(&at)).expect("floats do not overflow"));
        }
        g = of_order;
    }
    g
}
