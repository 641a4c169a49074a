//! Type names are unique, files do not import each other in circles, apart from the lists below, and the names of
//! operations are in their table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::architecture::source_files;

/// The layers in which every type has a name of its own, and shares it with no other file of these layers.
const UNIQUE: [&str; 9] = ["base", "element", "kernels", "plan", "pattern", "tensor", "convert", "io", "spy"];

/// The names that more than one file defines. At most one of these files is in the layers above.
const SHARED_NAMES: &[&str] =
    &["Entries", "Factor", "Find", "Form", "Gradient", "Kind", "Kit", "Program", "Right", "Side"];

/// The folders whose files import each other in circles, and the number of circles.
const CIRCLES: &[(&str, usize)] = &[("base", 1), ("dynamic", 1), ("element", 1), ("eval", 1), ("lazy", 1), ("ops", 2)];

/// The path of a module: `src/io/npy/read.rs` and `src/io/npy/read/mod.rs` are `io`, `npy`, `read`.
type Module = Vec<String>;

/// Returns the code of each file by its module, without comments and unit tests.
fn files() -> BTreeMap<Module, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    source_files(&root, &mut paths);
    let module = |path: &Path| {
        let name = path.strip_prefix(&root).unwrap().with_extension("").to_string_lossy().into_owned();
        let mut parts: Module = name.split('/').map(String::from).collect();
        if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            parts.pop();
        }
        parts
    };
    let code = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let lines = text.split("#[cfg(test)]\nmod ").next().unwrap().lines().map(|line| match line.find("//") {
            // Links of pages are no imports.
            _ if line.contains("`](crate::") => "",
            Some(at) if !line[..at].contains('"') => &line[..at],
            _ => line,
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    paths.iter().map(|path| (module(path), code(path))).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the names that follow a word in code, such as the types after `struct`.
fn names_after<'a>(code: &'a str, word: &str) -> Vec<&'a str> {
    let found = code.match_indices(word).filter(|(at, _)| !code[..*at].ends_with(is_word));
    let name = |(at, _): (usize, &str)| code[at + word.len()..].split(|c| !is_word(c)).next().unwrap_or("");
    found.map(name).filter(|name| !name.is_empty()).collect()
}

/// Returns the types that code defines.
fn types(code: &str) -> Vec<&str> {
    ["struct ", "enum ", "trait ", "union "].iter().flat_map(|word| names_after(code, word)).collect()
}

/// Returns the paths that a `use` tree lists.
fn paths_of(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let split = |path: &str| -> Vec<String> {
        let path = path.split(" as ").next().unwrap_or("");
        path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(String::from).collect()
    };
    let Some(open) = tree.find('{') else { return vec![split(tree)] };
    let (head, inner) = (split(&tree[..open]), &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())]);
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            items.push(&inner[start..at]);
            start = at + 1;
        }
    }
    let items = items.into_iter().filter(|item| !item.trim().is_empty()).flat_map(paths_of);
    items.map(|path| head.iter().cloned().chain(path).collect()).collect()
}

/// Returns the paths that the `use` statements of a file import.
fn uses(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("use ") {
        // An indented statement belongs to a function or to a module within the file.
        let before = code[..at].rsplit('\n').next().unwrap_or("");
        if before.is_empty() || before.starts_with("pub") {
            paths.extend(paths_of(code[at + 4..].split(';').next().unwrap_or("")));
        }
    }
    paths
}

/// Returns the paths from `crate` or `super` within code.
fn inner_paths(code: &str) -> Vec<Vec<String>> {
    let starts = ["crate::", "super::"].into_iter().flat_map(|start| code.match_indices(start));
    let is_start = |at: usize| !code[..at].ends_with(|c| is_word(c) || c == ':') && !code[..at].ends_with("use ");
    let starts = starts.filter(|(at, _)| is_start(*at));
    starts
        .map(|(at, _)| paths_of(code[at..].split(|c| !is_word(c) && c != ':').next().unwrap_or("")).remove(0))
        .collect()
}

/// The files, with what they define and import.
struct Sources {
    files: BTreeMap<Module, String>,
    defined: BTreeMap<Module, BTreeSet<String>>,
    uses: BTreeMap<Module, Vec<Vec<String>>>,
}

