"""Checks that every link of the documentation leads somewhere: python tests/links.py [FOLDER]

FOLDER holds the HTML pages of rustdoc (target/doc), built by `cargo doc --no-deps --all-features` as docs.rs builds them.
A relative link must lead to a file of that folder, because docs.rs has no other file of the repository. Without FOLDER
only the Markdown files of the repository are checked: a relative link must lead to a file, its anchor to a heading, and a
reference to a definition. Addresses of other sites must be https; they are not opened. Exit status 1 if a link is dead.
"""

import pathlib
import re
import subprocess
import sys
import urllib.parse
from html.parser import HTMLParser

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Rustdoc links members of hidden items to the page of the item, which does not list them.
HIDDEN_MEMBER = re.compile(r"(associatedtype|tymethod|method)\.\w+")
# Lines of a source page have anchors that a script makes.
LINES = re.compile(r"\d+(-\d+)?")
# Pages of rustdoc itself, whose links a script replaces.
OF_RUSTDOC = {"help.html", "settings.html"}


class Page(HTMLParser):
    """The links and the anchors of an HTML page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links += [found[name] for name in ("href", "src") if tag in ("a", "img") and found.get(name)]


def slug(heading, seen):
    """The anchor that GitHub and rustdoc make of a heading."""
    plain = re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", heading)
    name = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
    seen[name] = seen.get(name, -1) + 1
    return f"{name}-{seen[name]}" if seen[name] else name


class Markdown:
    """The links and the anchors of a Markdown file; code is none of them."""

    def __init__(self, text):
        text = re.sub(r"^( *)(```+).*?^\1\2 *$", "", text, flags=re.S | re.M)
        seen = {}
        self.anchors = {slug(heading, seen) for heading in re.findall(r"^#+ +(.*)$", text, re.M)}
        self.anchors |= set(re.findall(r'<a id="([^"]+)"', text))
        text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "``", text, flags=re.S)
        definitions = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.M))
        self.links = re.findall(r"\]\(([^)\s]+)\)", text) + list(definitions.values())
        labels = {label.lower() for label in definitions}
        used = (re.sub(r"\s+", " ", label) for label in re.findall(r"\]\[([^\]]+)\]", text))
        self.undefined = [label for label in used if label.lower() not in labels]


def dead(page, path, root, target_of):
    """Why links of a page lead nowhere."""
    for link in page.links:
        parts = urllib.parse.urlsplit(link)
        # Pages of rustdoc show the text of a picture.
        if link == "data:image/png,":
            continue
        if parts.scheme or parts.netloc:
            if parts.scheme != "https":
                yield f"{link}: neither https nor relative"
            continue
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        if not target.is_relative_to(root) or not target.exists():
            yield f"{link}: there is no such file"
            continue
        other = target_of(target)
        anchors = {parts.fragment, urllib.parse.unquote(parts.fragment)}
        if parts.fragment and other is not None and not anchors & other.anchors:
            yield f"{link}: there is no such anchor"


def check(root, paths, parse):
    """How many links the files have, and the dead ones."""
    pages = {path: parse(path.read_text(encoding="utf-8")) for path in paths}
    faults = [(path, fault) for path, page in pages.items() for fault in dead(page, path, root, pages.get)]
    faults += [(path, f"[{label}] has no definition") for path, page in pages.items() for label in getattr(page, "undefined", ())]
    return sum(len(page.links) for page in pages.values()), [f"{path.relative_to(root)}: {fault}" for path, fault in faults]


def html_page(text):
    page = Page(text)
    generated = lambda fragment: HIDDEN_MEMBER.fullmatch(fragment) or LINES.fullmatch(fragment)
    page.links = [link for link in page.links if not link.startswith("javascript:")]
    page.links = [link.split("#")[0] if generated(link.partition("#")[2]) else link for link in page.links]
    return page


def markdown_files():
    # The parts of pages in src are checked where rustdoc writes them.
    listed = subprocess.run(["git", "ls-files", "*.md", ":!src/ops"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def main():
    total, faults = check(ROOT, markdown_files(), Markdown)
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1]).resolve()
        pages = [path for path in sorted(folder.rglob("*.html")) if path.relative_to(folder).as_posix() not in OF_RUSTDOC]
        if len(pages) < 100:
            sys.exit(f"{folder} holds {len(pages)} pages: build them by `cargo doc --no-deps --all-features`")
        links, more = check(folder, pages, html_page)
        total, faults = total + links, faults + more
    print("\n".join(faults + [f"{total} links, {len(faults)} of them dead"]))
    sys.exit(bool(faults))


main()
