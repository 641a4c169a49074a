"""The same questions of the same Parquet files: in memory, in chunks, on DataFusion, and by polars and duckdb.

    cargo build --release --features cli,parquet --bin lacuna
    (cd src/engines/datafusion && cargo build --release --example ask)
    python benches/larger.py DIR [--lacuna PATH] [--ask PATH] [--sizes 1000000 10000000 100000000] [--skip PROGRAM ...]

DIR keeps a folder for each size, which is written where it is not there: entries in random places of a square matrix,
a hundred a row, in order; from 10^8 on ten times the matrix before, side by side, put together in chunks. A line of
JSON is kept in DIR/larger.jsonl for each question, size and program, seconds and resident MiB of whole processes, the
least of --runs; what is there is not taken again. What a program cannot answer, in the memory that it has, fails, with
its own words on the screen. A sum of an answer that is not that of the first program but for
rounding is an error. The table of docs/benchmarks.md is made of all lines, and of three sizes or more a picture. This
program stays small, because a process that it starts is told to have had at least its memory.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs")
PAGE, PICTURE = os.path.join(DOCS, "benchmarks.md"), os.path.join(DOCS, "pictures", "larger.svg")
BEGIN, END = "<!-- larger: made by benches/larger.py -->\n", "<!-- end -->"

# Each question as an expression, for polars and for duckdb. A gap is 0 and changes none of them.
QUESTIONS = {
    "any": ("any(x, axis=1)", "(v != 0).any()", "bool_or(v != 0)"),
    "sum": ("sum(x, axis=1)", "v.sum()", "sum(v)"),
    "nanmedian": ("nanmedian(stored(x), axis=1)", "v.median()", "median(v)"),
    "chain": (
        "sum(sqrt(abs(x) * 2) - square(x), axis=1)",
        "((v.abs() * 2).sqrt() - v * v).sum()",
        "sum(sqrt(abs(v) * 2) - v * v)",
    ),
}
PROGRAMS = ["memory", "chunks", "DataFusion", "polars", "duckdb"]

POLARS = """
import sys, polars as pl
folder, question = sys.argv[1:]
v, i = pl.col("values"), pl.col("indices_0")
y = pl.scan_parquet(folder + "/*.parquet").group_by(i).agg(eval(question).alias("y")).collect(engine="streaming")["y"]
print(float(y.sum()))
"""

DUCKDB = """
import sys, duckdb
folder, question, memory, threads = sys.argv[1:]
db = duckdb.connect()
db.execute(f"set memory_limit='{memory}MB'; set threads={threads}; set enable_progress_bar=false; set temp_directory='{folder}.spill'")
db.execute(f"create temp table y as select {question} as y from "
           f"(select indices_0 as i, values as v from '{folder}/*.parquet') group by i")
