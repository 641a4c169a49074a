"""Holds two builds of the command line against each other: both must say the same, byte for byte.

    python -B tests/same_answers.py BEFORE AFTER [--expressions N] [--seed N] [--arrays]

Asks random expressions over random tensors (`eval --lines`), and every command about every file of tests/data. For a
change of how the library is built, which must not change what it says.

With --arrays some operands of AFTER are arrays, and BEFORE gets each as a tensor that stores every element. Both must
have the same values at all positions. An error that only tensors have, and an error that names from_dense(x), is counted
only.
"""

import argparse
import itertools
import json
import math
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
EACH = """abs acos asin atan cbrt ceil conj cos cosh exp exp_m1 floor imag isfinite isinf isnan isneginf isposinf isreal ln
ln_1p log10 log2 neg not real recip round sign sin sinh sqrt square tan tanh trunc prune stored transpose to_coo to_csr
from_dense squeeze zeros_like unique nonzero""".split()
FOLDS = """all any count_nonzero max mean median min nanmax nanmean nanmedian nanmedian_index nanmin nanprod nanstd nansum
nanvar prod std sum var norm softmax log_softmax""".split()
PLACES = "argmax argmin argsort nanargmax nanargmin flip".split()
PAIRS = "add sub mul div rem rem_euclid minimum maximum pow equal not_equal less less_equal greater greater_equal mul_nonzero".split()
SIGNS = "+ - * / % < <= > >= == != & | ^ @".split()


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self, dtype):
        pick = self.random.random()
        if dtype == "bool":
            return pick < 0.6
        if "int" in dtype:
            low = 0 if dtype.startswith("u") else -3
            return self.random.choice([low, 0, 1, 2, 3, 5, 7, 100])
        if dtype.startswith("complex"):
            return [self.number("float32"), self.number("float32")]
        if pick < 0.08:
            return self.random.choice(["nan", "inf", "-inf", -0.0])
        return self.random.choice([0.0, 1.0, -1.0, 0.5, 2.0, -3.25, 1e10, round(self.random.gauss(0, 3), 3)])

    def shape(self, base):
        """The shape that operands share, or one that broadcasts to it."""
        pick = self.random.random()
        if pick < 0.6:
            return base
        if pick < 0.85:
            return [1 if self.random.random() < 0.4 else length for length in base]
        return base[self.random.randint(0, len(base)) :]

    def tensor(self, shape, dtype):
        size = math.prod(shape)
        density = self.random.choice([0, 0.2, 0.5, 1])
        positions = [at for at in range(size) if self.random.random() < density]
        entries = []
        for at in positions:
            coords = []
            for length in reversed(shape):
                coords.insert(0, at % length)
                at //= length
            entries.append([coords, self.number(dtype)])
        fill = self.number(dtype) if self.random.random() < 0.3 else self.zero(dtype)
        form = "csr" if shape and self.random.random() < 0.4 else "coo"
        return {"shape": shape, "dtype": dtype, "format": form, "fill": fill, "entries": entries}

    @staticmethod
    def zero(dtype):
        return False if dtype == "bool" else [0, 0] if dtype.startswith("complex") else 0

    def axis(self, rank):
        return self.random.randint(-rank, max(rank - 1, 0)) if rank else 0

    def axes(self, rank):
        pick = self.random.random()
        if pick < 0.3:
            return ""
        if pick < 0.8:
            axes = f", axis={self.axis(rank)}"
        else:
            axes = f", axis=[{', '.join(str(axis) for axis in self.random.sample(range(rank), self.random.randint(0, rank)))}]"
        return axes + (", keep_dims=true" if self.random.random() < 0.3 else "")

    def expression(self, names, rank, depth):
        if depth == 0 or self.random.random() < 0.1:
            pick = self.random.random()
            return self.random.choice(names) if pick < 0.9 else str(self.random.choice([0, 1, 2, -1, 0.5]))
        inner = lambda: self.expression(names, rank, depth - 1)
        draw = self.random.random()
        if draw < 0.25:
            return f"{self.random.choice(EACH)}({inner()})"
        if draw < 0.45:
            return f"{self.random.choice(FOLDS)}({inner()}{self.axes(rank)})"
        if draw < 0.6:
            return f"{self.random.choice(PAIRS)}({inner()}, {inner()})"
        if draw < 0.75:
            return f"({inner()} {self.random.choice(SIGNS)} {inner()})"
        return self.call(inner, rank)

    def call(self, inner, rank):
        axis, integer = self.axis(rank), self.random.randint(-3, 3)
        return self.random.choice(
            [
                lambda: f"{self.random.choice(PLACES)}({inner()}, axis={axis})",
                lambda: f"take_axis({inner()}, [0, {abs(integer)}], axis={axis})",
                lambda: f"take({inner()}, [{integer}, 1], mode=\"{self.random.choice(['clip', 'wrap', 'raise'])}\")",
                lambda: f"isin({inner()}, [0, 1, {integer}])",
                lambda: f"where({inner()} > 0, {inner()}, {inner()})",
                lambda: f"concat([{inner()}, {inner()}], axis={axis})",
                lambda: f"stack([{inner()}, {inner()}], axis={axis})",
                lambda: f"cast({inner()}, \"{self.random.choice(DTYPES)}\")",
                lambda: f"with_fill({inner()}, {abs(integer)})",
                lambda: f"quantile({inner()}, 0.{abs(integer)}{self.axes(rank)})",
                lambda: f"topk({inner()}, {abs(integer)}, axis={axis})",
                lambda: f"{inner()}[{integer}]",
                lambda: f"{inner()}[::{integer or 1}]",
                lambda: f"roll({inner()}, {integer}, axis={axis})",
                lambda: f"repeat({inner()}, {abs(integer)}, axis={axis})",
                lambda: f"expand_dims({inner()}, axis={axis})",
                lambda: f"reshape({inner()}, [-1])",
                lambda: f"matmul({inner()}, transpose({inner()}))",
                lambda: f"kron({inner()}, {inner()})",
                lambda: f"outer({inner()}, {inner()})",
                lambda: f"tril({inner()}, {integer})",
                lambda: f"scale({inner()}, {axis}, {inner()})",
                lambda: f"mask({inner()}, {inner()})",
                lambda: f"clamp({inner()}, {-abs(integer)}, {abs(integer)})",
                lambda: f"grad(sum({inner()}), x)",
                lambda: f"sum_backward(x, {inner()}{self.axes(rank)})",
                lambda: f"nanmedian_backward(x, {inner()}{self.axes(rank)})",
                lambda: f"any_backward(x, {inner()}{self.axes(rank)})",
                lambda: f"mul_backward(x, y, {inner()})",
            ]
        )()

    def line(self):
        rank = self.random.choice([0, 1, 2, 2, 2, 3, 3, 4])
        base = [self.random.choice([0, 1, 2, 3, 4, 5]) if self.random.random() < 0.1 else self.random.randint(1, 5) for _ in range(rank)]
        dtype = self.random.choice(DTYPES + ["float64"] * 12)
        names = ["x", "y"]
        tensors = {name: self.tensor(self.shape(base), dtype) for name in names}
        return json.dumps({"eval": self.expression(names, rank, self.random.randint(1, 3)), **tensors})


