"""The products that tests/differential.py asks of SuiteSparse:GraphBLAS too, where `graphblas` (python-graphblas) can be
imported: all semirings, with a mask, its complement or none, of matrices and of a matrix and a vector.

The answer is asked with another fill than that of the operation, so that what is compared are also the entries:
`with_fill(matmul_with(x, y, "min_plus", mask=m), 77)`.

What is different on purpose: GraphBLAS takes any term for `any_first` and `any_second`, here it is the first one; the
factor that is taken is the same in all terms of a sum here.
"""

import numpy as np

from differential_lines import bits_of, factor, line
from differential_numbers import words

try:
    import graphblas
except ImportError:
    graphblas = None

SEMIRINGS = ["plus_times", "plus_first", "plus_second", "plus_pair", "min_plus", "max_plus", "min_times", "max_times", "min_max",
             "max_min", "min_first", "min_second", "max_first", "max_second", "or_and", "any_first", "any_second", "any_pair"]
FILL = 77


def theirs(case, dense):
    """The same entries as a matrix or a vector of GraphBLAS."""
    values = dense.ravel()[case["positions"]]
    coords = np.unravel_index(np.array(case["positions"], np.int64), dense.shape)
    make = graphblas.Vector if dense.ndim == 1 else graphblas.Matrix
    size = {"size": dense.shape[0]} if dense.ndim == 1 else {"nrows": dense.shape[0], "ncols": dense.shape[1]}
    return make.from_coo(*coords, values, dtype=dense.dtype.type, **size)


def shared(maker, case, dense, along):
    """Gives all entries along an axis one value."""
    lengths = [1 if axis == along else length for axis, length in enumerate(dense.shape)]
    one = np.broadcast_to(maker.rng.integers(1, 5, lengths), dense.shape).astype(dense.dtype)
    dense = np.where(bits_of(case), one, dense)
    return {**case, "values": words(dense.ravel()[case["positions"]])}, dense


def product(semiring, x, y):
    return getattr(graphblas.semiring, {"or_and": "lor_land"}.get(semiring, semiring))(x @ y)


def asked_of_both(maker, semiring):
    dtype = "b1" if semiring == "or_and" else str(maker.rng.choice(["f8", "f4", "i8", "u8", "u1"]))
    m, k, n = (1 + maker.below(6) for _ in range(3))
    left, right = [([m, k], [k, n]), ([k], [k, n]), ([m, k], [k])][maker.below(3) if maker.chance(0.4) else 0]
    digits = dtype in ("f8", "f4") and semiring.startswith("plus") and maker.chance(0.5)
    (x, a), (y, b) = (small(maker, dtype, shape, digits) for shape in (left, right))
    if semiring == "any_first":
        x, a = shared(maker, x, a, a.ndim - 1)
    if semiring == "any_second":
        y, b = shared(maker, y, b, max(b.ndim - 2, 0))
    shape = left[:-1] + right[1:]
    mask, dense_mask = maker.small("f8", shape)
    how = maker.below(3)
    found = product(semiring, theirs(x, a), theirs(y, b))
    out = (graphblas.Vector if len(shape) == 1 else graphblas.Matrix)(found.dtype, *shape)
    on = theirs(mask, dense_mask).S
    if how == 0:
        out << found
    else:
        out(on if how == 1 else ~on) << found
    expected = out.to_dense(fill_value=FILL if dtype != "b1" else True, dtype=a.dtype.type).astype(a.dtype)
    return x, y, mask, how, expected, within(semiring, a, b, bits_of(x), bits_of(y)) if digits else None


def small(maker, dtype, shape, digits):
    """Small integers, none of them negative where the type has no sign; or numbers with all their digits."""
    case, dense = factor(maker, "f8" if dtype == "b1" or dtype[0] == "u" else dtype, shape, digits)
    if dtype == "b1" or dtype[0] == "u":
        dense = np.abs(dense).astype(dtype) if dtype[0] == "u" else dense != 0
        values = dense.ravel()[case["positions"]]
        case = {**case, "dtype": dtype, "values": words(values), "fill": words(np.zeros(1, dtype))}
    return case, dense


def within(semiring, a, b, in_a, in_b):
    """How far two orders of the same sums may be apart."""
    take = {"plus_times": (a, b), "plus_first": (a, in_b), "plus_second": (in_a, b), "plus_pair": (in_a, in_b)}[semiring]
    unit = float(np.finfo(a.dtype).eps) / 2
    terms = in_a.astype("f8") @ in_b.astype("f8") + 2
    return 2 * terms * unit * (np.abs(take[0]).astype("f8") @ np.abs(take[1]).astype("f8"))


def graph(maker, name):
    semiring = str(maker.rng.choice(SEMIRINGS))
    x, y, mask, how, expected, near = asked_of_both(maker, semiring)
    on = ["", ", mask=m", ", mask=m, complement=true"][how]
    text = f'matmul_with(x, y, "{semiring}"{on})'
    if semiring == "plus_times" and how > 0 and maker.chance(0.5):
        text = f"matmul_on(x, y, m{on.removeprefix(', mask=m')})"
    fill = FILL if expected.dtype != bool else "true"
    names = {"x": x, "y": y} | ({"m": mask} if how else {})
    case = {"eval": f"with_fill({text}, {fill})", "names": names, "unsigned": True}
    if near is not None:
        case["within"] = np.broadcast_to(near, expected.shape).ravel().tolist()
    return case, expected


if graphblas is not None:
    line("graphblas")(graph)
