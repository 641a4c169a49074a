"""Prints the table of benches/gpu.sh: python -B benches/gpu.py RESULTS BANDWIDTH

RESULTS are the lines that the example `table` of the package for GPUs prints. The times of torch and cupy, where they
are installed, are added to the file.
"""

import json
import sys
import time

# The targets, as multiples of the time that the bytes of a row take.
TARGETS = {
    "isfinite": 1.5, "any of CSR rows": 1.5, "gradient of any of CSR rows": 1.5, "any of COO over axis 0": 3, "any of COO over axis 1": 2, "isin of 1000": 4,
    "nanmedian of rows": 3, "nanmedian of all": 2, "sum of rows": 2.5, "sum of columns": 2.5, "sum of all": 2.5,
}
ROW = 10


def least(run, wait, runs=5):
    """Milliseconds of the fastest run, after one that is not counted."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times[1:])


def of_torch(entries):
    import torch

    if not torch.cuda.is_available():
        return {}
    at = torch.arange(entries, device="cuda")
    values = torch.where(at % 7 == 0, 0.0, (at * 7919 % 100_003).double() / 16 - 3000)
    rows, members = values.view(-1, ROW), torch.arange(1000, device="cuda").double() / 16
    return {name: least(run, torch.cuda.synchronize) for name, run in {
        "isfinite": lambda: torch.isfinite(values),
        "any of CSR rows": lambda: rows.any(1),
        "isin of 1000": lambda: torch.isin(values, members),
        "greater": lambda: values > 0,
        "max of rows": lambda: rows.max(1),
        "sum of rows": lambda: rows.sum(1),
        "sum of all": lambda: values.sum(),
        "nanmedian of rows": lambda: rows.nanmedian(1),
        "nanmedian of all": lambda: values.nanmedian(),
    }.items()}


def of_cupy(entries):
    import cupy
    import cupyx.scipy.sparse as sparse

    at = cupy.arange(entries)
    values = cupy.where(at % 7 == 0, 0.0, (at * 7919 % 100_003) / 16 - 3000)
    columns = (at % ROW * 100 + at // ROW * 7919 % 100).astype(cupy.int32)
    offsets = cupy.arange(0, entries + 1, ROW, dtype=cupy.int32)
    x = sparse.csr_matrix((values, columns, offsets), shape=(entries // ROW, 1000))
    return {name: least(run, cupy.cuda.Device().synchronize) for name, run in {
        "isfinite": lambda: cupy.isfinite(values),
        "isin of 1000": lambda: cupy.isin(values, cupy.arange(1000) / 16),
        "sum of rows": lambda: x.sum(1),
        "sum of columns": lambda: x.sum(0),
        "sum of all": lambda: values.sum(),
    }.items()}


def main():
    path, bandwidth = sys.argv[1], float(sys.argv[2])
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    device = lines[0]
    peers = {}
    for name, of in {"torch": of_torch, "cupy": of_cupy}.items():
        try:
            peers[name] = of(device["entries"] // ROW * ROW)
        except Exception as error:  # a peer that is missing or fails leaves its column empty
            print(f"{name}: {error}", file=sys.stderr)
            peers[name] = {}
    with open(path, "a") as file:
        for name, rows in peers.items():
            file.writelines(json.dumps({"library": name, "row": row, "ms": ms}) + "\n" for row, ms in rows.items())
    print(f"{device['device']}, {device['entries']} entries\n")
    print("| row | floor, ms | target, ms | ours, ms | torch, ms | cupy, ms |\n| --- | --- | --- | --- | --- | --- |")
    for line in lines[1:]:
        row, floor = line["row"], 1e3 * line["bytes"] / bandwidth
        target = f"{floor * TARGETS[row]:.3f}" if row in TARGETS else ""
        others = " | ".join(f"{peers[name][row]:.3f}" if row in peers[name] else "" for name in ("torch", "cupy"))
        print(f"| {row} | {floor:.3f} | {target} | {line['ms']:.3f} | {others} |")


if __name__ == "__main__":
    main()
