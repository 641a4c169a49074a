"""The operations that tests/differential.py asks as expressions (`lacuna eval`), of tensors of both formats.

A line is a function of the maker of cases; it gives the expression, the tensors that it names, and what numpy says.

What is different on purpose, beside what tests/differential.py tells:

- Sums of products go from left to right here, in blocks or by fused steps there: numbers that have digits are held
  within `2 (k + f) u sum|a||b|`, k terms of f factors with u the unit roundoff; small integers exactly.
- `nanmin` and `nanmax` of no numbers are NaN, and the positions of their kin the largest `u64`; numpy has errors.
- `norm(x, 2)` is the root of the exact sum of squares, and no square overflows.
- `unique` counts all NaNs as one and zeros as one, without a sign.
- `softmax` takes its exponentials and their sum in `f64`: 8 units in the last place of `f64`.
- What is looked at in a stored view is what is stored: a group without entries has the result of nothing.
"""

import math
from fractions import Fraction

import numpy as np
import scipy.special
import sparse

from differential_numbers import chain, fsum, narrowed, tree, words

LINES = {}
U64_MAX = 2**64 - 1
# pydata/sparse is slow.
ONE_IN = 50


def line(*names):
    """Makes a function of a maker and a name the line of operations."""
    def of(function):
        for name in names:
            LINES[name] = lambda maker, name=name: function(maker, name)
        return function
    return of


def asked(text, tensors, expected, **how):
    """A case of an expression. Zeros that are not stored have no sign, unless it only moves elements."""
    case = {"eval": text, "names": tensors, "unsigned": True, **how}
    return case, None if expected is None else np.asarray(expected)


def bits_of(case):
    return np.isin(np.arange(int(np.prod(case["shape"], dtype=int))), case["positions"]).reshape(case["shape"])


def named(axes):
    return '"all"' if axes is None else str(list(axes))


# Reductions.

def folded(maker, name, dtypes, of, dtype=None, options=""):
    case, expected = maker.reduced(name, dtypes, of, dtype)
    axes = case.pop("axes")
    return asked(f"{name}(x, axis={named(axes)}{options})", {"x": case}, expected)


def numbers(group):
    return group[~np.isnan(group)]


def extreme(group, is_least):
    """The least or the greatest: NaN of none, and a zero with its sign."""
    if len(group) == 0:
        return np.nan
    found = group.min() if is_least else group.max()
    if found == 0:
        signs = np.signbit(group[group == 0])
        return np.copysign(found, -1.0 if (signs.any() if is_least else signs.all()) else 1.0)
    return found


@line("nansum", "nanmean", "nanprod", "nanmin", "nanmax", "nanargmin", "nanargmax")
def without_nan(maker, name):
    of = {
        "nansum": lambda group: fsum(numbers(group)),
        "nanmean": lambda group: exact_mean(numbers(group)),
        "nanprod": lambda group: tree(np.where(np.isnan(group), 1.0, group)),
        "nanmin": lambda group: extreme(numbers(group), True),
        "nanmax": lambda group: extreme(numbers(group), False),
        "nanargmin": lambda group: place(group, np.argmin),
        "nanargmax": lambda group: place(group, np.argmax),
    }[name]
    return folded(maker, name, ["f8"], of, np.uint64 if "arg" in name else None)


def exact_mean(group):
    if len(group) == 0:
        return float("nan")
    if not np.isfinite(group).all():
        return fsum(group)
    return float(sum(map(Fraction, group.tolist())) / len(group)) + 0.0


def place(group, of):
    # numpy's own takes a NaN for an infinity, and finds it where there is one.
    at = np.flatnonzero(~np.isnan(group))
    return at[of(group[at])] if len(at) else U64_MAX


@line("nanvar", "nanstd")
def spread_without_nan(maker, name):
    ddof = maker.below(3)

    def of(group):
        group = numbers(group)
        if len(group) <= ddof or not np.isfinite(group).all():
            return float("nan")
        mean = exact_mean(group)
        squares = [Fraction((value - mean) * (value - mean)) for value in group.tolist()]
        variance = float(sum(squares) / (len(group) - ddof))
        return variance if name == "nanvar" else math.sqrt(variance)
    return folded(maker, name, ["f8"], of, options=f", ddof={ddof}")


@line("nanquantile")
def quantile_without_nan(maker, name):
    q, method = float(maker.rng.choice([0.0, 1.0, 0.5, 0.25, maker.rng.random()])), str(maker.rng.choice(["lower", "higher"]))

    def of(group):
        group = numbers(group)
        return float(np.quantile(np.sort(group), q, method=method)) + 0.0 if len(group) else float("nan")
    return folded(maker, name, ["f8"], of, options=f', q={q!r}, method="{method}"')


