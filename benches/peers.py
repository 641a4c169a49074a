"""Draws the time of lacuna over the time of the fastest other library, one dot per workload: docs/pictures/peers.svg.

`benches/performance.py` writes the picture with its tables, and its --check holds the picture to docs/figures.json.
"""

import html
import math
import textwrap

# The rows of the picture: a name, and the first words of the workloads that belong there.
FAMILIES = {
    "any": ["any_coo", "any_csr"],
    "isin": ["isin"],
    "isposinf, isreal": ["isposinf", "isreal"],
    "take": ["take"],
    "nanmedian": ["nanmedian", "sparse_nanmedian"],
    "sum, mean": ["sum_coo", "sum_csr", "mean_coo", "mean_csr", "var_coo", "var_csr"],
    "max, argmax": ["max_coo", "max_csr", "argmax_coo", "argmax_csr"],
    "arithmetic": ["add_coo", "add_csr", "mul_coo", "mul_csr", "row_mul"],
    "exp, exp_m1, ln_1p": ["exp", "expm1", "log1p_abs"],
    "slices, masks, concat": ["select_gt", "slice_rows", "slice_cols", "slice_steps", "slice_reversed", "mask_rows", "concat", "stack"],
    "products": ["spmv", "spmv_t", "spmm", "spgemm", "spgemm_on", "sddmm", "mttkrp", "tensordot"],
    "conversions": ["coo_to_csr", "csr_to_coo", "csr_to_csc", "coalesce", "permute"],
    "Matrix Market": ["mtx_read", "mtx_write"],
}
LEFT, RIGHT, TOP, STEP, WIDTH = 170, 720, 60, 24, 760
LEAST, MOST = 0.01, 5
TICKS = {0.01: "100× faster or more", 0.1: "10× faster", 0.5: "2×", 1: "same", 2: "2×", 4: "4× slower"}
FASTER, SLOWER = "#2a6f97", "#c8553d"


def right_of(ratio):
    """The place of a ratio on the logarithmic axis; a ratio beyond an end is drawn there."""
    clamped = min(max(ratio, LEAST), MOST)
    return LEFT + (RIGHT - LEFT) * math.log(clamped / LEAST) / math.log(MOST / LEAST)


def family_of(workload):
    """The row of the pictures where a workload belongs."""
    return next(family for family, words in FAMILIES.items() if workload.split("/")[0] in words)


def compared(machine):
    """For each family the workloads that have a peer, with what both took on one thread, in ms."""
    found = {family: [] for family in FAMILIES}
    for workload, row in machine["rows"].items():
        ours, peer, theirs = row.get("1", [None] * 3)
        if peer:
            found[family_of(workload)].append((workload, ours, peer, theirs))
    return {family: rows for family, rows in found.items() if rows}


def dot(height, row):
    workload, ours, peer, theirs = row
    color = FASTER if ours <= theirs else SLOWER
    title = html.escape(f"{workload}: {ours:g} ms, {peer} {theirs:g} ms")
    place = f'cx="{right_of(ours / theirs):.1f}" cy="{height}" r="5"'
    return f'<circle {place} fill="{color}" fill-opacity="0.6"><title>{title}</title></circle>'


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.0f}" y="{y}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>'


def caption(machine, families):
    rows = [row for rows in families.values() for row in rows]
    faster = sum(ours <= theirs for _, ours, _, theirs in rows)
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    where = f"{machine['processor']}, {machine['system']}, Rust {machine['rust']}, {machine['date']}, commit {machine['commit']}"
    counts = f"{faster} of {len(rows)} workloads take no longer than the fastest other, which may be a hand-written loop"
    return textwrap.wrap(f"{counts}. One thread, {where}. {versions}.", 120)


def picture(machine):
    families = compared(machine)
    bottom = TOP + STEP * len(families)
    lines = caption(machine, families)
    height = bottom + 32 + 16 * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(14, 20, "Time of lacuna over the time of the fastest other library, one dot per workload", more=' font-weight="bold"'),
    ]
    for ratio, words in TICKS.items():
        stroke = "#444" if ratio == 1 else "#ddd"
        parts.append(f'<path d="M{right_of(ratio):.1f} {TOP - 6}V{bottom}" stroke="{stroke}"/>')
        parts.append(text(right_of(ratio), TOP - 12, words, "middle", ' fill="#444"'))
    for number, (family, rows) in enumerate(families.items()):
        middle = TOP + STEP * number + STEP // 2
        parts.append(text(LEFT - 14, middle + 4, family, "end"))
        parts += [dot(middle, row) for row in rows]
    parts += [text(14, bottom + 30 + 16 * number, line, more=' font-size="11" fill="#444"') for number, line in enumerate(lines)]
    return "\n".join([*parts, "</svg>"]) + "\n"
