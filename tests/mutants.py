"""Runs the mutants that `cargo mutants --list` names, all of them in one build.

    cargo install --locked cargo-mutants
    pip install tree-sitter==0.26.1 tree-sitter-rust==0.24.2
    python tests/mutants.py FOLDER [--only REGEX] [--seconds N] [--jobs N] [--hints RESULTS [--survivors]]

`cargo mutants` compiles the crate for each mutant, some thousand times: days. Here each mutant is a branch in a copy of the
sources, taken where an environment variable has its number. Every test runs once and tells which branches it passes;
then each mutant runs the tests that pass it, one by one, until one fails: first what has killed the same one in an earlier
run, the tests of its own module, and what has killed its neighbours, then the quickest. One that outlives tests of N
seconds in all (12) is printed, with how many of its tests it has seen; FOLDER/results.jsonl has all, and what is there is
not run again. Code for other builds (without a feature, for another processor) has no test that comes by.

Not made here: mutants of what is computed while compiling, of fields left out, and of functions that return `impl Trait`.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import tree_sitter
import tree_sitter_rust

LANGUAGE = tree_sitter.Language(tree_sitter_rust.language())
MEMORY = 6 << 30
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}
NODES = {
    "FnValue": ["function_item"],
    "BinaryOperator": ["binary_expression", "compound_assignment_expr"],
    "UnaryOperator": ["unary_expression"],
    "MatchArmGuard": ["match_pattern"],
    "MatchArm": ["match_arm"],
}
CONSTANTS = ["const_item", "static_item", "macro_definition", "array_type", "const_block"]

# A branch that is passed is written down once, also by programs that a test starts.
SWITCH = """
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static CHOSEN: LazyLock<usize> = LazyLock::new(|| std::env::var("MUTANT").map_or(0, |word| word.parse().unwrap()));
static PASSED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("MUTANTS_PASSED").ok());
static SEEN: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

