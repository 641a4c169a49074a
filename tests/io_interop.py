"""What scipy and pydata/sparse write, lacuna reads and writes back, and they read it as what it was, bit for bit.

    python tests/io_interop.py target/release/lacuna

Needs numpy, scipy and sparse. Every element type, format and layout; prints the number of round trips.

What the others do in their own way, and what that means here:

- Text has four element types. scipy writes bool as integer and float32 as real, and reads float64, int64, uint64 and
  complex128; so does lacuna. Values are compared after the way back to the type that was written. (scipy declares the
  narrower unsigned types as integer, lacuna as unsigned.)
- scipy writes and reads a `pattern` as ones.
- scipy reads `x.mtx.gz`, but `mmwrite("x.mtx.gz")` writes plain text to `x.mtx.gz.mtx`: gzip does it here.
- `mmwrite` of a *dense* array with an axis of length zero ends the process (floating point exception, scipy 1.17.1);
  sparse ones are written, and those are used.
- scipy and pydata keep entries in any order, scipy keeps repetitions too; lacuna writes them sorted, repetitions summed.
  What is compared is the other's own canonical form. Stored zeros stay on both sides.
- The mirrored value of a stored 0.0 is -0.0 (skew-symmetric) or has an imaginary part of -0.0 (hermitian); scipy leaves
  0.0 in its dense arrays. Symmetries are compared as numbers.
- scipy's `toarray` adds the entries to zeros, so that -0.0 becomes 0.0; lacuna writes what is stored.
- Index arrays are int32 in what lacuna writes wherever they fit, as scipy has it; pydata writes int64, or narrower.
- scipy reads pydata's COO files too, but drops their fill; which of the two lacuna wrote is looked up in the archive.
- pydata saves rank 0 and 1 as GCXS too; lacuna writes those ranks as COO, and a matrix with a fill of zero as scipy does.
- pydata cannot hold a tensor with more than 2^63 positions; scipy can, and lacuna can.
- Neither reads `.tns`: Python's own `float`, which rounds correctly, does it here.
"""

import gzip
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np
import scipy.io
import scipy.sparse as sp
import sparse

INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOATS = "float32 float64".split()
COMPLEX = "complex64 complex128".split()
TYPES = ["bool", *INTEGERS, *FLOATS, *COMPLEX]
KINDS = [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix]
FORMATS = ["coo", "csr"]


class Lacuna:
    def __init__(self, program):
        self.program = os.path.abspath(program)

    def run(self, *words):
        return subprocess.run([self.program, *words], capture_output=True, text=True)

    def convert(self, source, target, *words):
        run = self.run("convert", source, target, *words)
        assert run.returncode == 0, f"{source} to {target} {words}: {run.stderr}"


# ------------------------------------------------------------------------------------------------ values and tensors
def odd_values(dtype):
    """The values of a type that get lost first."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.array([ends.min, ends.max, 0, 1, ends.max // 3], dtype)
    real = np.dtype(f"f{dtype.itemsize // (2 if dtype.kind == 'c' else 1)}")
    ends = np.finfo(real)
    odd = [0.1, 1 / 3, 1e-310, ends.max, ends.min, ends.tiny, ends.smallest_subnormal, 1e22, np.nan, np.inf, -np.inf, 0.0, -0.0]
    odd = np.array(odd).astype(real)
    if dtype.kind == "f":
        return odd
    pairs = np.empty(len(odd), dtype)
    pairs.real, pairs.imag = odd, np.roll(odd, 1)
    return pairs


def odd_coords(rng, shape, count):
    keys = rng.choice(np.prod(shape, dtype=int), count, replace=False)
    return np.stack(np.unravel_index(keys, shape)) if shape else np.zeros((0, count), int)


def odd_matrix(rng, dtype):
    """A matrix of all the odd values, stored zeros among them, its entries in no order."""
    values = odd_values(dtype)
    return sp.coo_array((values, tuple(odd_coords(rng, (5, 7), len(values)))), shape=(5, 7))


def table(rng, shape, dtype):
    return np.asarray(rng.integers(0, 3, shape) * rng.integers(0, 2, shape)).astype(dtype)


def same(found, expected, *context):
    """Equal type, shape and bits."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype, *context)
    assert found.shape == expected.shape, (found.shape, expected.shape, *context)
    assert found.tobytes() == expected.tobytes(), (found, expected, *context)


def same_numbers(found, expected, *context):
    assert np.array_equal(found, expected), (found, expected, *context)


def fits(array):
    return np.int32 if not array.size or array.max() < 2**31 else np.int64


