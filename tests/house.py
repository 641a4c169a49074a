"""Counts how the code is arranged: python tests/house.py [--commit REV] [--circles] [--check] [--write]. Standard
library only.

Prints one line a count, with the most (or least) that docs/architecture.md asks for. --commit REV lists the files that
a commit touches, without generated files and module lists. --circles lists the files that import each other. --check
exits with 1 if a count falls short. --write puts the counts into docs/architecture.md.
"""

import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENGINES = "src/engines/"
# Files that scripts write, and lists with one line a module, a bench or a test.
GENERATED = re.compile(
    r"^docs/operations\.md$|^docs/.*\.svg$|/mod\.rs$|^src/lib\.rs$|^src/grad\.rs$|^benches/.*/mod\.rs$|^tests/library\.rs$"
)


def sources():
    """The Rust files of src, by path."""
    found = {}
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        if "/target" in folder:
            continue
        for name in names:
            if name.endswith(".rs"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf8") as file:
                    found[os.path.relpath(path, ROOT)] = file.read()
    return dict(sorted(found.items()))


def code_of(text):
    """The text without comments and without the unit tests at its end."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"(?m)^\s*//.*$|(?<=[;{},)\s])//[^\"\n]*$", "", text)
    return re.split(r"(?m)^#\[cfg\(test\)\]\s*\n\s*mod ", text)[0]


def line_count(text):
    return sum(bool(line.strip()) for line in text.splitlines())


def operations(files):
    """The names of the operations and of their gradients: the public functions of src/ops."""
    names = set()
    for path, text in files.items():
        if path.startswith("src/ops/"):
            names |= set(re.findall(r"(?m)^pub fn ([a-z]\w*)", text))
    names = {name for name in names if not name.endswith("_into")}
    return names | {name + "_backward" for name in names}


def macros(code):
    """The number of macro_rules!, and the number of their lines."""
    count = lines = 0
    for text in code.values():
        for found in re.finditer(r"macro_rules!\s*\w+\s*[{(]", text):
            depth, at = 0, found.end() - 1
            while at < len(text):
                depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(text[at], 0)
                at += 1
                if depth == 0:
                    break
            count, lines = count + 1, lines + text.count("\n", found.start(), at) + 1
    return count, lines


def circles(files):
    """The groups of files that import each other: strongly connected components of `use` with more than one file."""
    modules = {}
    for path in files:
        if path.startswith(ENGINES) or path.startswith("src/bin/"):
            continue
        name = re.sub(r"(/mod)?\.rs$", "", path[len("src/") :])
        modules[() if name == "lib" else tuple(name.split("/"))] = path
    edges = collections.defaultdict(set)
    for own, path in modules.items():
        is_root = path.endswith("/mod.rs") or path == "src/lib.rs"
        here = own if is_root or not own else own[:-1]
        for tree in re.findall(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?use ((?:crate|super|self)::[^;]+);", code_of(files[path])):
            for parts in leaves(re.sub(r"\s+", " ", tree)):
                base = {"crate": (), "self": own, "super": own[:-1]}[parts[0]]
                rest = parts[1:]
                while rest and rest[0] == "super":
                    base, rest = base[:-1], rest[1:]
                target = longest(modules, base + tuple(rest))
                # A file of a folder may use the items of the folder's own module.
                if target is not None and target != own and target != own[: len(target)]:
                    edges[own].add(target)
        _ = here
    return [sorted(modules[at] for at in group) for group in components(modules, edges) if len(group) > 1]


def leaves(tree):
    """The paths of a tree of imports, as lists of names."""
    brace = tree.find("{")
    if brace < 0:
        return [[part.strip().split(" as ")[0] for part in tree.split("::")]]
    head = [part for part in tree[:brace].split("::") if part.strip()]
    depth, start, found = 0, brace + 1, []
    for at in range(brace + 1, len(tree)):
        if tree[at] in "{}," and depth == 0 and (tree[at] != "{"):
            part = tree[start:at].strip()
            if part:
                found += [head + leaf for leaf in leaves(part)]
            start = at + 1
            if tree[at] == "}":
                break
        depth += {"{": 1, "}": -1}.get(tree[at], 0)
    return found


def longest(modules, path):
    for length in range(len(path), 0, -1):
        if path[:length] in modules:
            return path[:length]
    return None


def components(nodes, edges):
    """Tarjan's strongly connected components, without recursion."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(edges[target]))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    found.append(group)
    return found


def counts(files):
    """The counts: text, number, bound, and whether the bound is the least."""
    code = {path: code_of(text) for path, text in files.items() if not path.startswith(ENGINES)}
    names = operations(files)
    outside = [path for path in code if not path.startswith("src/ops/table")]
    literals = sum(name in names for path in outside for name in re.findall(r'"([a-z_0-9]+)"', code[path]))
    count, lines = macros(code)
    of = lambda *folders: sum(line_count(text) for path, text in code.items() if path.split("/")[1] in folders)
    types = collections.Counter(
        name
        for text in code.values()
        for name in re.findall(r"(?m)^\s*(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|trait|union) (\w+)", text)
    )
    comments = [line.strip() for text in files.values() for line in text.splitlines() if re.match(r"\s*//", line)]
    starts = sum(bool(re.match(r"//[/!]?\s*(What|Of|Who|Whoever)\b", line)) for line in comments)
    decisions = sum(
        len(re.findall(r'\.(?:contains|starts_with|ends_with)\("[a-z_=, ]+"\)', text))
        for path, text in code.items()
        if path.split("/")[1] in ("lazy", "eval")
    )
    kernels = [re.split(r"(?m)^#\[cfg\(test\)\]", text)[0] for path, text in files.items() if path.startswith("src/kernels/")]
    inner = sum(bool(re.match(r"\s*//(?![/!])", line)) for text in kernels for line in text.splitlines())
    lines_of_kernels = sum(line_count(code_of(text)) for text in kernels)
    return [
        ("names of operations as literals outside the table", literals, 60, False),
        ("macro_rules!", count, 80, False),
        ("lines of macro_rules!", lines, 2500, False),
        ("lines of code in lazy, eval, dynamic and bin", of("lazy", "eval", "dynamic", "bin"), 12000, False),
        ("lines of code in src without engines", sum(map(line_count, code.values())), 48000, False),
        ("type names defined more than once", sum(count > 1 for count in types.values()), 15, False),
        ("comments that begin with What, Of or Who", starts, 0, False),
        ("decisions on the text of a step in lazy and eval", decisions, 0, False),
        ("circles of files that import each other", len(circles(files)), 3, False),
        ("comment lines in 100 lines of kernels", round(100 * inner / max(lines_of_kernels, 1), 1), 4, True),
    ]


def touched(revision):
    """The files that a commit touches, without generated files and lists of modules."""
    command = ["git", "-C", ROOT, "show", "--name-only", "--format=", revision]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    return [name for name in names if name and not GENERATED.search(name)]


def write(rows):
    """Puts the counts into the page, between its two marks."""
    path = os.path.join(ROOT, "docs", "architecture.md")
    with open(path, encoding="utf8") as file:
        page = file.read()
    head, rest = page.split("<!-- counts -->\n")
    tail = rest.split("<!-- end of counts -->\n")[1]
    table = ["| count | now | aim |", "| --- | --- | --- |"]
    for text, number, bound, is_least in rows:
        table.append(f"| {text} | {number} | {'at least' if is_least else 'at most'} {bound} |")
    with open(path, "w", encoding="utf8") as file:
        file.write("".join([head, "<!-- counts -->\n", "\n".join(table), "\n<!-- end of counts -->\n", tail]))


def main(arguments):
    if arguments[:1] == ["--commit"]:
        files = touched(arguments[1])
        print("\n".join([*files, f"{len(files)} files"]))
        return 0
    files, falls_short = sources(), False
    if arguments[:1] == ["--circles"]:
        print("\n".join(" ".join(group) for group in circles(files)))
        return 0
    rows = counts(files)
    if "--write" in arguments:
        write(rows)
    for text, number, bound, is_least in rows:
        print(f"{text}: {number} ({'least' if is_least else 'most'} {bound})")
        falls_short |= number < bound if is_least else number > bound
    return int(falls_short and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