pub fn is(mutant: usize) -> bool {
    if let Some(path) = &*PASSED && !SEEN[mutant].swap(true, Relaxed) {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.unwrap().write_all(format!("{mutant}\\n").as_bytes()).unwrap();
    }
    *CHOSEN == mutant
}
"""


def mutants_of(root, only):
    command = ["cargo", "mutants", "--list", "--json", "--all-features"]
    # `Allocated` is a `Result` of the crate's own, which `cargo mutants` takes for a type.
    listed = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout.replace(b"Allocated::from(", b"Ok(")
    # Unit tests in a file of their own are no code under test.
    is_wanted = lambda mutant: re.search(only, mutant["name"]) and not mutant["file"].endswith("/tests.rs")
    return dict(enumerate(filter(is_wanted, json.loads(listed)), 1))


class Source:
    """A file of the sources, and the mutants that belong to its nodes."""

    def __init__(self, path, name):
        self.text = path.read_bytes()
        self.root = tree_sitter.Parser(LANGUAGE).parse(self.text).root_node
        self.is_mutant = "lacuna::mutant::is" if "src/bin/" in name else "crate::mutant::is"
        self.mutants = collections.defaultdict(dict)
        self.touched = set()

    def add(self, number, mutant):
        """Whether the mutant can be chosen while the program runs."""
        node = self.node(mutant)
        if node is None:
            return False
        self.mutants[node.id][number] = mutant
        while node is not None:
            self.touched.add(node.id)
            node = node.parent
        return True

    def node(self, mutant):
        kinds = NODES.get(mutant["genre"], [])
        node = self.root.descendant_for_byte_range(*(self.offset(mutant["span"][end]) for end in ("start", "end")))
        if mutant["genre"] in ("BinaryOperator", "UnaryOperator"):
            node = node.parent
        while node is not None and node.type not in kinds:
            node = node.parent if mutant["genre"] in ("FnValue", "MatchArm", "MatchArmGuard") else None
        hidden = mutant["genre"] == "FnValue" and "impl " in mutant["function"]["return_type"]
        return None if node is None or hidden or is_constant(node) else node

    def offset(self, place):
        lines = self.text.split(b"\n")[: place["line"]]
        before = lines[-1].decode()[: place["column"] - 1].encode()
        return sum(len(line) + 1 for line in lines[:-1]) + len(before)

    def render(self, node=None):
        """The text of a node with the branches of all mutants in it, each on a line of its own."""
        node = node or self.root
        if node.id not in self.touched:
            return self.text[node.start_byte : node.end_byte].decode()
        parts = {child.id: self.render(child) for child in node.children}
        mutants = self.mutants.get(node.id)
        if mutants and node.type in RENDERED:
            words = [parts[child.id] for child in node.children if not child.type.endswith("comment")]
            return RENDERED[node.type](words, mutants, self.is_mutant)
        if mutants:
            self.add_branches(node, parts, mutants)
        joined, at = "", node.start_byte
        for child in node.children:
            joined += self.text[at : child.start_byte].decode() + parts[child.id]
            at = child.end_byte
        return joined + self.text[at : node.end_byte].decode()

    def add_branches(self, node, parts, mutants):
        """Functions, guards and arms keep their text; something is put into it."""
        if node.type == "function_item":
            body = node.child_by_field_name("body").id
            returns = [f"if {self.is_mutant}({n}) {{ return {mutant['replacement']}; }}\n" for n, mutant in mutants.items()]
            parts[body] = "{\n" + "".join(returns) + parts[body][1:]
        elif node.type == "match_pattern":
            guard = node.child_by_field_name("condition").id
            for number, mutant in mutants.items():
                also = f"|| {self.is_mutant}({number})" if mutant["replacement"] == "true" else f"&& !{self.is_mutant}({number})"
                parts[guard] = f"(({parts[guard]}) {also})"
        else:
            pattern = node.child_by_field_name("pattern")
            word = "if" if pattern.child_by_field_name("condition") is None else "&&"
            parts[pattern.id] += f" {word} !{self.is_mutant}({next(iter(mutants))})"


def is_constant(node):
    while node is not None:
        if node.type in CONSTANTS or node.type == "function_item" and re.match(rb"[^{]*\bconst fn\b", node.text):
            return True
        node = node.parent
    return False


def branches(mutants, is_mutant, of, otherwise):
    chosen = [f"if {is_mutant}({number}) {{ {of(mutant['replacement'])} }}\nelse " for number, mutant in mutants.items()]
    return "\n" + "".join(chosen) + f"{{ {otherwise} }}"


def render_binary(words, mutants, is_mutant):
    left, operator, right = words
    if operator in ("&&", "||"):
        asks_right = ("l" if operator == "&&" else "!l") + f" ^ {is_mutant}({next(iter(mutants))})"
        return f"(match {left} {{ l =>\nif {asks_right} {{ {right} }} else {{ l }} }})"
    by, at = ("&", "*") if operator in COMPARISONS else ("", "")
    choice = branches(mutants, is_mutant, lambda other: f"{at}l {other} {at}r", f"{at}l {operator} {at}r")
    return f"(match ({by}({left}), {by}({right})) {{ (l, r) =>{choice} }})"


def render_assignment(words, mutants, is_mutant):
    left, operator, right = words
    return "({" + branches(mutants, is_mutant, lambda other: f"{left} {other} {right}", f"{left} {operator} {right}") + "})"


def render_unary(words, mutants, is_mutant):
    operator, operand = words
    return f"(match {operand} {{ l =>{branches(mutants, is_mutant, lambda _: 'l', operator + 'l')} }})"


RENDERED = {
    "binary_expression": render_binary,
    "compound_assignment_expr": render_assignment,
    "unary_expression": render_unary,
}


class Copy:
    """A copy of the repository in which every mutant can be chosen."""

    def __init__(self, root, folder, mutants):
        self.root, self.folder, self.mutants = root, folder, mutants
        self.not_made, self.unviable, self.lines = set(), set(), {}
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(root, folder, ignore=shutil.ignore_patterns("target", ".git"))
        (folder / "src/mutant.rs").write_text(f"const COUNT: usize = {len(mutants) + 1};\n{SWITCH}")

    def write(self):
        # Files without any are written as well: they may hold what did not compile.
        files = {mutant["file"]: [] for mutant in self.mutants.values()}
        for number in self.mutants.keys() - self.unviable:
            files[self.mutants[number]["file"]].append(number)
        for name, numbers in files.items():
            source = Source(self.root / name, name)
            self.not_made |= {number for number in sorted(numbers) if not source.add(number, self.mutants[number])}
            text = source.render()
            if name == "src/lib.rs":
                text += "\n#[doc(hidden)]\npub mod mutant;\n"
            (self.folder / name).write_text(text)
            self.lines[name] = [{int(n) for n in re.findall(r"mutant::is\((\d+)\)", line)} for line in text.split("\n")]
        if "src/lib.rs" not in files:
            text = (self.root / "src/lib.rs").read_text()
            (self.folder / "src/lib.rs").write_text(text + "\n#[doc(hidden)]\npub mod mutant;\n")

    def build(self):
        """Leaves out what does not compile, until the rest does; the programs of the tests."""
        self.write()
        while True:
            messages = self.cargo("check", "--lib", "--bins")
            found = {number for error in errors_of(messages) for number in self.named_by(error)}
            if not found:
                break
            self.unviable |= found
            self.write()
            print(len(self.unviable), "do not compile", file=sys.stderr)
        messages = self.cargo("test", "--no-run", "--lib", "--bins", "--tests")
        if errors := list(errors_of(messages)):
            sys.exit(f"the copy does not compile: {errors[0]['message']}, {errors[0]['spans'][:1]}")
        return [message["executable"] for message in messages if message.get("executable") and message["profile"]["test"]]

    def cargo(self, *words):
        environment = dict(os.environ, RUSTFLAGS="--cap-lints=allow", CARGO_INCREMENTAL="0", CARGO_PROFILE_DEV_DEBUG="0")
        environment["CARGO_TARGET_DIR"] = str(self.folder / "target")
        command = ["cargo", *words, "--all-features", "--message-format=json"]
        run = subprocess.run(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return [json.loads(line) for line in run.stdout.splitlines() if line.startswith(b"{")]

    def named_by(self, error):
        """The mutants on the lines that an error of the compiler names."""
        for span in places_in(sorted(error["spans"], key=lambda span: not span["is_primary"])):
            lines = self.lines.get(span["file_name"], [])
            found = set().union(*lines[span["line_start"] - 1 : span["line_end"]])
            if error["message"].startswith("non-exhaustive"):
                near = set().union(*lines[span["line_start"] - 1 : self.end_of_block(span)])
                found = {number for number in near if self.mutants[number]["genre"] == "MatchArm"}
            if found:
                return found
        return set()

    def end_of_block(self, span):
        """The last line of the block that begins on the line of a span, by its braces."""
        lines = (self.folder / span["file_name"]).read_text().split("\n")
        depth = 0
        for at in range(span["line_start"] - 1, len(lines)):
            depth += lines[at].count("{") - lines[at].count("}")
            if depth <= 0:
                return at + 1
        return len(lines)


def places_in(spans):
    """The spans, and for what a macro has written also where it was called."""
    for span in spans:
        while span:
            yield span
            span = (span["expansion"] or {}).get("span")


def errors_of(messages):
    compiled = (message["message"] for message in messages if message["reason"] == "compiler-message")
    return (message for message in compiled if message["level"] == "error" and message["spans"])


class Tests:
    """The tests of some programs: how long each takes, and which mutants it passes."""

    def __init__(self, folder):
        self.folder, self.seconds, self.by_mutant = folder, {}, collections.defaultdict(list)

    def survey(self, programs, jobs):
        """What `add` wants to know of every test."""
        tests = []
        for program in programs:
            listed = subprocess.run([program, "--list", "--format", "terse"], stdout=subprocess.PIPE, text=True).stdout
            tests += [(program, line[: -len(": test")]) for line in listed.splitlines() if line.endswith(": test")]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(self.survey_one, tests))

    def survey_one(self, test):
        path = self.folder / f"passed.{threading.get_ident()}"
        path.unlink(missing_ok=True)
        start = time.monotonic()
        if not self.passes(test, 900, MUTANTS_PASSED=str(path)):
            print("fails without a mutant, and is not asked:", test[1], file=sys.stderr)
            return test, 0, []
        seconds = time.monotonic() - start
        return test, seconds, sorted(set(map(int, path.read_text().split()))) if path.exists() else []

    def add(self, test, seconds, passed):
        self.seconds[tuple(test)] = seconds
        for number in passed:
            self.by_mutant[number].append(tuple(test))

    def passes(self, test, seconds, **variables):
        command = [test[0], "--exact", test[1], "--test-threads", "1"]
        nowhere = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.DEVNULL)
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        environment = dict(os.environ, **variables)
        process = subprocess.Popen(command, cwd=self.folder, env=environment, preexec_fn=limit, start_new_session=True, **nowhere)
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            kill_all_of(process)


def kill_all_of(process):
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait()


class Hunt:
    """Looks for the test that kills a mutant."""

    def __init__(self, tests, mutants, seconds, hints):
        self.tests, self.mutants, self.seconds, self.hints = tests, mutants, seconds, hints
        self.kills, self.lock = collections.Counter(), threading.Lock()

    def run(self, number):
        mutant, spent, asked = self.mutants[number], 0, 0
        killer = None
        for test in self.in_order(number):
            if spent > self.seconds:
                break
            asked, spent = asked + 1, spent + self.tests.seconds[test]
            if not self.tests.passes(test, 10 + 10 * self.tests.seconds[test], MUTANT=str(number)):
                killer = test[1]
                with self.lock:
                    self.kills.update((place, test) for place in places_of(mutant))
                break
        return {"name": mutant["name"], "killed by": killer, "asked": asked, "of": len(self.tests.by_mutant[number])}

    def in_order(self, number):
        mutant = self.mutants[number]
        known, (file, function) = self.hints.get(without_line(mutant["name"])), places_of(mutant)
        kills = lambda test: (-self.kills[function, test], -self.kills[file, test])
        is_own = lambda test: test[1].startswith(module_of(mutant) + "::tests::")
        merit = lambda test: (test[1] != known, not is_own(test), *kills(test), self.tests.seconds[test])
        return sorted(self.tests.by_mutant[number], key=merit)


def module_of(mutant):
    return re.sub(r"^src/|(/mod)?\.rs$", "", mutant["file"]).replace("/", "::")


def places_of(mutant):
    """Its file, and its function in that."""
    return mutant["file"], (mutant["file"], (mutant.get("function") or {}).get("function_name"))


def without_line(name):
    return re.sub(r":\d+:\d+:", ":", name)


def results_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def prepare(root, folder, jobs, only):
    """What a run needs to know, kept in a file so that a run may go on where it was stopped."""
    path = folder / "prepared.json"
    if not path.exists():
        mutants = mutants_of(root, only)
        copy = Copy(root, folder / "copy", mutants)
        surveyed = Tests(copy.folder).survey(copy.build(), jobs)
        lists = {"not made": sorted(copy.not_made), "unviable": sorted(copy.unviable), "surveyed": surveyed}
        path.write_text(json.dumps({"mutants": mutants, **lists}))
    return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression for the mutants' names; a folder is for one")
    parser.add_argument("--seconds", type=float, default=12, help="the tests' own time after which a mutant has survived")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--hints", type=Path, help="the results of an earlier run, of other sources too")
    parser.add_argument("--survivors", action="store_true", help="only mutants that the hints know no killer of")
    args = parser.parse_args()
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    prepared = prepare(Path.cwd(), folder, args.jobs, args.only)
    mutants = {int(number): mutant for number, mutant in prepared["mutants"].items()}
    tests = Tests(folder / "copy")
    for surveyed in prepared["surveyed"]:
        tests.add(*surveyed)
    hints = {without_line(result["name"]): result["killed by"] for result in (results_in(args.hints) if args.hints else [])}
    path = folder / "results.jsonl"
    out = {result["name"] for result in results_in(path)} | {mutants[n]["name"] for n in prepared["not made"] + prepared["unviable"]}
    wanted = [n for n, mutant in sorted(mutants.items()) if mutant["name"] not in out]
    if args.survivors:
        wanted = [n for n in wanted if not hints.get(without_line(mutants[n]["name"]))]
    print(len(wanted), "mutants to run", file=sys.stderr)
    run_all(Hunt(tests, mutants, args.seconds, hints), wanted, path, args.jobs)
    killed = [result["killed by"] is not None for result in results_in(path) if result["of"] != 0]
    print(f"{sum(killed)} of {len(killed)} killed; {len(prepared['unviable'])} do not compile; no test comes by these:")
    print(*(result["name"] for result in results_in(path) if result["of"] == 0), sep="\n")
    print("not made here:")
    print(*(mutants[number]["name"] for number in prepared["not made"]), sep="\n")


def run_all(hunt, wanted, path, jobs):
    with path.open("a") as file, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(hunt.run, wanted):
            file.write(json.dumps(result) + "\n")
            file.flush()
            if result["killed by"] is None:
                print(f"survives {result['asked']} of its {result['of']} tests: {result['name']}", flush=True)


if __name__ == "__main__":
    main()