# ------------------------------------------------------------------------------------------------------------- scipy
def same_matrix(found, expected, *context):
    """Equal bits, the index arrays in the type that fits; `expected` in any order and format."""
    assert found.shape == expected.shape, (found.shape, expected.shape, *context)
    csr = expected.tocoo().tocsr() if found.format == "csr" else expected
    if found.format == "csr":
        csr.sort_indices()
        pairs = [(found.indices, csr.indices), (found.indptr, csr.indptr)]
        data = csr.data
    else:
        coo = expected.tocoo()
        order = np.lexsort((coo.col, coo.row))
        pairs = [(found.row, coo.row[order]), (found.col, coo.col[order])]
        data = coo.data[order]
    same(found.data, data, *context)
    width = max((fits(index) for index, _ in pairs), key=lambda kind: np.dtype(kind).itemsize)
    for index, known in pairs:
        same_numbers(index, known, *context)
        assert index.dtype == width, (index.dtype, width, *context)


def scipy_archives(lacuna, rng, dtype):
    x = odd_matrix(rng, dtype)
    for kind, compressed, fmt in itertools.product(KINDS, [True, False], FORMATS):
        sp.save_npz("a.npz", kind(x), compressed=compressed)
        lacuna.convert("a.npz", "b.npz", "--layout", fmt)
        back = sp.load_npz("b.npz")
        assert back.format == fmt
        same_matrix(back, x, dtype, kind.__name__, compressed, fmt)
        yield
    lacuna.convert("a.npz", "b.npy")
    dense = np.zeros(x.shape, dtype)
    dense[x.row, x.col] = x.data
    same(np.load("b.npy"), dense, dtype)
    yield


def text_type(dtype):
    dtype = np.dtype(dtype)
    return {"b": np.int64, "i": np.int64, "u": np.uint64, "f": np.float64, "c": np.complex128}[dtype.kind]


def scipy_text(lacuna, rng, dtype):
    """To and from text, packed and plain, and back to the type that was written."""
    x = odd_matrix(rng, dtype)
    for target in "b.mtx", "b.mtx.gz":
        sp.save_npz("a.npz", x)
        lacuna.convert("a.npz", target)
        back = scipy.io.mmread(target, spmatrix=False)
        assert back.dtype == text_type(dtype), back.dtype
        same_matrix(back.astype(dtype), x, dtype, target)
        yield
        scipy.io.mmwrite("a.mtx", x, symmetry="general")
        source = "a.mtx" + target[len("b.mtx"):]
        if source != "a.mtx":
            with open("a.mtx", "rb") as plain, gzip.open(source, "wb") as packed:
                packed.write(plain.read())
        for fmt in FORMATS:
            lacuna.convert(source, "b.npz", "--dtype", np.dtype(dtype).name, "--layout", fmt)
            same_matrix(sp.load_npz("b.npz"), x, dtype, source, fmt)
            yield


def scipy_symmetries(lacuna, rng, dtype):
    """Each symmetry, coordinate and dense, as scipy writes it."""
    square = table(rng, (6, 6), dtype)
    symmetries = [("general", square), ("symmetric", np.tril(square) + np.tril(square, -1).T)]
    if np.dtype(dtype).kind in "ifc":
        lower = np.tril(square, -1)
        symmetries.append(("skew-symmetric", lower - lower.T))
    if np.dtype(dtype).kind == "c":
        lower = (np.tril(square, -1) * (1 + 2j)).astype(dtype)
        symmetries.append(("hermitian", lower + lower.conj().T + np.diag(np.diag(square).real)))
    for (symmetry, dense), kind in itertools.product(symmetries, [sp.coo_array, sp.csc_array, np.asarray]):
        dense = dense.astype(dtype)
        if np.dtype(dtype).kind == "b" and kind is np.asarray:
            continue  # scipy does not write dense bool
        scipy.io.mmwrite("a.mtx", kind(dense), symmetry=symmetry)
        lacuna.convert("a.mtx", "b.npy")
        known, back = scipy.io.mmread("a.mtx"), np.load("b.npy")
        assert back.dtype == known.dtype, (back.dtype, known.dtype, symmetry, kind.__name__)
        same_numbers(back, dense, symmetry, kind.__name__)
        yield
    scipy.io.mmwrite("a.mtx", sp.coo_array(square), field="pattern")
    lacuna.convert("a.mtx", "b.npy")
    same(np.load("b.npy"), (square != 0).astype(float))
    yield


