"""Numbers as tests/differential.py passes them on, and sums and products as lacuna defines them."""

import math
from fractions import Fraction

import numpy as np

TYPES = {"f8": "u8", "f4": "u4", "i8": "u8", "u8": "u8", "u1": "u1", "b1": "u1", "c8": "u8"}


def words(array):
    """The bits of elements as integers."""
    array = np.ascontiguousarray(array).ravel()
    return array.view(TYPES[array.dtype.str[1:]]).astype(np.uint64).tolist()


def fsum(group):
    """The exact sum, as `math.fsum`, which refuses what is not finite and overflows."""
    values = [float(value) for value in group]
    special = [value for value in values if not math.isfinite(value)]
    if special:
        return float(sum(special))
    total = sum(map(Fraction, values), Fraction(0))
    try:
        exact = float(total)
    except OverflowError:
        return math.copysign(math.inf, total)
    assert exact == math.fsum(values) or abs(total) > Fraction(10) ** 300
    return exact + 0.0


def times(left, right):
    """The product of two significands with exponents, rounded to 53 bits."""
    (a, x), (b, y) = left, right
    if a == 0 or b == 0 or not (math.isfinite(a) and math.isfinite(b)):
        return a * b, 0
    significand, exponent = math.frexp(a * b)
    return significand, x + y + exponent


def tree(group):
    """The product by a binary tree over the positions, each significand rounded to 53 bits, and then to the type."""
    def of(values):
        if len(values) == 1:
            return math.frexp(values[0])
        half = 1 << ((len(values) - 1).bit_length() - 1)
        return times(of(values[:half]), of(values[half:]))
    return finished(of([float(value) for value in group]) if len(group) else (0.5, 1), group.dtype)


def chain(group):
    """The product from left to right, rounded like that of a tree."""
    product = math.frexp(float(group[0]))
    for value in group[1:]:
        product = times(product, math.frexp(float(value)))
    return finished(product, group.dtype)


def finished(product, dtype):
    """A product in a type of floats."""
    significand, exponent = product
    if significand == 0 or not math.isfinite(significand):
        return significand
    exact = abs(Fraction(significand)) * Fraction(2) ** max(min(exponent, 5000), -5000)
    return math.copysign(narrowed(exact, dtype), significand)


def narrowed(exact, dtype):
    """A positive fraction in a type of floats, rounded once."""
    bits, least = (53, -1074) if dtype == np.float64 else (24, -149)
    first = exact.numerator.bit_length() - exact.denominator.bit_length()
    first -= exact < Fraction(2) ** first
    unit = Fraction(2) ** max(first - bits + 1, least)
    number = round(exact / unit) * unit
    return float("inf") if number > Fraction(float(np.finfo(dtype).max)) else float(number)