@line("norm")
def norm(maker, name):
    dtype, order = str(maker.rng.choice(["f8", "f4"])), [1, 2, math.inf][maker.below(3)]

    def of(group):
        group = np.abs(group)
        if np.isnan(group).any() or np.isinf(group).any() or len(group) == 0:
            return group.max() if len(group) else 0.0
        exact = [Fraction(float(value)) for value in group]
        found = {1: lambda: float(sum(exact)), 2: lambda: math.sqrt(float(sum(value * value for value in exact))),
                 math.inf: lambda: float(max(exact))}[order]()
        assert math.isclose(found, np.linalg.norm(group.astype("f8"), order), rel_tol=1e-14)
        return found
    return folded(maker, name, [dtype], of, options=f", ord={order}")


@line("logsumexp")
def logsumexp(maker, name):
    """The largest, and the logarithm of the exact sum of what is taken of it, each step rounded."""
    dtype = str(maker.rng.choice(["f8", "f4"]))

    def of(group):
        wide = group.astype("f8")
        largest = wide.max(initial=-np.inf)
        found = largest + math.log(fsum(np.exp(wide - largest))) if np.isfinite(largest) else largest
        with np.errstate(all="ignore"):
            theirs = scipy.special.logsumexp(wide) if len(wide) else -np.inf
        assert np.isclose(found, theirs, rtol=1e-12, atol=1e-12, equal_nan=True), (found, theirs)
        return found
    # The exponentials and the logarithm may differ, the largest element not: an error of a few units of the sum.
    case, expected = folded(maker, name, [dtype], of)
    size = np.where(np.isfinite(expected), np.abs(expected).astype("f8"), 0.0)
    return {**case, "within": (8 * 2.0**-52 * (1 + size) + np.finfo(dtype).eps * size).ravel().tolist()}, expected