def scipy_empty(lacuna):
    """Axes of length zero, and nothing stored."""
    for kind, shape, fmt in itertools.product(KINDS, [(0, 3), (3, 0), (0, 0), (3, 4)], FORMATS):
        x = kind(shape)
        sp.save_npz("a.npz", x)
        scipy.io.mmwrite("a.mtx", x)
        for source in "a.npz", "a.mtx":
            lacuna.convert(source, "b.npz", "--layout", fmt)
            same_matrix(sp.load_npz("b.npz"), x, source, fmt)
            lacuna.convert(source, "b.mtx", "--layout", fmt)
            same_matrix(scipy.io.mmread("b.mtx", spmatrix=False), x, source, fmt)
            yield


def scipy_vast(lacuna):
    """Indices that need int64."""
    values = np.array([1.5, np.nan])
    far = sp.coo_array((values, (np.array([0, 2**40]), np.array([2**33, 5]))), shape=(2**41, 2**34))
    wide = sp.csr_array((values, np.array([2**33, 5]), np.array([0, 1, 2])), shape=(2, 2**34))
    for x, formats in [(far, ["coo"]), (wide, FORMATS)]:
        sp.save_npz("a.npz", x)
        scipy.io.mmwrite("a.mtx", x)
        for source, fmt in itertools.product(["a.npz", "a.mtx"], formats):
            lacuna.convert(source, "b.npz", "--layout", fmt)
            same_matrix(sp.load_npz("b.npz"), x, source, fmt)
            lacuna.convert(source, "b.mtx", "--layout", fmt)
            same_matrix(scipy.io.mmread("b.mtx", spmatrix=False), x, source, fmt)
            yield
    sp.save_npz("a.npz", far)
    refused = lacuna.run("convert", "a.npz", "never.npz", "--layout", "csr")
    assert refused.returncode == 1 and not os.path.exists("never.npz"), refused.stderr
    yield


def many_entries(rng, count=60_000):
    """Numbers of all lengths, over many blocks of the text, in no order."""
    coords = odd_coords(rng, (1000, 100_000), count)
    values = rng.standard_normal(count) * 10.0 ** rng.integers(-300, 300, count)
    values[::7] = np.round(values[::7])
    return sp.coo_array((values, tuple(coords)), shape=(1000, 100_000))


def scipy_many(lacuna, rng):
    x = many_entries(rng)
    scipy.io.mmwrite("a.mtx", x)
    lacuna.convert("a.mtx", "b.npz", "--layout", "coo")
    same_matrix(sp.load_npz("b.npz"), x)
    yield
    lacuna.convert("b.npz", "b.mtx")
    same_matrix(scipy.io.mmread("b.mtx", spmatrix=False), x)
    yield
    twice = sp.coo_array((np.tile(x.data, 2), (np.tile(x.row, 2), np.tile(x.col, 2))), shape=x.shape)
    scipy.io.mmwrite("a.mtx", twice)
    lacuna.convert("a.mtx", "b.npz", "--layout", "csr")
    same_matrix(sp.load_npz("b.npz"), x * 2)
    yield


# ---------------------------------------------------------------------------------------------------- pydata / sparse
def layouts(x):
    """A tensor in every layout of pydata."""
    yield x
    yield sparse.GCXS(x)
    for size in range(1, x.ndim):
        for axes in itertools.combinations(range(x.ndim), size):
            yield sparse.GCXS(x, compressed_axes=axes)


def same_tensor(found, expected, *context):
    """Equal bits and fill, whatever the layouts."""
    found, expected = (x if isinstance(x, sparse.COO) else x.tocoo() for x in (found, expected))
    assert tuple(found.shape) == tuple(expected.shape), (found.shape, expected.shape, *context)
    same(found.data, expected.data, *context)
    same_numbers(found.coords, expected.coords, *context)
    same(found.fill_value, expected.fill_value, *context)


def scipy_form(x):
    """As lacuna writes it: whether the file is one of scipy's."""
    return x.ndim == 2 and not any(np.asarray(x.fill_value).tobytes())


def load(path, like):
    if not scipy_form(like):
        return sparse.load_npz(path)
    back = sp.load_npz(path)
    return sparse.COO(np.stack([back.tocoo().row, back.tocoo().col]), back.data, shape=back.shape)


def pydata_archive(lacuna, x, compressed, fmt):
    sparse.save_npz("c.npz", x, compressed=compressed)
    lacuna.convert("c.npz", "d.npz", "--layout", fmt)
    context = (type(x).__name__, getattr(x, "compressed_axes", None), x.shape, x.fill_value, x.dtype, compressed, fmt)
    assert ("fill_value" in np.load("d.npz").files) != scipy_form(x), context
    if not scipy_form(x):
        assert isinstance(sparse.load_npz("d.npz"), sparse.GCXS) == (fmt == "csr" and x.ndim > 1), context
    same_tensor(load("d.npz", x), x, *context)