print(db.execute("select sum(y::double) from y").fetchone()[0])
"""


def command(options, question, program, folder, answer):
    """What answers a question of a folder."""
    expression, polars, duckdb = QUESTIONS[question]
    memory, threads = str(options.memory), str(options.threads)
    ours = [options.lacuna, "eval", expression, "x=" + folder, "-o", answer]
    chunks = ["--engine", "chunks", "--max-memory", memory + "M", "--spill", options.dir]
    return {
        "memory": ours,
        "chunks": ours + chunks,
        "DataFusion": [options.ask, folder, question, threads, answer],
        "polars": [sys.executable, "-c", POLARS, folder, polars],
        "duckdb": [sys.executable, "-c", DUCKDB, folder, duckdb, memory, threads],
    }[program]


def timed(arguments, threads):
    """Seconds, resident MiB, and what a program printed; nothing if it failed."""
    environment = dict(os.environ, POLARS_MAX_THREADS=str(threads), RAYON_NUM_THREADS=str(threads))
    start = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None
    return time.perf_counter() - start, usage.ru_maxrss / 1024, said


def make(options, folder, size):
    """Writes a matrix; a process is as large as what it makes."""
    side, tenth = size // 100, os.path.join(options.dir, str(size // 10))
    expression, inputs = f"round(random([{side}, {side}], {size}, 7) * 1000) / 1000", []
    if size >= 10**8:
        expression = f"concat([{', '.join(['x'] * 10)}], axis=1)"
        inputs = ["x=" + tenth, "--engine", "chunks", "--spill", options.dir]
    subprocess.run([options.lacuna, "eval", expression, *inputs, "-o", folder + "/"], check=True, stdout=subprocess.DEVNULL)


def total(options, program, answer, said):
    """The sum of an answer."""
    if program in ("polars", "duckdb"):
        return float(said.split()[-1])
    asked = [options.lacuna, "eval", "nansum(cast(y, 'float64'))", "y=" + answer, "--json"]
    printed = subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout
    return float(json.loads(printed)["values"][0][1])


def measured(options, question, program, size):
    """The line of a question, asked a few times."""
    folder, answer = os.path.join(options.dir, str(size)), os.path.join(options.dir, "answer.parquet")
    if not os.path.isdir(folder):
        make(options, folder, size)
    arguments = command(options, question, program, folder, answer)
    runs = [timed(arguments, options.threads) for _ in range(options.runs if size < 10**9 else 1)]
    asked = {
        "question": question,
        "program": program,
        "size": size,
        "threads": options.threads,
        "memory": options.memory,
    }
    if None in runs:
        return asked
    return asked | {
        "seconds": round(min(run[0] for run in runs), 3),
        "MiB": round(min(run[1] for run in runs)),
        "sum": total(options, program, answer, runs[-1][2]),
    }


def asked(options, lines):
    """Asks what is not among the lines yet."""
    known = {(line["size"], line["question"], line["program"]): line for line in lines}
    for size in options.sizes:
        for question in QUESTIONS:
            expected = None
            for program in PROGRAMS:
                if (program == "memory" and size >= 10**9) or program in options.skip:
                    continue
                line = known.get((size, question, program)) or measured(options, question, program, size)
                expected = line.get("sum") if expected is None else expected
                if "sum" in line and abs(line["sum"] - expected) > 1e-9 * size:
                    raise SystemExit(f"{line}: another sum than {expected}")
                if (size, question, program) not in known:
                    print(json.dumps(line), flush=True)
                    yield line


def shown(line):
    """A cell of the table."""
    if line is None:
        return ""
    return f"{line['seconds']:.2f} s, {line['MiB']} MiB" if "seconds" in line else "fails"


def table(lines):
    """A row for each size and question, a column for each program."""
    cells = {(line["size"], line["question"], line["program"]): line for line in lines}
    programs = [program for program in PROGRAMS if any(line["program"] == program for line in lines)]
    rows = ["| entries | query | " + " | ".join(programs) + " |", "| --- " * (2 + len(programs)) + "|"]
    for size, question in sorted({key[:2] for key in cells}, key=lambda key: (key[0], list(QUESTIONS).index(key[1]))):
        found = [cells.get((size, question, program)) for program in programs]
        told = [shown(line) for line in found]
        rows.append(f"| 10^{len(str(size)) - 1} | {question} | " + " | ".join(told) + " |")
    return "\n".join(rows) + "\n"


def picture(lines, question="sum"):
    """Seconds against entries of one question, both logarithmic."""
    colors = dict(zip(PROGRAMS, ["#4477aa", "#cc3311", "#228833", "#aa7700", "#777777"]))
    sizes = sorted({line["size"] for line in lines})
    low, decades = len(str(sizes[0])) - 1, len(str(sizes[-1])) - len(str(sizes[0]))
    log = math.log10
    x = lambda size: 60 + 480 * (log(size) - low) / max(decades, 1)
    y = lambda seconds: 270 - 50 * (log(seconds) + 2)
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="680" height="330" font-family="sans-serif" font-size="12">',
             '<rect width="680" height="330" fill="white"/>']
    for power in range(-2, 4):
        parts.append(f'<path d="M60 {y(10.0**power)}H540" stroke="#ddd"/>'
                     f'<text x="52" y="{y(10.0**power) + 4}" text-anchor="end">{10.0**power:g} s</text>')
    parts += [f'<text x="{x(size)}" y="292" text-anchor="middle">10^{len(str(size)) - 1}</text>' for size in sizes]
    parts.append('<text x="300" y="316" text-anchor="middle">entries</text>')
    ends = []
    for program in PROGRAMS:
        points = sorted((line["size"], line["seconds"]) for line in lines
                        if line["question"] == question and line["program"] == program and "seconds" in line)
        if points:
            path = "L".join(f"{x(size):.1f} {y(seconds):.1f}" for size, seconds in points)
            parts.append(f'<path d="M{path}" fill="none" stroke="{colors[program]}" stroke-width="2"/>')
            ends.append((y(points[-1][1]), x(points[-1][0]), program))
    above = 0
    for height, right, program in sorted(ends):
        above = max(height + 4, above + 14)
        parts.append(f'<text x="{right + 8:.1f}" y="{above:.1f}" fill="{colors[program]}">{program}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir")
    parser.add_argument("--lacuna", default="target/release/lacuna")
    parser.add_argument("--ask", default="src/engines/datafusion/target/release/examples/ask")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    parser.add_argument("--memory", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--skip", nargs="*", default=[])
    options = parser.parse_args()
    kept = os.path.join(options.dir, "larger.jsonl")
    lines = [json.loads(line) for line in open(kept)] if os.path.exists(kept) else []
    for line in asked(options, lines):
        with open(kept, "a") as out:
            out.write(json.dumps(line) + "\n")
        lines.append(line)
    with open(PAGE) as page:
        text = page.read()
    text = re.sub(re.escape(BEGIN) + ".*?" + END, lambda _: BEGIN + "\n" + table(lines) + "\n" + END, text, flags=re.S)
    with open(PAGE, "w") as page:
        page.write(text)
    if len({line["size"] for line in lines}) > 2:
        with open(PICTURE, "w") as out:
            out.write(picture(lines))


main()