impl Sources {
    fn of(files: BTreeMap<Module, String>) -> Self {
        let words = ["struct ", "enum ", "trait ", "union ", "fn ", "type ", "const ", "static ", "macro_rules! "];
        let defined = |code: &String| {
            let names = words.iter().flat_map(|word| names_after(code, word));
            names.map(String::from).collect()
        };
        let defined = files.iter().map(|(module, code)| (module.clone(), defined(code))).collect();
        let uses = files.iter().map(|(module, code)| (module.clone(), uses(code))).collect();
        Sources { files, defined, uses }
    }

    /// Returns the module of the file that defines the item of a path, seen from a module.
    fn definition(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let root = if from.first().is_some_and(|first| first == "bin") { &from[..2] } else { &[] };
        let mut module = from.clone();
        let mut path = path;
        match path.first()?.as_str() {
            "crate" => module = root.to_vec(),
            "super" => module.truncate(from.len().checked_sub(1)?),
            "self" => {}
            _ if depth > 8 => return None,
            first => {
                module.push(first.into());
                self.files.get(&module)?;
            }
        }
        path = &path[1..];
        while let Some((name, rest)) = path.split_first() {
            match name.as_str() {
                "super" => drop(module.pop()),
                name => module.push(name.into()),
            }
            if !self.files.contains_key(&module) {
                module.pop();
                break;
            }
            path = rest;
        }
        let Some(name) = path.first().filter(|name| !["self", "*"].contains(&name.as_str())) else {
            return Some(module);
        };
        if self.defined.get(&module)?.contains(name) {
            return Some(module);
        }
        let mut exports = self.uses[&module].iter().filter(|export| export.len() > 1);
        let export = exports.find(|export| export.last() == Some(name));
        export.and_then(|export| self.definition(&module, export, depth + 1)).or(Some(module))
    }

    /// Returns the files that each file imports.
    fn imports(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let imports = |module: &Module| {
            let paths = self.uses[module].iter().cloned().chain(inner_paths(&self.files[module]));
            let found = paths.filter_map(|path| self.definition(module, &path, 0));
            // The root only exports, except for macros.
            found.filter(|found| !found.is_empty() && found != module).collect()
        };
        self.files.keys().map(|module| (module, imports(module))).collect()
    }
}

/// Returns the largest sets of modules that import each other.
fn circles(imports: &BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<Vec<Module>> {
    let modules: Vec<&Module> = imports.keys().copied().collect();
    let index_of = |module: &Module| modules.binary_search(&module).ok();
    let next: Vec<Vec<usize>> = imports.values().map(|to| to.iter().filter_map(index_of).collect()).collect();
    let reached = |start: usize| {
        let (mut reached, mut waiting) = (vec![false; modules.len()], vec![start]);
        while let Some(at) = waiting.pop() {
            waiting.extend(next[at].iter().filter(|to| !std::mem::replace(&mut reached[**to], true)));
        }
        reached
    };
    let reached: Vec<Vec<bool>> = (0..modules.len()).map(reached).collect();
    let circle = |at: usize| -> Vec<Module> {
        (0..modules.len()).filter(|&to| reached[at][to] && reached[to][at]).map(|to| modules[to].clone()).collect()
    };
    (0..modules.len()).map(circle).filter(|circle| circle.len() > 1).collect()
}

#[test]
fn a_type_has_a_name_of_its_own() {
    let mut files_of = BTreeMap::<String, Vec<String>>::new();
    for (module, code) in files() {
        let is_type = |name: &&str| name.starts_with(char::is_uppercase);
        types(&code)
            .into_iter()
            .filter(is_type)
            .for_each(|name| files_of.entry(name.into()).or_default().push(module.join("/")));
    }
    let is_unique = |file: &&String| UNIQUE.contains(&file.split('/').next().unwrap());
    for (name, files) in files_of.iter().filter(|(_, files)| files.len() > 1) {
        assert!(SHARED_NAMES.contains(&name.as_str()), "{name} is defined in {files:?}");
        assert!(files.iter().filter(is_unique).count() < 2, "{name} is defined in {files:?}");
    }
    assert!(files_of.len() > 300, "the types are found");
}

#[test]
fn files_import_each_other_in_no_circle() {
    let sources = Sources::of(files());
    let mut found = BTreeMap::<String, Vec<Vec<Module>>>::new();
    for circle in circles(&sources.imports()) {
        found.entry(circle[0][0].clone()).or_default().push(circle);
    }
    for (folder, circles) in found {
        let allowed = CIRCLES.iter().find(|(name, _)| *name == folder).map_or(0, |(_, count)| *count);
        assert!(circles.len() <= allowed, "{folder}: {circles:?}");
        let is_within = |circle: &Vec<Module>| circle.iter().all(|module| module[0] == folder);
        assert!(circles.iter().all(is_within), "a circle through several folders: {circles:#?}");
    }
}

/// A circle through a name that another file exports, and one between a folder and its file.
#[test]
fn the_search_for_circles_can_fail() {
    let file = |module: &str, code: &str| (module.split('/').map(String::from).collect(), code.to_string());
    let sources = |files: Vec<(Module, String)>| Sources::of(files.into_iter().collect());
    let acyclic = sources(vec![
        file("io", "pub use read::read;\nmod read;"),
        file("io/read", "use crate::base::Few;\npub fn read() {}"),
        file("base", "pub(crate) use few::Few;"),
        file("base/few", "struct Few;"),
    ]);
    assert!(circles(&acyclic.imports()).is_empty());
    let by_export = sources(vec![
        file("a", "use crate::b::{self, C, d::{E as F, G}};\nstruct A;"),
        file("b", "pub use super::c::C;"),
        file("c", "struct C;\nfn f() -> crate::a::A {}"),
        file("b/d", "struct E;"),
    ]);
    let found = circles(&by_export.imports());
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [["a", "b", "c"].map(|name| vec![name.to_string()]).to_vec()]);
    let by_folder = sources(vec![file("a", "mod b;\nuse b::f;\nstruct A;"), file("a/b", "use super::A;\nfn f() {}")]);
    assert_eq!(circles(&by_folder.imports()).len(), 1);
}

