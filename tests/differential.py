"""Random cases that lacuna and numpy (scipy and pydata/sparse where they have the operation) must answer alike.

    cargo test --release --all-features --test differential --no-run
    python tests/differential.py PROGRAM [--cases N] [--seed N] [--only OPERATION] [--jobs N]

PROGRAM is the one that the first command names.

Needs numpy, scipy and sparse, and asks GraphBLAS too where python-graphblas is there. N cases of each operation, bit for bit but for the payload of a NaN; every question is
asked of COO, CSR and the dense array, as far as they have the operation (tests/differential.rs). Prints the number of cases of each operation.
An operation without a line is an error.

What is different on purpose, and how the cases are made to fit:

- `take_axis` checks its indices, and that the axis has an element, even where another axis of length zero leaves nothing to
  take; numpy does so for some axes and not for others.
- `nanmedian` of `bool` and complex numbers does not exist in numpy or means something else; not asked.
- numpy's median of two middle values is their mean, whose sum may overflow; lacuna's does not. Elements stay small.
- scipy has no fills and two axes; it is asked about matrices with a fill of zero. It adds up, so that -0.0 becomes 0.0.
- numpy's products go from left to right, its quantiles and variances round on the way; here they are the tree, the real
  number between what numpy has as `lower` and `higher`, and the exact sum of squares about the mean in `f64`.
- A zero that is computed at a position which is not stored has no sign: those of arithmetic and functions are compared without.
- Integers that do not fit their type, and divisions by zero, are errors; numpy goes round. Integer division is cut off towards zero.
- `0 * inf` where one of them is not stored is an error that names `stored()`: factors are finite here. So is `0 / 0` beside
  a repeated divisor that stores every position.
- A slice with a negative step takes the range first and goes through it from its end, as in ndarray.
- Functions that no standard rounds (exp, log, sin, power) may be 4 units in the last place apart.
- pydata/sparse is asked in one case of fifty, because it is slow: `any`, and the positions of repeated entries.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
import warnings

import numpy as np
import scipy.sparse as sp
import sparse

import differential_graphs  # its line is one of LINES, where GraphBLAS is there
from differential_lines import LINES
from differential_numbers import TYPES, fsum, tree, words

REALS = ["f8", "f4", "i8", "u1"]
SPECIAL = [0.0, 0.0, 0.0, -0.0, 1.0, -1.0, 2.5, 3.0, -7.0, np.nan, np.nan, np.inf, -np.inf]
ONE_IN = 50


def without_payload(array):
    """The same array with one NaN for all."""
    array = np.array(array, copy=True, order="C")
    if array.dtype.kind == "c":
        parts = array.reshape(-1).view("f4")
        parts[np.isnan(parts)] = np.nan
    elif array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    return array


class Maker:
    """Makes cases, one operation after the other, from one seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def below(self, end):
        return int(self.rng.integers(end))

    def chance(self, share):
        return self.rng.random() < share

    def elements(self, dtype, count):
        """Few distinct values, so that they meet: special ones, small ones, zeros."""
        kind = np.dtype(dtype).kind
        if kind == "f":
            values = np.where(self.rng.random(count) < 0.5, self.rng.choice(SPECIAL, count), self.rng.integers(-4, 5, count))
            return values.astype(dtype)
        if kind == "c":
            parts = [self.elements("f4", count) for _ in range(2)]
            out = np.empty(count, "c8")
            out.real, out.imag = parts[0], np.where(self.rng.random(count) < 0.5, 0, parts[1])
            return out
        if kind == "b":
            return self.rng.random(count) < 0.4
        edge = np.iinfo(dtype)
        values = self.rng.integers(0 if kind == "u" else -4, 5, count).astype(dtype)
        values[self.rng.random(count) < 0.05] = edge.max
        return values

    def shape(self, least_rank=0):
        rank = self.below(6 - least_rank) + least_rank
        longest = {0: 1, 1: 60, 2: 14, 3: 6, 4: 4, 5: 3}[rank]
        return [self.below(longest) + (0 if self.chance(0.1) else 1) for _ in range(rank)]

    def tensor(self, dtype, least_rank=0, repeats=False):
        """A case's tensor, and its dense form."""
        return self.of_shape(dtype, self.shape(least_rank), repeats)

    def of_shape(self, dtype, shape, repeats=False, fill=None):
        """The same of a shape, and maybe with a fill."""
        size = int(np.prod(shape, dtype=int))
        count = size if self.chance(0.1) else self.below(size + 1)
        positions = self.rng.permutation(size)[:count]
        if repeats and size:
            positions = self.rng.integers(0, size, count)
        values = self.elements(dtype, count)
        if fill is None:
            fill = self.elements(dtype, 1) if self.chance(0.5) else np.zeros(1, dtype)
        case = {"dtype": dtype, "shape": shape, "positions": positions.tolist(), "values": words(values), "fill": words(fill)}
        dense = np.full(size, fill[0], dtype)
        dense[positions] = values
        return case, dense.reshape(shape), positions, values, fill[0]

    def axes(self, rank):
        """None for all of them, or some: the last one often."""
        if rank == 0 or self.chance(0.2):
            return None
        if self.chance(0.4):
            return [-1]
        some = self.rng.permutation(rank)[: self.below(rank) + 1]
        return [int(axis) - (rank if self.chance(0.5) else 0) for axis in some]

    def case(self, operation):
        """A case, and what the others say: an array, or None for an error."""
        if operation.startswith("eval:"):
            return LINES[operation.removeprefix("eval:")](self)
        if operation in FUNCTIONS:
            return self.function(operation, FUNCTIONS[operation])
        if operation in ARITHMETIC:
            return self.of_two(operation, *ARITHMETIC[operation])
        if operation in COMPARISONS:
            return self.compared(operation, getattr(np, operation))
        if operation in MOVES:
            return self.moved(operation)
        return getattr(self, operation)()

    def any(self):
        case, dense, positions, values, fill = self.tensor(self.rng.choice(list(TYPES)))
        axes = self.axes(dense.ndim)
        case.update(op="any", axes=axes)
        expected = dense.any(axis=None if axes is None else tuple(axes))
        if self.chance(1 / ONE_IN) and dense.ndim > 0 and dense.size > 0:
            coords = np.array(np.unravel_index(positions, dense.shape))
            theirs = sparse.COO(coords, values, shape=dense.shape, fill_value=fill).any(
                axis=None if axes is None else tuple(axes))
            theirs = theirs.todense() if hasattr(theirs, "todense") else theirs
            assert np.array_equal(theirs, expected), ("sparse", case)
        return case, np.asarray(expected)

    def count_nonzero(self):
        case, dense, *_ = self.tensor(self.rng.choice(list(TYPES)))
        axes = self.axes(dense.ndim)
        case.update(op="count_nonzero", axes=axes)
        return case, np.asarray(np.count_nonzero(dense, axis=None if axes is None else tuple(axes)), np.uint64)

    def reduced(self, name, types, of, dtype=None):
        """A reduction of each group, which is a list in row-major order; None of `of` is an error."""
        case, dense, *_ = self.tensor(self.rng.choice(types))
        axes = self.axes(dense.ndim)
        case.update(op=name, axes=axes)
        # A computed fill has no sign: of a negative zero, or of products that vanish.
        fill = np.asarray(case["fill"], np.uint64).astype(TYPES[case["dtype"]]).view(case["dtype"])[0]
        case["unsigned"] = fill.dtype.kind == "f" and bool(np.signbit(fill))
        rank = dense.ndim
        gone = list(range(rank)) if axes is None else sorted(axis % rank for axis in axes)
        kept = [axis for axis in range(rank) if axis not in gone]
        lengths = [dense.shape[axis] for axis in kept]
        groups = dense.transpose(kept + gone).reshape(int(np.prod(lengths, dtype=int)), -1) if dense.size else np.empty(
            (int(np.prod(lengths, dtype=int)), 0), dense.dtype)
        results = [of(group) for group in groups]
        if any(result is None for result in results):
            return case, None
        return case, np.array(results, dtype or dense.dtype).reshape(lengths)

    def all(self):
        return self.reduced("all", list(TYPES), np.all, bool)

    def sum(self):
        dtype = str(self.rng.choice(["f8", "i8", "u8", "u1", "b1"]))
        whole = dtype != "f8"
        limits = (0, 2**64) if dtype in ("u8", "u1", "b1") else (-2**63, 2**63)

        def of(group):
            if whole:
                total = sum(int(value) for value in group)
                return total if limits[0] <= total < limits[1] else None
            return fsum(group)
        return self.reduced("sum", [dtype], of, "f8" if not whole else "i8" if dtype == "i8" else "u8")

    def mean(self):
        dtype = str(self.rng.choice(["f8", "i8", "u1", "b1"]))

        def of(group):
            if len(group) == 0:
                return float("nan")
            total = sum(map(Fraction, map(float, group))) if dtype == "f8" and np.isfinite(group).all() else None
            if total is None and dtype != "f8":
                total = Fraction(sum(int(value) for value in group))
            return fsum(group) if total is None else float(total / len(group)) + 0.0
        return self.reduced("mean", [dtype], of, "f8")

    def prod(self):
        dtype = str(self.rng.choice(["f8", "f4", "i8", "u8", "u1", "b1"]))
        limits = (0, 2**64) if dtype in ("u8", "u1", "b1") else (-2**63, 2**63)

        def of(group):
            if dtype in ("f8", "f4"):
                return tree(group)
            product = math.prod(int(value) for value in group)
            return product if limits[0] <= product < limits[1] else None
        return self.reduced("prod", [dtype], of, dtype if dtype in ("f8", "f4", "i8") else "u8")

    def median(self):
        return self.ranked("median", 0.5, "linear")

    def quantile(self):
        q = float(self.rng.choice([0.0, 1.0, 0.5, 0.25, 0.9, self.rng.random(), self.rng.random()]))
        return self.ranked("quantile", q, str(self.rng.choice(["linear", "lower", "higher", "midpoint", "nearest"])))

    def ranked(self, name, q, method):
        """The ranks are numpy's; what lies between two values is the real number, rounded once."""
        dtype = str(self.rng.choice(["f8", "i8", "u1"]))

        def of(group):
            if len(group) == 0 or (dtype == "f8" and np.isnan(group).any()):
                return float("nan")
            low, high = (float(np.quantile(np.sort(group), q, method=end)) for end in ("lower", "higher"))
            if method == "lower" or low == high:
                return low + 0.0
            if method in ("higher", "nearest"):
                return float(np.quantile(np.sort(group), q, method=method)) + 0.0
            if not (math.isfinite(low) and math.isfinite(high)):
                return low + high
            h = q * (len(group) - 1)
            t = Fraction(0.5 if method == "midpoint" else h - math.floor(h))
            return float(Fraction(low) + (Fraction(high) - Fraction(low)) * t) + 0.0
        case, expected = self.reduced(name, [dtype], of, "f8")
        case.update(q=words(np.array([q])), method=method)
        return case, expected

    def var(self):
        return self.spread("var", lambda value: value)

    def std(self):
        return self.spread("std", math.sqrt)

    def spread(self, name, of):
        dtype, ddof = str(self.rng.choice(["f8", "i8", "u1"])), self.below(3)

        def spread(group):
            if len(group) <= ddof or not np.isfinite(group.astype("f8")).all():
                return float("nan")
            try:
                mean = float(sum(Fraction(value.item()) for value in group) / len(group))
                squares = [(float(value.item()) - mean) * (float(value.item()) - mean) for value in group]
                return of(float(sum(map(Fraction, squares)) / (len(group) - ddof)))
            except OverflowError:
                return float("inf")
        case, expected = self.reduced(name, [dtype], spread, "f8")
        case.update(ddof=[ddof])
        return case, expected

    def extreme(self, name, of):
        def guarded(group):
            return None if len(group) == 0 else of(group)
        return self.reduced(name, ["f8", "f4", "i8", "u8", "u1"], guarded, np.uint64 if name.startswith("arg") else None)

    def min(self):
        return self.extreme("min", lambda group: group[np.argmin(group)] if np.isnan(group).any() or group.min() != 0 or
                            group.dtype.kind != "f" else np.copysign(group.dtype.type(0), -1.0 if np.signbit(
                                group[group == 0]).any() else 1.0))

    def max(self):
        return self.extreme("max", lambda group: group[np.argmax(group)] if np.isnan(group).any() or group.max() != 0 or
                            group.dtype.kind != "f" else np.copysign(group.dtype.type(0), 1.0 if not np.signbit(
                                group[group == 0]).all() else -1.0))

    def argmin(self):
        return self.extreme("argmin", np.argmin)

    def argmax(self):
        return self.extreme("argmax", np.argmax)

    def isin(self):
        dtype = self.rng.choice(list(TYPES))
        case, dense, *_ = self.tensor(dtype)
        test = self.elements(dtype, self.below(60) if self.chance(0.5) else self.below(4))
        if dtype in ("i8", "u1") and self.chance(0.7):
            test = test[test < 100]
        # A table is for integers, and wants a short range.
        table = dtype in ("u1", "b1") or (dtype == "i8" and len(test) > 0 and int(test.max()) < 100)
        invert = self.chance(0.3)
        case.update(op="isin", test=words(test), invert=invert, kind=[self.below(3 if table else 2)])
        return case, np.isin(dense, test, invert=invert)

    def items(self, length, mode):
        count = self.below(12)
        far = self.chance(0.5) if mode != "raise" else self.chance(0.2)
        low, high = (-3 * length - 2, 3 * length + 2) if far else (-length, max(length, 1 - length))
        return self.rng.integers(low, max(high, low + 1), count)

    def take(self):
        mode = str(self.rng.choice(["raise", "wrap", "clip"]))
        case, dense, *_ = self.tensor(self.rng.choice(list(TYPES)))
        items = self.items(dense.size, mode)
        case.update(op="take", mode=mode, items=items.tolist())
        return case, self.attempt(lambda: np.take(dense, items, mode=mode))

    def take_axis(self):
        mode = str(self.rng.choice(["raise", "wrap", "clip"]))
        case, dense, *_ = self.tensor(self.rng.choice(list(TYPES)), least_rank=1)
        axis = self.below(dense.ndim)
        items = self.items(dense.shape[axis], mode)
        case.update(op="take_axis", mode=mode, items=items.tolist(), axes=[axis - (dense.ndim if self.chance(0.5) else 0)])
        length = dense.shape[axis]
        outside = mode == "raise" and bool(((items < -length) | (items >= length)).any())
        refused = outside or (length == 0 and len(items) > 0)
        return case, None if refused else self.attempt(lambda: np.take(dense, items, axis=axis, mode=mode))

    @staticmethod
    def attempt(ask):
        try:
            return ask()
        except (IndexError, ValueError):
            return None

    def nanmedian(self):
        case, dense, *_ = self.tensor(self.rng.choice(REALS))
        if dense.dtype.kind in "iu":
            dense = np.where(dense == np.iinfo(dense.dtype).max, 3, dense).astype(dense.dtype)
            top = words(np.array([np.iinfo(dense.dtype).max], dense.dtype))[0]
            for key in ("values", "fill"):
                case[key] = [3 if word == top else word for word in case[key]]
        axes = self.axes(dense.ndim)
        case.update(op="nanmedian", axes=axes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.nanmedian(dense, axis=None if axes is None else tuple(axes))
        return case, np.asarray(expected)

    def tested(self, operation, types):
        case, dense, *_ = self.tensor(self.rng.choice(types))
        case.update(op=operation)
        return case, getattr(np, operation)(dense)

    def isposinf(self):
        return self.tested("isposinf", REALS)

    def isneginf(self):
        return self.tested("isneginf", REALS)

    def isnan(self):
        return self.tested("isnan", list(TYPES))

    def isinf(self):
        return self.tested("isinf", list(TYPES))

    def isfinite(self):
        return self.tested("isfinite", list(TYPES))

    def isreal(self):
        return self.tested("isreal", list(TYPES))

    def pair(self, dtype, finite=False):
        """Two tensors whose shapes broadcast, the second one in the first one's case, and their dense forms."""
        case, dense, *_ = self.tensor(dtype)
        other, beside, *_ = self.of_shape(dtype, [1 if self.chance(0.2) else length for length in dense.shape])
        case["other"] = other
        if finite:
            for part in (case, other):
                for key in ("values", "fill"):
                    values = np.array(part[key], np.uint64).astype(TYPES[dtype]).view(dtype)
                    part[key] = words(np.where(np.isfinite(values), values, 3).astype(dtype))
            dense, beside = (np.where(np.isfinite(x), x, 3).astype(dtype) for x in (dense, beside))
        return case, dense, beside

    def fitting(self, exact, dtype):
        """Python's integers as those of a type, None where they do not fit."""
        exact, limits = np.asarray(exact, dtype=object), np.iinfo(dtype)
        fits = all(limits.min <= value <= limits.max for value in exact.ravel())
        return exact.astype(dtype) if fits else None

    def of_two(self, operation, of, of_integers=None):
        """An arithmetic operation; integers are exact, or an error."""
        dtype = str(self.rng.choice(["f8", "f4", "i8", "u8", "u1"]))
        case, a, b = self.pair(dtype, finite=operation == "multiply" and dtype[0] == "f")
        case["op"] = operation
        if operation == "divide" and dtype[0] == "f" and case["other"]["shape"] != case["shape"]:
            # A repeated divisor that stores every position may give no NaN where the dividend stores nothing.
            other = case["other"]
            values = np.array(other["values"], np.uint64).astype(TYPES[dtype]).view(dtype)
            if len(values) == b.size:
                b = np.where((b == 0) | np.isnan(b), 3, b).astype(dtype)
                other["values"] = words(np.where((values == 0) | np.isnan(values), 3, values).astype(dtype))
        if dtype[0] == "f":
            with np.errstate(all="ignore"):
                return case, (of(a, b) + np.zeros(1, dtype)[0]).astype(dtype)
        if operation == "divide" and (b == 0).any() and a.size and b.size:
            return case, None
        return case, self.fitting((of_integers or of)(a.astype(object), b.astype(object)), dtype)

    def compared(self, operation, of):
        dtype = str(self.rng.choice(["f8", "f4", "i8", "u8", "u1"]))
        case, a, b = self.pair(dtype)
        case["op"] = operation
        return case, of(a, b)

    def where(self):
        case, a, b = self.pair(str(self.rng.choice(["f8", "f4", "i8", "u1"])))
        condition, c, *_ = self.of_shape("b1", [1 if self.chance(0.2) else length for length in a.shape])
        case.update(op="where", condition=condition)
        return case, np.where(c, a, b)

    def small(self, dtype, shape):
        """Small integers in a type, with a fill of zero: every order of their sums of products is exact."""
        size = int(np.prod(shape, dtype=int))
        positions = self.rng.permutation(size)[: size if self.chance(0.2) else self.below(size + 1)]
        values = self.rng.integers(-4, 5, len(positions)).astype(dtype)
        case = {"dtype": dtype, "shape": list(shape), "positions": positions.tolist(), "values": words(values),
                "fill": words(np.zeros(1, dtype))}
        dense = np.zeros(size, dtype)
        dense[positions] = values
        return case, dense.reshape(shape)

    def small_pair(self, operation, left, right):
        dtype = str(self.rng.choice(["f8", "f4", "i8"]))
        case, a = self.small(dtype, left)
        case["other"], b = self.small(dtype, right)
        case["op"] = operation
        return case, a, b

    def lengths(self, rank):
        return [self.below(5) for _ in range(rank)]

    def outer(self):
        case, a, b = self.small_pair("outer", self.lengths(self.below(3)), self.lengths(self.below(3)))
        return case, np.multiply.outer(a, b) + a.dtype.type(0)

    def kron(self):
        rank = self.below(4)
        case, a, b = self.small_pair("kron", self.lengths(rank), self.lengths(rank))
        return case, np.asarray(np.kron(a, b)) + a.dtype.type(0)

    def einsum(self):
        spec = str(self.rng.choice(["ij,jk->ik", "ij,jk", "ij,kj->ik", "ij,ij->", "ij,ji->i", "i,j->ij", "ii,ij->j", "ijk,kj->i",
                                    "ijk,ljk->il", "bij,bjk->bik", "ij,k->i", "ij,->ji", "...ij,j...->i...", "ijk,ik->kj"]))
        letters = {letter: self.below(5) for letter in "bijkl"}
        sides = spec.split("->")[0].split(",")
        shapes = [[letters[letter] for letter in side.replace("...", "")] for side in sides]
        case, a, b = self.small_pair("einsum", *shapes)
        case["spec"] = spec
        return case, np.asarray(np.einsum(spec, a, b)) + a.dtype.type(0)

    def matmul(self):
        left, right = self.lengths(1 + self.below(2)), self.lengths(1 + self.below(2))
        right[max(len(right) - 2, 0)] = left[-1]
        case, a, b = self.small_pair("matmul", left, right)
        expected = a @ b
        if len(left) == 2 and len(right) == 2 and min(left + right) > 0:
            assert np.array_equal((sp.csr_array(a) @ sp.csr_array(b)).toarray(), expected), ("scipy", case)
        return case, np.asarray(expected) + a.dtype.type(0)

    def matmul_with(self):
        """On a mask, and by other operations, among what is stored: over all triples, with what is no term left out."""
        m, k, n = (1 + self.below(5) for _ in range(3))
        case, a, b = self.small_pair("matmul_with", [m, k], [k, n])
        case["mask"], _ = self.small("f8", [m, n])
        semiring = str(self.rng.choice(list(SEMIRINGS)))
        case.update(semiring=semiring, how=self.below(3))
        stored = lambda case, shape: np.isin(np.arange(np.prod(shape, dtype=int)), case["positions"]).reshape(shape)
        meets = stored(case, [m, k])[:, :, None] & stored(case["other"], [k, n])[None]
        multiply, add, zero = SEMIRINGS[semiring]
        low, high = (np.iinfo(a.dtype).min, np.iinfo(a.dtype).max) if a.dtype.kind == "i" else (-np.inf, np.inf)
        zero = a.dtype.type({"low": low, "high": high}.get(zero, zero))
        terms = np.where(meets, multiply(*np.broadcast_arrays(a[:, :, None], b[None])), zero)
        mask = stored(case["mask"], [m, n])
        shown = [np.ones((m, n), bool), mask, ~mask][case["how"]] & meets.any(1)
        expected = np.where(shown, add.reduce(terms, 1), zero)
        if semiring == "plus_times":
            product = sp.csr_array(a) @ sp.csr_array(b)
            assert np.array_equal(product.multiply(shown).toarray(), expected), ("scipy", case)
        return case, (expected + a.dtype.type(0)).astype(a.dtype)

    def sddmm(self):
        rows, columns, k = self.below(6) + 1, self.below(6) + 1, self.below(20)
        case, x = self.small(str(self.rng.choice(["f8", "f4", "i8"])), [rows, columns])
        case["op"] = "sddmm"
        case["l"], l = self.small(case["dtype"], [rows, k])
        case["r"], r = self.small(case["dtype"], [columns, k])
        pattern = np.zeros(rows * columns, bool)
        pattern[case["positions"]] = True
        return case, np.where(pattern.reshape(rows, columns), l @ r.T, 0) + x.dtype.type(0)

    def function(self, operation, ulps):
        case, dense, *_ = self.tensor(str(self.rng.choice(["f8", "f4"])))
        case.update(op=operation, ulps=ulps)
        with np.errstate(all="ignore"):
            return case, getattr(np, operation)(dense) + dense.dtype.type(0)

    def power(self):
        dtype = str(self.rng.choice(["f8", "f4"]))
        case, a, b = self.pair(dtype)
        case.update(op="power", ulps=4)
        with np.errstate(all="ignore"):
            return case, (np.power(a, b) + np.zeros(1, dtype)[0]).astype(dtype)

    def moved(self, operation):
        """What moves elements; what is left open is zero."""
        dtype = str(self.rng.choice(list(TYPES)))
        least = {"tril": 2, "triu": 2, "diagonal": 2}.get(operation, 1)
        fill = np.zeros(1, dtype) if operation in ("tril", "triu", "pad") else None
        case, x, _, _, fill = self.of_shape(dtype, self.shape(least), fill=fill)
        axis, rank = self.below(x.ndim), x.ndim
        case.update(op=operation, axes=[axis - (rank if self.chance(0.5) else 0)], by=[self.below(19) - 9])
        by = case["by"]
        if operation == "flip":
            case["axes"] = self.axes(rank)
            return case, np.flip(x, None if case["axes"] is None else tuple(case["axes"]))
        if operation == "roll":
            return case, np.roll(x, by[0], axis)
        if operation == "repeat":
            by[0] = self.below(4)
            return case, np.repeat(x, by[0], axis)
        if operation == "tile":
            by[:] = [self.below(3) for _ in range(self.below(rank + 2))]
            return case, np.tile(x, by)
        if operation == "pad":
            by[:] = [self.below(3) for _ in range(2 * rank)]
            return case, np.pad(x, np.reshape(by, (rank, 2)))
        if operation in ("tril", "triu"):
            return case, getattr(np, operation)(x, by[0])
        if operation == "diagonal":
            return case, np.diagonal(x, by[0], -2, -1)
        if operation == "transpose":
            return case, x.T
        if operation == "moveaxis":
            by[:] = [self.below(rank), self.below(rank)]
            return case, np.moveaxis(x, *by)
        if operation == "slice":
            by[:] = []
            for at, length in enumerate(x.shape):
                start, end = sorted((self.below(length + 1), self.below(length + 1)))
                step = int(self.rng.choice([1, 1, 2, 3, -1, -2]))
                by += [start, end, step]
                # As in ndarray, the steps go from the end of the range if they are negative.
                x = x[(slice(None),) * at + (slice(start, end),)][(slice(None),) * at + (slice(None, None, step),)]
            return case, x
        shape = [self.below(4) if at == axis else length for at, length in enumerate(x.shape)]
        case["other"], beside, *_ = self.of_shape(dtype, shape, fill=np.array([fill], dtype))
        return case, np.concatenate([x, beside], axis)

    def topk(self):
        case, x, *_ = self.tensor(str(self.rng.choice(["f8", "f4", "i8"])), least_rank=1)
        axis = self.below(x.ndim)
        k = self.below(x.shape[axis] + 1)
        case.update(op="topk", axes=[axis], by=[k])
        lanes = np.moveaxis(x, axis, -1)
        out = np.full(lanes.shape[:-1] + (k,), np.nan if x.dtype.kind == "f" else 0, x.dtype)
        for at in np.ndindex(lanes.shape[:-1]):
            numbers = [value for value in lanes[at] if value == value]
            best = sorted(numbers, key=lambda value: -float(value) if x.dtype.kind == "f" else -int(value))[:k]
            out[at][: len(best)] = best
        return case, np.moveaxis(out, -1, axis)

    def group_sum(self):
        case, x, *_ = self.of_shape("i8", self.shape(1), fill=np.zeros(1, "i8"))
        axis = self.below(x.ndim)
        labels = self.rng.integers(0, 5, x.shape[axis])
        case.update(op="group_sum", axes=[axis], by=labels.tolist())
        count = int(labels.max()) + 1 if len(labels) else 0
        members = [x.astype(object).take(np.flatnonzero(labels == label), axis) for label in range(count)]
        sums = [np.asarray(part.sum(axis=axis), dtype=object) for part in members]
        shape = x.shape[:axis] + (0,) + x.shape[axis + 1:]
        return case, self.fitting(np.stack(sums, axis) if sums else np.zeros(shape, object), "i8")

    def permute(self):
        case, dense, *_ = self.tensor(self.rng.choice(list(TYPES)))
        axes = self.rng.permutation(dense.ndim)
        case.update(op="permute", axes=axes.tolist())
        return case, dense.transpose(axes)

    def reshape(self):
        case, dense, *_ = self.tensor(self.rng.choice(list(TYPES)))
        shape, left = [], dense.size
        while left > 1 and not self.chance(0.2):
            divisors = [n for n in range(1, left + 1) if left % n == 0]
            shape.append(int(self.rng.choice(divisors)))
            left //= shape[-1]
        shape.append(left)
        case.update(op="reshape", into=shape)
        return case, dense.reshape(shape)

    def coalesce(self):
        case, dense, positions, values, fill = self.tensor(self.rng.choice(["f8", "f4", "b1"]), repeats=True)
        case.update(op="coalesce")
        flat = np.full(dense.size, fill, dense.dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for place in np.unique(positions):
                here = values[positions == place]
                # From left to right, from the first one on; numpy's own sums start with a zero or go in pairs.
                flat[place] = np.logical_or.accumulate(here)[-1] if here.dtype == bool else np.add.accumulate(here)[-1]
            if self.chance(0.2) and dense.ndim == 2 and dense.dtype != bool and fill == 0:
                coords = np.unravel_index(positions, dense.shape)
                theirs = sp.coo_array((values, coords), shape=dense.shape).toarray()
                assert np.array_equal(theirs, flat.reshape(dense.shape) * (0 * fill + 1), equal_nan=True), ("scipy", case)
        if self.chance(1 / ONE_IN) and dense.ndim > 0 and dense.size > 0:
            coords = np.array(np.unravel_index(positions, dense.shape))
            theirs = sparse.COO(coords, np.ones(len(positions)), shape=dense.shape)
            assert theirs.nnz == len(np.unique(positions)), ("sparse", case)
        return case, flat.reshape(dense.shape)


def truncated(a, b):
    """The quotients of Python's integers, cut off towards zero."""
    quotient = np.asarray(abs(a) // abs(b) if a.size and b.size else a * b, object)
    return np.where((a < 0) != (b < 0), np.asarray(-quotient, object), quotient)


ARITHMETIC = {"add": (np.add,), "subtract": (np.subtract,), "multiply": (np.multiply,),
              "divide": (np.divide, truncated), "minimum": (np.minimum,), "maximum": (np.maximum,)}
# How terms are made, how they are added, and what no terms come to.
SEMIRINGS = {"plus_times": (np.multiply, np.add, 0), "min_plus": (np.add, np.minimum, "high"), "max_plus": (np.add, np.maximum, "low"),
             "max_times": (np.multiply, np.maximum, "low"), "max_min": (np.minimum, np.maximum, "low"),
             "plus_first": (lambda a, b: a, np.add, 0), "plus_pair": (lambda a, b: np.ones_like(a), np.add, 0)}
COMPARISONS = ["equal", "not_equal", "less", "greater_equal"]
# So many units in the last place may lie between two libraries of functions.
FUNCTIONS = {"absolute": 0, "negative": 0, "sign": 0, "square": 0, "sqrt": 0, "rint": 0, "floor": 0, "ceil": 0, "trunc": 0,
             "reciprocal": 0, "exp": 4, "expm1": 4, "log": 4, "log1p": 4, "sin": 4, "cos": 4, "tanh": 4, "cbrt": 4, "log2": 4}
MOVES = ["flip", "roll", "repeat", "tile", "pad", "tril", "triu", "diagonal", "transpose", "moveaxis", "slice", "concatenate"]
OPERATIONS = ["any", "count_nonzero", "all", "sum", "mean", "min", "max", "argmin", "argmax", "isin", "take", "take_axis", "nanmedian", "prod", "median", "quantile", "var", "std", "isposinf", "isneginf", "isnan", "isinf", "isfinite",
              "isreal", "permute", "reshape", "coalesce", "topk", "group_sum", "where", "power", "outer", "kron", "einsum", "sddmm", "matmul",
              "matmul_with",
              *ARITHMETIC, *COMPARISONS, *FUNCTIONS, *MOVES, *(f"eval:{name}" for name in LINES)]
# The operations that are asked under the names of numpy.
ALIASES = {"sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power", "abs": "absolute", "neg": "negative",
           "round": "rint", "recip": "reciprocal", "exp_m1": "expm1", "ln": "log", "ln_1p": "log1p", "where_": "where",
           "concat": "concatenate", "move_axis": "moveaxis"}
# The operations that nobody else has, or has by chance.
NOT_ASKED = {"grad": "is a step of expressions", "random": "nobody has these numbers", "nanmedian_index": "nobody tells it"}


def lacking(names):
    """The operations that no line asks. Gradients nobody else has; tests hold them against differences and definitions."""
    asked = {name.removeprefix("eval:") for name in OPERATIONS} | set(NOT_ASKED)
    return [name for name in names if not name.endswith("_backward") and ALIASES.get(name, name) not in asked]


def check(case, expected, answer):
    """Whether lacuna's answer is what the others say."""
    if expected is None or "error" in answer:
        return expected is None and "error" in answer
    expected = without_payload(expected)
    if answer.get("shape") != list(expected.shape):
        return False
    bits = TYPES[expected.dtype.str[1:]]
    found = np.array(answer["words"], np.uint64).astype(bits).view(expected.dtype).reshape(expected.shape)
    if case.get("unsigned") and found.dtype != bool:
        found, expected = found + found.dtype.type(0), expected + expected.dtype.type(0)
    if "within" in case:
        with np.errstate(all="ignore"):
            near = np.abs(found.astype("f8") - expected.astype("f8")) <= np.reshape(case["within"], expected.shape)
        return bool(np.all((found == expected) | (np.isnan(found) & np.isnan(expected)) | near))
    if case.get("ulps"):
        with np.errstate(all="ignore"):
            near = np.abs(found - expected) <= case["ulps"] * np.spacing(np.maximum(np.abs(found), np.abs(expected)))
        return bool(np.all((found == expected) | (np.isnan(found) & np.isnan(expected)) | near))
    return words(without_payload(found)) == words(expected)


def run(program, operation, count, seed):
    """The cases of an operation that were answered, and those of them that were not answered alike."""
    maker = Maker([seed, *operation.encode()])
    cases = [maker.case(operation) for _ in range(count)]
    lines = "".join(json.dumps(case) + "\n" for case, _ in cases)
    process = subprocess.Popen([program, "--cases"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    writer = threading.Thread(target=lambda: (process.stdin.write(lines), process.stdin.close()))
    writer.start()
    answers = [json.loads(line) for line in process.stdout]
    writer.join()
    assert process.wait() == 0 and len(answers) == count, f"{operation}: stopped after {len(answers)} of {count}"
    wrong = [(case, expected, answer) for (case, expected), answer in zip(cases, answers) if not check(case, expected, answer)]
    errors = sum("error" in answer for answer in answers)
    return errors, wrong


def ask(program, operation, count, seed):
    """What is printed of an operation, and how many of its cases differ."""
    done, errors, failed, told = 0, 0, 0, []
    # Piece by piece, so that a hundred thousand cases fit memory.
    while done < count:
        piece = min(5000, count - done)
        refused, wrong = run(program, operation, piece, seed + done)
        done, errors, failed = done + piece, errors + refused, failed + len(wrong)
        for case, expected, answer in wrong[:3]:
            told.append(f"{operation}: {json.dumps(case)}\n  expected {expected!r}\n  found {answer}")
    told.append(f"{operation}: {done} cases, {errors} of them refused by both")
    return "\n".join(told), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many operations are asked at once")
    arguments = parser.parse_args()
    failed = 0
    if differential_graphs.graphblas is None:
        print("eval:graphblas: skipped, python-graphblas is not there", flush=True)
    names = subprocess.run([arguments.program, "--functions"], capture_output=True, text=True, check=True).stdout.split()
    if lacking(names) or not names:
        sys.exit(f"no line asks {', '.join(lacking(names))}")
    operations = [arguments.only] if arguments.only else list(OPERATIONS)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        asked = [pool.submit(ask, arguments.program, name, arguments.cases, arguments.seed) for name in operations]
        for answer in asked:
            told, differences = answer.result()
            failed += differences
            print(told, flush=True)
    sys.exit(f"{failed} differences" if failed else 0)


if __name__ == "__main__":
    main()