def odd_tensor(rng, shape, dtype, fill):
    """Odd values at some positions; some are the fill, and stored all the same."""
    values = np.append(odd_values(dtype), np.array([fill], dtype))[: max(int(np.prod(shape, dtype=int)) - 1, 1)]
    coords = odd_coords(rng, shape, len(values))
    return sparse.COO(coords, values, shape=shape, fill_value=np.dtype(dtype).type(fill), prune=False)


def pydata_types(lacuna, rng, dtype):
    for shape, fill in itertools.product([(), (4,), (3, 4), (2, 3, 4), (2, 1, 3, 2)], [0, 1]):
        for x, fmt in itertools.product(layouts(odd_tensor(rng, shape, dtype, fill)), FORMATS):
            pydata_archive(lacuna, x, True, fmt)
            yield


def pydata_fills(lacuna, rng):
    """Fills that equality does not tell, or that are not zero."""
    fills = [("float64", [np.nan, np.inf, -0.0, 7]), ("float32", [np.nan, -0.0]), ("int16", [7, -1]), ("uint64", [2**64 - 1])]
    fills += [("complex128", [complex(np.nan, 1), complex(0, -0.0)]), ("bool", [True])]
    for dtype, values in fills:
        for fill, shape, compressed in itertools.product(values, [(5,), (3, 4), (2, 3, 4)], [True, False]):
            for x, fmt in itertools.product(layouts(odd_tensor(rng, shape, dtype, fill)), FORMATS):
                pydata_archive(lacuna, x, compressed, fmt)
                yield


def pydata_shapes(lacuna):
    """Axes of length zero, and coordinates that need int64."""
    for shape, fill in itertools.product([(0,), (0, 3), (3, 0), (2, 0, 3), (0, 0, 0)], [0.0, np.nan]):
        empty = sparse.COO.from_numpy(np.zeros(shape), fill_value=fill)
        for x, fmt in itertools.product([empty, sparse.GCXS(empty)], FORMATS):
            pydata_archive(lacuna, x, True, fmt)
            yield
    coords = np.array([[5, 2**33], [2, 1], [1, 0]])
    far = sparse.COO(coords, np.array([1.5, np.nan]), shape=(2**34, 4, 3))
    rows = sparse.COO(coords[::-1], np.array([1.5, np.nan]), shape=(3, 4, 2**34))
    for x, fmt in [(far, "coo"), (rows, "coo"), (rows, "csr")]:
        pydata_archive(lacuna, x, True, fmt)
        yield


# -------------------------------------------------------------------------------------------------------------- .tns
def write_tns(path, x):
    opened = gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w")
    with opened as file:
        file.write("# a comment\n")
        for at, value in zip(x.coords.T, x.data):
            file.write(" ".join(str(index + 1) for index in at) + f" {float(value)!r}\n")


def read_tns(path, shape):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    coords = np.array([[int(word) - 1 for word in row[:-1]] for row in rows]).reshape(-1, len(shape)).T
    return sparse.COO(coords, np.array([float(row[-1]) for row in rows]), shape=shape, prune=False)


def tns(lacuna, rng):
    words = lambda shape: ["--shape", ",".join(map(str, shape))]
    vast = sparse.COO(np.array([[5, 2**33], [2, 1], [1, 0]]), np.array([1.5, np.nan]), shape=(2**34, 4, 3))
    tensors = [odd_tensor(rng, shape, "float64", 0) for shape in [(14,), (5, 7), (3, 4, 5), (2, 3, 2, 2, 3)]] + [vast]
    for x, path in itertools.product(tensors, ["e.tns", "e.tns.gz"]):
        write_tns(path, x)
        lacuna.convert(path, "d.npz", *words(x.shape), "--layout", "coo")
        same_tensor(load("d.npz", x), x, path)
        yield
        sparse.save_npz("c.npz", x)
        lacuna.convert("c.npz", path)
        same_tensor(read_tns(path, x.shape), x, path)
        yield


def round_trips(lacuna, rng):
    for dtype in TYPES:
        yield from scipy_archives(lacuna, rng, dtype)
        yield from scipy_text(lacuna, rng, dtype)
        yield from scipy_symmetries(lacuna, rng, dtype)
        yield from pydata_types(lacuna, rng, dtype)
    yield from scipy_empty(lacuna)
    yield from scipy_vast(lacuna)
    yield from scipy_many(lacuna, rng)
    yield from pydata_fills(lacuna, rng)
    yield from pydata_shapes(lacuna)
    yield from tns(lacuna, rng)


def main():
    lacuna, rng = Lacuna(sys.argv[1]), np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        count = sum(1 for _ in round_trips(lacuna, rng))
        os.chdir("/")
    print(count, "round trips agree")


if __name__ == "__main__":
    main()