def answers(program, lines):
    found = subprocess.run([program, "eval", "--lines"], input="\n".join(lines) + "\n", capture_output=True, text=True)
    return found.stdout.splitlines()


def expressions(before, after, count, seed):
    """How many answers there are, how many of these are values, and the lines whose answers differ."""
    maker = Maker(seed)
    lines = [maker.line() for _ in range(count)]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda program: answers(program, lines), (before, after))
    if len(one) != count or len(other) != count:
        sys.exit(f"{count} questions, {len(one)} and {len(other)} answers")
    values = sum(not answer.startswith('{"error"') for answer in one)
    return count, values, [[*three] for three in zip(lines, one, other) if three[1] != three[2]]


def commands(program):
    """The words of each question about a file."""
    verbs = subprocess.run([program, "--help"], capture_output=True, text=True).stdout.split("Commands:\n")[1].split("\n\nOptions")[0]
    verbs = [line.split()[0] for line in verbs.splitlines() if line.strip()]
    files = sorted(path for path in DATA.iterdir() if path.suffix in (".mtx", ".npz", ".npy", ".tns", ".csv"))
    for verb in verbs:
        if verb in ("help", "completions", "man", "spy"):
            continue
        for path in files:
            for words in ([], ["--axis", "0"], ["--axis", "1", "--stored-only"], ["--json", "--values"]):
                extra = [str(path)] if verb in ("add", "sub", "mul", "div", "matmul", "concat", "stack", "where") else []
                yield [verb, str(path), *extra, *words]


