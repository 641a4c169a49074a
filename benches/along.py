"""Prints the table of functions along an axis, beside plain loops and numpy: python3 benches/along.py (needs numpy).

numpy runs on arrays of the same shape; beside a sparse matrix, on the dense lanes of the same number of rows, cut so
that the array fits in memory. Its time is per stored value of lacuna.
"""

import subprocess
import time

import numpy as np

COMMAND = ["cargo", "bench", "--quiet", "--bench", "along", "--features", "rayon"]


def nanoseconds(values, run):
    """The median of at least five runs."""
    times = []
    run()
    while len(times) < 5 or sum(times) < 0.5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e9 / values


def in_numpy(name):
    """What numpy takes for a case, if it has one."""
    function, form, size = name.split("/")
    rng = np.random.default_rng(1)
    if not form.startswith("array"):
        if function != "sort" or size == "10000000":
            return None
        rows = int(size) // 10
        # 1,000 rows are enough for a time per row; a row has `rows` columns and ten values.
        shape = (min(rows, 1000), rows)
        x = np.zeros(shape)
        x[np.repeat(np.arange(shape[0]), 10), rng.integers(0, rows, 10 * shape[0])] = rng.standard_normal(10 * shape[0])
        return nanoseconds(10 * shape[0], lambda: np.sort(x, axis=1))
    shape = tuple(map(int, size.split("x")))
    x = rng.random(shape) * 1e6
    lists = [rng.integers(0, end, x.size) for end in shape]
    order = lists[1].reshape(shape)
    run = {
        "cumsum": lambda: np.cumsum(x, axis=1),
        "cumprod": lambda: np.cumprod(x, axis=1),
        "sort": lambda: np.sort(x, axis=1),
        "diff": lambda: np.diff(x, axis=1),
        "gather": lambda: x[lists[0], lists[1]],
        "take_along_axis": lambda: np.take_along_axis(x, order, axis=1),
    }[function]
    return nanoseconds(x.size, run)


def main():
    lines = subprocess.run(COMMAND, capture_output=True, text=True, check=True).stdout.splitlines()
    print("| function, operand, size | lacuna | loop | ratio | numpy |\n| --- | --- | --- | --- | --- |")
    for line in lines:
        name, ours, plain = line.rsplit(" ", 2)
        theirs = in_numpy(name)
        shown = "" if theirs is None else f"{theirs:.1f}"
        print(f"| `{name}` | {float(ours):.1f} | {float(plain):.1f} | {float(ours) / float(plain):.2f} | {shown} |")


if __name__ == "__main__":
    main()