@line("stored")
def of_what_is_stored(maker, name):
    """Reductions of a stored view: each group is what it stores."""
    fold, of, dtype = [
        ("sum", lambda group: fsum(group), None),
        ("mean", exact_mean, None),
        ("max", lambda group: np.nan if np.isnan(group).any() else extreme(group, False), None),
        ("count_nonzero", np.count_nonzero, np.uint64),
        ("any", np.any, bool),
        ("all", np.all, bool),
    ][maker.below(6)]
    case, dense, *_ = maker.tensor("f8")
    axes, rank = maker.axes(dense.ndim), dense.ndim
    gone = list(range(rank)) if axes is None else sorted(axis % rank for axis in axes)
    kept = [axis for axis in range(rank) if axis not in gone]
    lengths = [dense.shape[axis] for axis in kept]
    count = int(np.prod(lengths, dtype=int))
    shape = (count, dense.size // count if count else 0)
    groups, stored = (x.transpose(kept + gone).reshape(shape) for x in (dense, bits_of(case)))
    results = [of(group[where]) for group, where in zip(groups, stored)]
    return asked(f"{fold}(stored(x), axis={named(axes)})", {"x": case}, np.array(results, dtype or dense.dtype).reshape(lengths))


@line("unique", "unique_counts")
def unique(maker, name):
    case, dense, *_ = maker.tensor(str(maker.rng.choice(["f8", "f4", "i8", "u8", "u1", "b1"])))
    plain = dense.ravel() if dense.dtype == bool else dense.ravel() + dense.dtype.type(0)
    values, counts = np.unique(plain, return_counts=True, equal_nan=True)
    return asked(f"{name}(x)", {"x": case}, values if name == "unique" else counts.astype(np.uint64))


def full(maker, dtype, shape):
    """A tensor that stores every position, and no NaN."""
    values = maker.elements(dtype, int(np.prod(shape, dtype=int)))
    values = np.where(np.isnan(values), 2, values).astype(dtype) if dtype[0] == "f" else values
    case = {"dtype": dtype, "shape": list(shape), "positions": list(range(values.size)), "values": words(values), "fill": [0]}
    return case, values.reshape(shape)


@line("sort")
def sort(maker, name):
    dtype = str(maker.rng.choice(["f8", "f4", "i8", "u1"]))
    case, dense, *_ = maker.of_shape(dtype, maker.shape(1))
    axis, expected = maker.below(dense.ndim), dense.copy()
    if maker.below(2):
        return asked(f"sort(x, axis={axis})", {"x": case}, np.sort(dense, axis, kind="stable"))
    lanes, stored, found = (np.moveaxis(array, axis, -1) for array in (dense, bits_of(case), expected))
    for at in np.ndindex(lanes.shape[:-1]):
        found[at][stored[at]] = np.sort(lanes[at][stored[at]], kind="stable")
    return asked(f"sort(stored(x), axis={axis})", {"x": case}, expected)


@line("argsort", "topk_index")
def ranks(maker, name):
    case, dense = full(maker, str(maker.rng.choice(["f8", "i8", "u1"])), maker.shape(1))
    axis = maker.below(dense.ndim)
    if name == "argsort":
        return asked(f"argsort(stored(x), axis={axis})", {"x": case}, np.argsort(dense, axis, kind="stable").astype(np.uint64))
    k = maker.below(dense.shape[axis] + 1)
    # The greatest first, and of equal ones the first: by positions from the end, sorted and turned round.
    turned = np.flip(np.argsort(np.flip(dense, axis), axis, kind="stable"), axis)
    expected = (dense.shape[axis] - 1 - turned).take(np.arange(k), axis)
    return asked(f"topk_index(stored(x), {k}, axis={axis})", {"x": case}, expected.astype(np.uint64))


# Element by element.

@line("allclose")
def allclose(maker, name):
    case, a, b = maker.pair("f8")
    other = case.pop("other")
    rtol, atol, equal_nan = maker.rng.choice([0.0, 1e-5, 0.3]), maker.rng.choice([0.0, 1.0, 3.5]), maker.chance(0.5)
    if maker.chance(0.5):
        # The same but for a little: numbers of any kind are far apart.
        other, b = {**case}, a
        shifted = a + maker.rng.choice([0.0, 1e-6, 0.9])
        other["values"] = words(shifted.ravel()[case["positions"]])
        other["fill"] = case["fill"]
        b = np.where(bits_of(case), shifted, a)
    with np.errstate(all="ignore"):
        expected = np.allclose(a, b, rtol, atol, equal_nan)
    text = f"allclose(x, y, rtol={rtol!r}, atol={atol!r}, equal_nan={str(equal_nan).lower()})"
    return asked(text.replace("np.float64", ""), {"x": case, "y": other}, expected)


@line("is_close")
def is_close(maker, name):
    case, a, b = maker.pair("f8")
    rtol, atol, equal_nan = maker.rng.choice([0.0, 1e-5, 0.3]), maker.rng.choice([0.0, 1.0, 3.5]), maker.chance(0.5)
    with np.errstate(all="ignore"):
        expected = np.isclose(a, b, rtol, atol, equal_nan)
    text = f"is_close(x, y, rtol={float(rtol)!r}, atol={float(atol)!r}, equal_nan={str(equal_nan).lower()})"
    return asked(text, {"x": case, "y": case.pop("other")}, expected)


@line("nextafter")
def nextafter(maker, name):
    case, a, b = maker.pair(str(maker.rng.choice(["f8", "f4"])))
    return asked("nextafter(x, y)", {"x": case, "y": case.pop("other")}, np.nextafter(a, b))


@line("sinc")
def sinc(maker, name):
    case, dense, *_ = maker.tensor("f4")
    # numpy rounds the product with pi, so the comparison is in a wider type.
    wide = dense.astype("f8")
    with np.errstate(all="ignore"):
        expected = np.where(wide == np.round(wide), (wide == 0).astype("f8"), np.sinc(wide))
        expected = np.where(np.isfinite(wide), expected, np.nan)
    return asked("sinc(x)", {"x": case}, expected.astype("f4"), ulps=4)


@line("angle")
def angle(maker, name):
    case, dense, *_ = maker.tensor("f8")
    with np.errstate(all="ignore"):
        expected = np.angle((np.abs(dense) + 1) * (0.5 - 2j))
    return asked('angle(cast(abs(x) + 1, "complex128") * (0.5 - 2j))', {"x": case}, expected, ulps=4)


@line("rem", "rem_euclid", "less_equal", "greater", "bit_and", "bit_or", "bit_xor")
def zips(maker, name):
    dtypes = ["i8", "u8", "u1", "b1"] if name.startswith("bit") else ["f8", "f4", "i8", "u8", "u1"]
    dtype = str(maker.rng.choice(dtypes))
    case, a, b = maker.pair(dtype)
    tensors = {"x": case, "y": case.pop("other")}
    text = f"{name}(x, y)"
    if name.startswith("rem"):
        if dtype[0] != "f" and (b == 0).any() and a.size and b.size:
            return asked(text, tensors, None)
        with np.errstate(all="ignore"):
            expected = np.fmod(a, b)
            if name == "rem_euclid":
                expected = np.where(expected < 0, expected + np.abs(b), expected).astype(a.dtype)
        return asked(text, tensors, expected)
    of = {"less_equal": np.less_equal, "greater": np.greater, "bit_and": np.bitwise_and, "bit_or": np.bitwise_or,
          "bit_xor": np.bitwise_xor}[name]
    return asked(text, tensors, of(a, b))


@line("div_floor", "rem_floor", "shift_left", "shift_right")
def floors(maker, name):
    # A float quotient of an unstored zero may lose its sign, so numpy's float quotients are not compared here.
    dtype = str(maker.rng.choice(["f8", "i8", "u8", "u1"] if name == "rem_floor" else ["i8", "u8", "u1"]))
    case, a, b = maker.pair(dtype)
    tensors, text = {"x": case, "y": case.pop("other")}, f"{name}(x, y)"
    if dtype == "f8":
        with np.errstate(all="ignore"):
            return asked(text, tensors, np.remainder(a, b))
    a, b = np.broadcast_arrays(a, b)
    bits, info = 8 * a.dtype.itemsize, np.iinfo(a.dtype)
    try:
        of = {"div_floor": lambda x, y: x // y, "rem_floor": lambda x, y: x % y,
              "shift_left": lambda x, y: x << min(y, 2 * bits),
              "shift_right": lambda x, y: x >> y}[name]
        found = [of(int(x), int(y)) for x, y in zip(a.ravel(), b.ravel())]
        if any(not info.min <= number <= info.max for number in found):
            return asked(text, tensors, None)
    except (ZeroDivisionError, ValueError):
        return asked(text, tensors, None)
    return asked(text, tensors, np.array(found, a.dtype).reshape(a.shape))


@line("hypot", "atan2", "logaddexp")
def of_two_floats(maker, name):
    case, a, b = maker.pair(str(maker.rng.choice(["f8", "f4"])))
    of = {"hypot": np.hypot, "atan2": np.arctan2, "logaddexp": np.logaddexp}[name]
    with np.errstate(all="ignore"):
        return asked(f"{name}(x, y)", {"x": case, "y": case.pop("other")}, of(a, b), ulps=4)


@line("signbit")
def signbit(maker, name):
    case, dense, *_ = maker.tensor(str(maker.rng.choice(["f8", "f4", "i8"])))
    # A NaN has no sign here.
    return asked("signbit(x)", {"x": case}, np.signbit(np.where(np.isnan(dense), dense.dtype.type(0), dense)))


@line("mul_nonzero")
def mul_nonzero(maker, name):
    case, a, b = maker.pair(str(maker.rng.choice(["f8", "f4"])), finite=True)
    with np.errstate(all="ignore"):
        expected = np.where(a == 0, a.dtype.type(0), a * b)
    return asked("mul_nonzero(x, y)", {"x": case, "y": case.pop("other")}, expected)


@line("copysign")
def copysign(maker, name):
    case, a, b = maker.pair(str(maker.rng.choice(["f8", "f4"])))
    # A NaN has no sign here: it counts as positive.
    expected = np.copysign(a, np.where(np.isnan(b), b.dtype.type(1), b))
    return asked("copysign(x, y)", {"x": case, "y": case.pop("other")}, expected)


ARCS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


@line("exp2", "log10", "tan", "sinh", "cosh", *ARCS)
def functions(maker, name):
    case, dense, *_ = maker.tensor(str(maker.rng.choice(["f8", "f4"])))
    of = getattr(np, ARCS.get(name, name))
    with np.errstate(all="ignore"):
        return asked(f"{name}(x)", {"x": case}, of(dense), ulps=4)


@line("not", "conj", "real", "imag")
def parts(maker, name):
    case, dense, *_ = maker.tensor("b1" if name == "not" else "c8")
    of = {"not": np.logical_not, "conj": np.conj, "real": np.real, "imag": np.imag}[name]
    return asked(f"{name}(x)", {"x": case}, of(dense))


@line("clamp", "powi", "powf")
def with_numbers(maker, name):
    case, dense, *_ = maker.tensor("f8")
    if name == "clamp":
        low, high = sorted(float(value) for value in maker.rng.integers(-4, 5, 2))
        return asked(f"clamp(x, {low}, {high})", {"x": case}, np.clip(dense, low, high))
    exponent = maker.below(9) - 3 if name == "powi" else float(maker.rng.choice([0.75, -0.25, 2.0, 3.0, 1 / 3]))
    with np.errstate(all="ignore"):
        expected = np.power(dense, float(exponent))
    return asked(f"{name}(x, {exponent})", {"x": case}, expected, ulps=8)


@line("scale")
def scale(maker, name):
    dtype = str(maker.rng.choice(["f8", "f4"]))
    case, dense = maker.small(dtype, maker.shape(1))
    axis = maker.below(dense.ndim)
    factors, vector = full(maker, dtype, [dense.shape[axis]])
    vector[~np.isfinite(vector)] = 3
    factors["values"] = words(vector)
    shape = [-1 if at == axis else 1 for at in range(dense.ndim)]
    return asked(f"scale(x, {axis}, v)", {"x": case, "v": factors}, dense * vector.reshape(shape))


@line("mask", "without", "select")
def chosen(maker, name):
    case, dense, _, _, fill = maker.tensor(str(maker.rng.choice(["f8", "i8", "b1"])))
    other, mask, *_ = maker.of_shape("b1", dense.shape)
    kept = {"mask": bits_of(other), "without": ~bits_of(other), "select": mask}[name]
    x = "x" if name == "select" else "stored(x)"
    return asked(f"{name}({x}, m)", {"x": case, "m": other}, np.where(kept, dense, fill), unsigned=False)


# Moves and what makes tensors.

def moved(text, case, expected, **others):
    return asked(text, {"x": case, **others}, expected, unsigned=False)


@line("take_along_axis")
def along_axis(maker, name):
    case, dense, *_ = maker.of_shape(str(maker.rng.choice(["f8", "f4", "i8", "u1", "b1"])), maker.shape(1))
    axis = maker.below(dense.ndim)
    shape = list(dense.shape)
    shape[axis] = maker.below(4) if dense.size else 0
    length = dense.shape[axis]
    positions = maker.rng.integers(-length, max(length, 1), shape)
    text = f'array("int64", {shape}, {positions.ravel().tolist()})'
    return moved(f"take_along_axis(x, {text}, axis={axis})", case, np.take_along_axis(dense, positions, axis))


@line("gather")
def points(maker, name):
    """One list of indices for each axis, as numpy has it."""
    case, dense, *_ = maker.tensor(str(maker.rng.choice(["f8", "f4", "i8", "u1", "b1", "c8"])))
    count = maker.below(12) if dense.size else 0
    lists = [maker.rng.integers(-length, max(length, 1), count) for length in dense.shape]
    text = ", ".join(str(axis.tolist()) for axis in lists)
    return moved(f"gather(x, [{text}])", case, dense[tuple(lists)])


@line("stack", "block", "squeeze", "expand_dims", "broadcast_to", "permute_axes")
def moves(maker, name):
    dtype = str(maker.rng.choice(["f8", "i8", "b1", "c8"]))
    shape = maker.shape(2 if name == "block" else 1)
    if name in ("squeeze", "broadcast_to"):
        shape = [1 if maker.chance(0.4) else length for length in shape]
    case, x, _, _, fill = maker.of_shape(dtype, shape)
    axis = maker.below(x.ndim)
    if name in ("stack", "block"):
        other, y, *_ = maker.of_shape(dtype, shape, fill=np.array([fill], dtype))
        if name == "block":
            return moved("block([[x, y], [y, x]])", case, np.block([[x, y], [y, x]]), y=other)
        return moved(f"stack([x, y], axis={axis})", case, np.stack([x, y], axis), y=other)
    if name == "squeeze":
        axes = [at for at, length in enumerate(shape) if length == 1 and maker.chance(0.7)]
        return moved(f"squeeze(x, axis={axes})", case, np.squeeze(x, tuple(axes)))
    if name == "expand_dims":
        return moved(f"expand_dims(x, {axis})", case, np.expand_dims(x, axis))
    if name == "permute_axes":
        axes = maker.rng.permutation(x.ndim).tolist()
        return moved(f"permute_axes(x, {axes})", case, x.transpose(axes))
    to = [maker.below(3) + 1 for _ in range(maker.below(3))] + [maker.below(4) if length == 1 else length for length in shape]
    return moved(f"broadcast_to(x, {to})", case, np.broadcast_to(x, to))


@line("eye", "diag", "full", "zeros_like", "with_entries", "nonzero", "cast", "with_fill", "prune", "from_dense", "to_coo", "to_csr", "dense")
def made(maker, name):
    case, x, _, _, fill = maker.tensor(str(maker.rng.choice(["f8", "i8", "u1"])), least_rank=1)
    text, expected = f"{name}(x)", x
    if name == "eye":
        n = maker.below(9)
        return moved(f"eye({n})", case, np.eye(n))
    if name == "full":
        return moved(f"full({list(x.shape)}, 2.5)", case, np.full(x.shape, 2.5))
    if name == "zeros_like":
        return moved(text, case, np.zeros_like(x))
    if name == "diag":
        case, x = maker.small("f8", [maker.below(6)])
        offset = maker.below(5) - 2
        return moved(f"diag(x, {offset})", case, np.diag(x, offset))
    if name == "with_entries":
        if x.size == 0:
            return moved("prune(x)", case, x)
        at = maker.rng.permutation(x.size)[: maker.below(5) + 1]
        expected = x.copy()
        expected.ravel()[at] = 3
        coordinates = np.transpose(np.unravel_index(at, x.shape)).tolist()
        return moved(f"with_entries(x, {coordinates}, {[3] * len(at)})", case, expected)
    if name == "nonzero":
        case, x = maker.small("f8", maker.shape(1))
        return moved("nonzero(x)", case, np.transpose(np.nonzero(x)).astype(np.int64))
    if name == "cast":
        case, x, *_ = maker.tensor("u1", least_rank=1)
        text, expected = 'cast(x, "float32")', x.astype("f4")
    if name == "with_fill":
        number = maker.below(4)
        text, expected = f"with_fill(x, {number})", np.where(bits_of(case), x, x.dtype.type(number))
    return moved("x" if name == "dense" else text, case, expected)


@line("tensor")
def written_out(maker, name):
    """All that a tensor is, in words; beside another one, as an expression has a tensor to begin with."""
    dtype, shape = str(maker.rng.choice(["f8", "i8", "u1"])), [maker.below(4) + 1 for _ in range(1 + maker.below(3))]
    case, x = maker.small("f8" if dtype == "u1" else dtype, shape)
    x = np.abs(x).astype(dtype)
    fill = maker.below(4)
    expected = np.where(bits_of(case), x, x.dtype.type(fill))
    at = np.transpose(np.unravel_index(np.array(case["positions"], np.int64), shape)).tolist()
    values = x.ravel()[case["positions"]].tolist()
    word = {"f8": "float64", "i8": "int64", "u1": "uint8"}[dtype]
    text = f'tensor("{word}", "{maker.rng.choice(["coo", "csr"])}", {shape}, {fill}, {at}, {values})'
    other, zeros = {"dtype": dtype, "shape": shape, "positions": [], "values": [], "fill": [0]}, np.zeros(shape, dtype)
    return asked(f"{text} + x", {"x": other}, expected + zeros)


@line("array")
def array_written_out(maker, name):
    """An array in words; beside a tensor, as an expression has a tensor to begin with."""
    dtype, word = [("f8", "float64"), ("i8", "int64"), ("u1", "uint8")][maker.below(3)]
    case, x, *_ = maker.of_shape(dtype, maker.shape(1))
    values = maker.rng.integers(0, 9, x.shape).astype(dtype)
    return moved(f'array("{word}", {list(x.shape)}, {values.ravel().tolist()}) + zeros_like(x)', case, values)


@line("reshape_as")
def reshape_as(maker, name):
    case, x, *_ = maker.of_shape(str(maker.rng.choice(["f8", "i8", "b1"])), maker.shape(1))
    split = next((n for n in (2, 3, 5) if x.size % n == 0), 1)
    like, y, *_ = maker.of_shape("f8", maker.rng.permutation([split, x.size // split]).tolist())
    return moved("reshape_as(x, y)", case, x.reshape(y.shape), y=like)


# Products.

def factor(maker, dtype, shape, digits):
    """A tensor with a fill of zero: small integers, or numbers with all their digits."""
    case, dense = maker.small(dtype, shape)
    if digits:
        values = (maker.rng.standard_normal(len(case["positions"])) * 10.0 ** maker.rng.integers(-3, 4)).astype(dtype)
        case["values"] = words(values)
        dense.ravel()[case["positions"]] = values
    return case, dense


def contracted(maker, text, shapes, of, types=("f8", "f4", "i8"), **how):
    """A sum of products by `of`, which takes the dense forms: exact, or within the bound of any order."""
    dtype, digits = str(maker.rng.choice(types)), maker.chance(0.5)
    digits = digits and dtype[0] == "f"
    made = {name: factor(maker, dtype, shape, digits) for name, shape in shapes.items()}
    dense = [x for _, x in made.values()]
    expected = np.asarray(of(*dense)) + dense[0].dtype.type(0)
    theirs = how.pop("theirs", None)
    if theirs and not digits and expected.size and maker.chance(1 / ONE_IN):
        found = theirs(*map(sparse.COO, dense))
        found = found.todense() if hasattr(found, "todense") else found
        assert np.array_equal(found, expected), ("sparse", text, made)
    if digits:
        wide = [np.abs(x.astype("f8")) for x in dense]
        terms = np.asarray(of(*[np.ones_like(x) for x in wide])) + len(dense)
        within = 2 * terms * float(np.finfo(dtype).eps) / 2 * np.asarray(of(*wide))
        how["within"] = np.broadcast_to(within, expected.shape).ravel().tolist()
    return asked(text, {name: case for name, (case, _) in made.items()}, expected, **how)


@line("matmul")
def matmul(maker, name):
    left, right = maker.lengths(1 + maker.below(3)), maker.lengths(1 + maker.below(3))
    right[max(len(right) - 2, 0)] = left[-1]
    if len(left) == len(right) == 3:
        right[0] = left[0]
    return contracted(maker, "x @ y", {"x": left, "y": right}, np.matmul, theirs=sparse.matmul)


@line("einsum")
def einsum(maker, name):
    spec = str(maker.rng.choice(["ij,jk->ik", "ij,kj->ik", "ij,ij->", "ij,ji->i", "i,j->ij", "ii,ij->j", "ijk,kj->i", "bij,bjk->bik",
                                 "...ij,j...->i...", "ij,jk,kl->il", "ij->ji", "ijk->j"]))
    letters = {letter: maker.below(5) for letter in "bijkl"}
    sides = spec.split("->")[0].split(",")
    shapes = {"xyz"[at]: [letters[letter] for letter in side.replace("...", "")] for at, side in enumerate(sides)}
    # In pairs from the left, as here.
    of = lambda *all: np.einsum(spec, *all, optimize=["einsum_path", (0, 1), (0, 1)] if len(all) == 3 else False)
    return contracted(maker, f'einsum("{spec}", {", ".join(shapes)})', shapes, of, theirs=lambda *all: sparse.einsum(spec, *all))


@line("tensordot")
def tensordot(maker, name):
    shared = maker.lengths(1 + maker.below(2))
    left, right = maker.lengths(maker.below(2)) + shared, shared[::-1] + maker.lengths(maker.below(2))
    of_left = list(range(len(left) - len(shared), len(left)))
    of_right = list(range(len(shared)))[::-1]
    return contracted(maker, f"tensordot(x, y, {of_left}, {of_right})", {"x": left, "y": right},
                      lambda x, y: np.tensordot(x, y, (of_left, of_right)),
                      theirs=lambda x, y: sparse.tensordot(x, y, (of_left, of_right)))


@line("outer", "kron")
def pairs(maker, name):
    rank = 1 + maker.below(3)
    shapes = {"x": maker.lengths(rank), "y": maker.lengths(rank)}
    of, theirs = (np.multiply.outer, np.multiply.outer) if name == "outer" else (np.kron, sparse.kron)
    return contracted(maker, f"{name}(x, y)", shapes, of, theirs=theirs)


@line("mttkrp")
def mttkrp(maker, name):
    shape, rank = [maker.below(4) + 1 for _ in range(2 + maker.below(2))], maker.below(4) + 1
    mode = maker.below(len(shape))
    letters = "ijk"[: len(shape)]
    others = [at for at in range(len(shape)) if at != mode]
    factors = {"bc"[place]: [shape[at], rank] for place, at in enumerate(others)}
    spec = ",".join([letters] + [letters[at] + "r" for at in others]) + f"->{letters[mode]}r"
    return contracted(maker, f"mttkrp(x, {mode}, [{', '.join(factors)}])", {"x": shape, **factors},
                      lambda *all: np.einsum(spec, *all))


@line("ttm", "ttv")
def along(maker, name):
    shape = [maker.below(4) + 1 for _ in range(1 + maker.below(3))]
    axis = maker.below(len(shape))
    other = [shape[axis]] if name == "ttv" else [maker.below(4) + 1, shape[axis]]
    # The axis of a matrix takes the place of the one that is summed.
    of = lambda x, m: np.moveaxis(np.tensordot(x, m, (axis, m.ndim - 1)), -1, axis) if m.ndim == 2 else np.tensordot(x, m, (axis, 0))
    return contracted(maker, f"{name}(x, m, {axis})", {"x": shape, "m": other}, of)


@line("sddmm")
def sddmm(maker, name):
    rows, columns, k = maker.below(6) + 1, maker.below(6) + 1, maker.below(20)
    return contracted(maker, "sddmm(stored(x), l, r)", {"x": [rows, columns], "l": [rows, k], "r": [columns, k]},
                      lambda x, l, r: x * (l @ r.T))


@line("pattern_sddmm")
def pattern_sddmm(maker, name):
    rows, columns, k = maker.below(6) + 1, maker.below(6) + 1, maker.below(20)
    x, _ = maker.small("f8", [rows, columns])
    case, expected = contracted(maker, "pattern_sddmm(x, l, r)", {"l": [rows, k], "r": [columns, k]},
                                lambda l, r: np.where(bits_of(x), l @ r.T, 0), types=["f8"])
    case["names"]["x"] = x
    return case, expected


@line("matmul_with", "matmul_on")
def on_masks(maker, name):
    m, k, n = (1 + maker.below(5) for _ in range(3))
    mask, _ = maker.small("f8", [m, n])
    complement = maker.chance(0.5)
    shown = bits_of(mask) != complement
    word = "" if name == "matmul_on" else '"plus_times", '
    text = f"{name}(x, y, {word}m, complement={str(complement).lower()})"
    case, expected = contracted(maker, text, {"x": [m, k], "y": [k, n]}, lambda x, y: np.where(shown, x @ y, 0), types=["f8", "i8"])
    case["names"]["m"] = mask
    return case, expected


@line("cumsum", "nancumsum", "cumprod", "nancumprod")
def running(maker, name):
    dtype = str(maker.rng.choice(["f8", "f4"]))
    case, dense, *_ = maker.of_shape(dtype, maker.shape(1))
    axis, is_sum = maker.below(dense.ndim), name.endswith("sum")
    values = np.where(np.isnan(dense), dense.dtype.type(not is_sum), dense) if name.startswith("nan") else dense
    expected = dense.copy()
    lanes, stored, found = (np.moveaxis(array, axis, -1) for array in (values, bits_of(case), expected))
    for at in np.ndindex(lanes.shape[:-1]):
        places = np.flatnonzero(stored[at])
        for last, place in enumerate(places):
            group = lanes[at][places[:last + 1]]
            found[at][place] = fsum32(group) if is_sum else chain(group)
    return asked(f"{name}(stored(x), axis={axis})", {"x": case}, expected)


def fsum32(group):
    """The exact sum in the type of its terms, rounded once."""
    if group.dtype == np.float64 or not np.isfinite(group).all():
        return fsum(group)
    total = sum(map(Fraction, group.tolist()), Fraction(0))
    return math.copysign(narrowed(abs(total), group.dtype), total) if total else 0.0


@line("average")
def average(maker, name):
    case, dense, *_ = maker.of_shape("i8", maker.shape(1))
    axis = maker.below(dense.ndim)
    length = dense.shape[axis]
    weights = [int(weight) for weight in maker.rng.integers(-3, 9, length)]
    total, moved = sum(weights), np.moveaxis(dense, axis, -1)
    found = [float(Fraction(sum(int(a) * w for a, w in zip(lane, weights)), total)) if total else np.nan
             for lane in moved.reshape(int(np.prod(moved.shape[:-1], dtype=int)), length)]
    text = f"average(x, array(\"int64\", [{length}], {weights}), axis={axis})"
    return asked(text, {"x": case}, np.array(found, "f8").reshape(moved.shape[:-1]))


@line("cov", "corrcoef")
def covariances(maker, name):
    shape = [maker.below(5), maker.below(6)]
    case, dense, *_ = maker.of_shape("i8", shape)
    axis, ddof = maker.below(2), maker.below(3)
    rows = [[int(value) for value in row] for row in (dense if axis == 0 else dense.T)]
    n = shape[1 - axis]

    def numerator(a, b):
        return n * sum(x * y for x, y in zip(a, b)) - sum(a) * sum(b)

    def one(a, b):
        if name == "cov":
            return float(Fraction(numerator(a, b), n * (n - ddof))) if n > ddof else np.nan
        below = numerator(a, a) * numerator(b, b)
        if below == 0:
            return np.nan
        scale = 1 << 400
        root = math.isqrt(numerator(a, b) ** 2 * scale ** 2 // below)
        return math.copysign(float(Fraction(2 * root + 1, 2 * scale)), numerator(a, b)) if root else 0.0

    expected = np.array([[one(a, b) for b in rows] for a in rows], "f8").reshape(len(rows), len(rows))
    text = f"cov(x, axis={axis}, ddof={ddof})" if name == "cov" else f"corrcoef(x, axis={axis})"
    return asked(text, {"x": case}, expected)


@line("trace")
def trace(maker, name):
    dtype = str(maker.rng.choice(["i8", "u1"]))
    case, dense, *_ = maker.of_shape(dtype, maker.shape(2))
    offset = int(maker.rng.integers(-3, 4))
    expected = maker.fitting(np.trace(dense.astype(object), offset, -2, -1), "u8" if dtype == "u1" else "i8")
    return asked(f"trace(x, {offset})", {"x": case}, expected)


@line("diff")
def diff(maker, name):
    dtype = str(maker.rng.choice(["f8", "f4", "i8"]))
    case, dense, *_ = maker.of_shape(dtype, maker.shape(1))
    axis, n = maker.below(dense.ndim), maker.below(4)
    expected = dense
    for _ in range(n if dense.shape[axis] else 0):
        with np.errstate(all="ignore"):
            expected = np.diff(expected if dtype != "i8" else expected.astype(object), axis=axis)
        if dtype == "i8":
            expected = maker.fitting(expected, dtype)
            if expected is None:
                break
    return asked(f"diff(x, {n}, axis={axis})", {"x": case}, expected)


@line("softmax", "log_softmax")
def softmax(maker, name):
    dtype = str(maker.rng.choice(["f8", "f4"]))
    case, dense, *_ = maker.of_shape(dtype, maker.shape(1))
    axis, stored = maker.below(dense.ndim), bits_of(case)
    with np.errstate(all="ignore"):
        absent = np.where(stored, dense.astype("f8"), -np.inf)
        groups = np.where(stored.any(axis, keepdims=True), absent, 0.0)
        expected = getattr(scipy.special, name)(groups, axis=axis) if dense.size else groups
        # Of infinities: one that is positive, or negative ones alone.
        top = np.max(groups, axis=axis, keepdims=True) if dense.size else groups
        expected = np.where(np.isfinite(top), expected, np.nan)
        # What is absent has no share: a logarithm of minus infinity.
        expected = np.where(stored, expected, 0.0 if name == "softmax" else -np.inf)
    unit = float(np.finfo(dtype).eps)
    finite = np.where(np.isfinite(groups), np.abs(groups), 0.0)
    within = 8 * 2.0**-52 * (1 + finite + np.where(np.isfinite(expected), np.abs(expected), 0)) + (
        0 if dtype == "f8" else unit * np.abs(np.nan_to_num(expected, posinf=0, neginf=0)))
    return asked(f"{name}(stored(x), axis={axis})", {"x": case}, expected.astype(dtype), within=within.ravel().tolist())
