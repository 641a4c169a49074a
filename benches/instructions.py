"""Counts the instructions of each case of the bench `figures` as its input grows: what the algorithm does, without
what caches and pages add.

    cargo bench --bench figures --no-run
    python benches/instructions.py PROGRAM [--only CASES] [--sizes 100000 1000000 10000000]

PROGRAM is the one that the first command names.

Needs valgrind, which runs each case about fifty times as long as it takes, on one thread and without wide vectors.
"""

import argparse
import re
import subprocess
import tempfile

MOST_GROWTH = 1.2


def names_of(program, only):
    """The cases, by a run on so few entries that it takes no time."""
    table = subprocess.run([program, "100", "--once", "--only", only], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| ")]
    return rows[2:]


def instructions_of(program, name, size):
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--toggle-collect=*figures*counted*"]
        command = [*tool, program, str(size), "--once", "--only", name]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return int(re.search(r"Collected : (\d+)", run.stderr)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    args = parser.parse_args()
    print("| case |", " | ".join(f"{size}, instructions each" for size in args.sizes), "| most growth |")
    print("| --- |" + " --- |" * (len(args.sizes) + 1))
    steep = []
    for name in names_of(args.program, args.only):
        each = [instructions_of(args.program, name, size) / size for size in args.sizes]
        growth = max((after / before for before, after in zip(each, each[1:])), default=0)
        steep += [name] if growth > MOST_GROWTH else []
        print(f"| {name} |", " | ".join(f"{count:.1f}" for count in each), f"| {growth:.2f} |", flush=True)
    print(f"\nmore than {MOST_GROWTH} times the instructions for each entry at the next size: {steep}")


if __name__ == "__main__":
    main()
