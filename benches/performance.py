"""Takes the figures of this machine, and writes all tables and pictures that are made of docs/figures.json.

    python benches/performance.py --data DIR --peers RESULTS ...  [--only PREFIX] [--sizes 100000 1000000 10000000]
    python benches/performance.py --ours LINES ... --peers RESULTS ... [--machine MACHINE]
    python benches/performance.py --tables
    python benches/performance.py --check

The first command runs the benches `compare` (with one thread and with two), `figures` and `daily`; --only leaves all
but the workloads of `compare` with that prefix out. The second runs nothing: LINES are what `compare` printed, in one
run or in several, of which the least time counts. RESULTS are what other libraries took on the same data and on this
machine: JSON lines as `compare` prints them, or an object with such lines as "results" and with "versions". A workload
whose sums differ from theirs is an error. Times are the least of all runs of a workload: other work on a machine only
adds to them. What was taken is kept in docs/figures.json, one entry a machine, with its
processor, its system, the versions and the date. docs/benchmarks.md shows the two newest machines side by side,
docs/speed-log.md the older ones; docs/speed.md and docs/exact-sums.md show a few rows of the newest, and
docs/pictures/peers.svg and threads.svg are drawn of them. MACHINE is a JSON object of these where the lines come from a
machine without a Rust toolchain: `--this-machine` prints it there. `--tables` only writes tables and pictures again;
`--check` fails if they are not what docs/figures.json gives.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import textwrap
import time

import peers
import threads

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "..", "docs")
FIGURES = os.path.join(DOCS, "figures.json")
PEERS, THREADS = (os.path.join(DOCS, "pictures", name) for name in ("peers.svg", "threads.svg"))
BENCHMARKS, LOG, SPEED, SUMS = (os.path.join(DOCS, name) for name in ("benchmarks.md", "speed-log.md", "speed.md", "exact-sums.md"))
# The benchmarks show this many machines, the newest ones; the log shows the older ones.
SHOWN = 2
# The rows of docs/speed.md.
SPEED_SHOWN = {
    "`any` over rows, COO": "any_coo/coo2d_f64/1",
    "`nanmedian` of rows, array": "nanmedian/nan_2d_f64/1",
    "`isin`, 10^4 test values": "isin/f64_10000_h50",
    "`take` at random positions": "take/random/raise",
    "`sum` over rows, CSR": "sum_csr/mat/1",
    "`sum` over columns, CSR": "sum_csr/mat/0",
    "`max` over rows, COO": "max_coo/mat/1",
    "`add`, half of the positions in common, CSR": "add_csr/half",
    "`exp`, CSR": "exp/mat",
    "`concat` of columns, CSR": "concat/1",
    "matrix times vector": "spmv/mat",
    "matrix times array of 32 columns": "spmm/k32",
    "matrix times sparse matrix": "spgemm/graph",
    "CSR to CSC": "csr_to_csc/mat",
}
# How a page names a peer that is not a library of its own name.
PEER_NAMES = {
    "graphblas": "GraphBLAS",
    "nalgebra": "nalgebra-sparse",
    "numba_loop": "numba, loop",
    "numpy_route": "numpy, several calls",
    "numpy_values": "numpy, values only",
    "rs_iter": "Rust loop",
    "rs_select_nth": "Rust, `select_nth_unstable`",
    "rs_sort_dedup": "Rust, sort and merge",
    "rs_sort_search": "Rust, binary search",
    "rust_iter": "Rust loop",
    "scipy_route": "scipy, several calls",
    "torch_csr": "torch, CSR",
    "torch_route": "torch, several calls",
}
SUMS_SHOWN = {
    "sum by rows, CSR": "sum_csr/mat/1",
    "sum by rows, COO": "sum_coo/mat/1",
    "mean by rows, CSR": "mean_csr/mat/1",
    "variance by rows, CSR": "var_csr/mat/1",
    "sum by columns, COO": "sum_coo/mat/0",
    "sum by columns, CSR": "sum_csr/mat/0",
    "sum of all, COO": "sum_coo/mat/None",
}
DAILY = re.compile(r"^(\S+/\d+)\s+time:\s+\[\S+ \S+ (\S+) (\S+)", re.M)


def said(*command, **more):
    """What a program prints."""
    env = dict(os.environ, **more)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env, cwd=HERE).stdout


def bench(name, *arguments, **more):
    return said("cargo", "bench", "--quiet", "--features", "lazy", "--bench", name, "--", *arguments, **more)


def this_machine(**known):
    """What a reader has to know of it: nothing that names it."""
    with open("/proc/cpuinfo") as lines:
        cpu = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", lines.read().split("\n\n")[0], re.M))
    widest = next((name for name in ("avx512f", "avx2") if name in cpu["flags"].split()), "neither AVX2 nor AVX-512")
    return {
        "processor": f"{cpu['model name']} (family {cpu['cpu family']}, model {cpu['model']}, {widest})",
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "date": time.strftime("%Y-%m-%d"),
        **(known or built_here()),
    }


def built_here():
    """The compiler and the commit of what is measured."""
    return {
        "rust": said("rustc", "--version").split()[1],
        "commit": said("git", "rev-parse", "--short", "HEAD").strip(),
    }


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def read_peers(paths):
    """What others took: the lines that have a time and are right, and the versions."""
    lines, versions = [], {}
    for path in paths:
        with open(path) as file:
            text = file.read()
        try:
            whole = json.loads(text)
        except ValueError:  # a line for each workload, whose words stand in any order
            whole = {}
        if "results" in whole:
            lines += whole["results"].values()
            versions.update(whole.get("versions", {}))
        else:
            lines += json_lines(text)
    is_peer = lambda line: "min" in line and line.get("agrees", True) and not line["peer"].startswith("floor")
    return [line for line in lines if is_peer(line)], versions


def agree(ours, theirs):
    return len(ours) == len(theirs) and all(abs(a - b) <= 1e-6 * max(1, abs(a)) for a, b in zip(ours, theirs))


def run_compare(data, only):
    """What `compare` prints with one thread and with two."""
    options = ["--data", os.path.abspath(data), "--only", only]
    return "".join(bench("compare", *options, "--threads", threads) for threads in ("1", "2"))


def milliseconds(seconds):
    """To four digits: what takes microseconds is not nothing."""
    return float(f"{seconds * 1e3:.4g}")


def compared(lines, peers):
    """For each workload and number of threads: what we took, and the fastest other."""
    rows = {}
    for line in lines:
        threads, same = line["threads"], [peer for peer in peers if peer["workload"] == line["workload"]]
        others = [peer for peer in same if peer["threads"] <= threads]
        wrong = [peer["peer"] for peer in others if "check" in peer and not agree(line["check"], peer["check"])]
        if wrong:
            sys.exit(f"{line['workload']}: {wrong} have other sums")
        fastest = min(others, key=lambda peer: peer["min"], default=None)
        theirs = [fastest["peer"], milliseconds(fastest["min"])] if fastest else [None, None]
        row, took = rows.setdefault(line["workload"], {}), milliseconds(line["min"])
        row[str(threads)] = min(row.get(str(threads), [took]), [took])[:1] + theirs
    return rows


def take_figures(arguments, known):
    machine = this_machine()
    if arguments.machine:
        with open(arguments.machine) as file:
            machine |= json.load(file)
    same = lambda other: all(other[key] == machine[key] for key in ("processor", "cores", "system"))
    before = next((other for other in known["machines"] if same(other)), {"rows": {}})
    peers, versions = read_peers(arguments.peers)
    if arguments.data:
        lines = json_lines(run_compare(arguments.data, arguments.only))
    else:
        lines = [line for path in arguments.ours for line in json_lines(open(path).read())]
    number = before.get("number", 1 + max(other["number"] for other in known["machines"]))
    machine |= {"number": number, "versions": before.get("versions", {}) | versions, "rows": before["rows"] | compared(lines, peers)}
    if arguments.data and not arguments.only:
        sizes = [str(size) for size in arguments.sizes]
        picture = os.path.join(os.path.abspath(DOCS), "pictures", "growth.svg")
        table = bench("figures", *sizes, "--picture", picture).splitlines()
        known["growth"] = [line for line in table if line.startswith("| ")]
        daily = bench("daily", "/10$|/100$", LACUNA_BENCH_SIZES="10,100")
        machine["small"] = {name: f"{float(time):.3g} {unit}" for name, time, unit in DAILY.findall(daily)}
    known["machines"] = [other for other in known["machines"] if not same(other)] + [machine]


def described(machine):
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    where = f"{machine['cores']} cores of {machine['processor']}, {machine['system']}, Rust {machine['rust']}"
    line = f"{machine['number']}. {where}, {machine['date']}, commit {machine['commit']}: {versions}."
    return textwrap.fill(line, 120, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)


def cell(row, wanted):
    """The ratio, in bold where it is what we want, and what it is made of."""
    if row is None:
        return ""
    ours, name, theirs = row
    shown = lambda time: f"{time:.1f}" if time >= 0.1 else f"{time:.2g}"
    if name is None:
        return shown(ours)
    ratio = f"{ours / theirs:.2f}"
    ratio = f"**{ratio}**" if wanted and ours / theirs <= wanted else ratio
    return f"{ratio}: {shown(ours)}, {name} {shown(theirs)}"


def compare_table(known, machines):
    """What machines took with one thread and with two, beside the fastest other, and the targets of both."""
    has = lambda machine, threads: any(threads in row for row in machine["rows"].values())
    shown = [(machine, threads) for machine in machines for threads in ("1", "2") if has(machine, threads)]
    named = {"1": "", "2": ", two threads"}
    head = ["workload", "targets", *(f"{machine['number']}{named[threads]}" for machine, threads in shown)]
    taken = [name for machine, threads in shown for name, row in machine["rows"].items() if threads in row]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for name in dict.fromkeys(taken):
        wanted = known["wanted"].get(name, {})
        targets = ", ".join(str(wanted.get(threads, "-")) for threads in ("1", "2") if threads == "1" or "2" in wanted)
        cells = [cell(machine["rows"].get(name, {}).get(threads), wanted.get(threads)) for machine, threads in shown]
        lines.append(f"| {name} | {targets if wanted else ''} | {' | '.join(cells)} |")
    return lines


def targets_table(known, machines):
    """How many of the targets that have a peer each machine reaches, with one thread and with two."""
    lines = ["| machine | one thread | two threads |", "| --- | --- | --- |"]
    for machine in machines:
        cells = []
        for threads in ("1", "2"):
            taken = [(name, row[threads]) for name, row in machine["rows"].items() if threads in row and row[threads][1]]
            found = [(known["wanted"].get(name, {}).get(threads), row[0] / row[2]) for name, row in taken]
            ratios = [ratio <= wanted for wanted, ratio in found if wanted]
            cells.append(f"{sum(ratios)} of {len(ratios)}" if ratios else "")
        lines.append(f"| {machine['number']} | {' | '.join(cells)} |")
    return lines


def threads_table(machines):
    """What more threads bring on the last machine that has more than two cores."""
    machine = next((machine for machine in reversed(machines) if machine["cores"] > 2), None)
    if machine is None:
        return []
    rows = {name: row for name, row in machine["rows"].items() if len(row) > 1}
    counts = sorted({int(threads) for row in rows.values() for threads in row})
    lines = [f"| machine {machine['number']}, workload | {' | '.join(map(str, counts))} |", "| --- " * (len(counts) + 1) + "|"]
    for name, row in rows.items():
        times = [row.get(str(threads), [None])[0] for threads in counts]
        cells = ["" if time is None else f"{time:.3g}, {times[0] / time:.1f}" for time in times]
        lines.append(f"| {name} | {' | '.join([f'{times[0]:.3g}', *cells[1:]])} |")
    return lines


def small_table(machines):
    machines = [(str(machine["number"]), machine["small"]) for machine in machines if "small" in machine]
    if not machines:
        return ["Not measured on these machines."]
    names = list(dict.fromkeys(name for _, small in machines for name in small))
    head = ["a call", *(number for number, _ in machines)]
    rows = [[name, *(small.get(name, "") for _, small in machines)] for name in names]
    return [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]


def sums_table(known):
    """What exact sums take on the newest machine, and the fastest other, whose sums are rounded at each step."""
    machine = newest(known)
    head = f"| one thread of machine {machine['number']}, ms | exact, here | fastest other | ratio |"
    lines = [head, "| --- | --- | --- | --- |"]
    for name, workload in SUMS_SHOWN.items():
        ours, peer, theirs = machine["rows"][workload]["1"]
        other, ratio = (f"{theirs:.1f} ({peer})", f"{ours / theirs:.2f}") if peer else ("", "")
        lines.append(f"| {name} | {ours:.1f} | {other} | {ratio} |")
    return lines


def speed_table(machine):
    """What a few operations take, for a reader who wants no more than fourteen rows."""
    head = f"| operation, ms on machine {machine['number']} | lacuna | fastest other | lacuna / other | lacuna, two threads |"
    lines = [head, "| --- " * 5 + "|"]
    for name, workload in SPEED_SHOWN.items():
        row = machine["rows"][workload]
        ours, peer, theirs = row["1"]
        both = f"{row['2'][0]:.1f}" if "2" in row else ""
        lines.append(f"| {name} | {ours:.1f} | {theirs:.1f} ({PEER_NAMES.get(peer, peer)}) | {ours / theirs:.2f} | {both} |")
    return lines


def slower_table(machine):
    """For each family how many workloads take longer than the fastest other, and the one that loses most."""
    lines = ["| family | slower | largest ratio | in the workload | fastest other |", "| --- " * 5 + "|"]
    for family, rows in peers.compared(machine).items():
        ratio, workload, peer = max((ours / theirs, workload, peer) for workload, ours, peer, theirs in rows)
        slower = sum(ours > theirs for _, ours, _, theirs in rows)
        shown = [f"{ratio:.2f}", f"`{workload}`", PEER_NAMES.get(peer, peer)] if slower else [""] * 3
        lines.append(f"| {family} | {slower} of {len(rows)} | {' | '.join(shown)} |")
    return lines


def newest(known):
    return max(known["machines"], key=lambda machine: machine["date"])


def parted(known):
    """The newest machines and the older ones, each in the order of the figures."""
    dates = sorted((machine["date"] for machine in known["machines"]), reverse=True)
    is_new = lambda machine: machine["date"] >= dates[:SHOWN][-1]
    return [m for m in known["machines"] if is_new(m)], [m for m in known["machines"] if not is_new(m)]


def with_tables(page, tables):
    """The text of a page with its tables in the place of those that it has."""
    for name, lines in tables.items():
        start, end = f"<!-- {name}: made by benches/performance.py -->\n", "<!-- end -->"
        before, after = page.split(start)
        page = before + start + "\n" + "\n".join(lines) + "\n\n" + end + after.split(end, 1)[1]
    return page


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.read()


def made_of(known):
    """Each file that is made of the figures, wholly or in part, and its text."""
    shown, older = parted(known)
    benchmarks = {
        "machines": [described(machine) for machine in shown],
        "targets": targets_table(known, shown),
        "workloads": compare_table(known, shown),
        "more threads": threads_table(shown),
        "small": small_table(shown),
        "growth": known["growth"],
    }
    log = {
        "older machines": [described(machine) for machine in older],
        "older, targets": targets_table(known, older),
        "older, workloads": compare_table(known, older),
    }
    speed = {"speed": speed_table(newest(known)), "slower": slower_table(newest(known))}
    sums = {"sums": sums_table(known)}
    return {
        BENCHMARKS: with_tables(read(BENCHMARKS), benchmarks),
        LOG: with_tables(read(LOG), log),
        SPEED: with_tables(read(SPEED), speed),
        SUMS: with_tables(read(SUMS), sums),
        PEERS: peers.picture(newest(known)),
        THREADS: threads.picture(shown),
    }


def write_all(known):
    for path, text in made_of(known).items():
        with open(path, "w") as file:
            file.write(text)


def check(known):
    stale = [os.path.basename(path) for path, text in made_of(known).items() if read(path) != text]
    sys.exit(f"not what docs/figures.json gives: {', '.join(stale)}; write them by --tables" if stale else 0)


def keep(known):
    """One row a line, so that a change of some is read as such."""
    text = json.dumps(known, indent=1, ensure_ascii=False)
    joined = lambda found: re.sub(r"(?<=[\[{]) | (?=[\]}])", "", re.sub(r"\s*\n\s*", " ", found[0]))
    text = re.sub(r"\[[^\[\]{}|]*\]", joined, text)
    text = re.sub(r'\{\s+"\d+": [^{}]*\}', joined, text)
    with open(FIGURES, "w") as file:
        file.write(text + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--ours", nargs="+", default=[])
    parser.add_argument("--peers", nargs="*", default=[])
    parser.add_argument("--machine")
    parser.add_argument("--this-machine", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.this_machine:
        print(json.dumps(this_machine(rust="unknown", commit="unknown")))
        return
    if not (arguments.tables or arguments.check or arguments.data or arguments.ours):
        parser.error("--data, --ours, --tables or --check")
    with open(FIGURES) as file:
        known = json.load(file)
    if arguments.check:
        check(known)
    if arguments.data or arguments.ours:
        take_figures(arguments, known)
        keep(known)
    write_all(known)


if __name__ == "__main__":
    main()
