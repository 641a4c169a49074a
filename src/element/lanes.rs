//! Three functions of libm without branches, so that loops over them can use SIMD: `exp`, `exp_m1` and `ln_1p`.
//!
//! Each step is the step of libm, rounded in the same order, so results are bitwise identical. If libm branches, all
//! cases are computed here and one is selected.
//!
//! Adapted from FreeBSD's `e_exp.c`, `s_expm1.c` and `s_log1p.c`: "Copyright (C) 1993, 2004 by Sun Microsystems, Inc.
//! All rights reserved. Permission to use, copy, modify, and distribute this software is freely granted, provided that
//! this notice is preserved."

/// The natural logarithm of 2, in two parts.
const LN_2: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);

/// The number 1.5 * 2^52: adding a small integer to it puts the integer into the last bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// A function with a branch-free form `f`, which equals libm for `range.0 < x < range.1`.
#[derive(Clone, Copy)]
pub(crate) struct InLanes<F> {
    pub(crate) f: F,
    pub(crate) range: (f64, f64),
    /// The function of libm, valid for all numbers.
    pub(crate) whole: fn(f64) -> f64,
}

impl<F> InLanes<F> {
    #[inline(always)]
    pub(crate) fn has(&self, x: f64) -> bool {
        self.range.0 < x && x < self.range.1
    }
}

/// Returns `exp`, with the range between underflow and overflow.
pub(crate) fn exp() -> InLanes<impl Fn(f64) -> f64 + Copy + Sync> {
    InLanes { f: exp_of, range: (-700.0, 700.0), whole: libm::exp }
}

/// Returns `exp_m1`, with the range between results of -1 and overflow.
pub(crate) fn exp_m1() -> InLanes<impl Fn(f64) -> f64 + Copy + Sync> {
    InLanes { f: exp_m1_of, range: (-38.0, 700.0), whole: libm::expm1 }
}

/// Returns `ln_1p`, with the range of all finite arguments above -1.
pub(crate) fn ln_1p() -> InLanes<impl Fn(f64) -> f64 + Copy + Sync> {
    InLanes { f: ln_1p_of, range: (-1.0, f64::INFINITY), whole: libm::log1p }
}

/// Returns the upper half of the bits without the sign. This number distinguishes the cases.
#[inline(always)]
fn magnitude(x: f64) -> u64 {
    (x.to_bits() >> 32) & 0x7fff_ffff
}

/// Returns 2 to the power of an integer.
#[inline(always)]
fn two_to(k: f64) -> f64 {
    f64::from_bits((k + MAGIC).to_bits().wrapping_add(1023) << 52)
}

/// Returns `k` and a remainder in two parts, with `x` equal to `k` times ln 2 plus the remainder.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64, f64) {
    let far = (std::f64::consts::LOG2_E * x + 0.5f64.copysign(x)).trunc();
    let k = if magnitude(x) < 0x3ff0_a2b2 { 1f64.copysign(x) } else { far };
    let k = if magnitude(x) <= 0x3fd6_2e42 { 0.0 } else { k };
    (k, x - k * LN_2.0, k * LN_2.1)
}

#[inline(always)]
fn exp_of(x: f64) -> f64 {
    const P: [f64; 5] = [
        1.666_666_666_666_660_2e-1,
        -2.777_777_777_701_559_3e-3,
        6.613_756_321_437_934e-5,
        -1.653_390_220_546_525_2e-6,
        4.138_136_797_057_238_5e-8,
    ];
    let (k, hi, lo) = reduced(x);
    let r = hi - lo;
    let rr = r * r;
    let c = r - rr * (P[0] + rr * (P[1] + rr * (P[2] + rr * (P[3] + rr * P[4]))));
    let y = 1.0 + (r * c / (2.0 - c) - lo + hi);
    if magnitude(x) <= 0x3e30_0000 { 1.0 + x } else { y * two_to(k) }
}

