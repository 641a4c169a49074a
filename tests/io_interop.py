"""What scipy and pydata/sparse write, lacuna reads and writes back, and they read it as what it was.

    python tests/io_interop.py target/debug/lacuna

Needs numpy, scipy and sparse. Every element type, format and layout; prints the number of round trips.
"""

import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np
import scipy.io
import scipy.sparse as sp
import sparse

REALS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
COMPLEX = "complex64 complex128".split()


def convert(program, source, target, fmt):
    run = subprocess.run([program, "convert", source, target, "--format", fmt], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def table(rng, shape, dtype):
    return np.asarray(rng.integers(0, 3, shape) * rng.integers(0, 2, shape)).astype(dtype)


def matrices(program, rng, dtype):
    dense, count = table(rng, (5, 7), dtype), 0
    for kind, compressed in itertools.product([sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix], [True, False]):
        sp.save_npz("a.npz", kind(dense), compressed=compressed)
        for fmt in "coo", "csr":
            convert(program, "a.npz", "b.npz", fmt)
            back = sp.load_npz("b.npz")
            assert back.dtype == dtype and back.format == fmt and (back.toarray() == dense).all()
        convert(program, "a.npz", "b.npy", "coo")
        back = np.load("b.npy")
        assert back.dtype == dtype and (back == dense).all()
        convert(program, "a.npz", "b.mtx", "csr")
        assert (scipy.io.mmread("b.mtx").toarray() == dense).all()
        count += 4
    return count


def layouts(x):
    yield x
    if x.ndim:
        yield sparse.GCXS(x)
    for size in range(1, x.ndim):
        for axes in itertools.combinations(range(x.ndim), size):
            yield sparse.GCXS(x, compressed_axes=axes)


def tensors(program, rng, dtype, shape, fill):
    dense, count = table(rng, shape, dtype), 0
    for x in layouts(sparse.COO.from_numpy(dense, fill_value=np.dtype(dtype).type(fill))):
        sparse.save_npz("c.npz", x)
        for fmt in "coo", "csr":
            convert(program, "c.npz", "d.npz", fmt)
            if len(shape) == 2 and fill == 0:
                back = sp.load_npz("d.npz").toarray()
            else:
                loaded = sparse.load_npz("d.npz")
                assert loaded.fill_value == fill and isinstance(loaded, sparse.GCXS) == (fmt == "csr" and len(shape) > 1)
                back = loaded.todense()
            assert back.dtype == dtype and np.array_equal(back, dense)
            count += 1
    return count


def main():
    program, rng, count = os.path.abspath(sys.argv[1]), np.random.default_rng(0), 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for dtype in REALS + COMPLEX:
            count += matrices(program, rng, dtype)
            for shape, fill in itertools.product([(), (4,), (3, 4), (2, 3, 4), (2, 1, 3, 2)], [0, 1]):
                count += tensors(program, rng, dtype, shape, fill)
        os.chdir("/")
    print(count, "round trips agree")


if __name__ == "__main__":
    main()
