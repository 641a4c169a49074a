"""What it costs to build lacuna: python -B benches/building.py [ROW ...]

Prints a Markdown table. The program is benches/building/: six operations on a COO tensor, with default features. Its
crates must have been downloaded. Rows: program, changed, lines, everything, command. `cargo llvm-lines`, which counts
lines of LLVM's code, is installed with `cargo install cargo-llvm-lines`.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "benches" / "building"
SOURCE = PROGRAM / "src" / "main.rs"


def cargo(folder, target, *arguments):
    environment = os.environ | {"CARGO_TARGET_DIR": str(target), "CARGO_TERM_COLOR": "never"}
    return subprocess.run(["cargo", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True)


def seconds(folder, target, *arguments):
    start = time.monotonic()
    cargo(folder, target, *arguments)
    return f"{time.monotonic() - start:.0f} s"


def program(scratch):
    for profile in (["--release"], []):
        name = "release" if profile else "debug"
        target = scratch / name
        yield f"the program, {name}, from nothing", seconds(PROGRAM, target, "build", *profile)


def changed(scratch):
    target = scratch / "release"
    cargo(PROGRAM, target, "build", "--release")
    text = SOURCE.read_text()
    try:
        SOURCE.write_text(text.replace("7.0)]", "8.0)]"))
        yield "the program, release, after one changed line", seconds(PROGRAM, target, "build", "--release")
    finally:
        SOURCE.write_text(text)


def lines_of(folder, target, *arguments):
    found = cargo(folder, target, "llvm-lines", "--release", *arguments).stdout
    lines, copies = re.search(r"(\d+)\s+(\d+)\s+\(TOTAL\)", found).groups()
    return f"{int(lines):,} in {int(copies):,} functions"


def lines(scratch):
    features = ["--no-default-features", "--features"]
    for name in ("rayon,machine", "rayon,machine,io", "rayon,machine,lazy", "rayon,machine,dynamic"):
        yield f"LLVM lines of the library, `{name}`", lines_of(ROOT, scratch / "lines", "--lib", *features, name)
    yield "LLVM lines of the program", lines_of(PROGRAM, scratch / "lines")


def everything(scratch):
    found = lines_of(ROOT, scratch / "lines", "--lib", "--all-features")
    yield "LLVM lines of the library, all features", found


def command(scratch):
    target = scratch / "command"
    yield "the command line with Parquet, release, from nothing", seconds(
        ROOT, target, "build", "--release", "--bin", "lacuna", "--features", "cli,parquet"
    )
    built = target / "release" / "lacuna"
    subprocess.run(["strip", str(built)], check=True)
    yield "its size, stripped", f"{built.stat().st_size / 1e6:.1f} MB"


ROWS = {row.__name__: row for row in (program, changed, lines, everything, command)}


def main():
    names = sys.argv[1:] or list(ROWS)
    scratch = Path(tempfile.mkdtemp(prefix="lacuna-building-"))
    try:
        print(f"| {os.cpu_count()} cores | now |\n| --- | --- |")
        for name in names:
            for row, figure in ROWS[name](scratch):
                print(f"| {row} | {figure} |", flush=True)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