#[inline(always)]
fn exp_m1_of(x: f64) -> f64 {
    const Q: [f64; 5] = [
        -3.333_333_333_333_313e-2,
        1.587_301_587_254_814_6e-3,
        -7.936_507_578_674_88e-5,
        4.008_217_827_329_362e-6,
        -2.010_992_181_836_243_7e-7,
    ];
    let (k, hi, lo) = reduced(x);
    let r = hi - lo;
    let c = (hi - r) - lo;
    let half = 0.5 * r;
    let square = r * half;
    let r1 = 1.0 + square * (Q[0] + square * (Q[1] + square * (Q[2] + square * (Q[3] + square * Q[4]))));
    let t = 3.0 - r1 * half;
    let near = square * ((r1 - t) / (6.0 - r * t));
    let e = (r * (near - c) - c) - square;
    let (up, down) = (two_to(k), two_to(-k));
    // All cases are computed before one is selected; a computation inside a branch would prevent SIMD.
    let (few, some) = ((r - e + (1.0 - down)) * up, (r - (e + down) + 1.0) * up);
    let many = (r - e + 1.0) * up - 1.0;
    let (one_below, one) = (-2.0 * (e - (r + 0.5)), 1.0 + 2.0 * (r - e));
    let (minus_one, none) = (0.5 * (r - e) - 0.5, r - (r * near - square));
    let y = if k < 20.0 { few } else { some };
    let y = if k > 56.0 { many } else { y };
    let y = if k < -1.0 { many } else { y };
    let one = if r < -0.25 { one_below } else { one };
    let y = if k == 1.0 { one } else { y };
    let y = if k == -1.0 { minus_one } else { y };
    let y = if k == 0.0 { none } else { y };
    if magnitude(x) < 0x3c90_0000 { x } else { y }
}

#[inline(always)]
fn ln_1p_of(x: f64) -> f64 {
    const LG: [f64; 7] = [
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    let bits = x.to_bits() >> 32;
    let is_near = bits < 0x3fda_827a || (bits >> 31 > 0 && bits <= 0xbfd2_bec4);
    // The exponent `k` of 1 + x, the rounding error `c`, and `f`: the significand between the roots of 1/2 and 2, minus
    // 1.
    let u = 1.0 + x;
    let upper = (u.to_bits() >> 32) + (0x3ff0_0000 - 0x3fe6_a09e);
    let k = f64::from_bits(MAGIC.to_bits().wrapping_add((upper >> 20).wrapping_sub(0x3ff))) - MAGIC;
    let c = if k >= 2.0 { 1.0 - (u - x) } else { x - (u - 1.0) } / u;
    let c = if k < 54.0 { c } else { 0.0 };
    let f = f64::from_bits((((upper & 0xf_ffff) + 0x3fe6_a09e) << 32) | (u.to_bits() & 0xffff_ffff)) - 1.0;
    let (f, c, k) = if is_near { (x, 0.0, 0.0) } else { (f, c, k) };
    let half = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let t1 = w * (LG[1] + w * (LG[3] + w * LG[5]));
    let t2 = z * (LG[0] + w * (LG[2] + w * (LG[4] + w * LG[6])));
    let y = s * (half + (t2 + t1)) + (k * LN_2.1 + c) - half + f + k * LN_2.0;
    if magnitude(x) < 0x3ca0_0000 { x } else { y }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_is_that_of_libm(lanes: InLanes<impl Fn(f64) -> f64>, x: f64) {
        let (found, expected) = ((lanes.f)(x), (lanes.whole)(x));
        assert!(!lanes.has(x) || found.to_bits() == expected.to_bits(), "{found:e} is not {expected:e} at {x:e}");
    }

    /// Numbers of all magnitudes, near multiples of ln 2 / 2, and at the boundaries of all cases.
    #[test]
    fn every_bit_is_that_of_libm() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) ^ (state << 17)
        };
        let magnitudes = [0x3ff0_a2b2, 0x3fd6_2e42, 0x3e30_0000, 0x3c90_0000, 0x3ca0_0000, 0x3fda_827a, 0x3fd2_bec4u64];
        for round in 0..60_000 {
            let bits = next();
            let magnitude = match round % 3 {
                0 => f64::from_bits(((bits % 72 + 963) << 52) | next() >> 12),
                1 => (bits % 2000) as f64 * std::f64::consts::LN_2 / 2.0 + (next() % 9) as f64 * 1e-15,
                _ => f64::from_bits((magnitudes[bits as usize % 7] << 32).wrapping_add(next() % (3 << 32)) - (1 << 32)),
            };
            for x in [magnitude, -magnitude] {
                assert_is_that_of_libm(exp(), x);
                assert_is_that_of_libm(exp_m1(), x);
                assert_is_that_of_libm(ln_1p(), x);
                assert_is_that_of_libm(ln_1p(), x.exp() - 1.0);
            }
        }
        for x in [0.0, -0.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 699.999, -699.999, -37.999, -0.999_999_999_999_999_9]
        {
            assert_is_that_of_libm(exp(), x);
            assert_is_that_of_libm(exp_m1(), x);
            assert_is_that_of_libm(ln_1p(), x);
        }
        assert!(!exp().has(f64::NAN) && !ln_1p().has(f64::INFINITY) && !ln_1p().has(-1.0));
    }
}
