"""Parquet in both directions between the command line and pyarrow, polars, duckdb and pandas, those that are there.

    python tests/io_interop_parquet.py target/release/lacuna

The program is built with the features cli, parquet and half. What another program writes is read as the same entries,
in each of its codecs; what we write, in one file or in a folder, is read by it as the same rows, bit for bit.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

LACUNA = sys.argv[1]
CHECKS = 0


def lacuna(*arguments):
    run = subprocess.run([LACUNA, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 0, (arguments, run.stderr)
    return run.stdout


def same(left, right):
    global CHECKS
    CHECKS += 1
    left, right = np.asarray(left), np.asarray(right)
    assert left.dtype == right.dtype and left.shape == right.shape, (left.dtype, right.dtype)
    assert left.tobytes() == right.tobytes(), (left, right)


def others():
    """How each program that is there reads a file as columns, and writes columns in each of its codecs."""
    found = {}
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq

        def write(path, columns, codec):
            pq.write_table(pa.table(columns), path, compression=codec)

        found["pyarrow"] = (
            lambda path: {name: column.to_numpy() for name, column in zip(pq.read_table(path).column_names, pq.read_table(path).columns)},
            write,
            ["none", "snappy", "gzip", "zstd", "lz4"],
        )
    except ImportError:
        pass
    try:
        import polars as pl

        found["polars"] = (
            lambda path: {column.name: column.to_numpy() for column in pl.read_parquet(path)},
            lambda path, columns, codec: pl.DataFrame(columns).write_parquet(path, compression=codec),
            ["uncompressed", "snappy", "gzip", "zstd", "lz4"],
        )
    except ImportError:
        pass
    try:
        import duckdb

        def write_by_duckdb(path, columns, codec):
            import pyarrow as pa

            frame = pa.table(columns)  # noqa: F841, by its name in the query
            duckdb.sql(f"copy frame to '{path}' (format parquet, compression {codec})")

        found["duckdb"] = (
            lambda path: dict(duckdb.sql(f"select * from '{path}'").fetchnumpy()),
            write_by_duckdb,
            ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw"],
        )
    except ImportError:
        pass
    try:
        import pandas as pd

        found["pandas"] = (
            lambda path: {name: column.to_numpy() for name, column in pd.read_parquet(path).items()},
            lambda path, columns, codec: pd.DataFrame(columns).to_parquet(path, compression=codec, index=False),
            [None, "snappy", "gzip", "zstd"],
        )
    except ImportError:
        pass
    return found


def main(folder):
    generator = np.random.default_rng(7)
    count = 60_000
    flat = np.sort(generator.choice(900 * 700, count, replace=False))
    rows, columns = (flat // 700).astype(np.uint32), (flat % 700).astype(np.uint32)
    types = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
    for name, (read, write, codecs) in others().items():
        checks = CHECKS
        for dtype in types:
            kind = np.dtype(dtype)
            values = (generator.integers(0, 2, count) if dtype == "bool" else generator.integers(-99, 99, count)).astype(kind)
            if kind.kind == "f":
                # pandas writes NaN as a value that is missing, which is refused.
                values[:3] = [1 if name == "pandas" else np.nan, -0.0, np.inf]
            # By a dense array, whose every position is stored that is not the fill.
            dense = np.zeros((900, 700), kind)
            dense[rows, columns] = values
            np.save(folder / "dense.npy", dense)
            lacuna("convert", folder / "dense.npy", folder / "ours.parquet")
            lacuna("convert", folder / "dense.npy", f"{folder / 'ours'}/")
            files = [folder / "ours.parquet", folder / "ours" / "*.parquet" if name in ("duckdb", "polars") else folder / "ours"]
            for path in files if not (dtype == "float16" and name in ("duckdb", "polars")) else []:
                seen = read(path)
                stored = dense.view(np.dtype(f"u{kind.itemsize}"))
                same(np.nonzero(stored)[0].astype(np.uint32), seen["indices_0"])
                same(np.nonzero(stored)[1].astype(np.uint32), seen["indices_1"])
                same(dense[stored != 0], seen["values"])
            if dtype == "float16" and name in ("duckdb", "polars", "pandas"):
                continue
            for codec in codecs:
                write(folder / "theirs.parquet", {"row": rows.astype(np.int64), "column": columns, "value": values}, codec)
                lacuna("convert", folder / "theirs.parquet", folder / "back.npy", "--shape", "900,700", "--names", "row,column,value")
                again = np.load(folder / "back.npy")
                full = np.zeros((900, 700), kind)
                full[rows, columns] = values
                same(full, again)
        print(f"{name}: {CHECKS - checks} comparisons")
    print(f"{CHECKS} comparisons, no difference")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(pathlib.Path(folder))