def as_arrays(line, choose):
    """The line with some operands as arrays, and as tensors that store every element."""
    dense, stored = json.loads(line), json.loads(line)
    for name in ("x", "y"):
        if name == "x" and choose.random() < 0.5:
            continue
        given, all_of_it = dense[name], stored[name]
        found = {tuple(coords): value for coords, value in given["entries"]}
        places = [[]]
        for length in given["shape"]:
            places = [place + [at] for place in places for at in range(length)]
        fill = given["fill"]
        entries = [[place, found.get(tuple(place), fill)] for place in places]
        zero = Maker.zero(given["dtype"])
        given.update(entries=entries, format="dense", fill=zero)
        all_of_it.update(entries=entries, format="coo", fill=zero)
    return json.dumps(stored), json.dumps(dense)


def dense_form(answer):
    """The values of an answer at all positions, without the sign of zero, or none for an error."""
    if "error" in answer:
        return None
    plain = lambda value: [plain(part) for part in value] if isinstance(value, list) else 0 if value == 0 else value
    found = {tuple(coords): plain(value) for coords, value in answer["values"]}
    fill = plain(answer["fill"])
    places = itertools.product(*map(range, answer["shape"])) if math.prod(answer["shape"]) < 100_000 else sorted(found)
    return answer["shape"], answer["dtype"], [found.get(place, fill) for place in places]


def arrays(before, after, count, seed):
    """The same of expressions with arrays."""
    maker = Maker(seed)
    pairs = [as_arrays(maker.line(), maker.random) for _ in range(count)]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda of: answers(*of), ((before, [a for a, _ in pairs]), (after, [b for _, b in pairs])))
    if len(one) != count or len(other) != count:
        sys.exit(f"{count} questions, {len(one)} and {len(other)} answers")
    differ, lacking = [], 0
    for (_, line), a, b in zip(pairs, one, other):
        first, second = json.loads(a), json.loads(b)
        if dense_form(first) == dense_form(second):
            continue
        if "error" in first or "from_dense(x)" in second.get("error", ""):
            lacking += 1
        else:
            differ.append([line, a, b])
    values = sum(not answer.startswith('{"error"') for answer in other)
    print(f"arrays: {lacking} errors of one kind of operand only")
    return count, values, differ


def said(program, words):
    with tempfile.TemporaryDirectory() as folder:
        found = subprocess.run(["lacuna", *words], executable=program, capture_output=True, cwd=folder)
    return found.returncode, found.stdout, found.stderr


def files(before, after):
    asked = list(commands(before))
    with ThreadPoolExecutor(2) as pool:
        pairs = list(pool.map(lambda words: (words, said(before, words), said(after, words)), asked))
    return len(pairs), sum(one[0] == 0 for _, one, _ in pairs), [pair for pair in pairs if pair[1] != pair[2]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--expressions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arrays", action="store_true")
    args = parser.parse_args()
    before, after = (str(Path(program).resolve()) for program in (args.before, args.after))
    differ = []
    if args.arrays:
        found = [("arrays", arrays(before, after, args.expressions, args.seed))]
    else:
        found = [
            ("expressions", expressions(before, after, args.expressions, args.seed)),
            ("commands", files(before, after)),
        ]
    for name, (count, values, others) in found:
        print(f"{name}: {count} questions, {values} values, {len(others)} differ")
        differ += others
    for three in differ[:20]:
        print("", *three, sep="\n")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