/// Returns the string literals of code that are words.
fn words(code: &str) -> Vec<&str> {
    let is_word_of_a_call = |text: &&str| !text.is_empty() && text.chars().all(|c| is_word(c) && !c.is_uppercase());
    code.lines().flat_map(|line| line.split('"').skip(1).step_by(2)).filter(is_word_of_a_call).collect()
}

/// Returns the names of the rows of a table: words that begin a line and are followed by a literal, `(` or `:`.
fn rows(code: &str) -> BTreeSet<String> {
    let row = |line: &str| {
        let name = line.trim_start().split(|c| !is_word(c)).next().unwrap_or("");
        let rest = &line.trim_start()[name.len()..];
        let is_row = [" \"", " (", "(", ": ", " ["].iter().any(|next| rest.starts_with(next));
        let is_indented = line.starts_with("    ") && name.starts_with(|c: char| c.is_ascii_lowercase());
        (is_row && is_indented && !["let", "match", "if", "for", "while", "return"].contains(&name))
            .then(|| name.into())
    };
    code.lines().filter_map(row).collect()
}

/// The largest number of literals outside the table that are names of operations: parsers of the command line, texts.
const LITERALS: usize = 85;

#[test]
fn names_of_operations_are_in_the_table() {
    let (table, others): (Vec<_>, Vec<_>) = files().into_iter().partition(|(module, _)| {
        module.first().is_some_and(|first| first == "ops") && module.get(1).is_some_and(|second| second == "table")
    });
    let names: BTreeSet<String> = table.iter().flat_map(|(_, code)| rows(code)).collect();
    assert!(["any", "nanmedian", "matmul", "copysign", "logsumexp"].iter().all(|name| names.contains(*name)));
    let others = others.iter().filter(|(module, _)| module.first().is_none_or(|first| first != "engines"));
    let found: Vec<&str> = others.flat_map(|(_, code)| words(code)).filter(|word| names.contains(*word)).collect();
    assert!(found.len() <= LITERALS, "{} literals: {found:?}", found.len());
}

/// Graphs and expressions decide by data, and not by the text of a step or of an error.
#[test]
fn no_text_is_searched_in_graphs_and_expressions() {
    let searches = [".contains(\"", ".starts_with(\"", ".ends_with(\""];
    let is_read = |module: &Module| module.first().is_some_and(|first| ["lazy", "eval"].contains(&first.as_str()));
    for (module, code) in files().iter().filter(|(module, _)| is_read(module)) {
        let found: Vec<&str> =
            code.lines().filter(|line| searches.iter().any(|search| line.contains(search))).collect();
        assert!(found.is_empty(), "{}: {found:?}", module.join("/"));
    }
}

#[test]
fn the_search_for_names_can_fail() {
    let table = "    rows! {\n        any: Fold (x) [bool],\n        sum \"x\" ;\n        let x = 1;\n    }";
    assert_eq!(rows(table).into_iter().collect::<Vec<_>>(), ["any", "sum"]);
    assert_eq!(words("f(\"any\", \"No word\");"), ["any"]);
}
