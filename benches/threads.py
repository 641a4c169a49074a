"""Draws the speedup of each workload over one thread, for the machines of docs/benchmarks.md: docs/pictures/threads.svg.

`benches/performance.py` writes the picture with its tables, and its --check holds the picture to docs/figures.json.
"""

import math
import statistics
import textwrap

from peers import FAMILIES, family_of, text

LEFT, RIGHT, TOP, STEP, WIDTH = 170, 720, 76, 24, 760
LEAST_SPEEDUP = 0.7
# A workload that takes less does not wake a thread.
LEAST_MS = 1
COLORS = ["#c98a1b", "#2a6f97", "#5a8f3d"]


def right_of(speedup, most):
    """The place of a speedup on the logarithmic axis; a speedup beyond the left end is drawn there."""
    return LEFT + (RIGHT - LEFT) * math.log(max(speedup / LEAST_SPEEDUP, 1)) / math.log(most / LEAST_SPEEDUP)


def measured(machine):
    """The most threads of a machine, and for each family the workloads with their speedup and their times in ms."""
    most = max(int(threads) for row in machine["rows"].values() for threads in row)
    found = {}
    for workload, row in machine["rows"].items():
        if "1" in row and str(most) in row and most > 1 and row["1"][0] >= LEAST_MS:
            one, many = row["1"][0], row[str(most)][0]
            found.setdefault(family_of(workload), []).append((workload, one / many, one, many))
    return most, found


def dot(at, height, row, color):
    workload, speedup, one, many = row
    title = f"{workload}: {speedup:.2f} times as fast, {one:g} ms and {many:g} ms"
    return f'<circle cx="{at:.1f}" cy="{height}" r="4.5" fill="{color}" fill-opacity="0.6"><title>{title}</title></circle>'


def caption(machines):
    shown = [f"{threads} threads: {machine['processor']}, {machine['date']}, commit {machine['commit']}" for machine, threads, _ in machines]
    return textwrap.wrap(f"{'; '.join(shown)}. Workloads that take less than {LEAST_MS} ms with one thread are not drawn.", 120)


def picture(machines):
    machines = [(machine, *measured(machine)) for machine in machines]
    machines = sorted((entry for entry in machines if entry[2]), key=lambda entry: entry[1])
    most = max(threads for _, threads, _ in machines)
    families = [family for family in FAMILIES if any(family in found for _, _, found in machines)]
    bottom = TOP + STEP * len(families)
    lines = caption(machines)
    height = bottom + 32 + 16 * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(14, 20, "Speedup over one thread, one dot per workload", more=' font-weight="bold"'),
    ]
    for number, (_, threads, found) in enumerate(machines):
        median = statistics.median(row[1] for rows in found.values() for row in rows)
        x = LEFT + 250 * number
        parts.append(f'<circle cx="{x}" cy="38" r="4.5" fill="{COLORS[number]}"/>')
        parts.append(text(x + 10, 42, f"{threads} threads, median {median:.1f}×"))
    speedup = 1
    while speedup <= most:
        at = right_of(speedup, most)
        parts.append(f'<path d="M{at:.1f} {TOP - 6}V{bottom}" stroke="{"#444" if speedup == 1 else "#ddd"}"/>')
        parts.append(text(at, TOP - 12, f"{speedup}×", "middle", ' fill="#444"'))
        speedup *= 2
    for number, family in enumerate(families):
        middle = TOP + STEP * number + STEP // 2
        parts.append(text(LEFT - 14, middle + 4, family, "end"))
        for shade, (_, _, found) in enumerate(machines):
            apart = 8 * shade - 4 * (len(machines) - 1)
            parts += [dot(right_of(row[1], most), middle + apart, row, COLORS[shade]) for row in found.get(family, [])]
    parts += [text(14, bottom + 30 + 16 * number, line, more=' font-size="11" fill="#444"') for number, line in enumerate(lines)]
    return "\n".join([*parts, "</svg>"]) + "\n"
