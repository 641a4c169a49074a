//! The house stands as its plan says: imports run downward, outside crates are named in their places, four calls are
//! unsafe.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules from the ground up. A module may import those of lower floors, and its own.
const FLOORS: &[&[&str]] = &[
    &["shape", "machine", "few", "locks", "sealed", "temporary"],
    &["alloc"],
    &["recycle"],
    &["error"],
    &["limit"],
    &["threads"],
    &["index", "element"],
    &["labels"],
    &["axes"],
    &["buffer"],
    &["kernels"],
    &["pattern"],
    &["plan"],
    &["tensor"],
    &["erased"],
    &["coo", "csr", "entries", "stored"],
    &["triplets"],
    &["format"],
    &["convert"],
    &["ops"],
    &["grad"],
    &["dynamic"],
    &["lazy"],
    &["io", "spy"],
    &["eval"],
];

/// The folders whose files are modules of their own here.
const FOLDERS: [&str; 2] = ["base", "tensor"];

/// The modules that a kernel may import: no tensor, no pattern, no shape, no error.
const KERNELS_MAY_IMPORT: &[&str] =
    &["kernels", "element", "index", "machine", "few", "alloc", "buffer", "recycle", "threads"];

/// Outside crates, and the only places that name them.
const PLACES: &[(&str, &[&str])] = &[
    ("ndarray", &["labels", "convert", "ops", "dynamic", "lazy", "eval", "io", "bin"]),
    ("sprs", &["convert"]),
    ("rayon", &["threads"]),
    ("libc", &["machine"]),
    ("libm", &["element"]),
    ("bytemuck", &["alloc", "recycle", "threads", "element", "index", "kernels", "plan", "io"]),
    ("csv_core", &["io"]),
    ("hashbrown", &["kernels", "io"]),
    ("winnow", &["eval"]),
    ("strsim", &["eval"]),
    ("clap", &["bin"]),
    ("serde_json", &["bin"]),
    ("clap_complete", &["bin"]),
    ("clap_mangen", &["bin"]),
    ("indicatif", &["bin"]),
    ("flate2", &["io"]),
    ("crc32fast", &["io"]),
    ("zip", &["io"]),
    ("parquet", &["io"]),
    ("arrow_array", &["io"]),
    ("arrow_buffer", &["io"]),
    ("arrow_schema", &["io"]),
    ("bytes", &["io"]),
    ("zstd", &["io"]),
    ("snap", &["io"]),
    ("lz4_flex", &["io"]),
    ("png", &["spy"]),
    ("noto_sans_mono_bitmap", &["spy"]),
    ("console", &["bin"]),
    ("signal_hook", &["bin"]),
];

pub(crate) fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Engines are packages of their own.
        if path.is_dir() && path.file_name().is_some_and(|name| name != "engines") {
            source_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The module of each file and its lines of code: no comments, no documentation, no unit tests.
fn modules() -> Vec<(String, String, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    source_files(&root, &mut files);
    files
        .iter()
        .map(|file| {
            let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            let path: Vec<&str> = name.trim_end_matches(".rs").split('/').collect();
            let module = match path[..] {
                [folder, file, ..] if FOLDERS.contains(&folder) && file != "mod" => file.to_string(),
                _ => path[0].to_string(),
            };
            let text = fs::read_to_string(file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let lines =
                code.lines().map(str::trim).filter(|line| !line.starts_with("//") && !line.starts_with("#[doc"));
            (module, name, lines.map(str::to_string).collect())
        })
        .collect()
}

/// The modules that a line names behind `crate::`.
fn imports(line: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices("crate::")
        .filter(|(at, _)| !line[..*at].ends_with(|c: char| is_name(c) || c == '$'))
        .map(|(at, found)| {
            let path = &line[at + found.len()..];
            let inner = FOLDERS.iter().find_map(|folder| path.strip_prefix(&format!("{folder}::")));
            let inner = inner.filter(|rest| rest.starts_with(char::is_lowercase));
            inner.unwrap_or(path).chars().take_while(|&c| is_name(c)).collect::<String>()
        })
        .filter(|name: &String| name.chars().next().is_some_and(char::is_lowercase))
        .collect()
}

fn floor_of(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

#[test]
fn imports_run_downward() {
    // `lib` and `grad` only export.
    const WITHOUT_FLOOR: [&str; 4] = ["lib", "grad", "bin", "base"];
    let mut upward = Vec::new();
    for (module, file, lines) in modules().iter().filter(|(module, ..)| !WITHOUT_FLOOR.contains(&module.as_str())) {
        let floor = floor_of(module).unwrap_or_else(|| panic!("{file}: module {module} stands on no floor"));
        for line in lines {
            for import in imports(line) {
                let allowed = &import == module || floor_of(&import).is_none_or(|below| below < floor);
                if !allowed {
                    upward.push(format!("{file}: {line}"));
                }
            }
        }
    }
    assert!(upward.is_empty(), "imports that do not run downward:\n{}", upward.join("\n"));
}

/// Returns whether a line names a module of the command line.
fn names_module(line: &str, module: &str) -> bool {
    let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let paths = ["crate::", "super::", "use "].map(|path| format!("{path}{module}"));
    paths.iter().any(|path| line.match_indices(path).any(|(at, _)| is_whole(&line[at + path.len()..])))
}

#[test]
fn the_modules_of_the_command_line_form_no_circle() {
    let module = |file: &str| {
        let path = file.strip_prefix("bin/lacuna/")?.trim_end_matches(".rs").trim_end_matches("/mod").to_string();
        path.rsplit('/').next().map(str::to_string)
    };
    let files = modules().into_iter().filter_map(|(_, file, lines)| Some((module(&file)?, lines)));
    let mut left: Vec<(String, Vec<String>)> = files.collect();
    assert!(left.len() > 20, "the walk finds the modules");
    loop {
        let names: Vec<String> = left.iter().map(|(name, _)| name.clone()).collect();
        let imports_other = |(own, lines): &(String, Vec<String>)| {
            names.iter().any(|name| name != own && lines.iter().any(|line| names_module(line, name)))
        };
        let count = left.len();
        left.retain(imports_other);
        if left.len() == count {
            assert!(left.is_empty(), "these modules import each other, or one that does: {names:?}");
            return;
        }
    }
}

#[test]
fn a_kernel_knows_slices_only() {
    for (_, file, lines) in modules().iter().filter(|(module, ..)| module == "kernels") {
        for import in lines.iter().flat_map(|line| imports(line)) {
            assert!(KERNELS_MAY_IMPORT.contains(&import.as_str()), "{file} imports {import}");
        }
    }
}

#[test]
fn outside_crates_are_named_in_their_places() {
    for (module, file, lines) in modules() {
        for (outside, places) in PLACES {
            let named = |line: &String| {
                line.match_indices(&format!("{outside}::"))
                    .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
            };
            let offender = lines.iter().find(|line| named(line) && !line.contains(&format!("crate::{outside}")));
            assert!(offender.is_none() || places.contains(&module.as_str()), "{file} names {outside}: {offender:?}");
        }
    }
}

#[test]
fn four_calls_are_unsafe_and_can_be_left_out() {
    let is_word = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe");
    let found: Vec<(String, String)> = modules()
        .into_iter()
        .flat_map(|(_, file, lines)| lines.into_iter().map(move |line| (file.clone(), line)))
        .filter(|(_, line)| is_word(line))
        .collect();
    const CALLS: [&str; 4] = [
        "unsafe { libc::madvise(",
        "unsafe { with_512_bits(",
        "unsafe { with_256_bits(",
        "positions.iter().map(|&position| unsafe { *data.get_unchecked(position) })",
    ];
    assert!(found.len() == CALLS.len(), "the word unsafe stands in {found:?}");
    for ((file, line), call) in found.iter().zip(CALLS) {
        assert!(file == "base/machine.rs" && line.starts_with(call), "{file}: {line}");
    }
    let read = |name: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    assert!(read("Cargo.toml").contains("unsafe_code = \"deny\""));
    assert!(read("src/lib.rs").contains("#![cfg_attr(not(feature = \"machine\"), forbid(unsafe_code))]"));
}

/// The page of each operation has all sections, some of them in files that the page includes.
#[test]
fn pages_have_their_sections() {
    const SECTIONS: [&str; 5] = ["Shapes", "Implicit values", "Errors", "Complexity", "Examples"];
    let mut files = Vec::new();
    source_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ops"), &mut files);
    let mut pages = 0;
    for file in &files {
        let mut page = String::new();
        for line in fs::read_to_string(file).unwrap().lines() {
            if line.starts_with("pub fn ") && !page.is_empty() {
                let without = SECTIONS.iter().find(|section| !page.contains(&format!("/// # {section}\n")));
                assert_eq!(without, None, "{}: {line}", file.display());
                pages += 1;
            }
            let included = line.strip_prefix("#[doc = page!(").and_then(|rest| rest.strip_suffix(")]"));
            match included {
                Some(name) => {
                    let text = fs::read_to_string(file.with_file_name(format!("pages/{name}.md"))).unwrap();
                    text.lines().for_each(|line| page.push_str(&format!("/// {line}\n")));
                }
                None if line.starts_with("///") || line.starts_with("#[") => page.push_str(&format!("{line}\n")),
                None => page.clear(),
            }
        }
    }
    assert!(pages > 40, "{pages} pages are found");
}

#[test]
fn the_top_level_holds_what_was_agreed() {
    const AGREED: &[&str] = &[
        "Cargo.toml",
        "Cargo.lock",
        "src",
        "tests",
        "fuzz",
        "benches",
        "docs",
        "README.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "target",
    ];
    for entry in fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(name.starts_with('.') || AGREED.contains(&name.as_str()), "{name} stands at the top level");
    }
}

/// Cargo looks for no test programs by itself, so a file that none of them names would never run.
#[test]
fn every_file_of_tests_belongs_to_a_program() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let manifest = fs::read_to_string(tests.with_file_name("Cargo.toml")).unwrap();
    let files = || fs::read_dir(&tests).unwrap().map(|entry| entry.unwrap().path());
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let programs = files().filter(is_source).filter(|path| {
        manifest.contains(&format!("[[test]]\nname = \"{}\"", path.file_stem().unwrap().to_string_lossy()))
    });
    let programs: Vec<PathBuf> = programs.collect();
    let named: String = programs.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(programs.len() > 3, "the manifest names the programs");
    for file in files().filter(is_source).filter(|path| !programs.contains(path)) {
        let module = file.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(named.contains(&format!("mod {module};")), "no test program has a module {module}");
    }
}

/// A program of its own for each of `docs/examples`, with a test that runs it.
#[test]
fn every_example_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let files: Vec<_> = fs::read_dir(root.join("docs/examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 3, "the walk finds the examples");
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let told = format!("[[example]]\nname = \"{name}\"\npath = \"docs/examples/{name}.rs\"\ntest = true\n");
        assert!(manifest.contains(&told), "the manifest does not say that {name} is tested");
        assert!(fs::read_to_string(file).unwrap().contains("#[test]\nfn it_runs()"), "{name} is not run");
    }
}

/// Returns the text of a file of the repository.
fn text_of(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The words of a text that crates may be named by.
fn crate_names(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').collect()
}

/// The crates of the manifest, each with its line.
fn dependencies(manifest: &str) -> Vec<&str> {
    let tables = manifest.split("\n[").filter(|table| table.split(']').any(|name| name.ends_with("dependencies")));
    tables.flat_map(|table| table.lines().skip(1).filter_map(|line| Some(line.split_once(" = ")?.0))).collect()
}

#[test]
fn every_crate_has_a_reason() {
    let (manifest, page) = (text_of("Cargo.toml"), text_of("docs/decisions/0004-crates.md"));
    let (named, used) = (crate_names(&page), dependencies(&manifest));
    assert!(used.len() > 30, "{used:?}");
    let lacking: Vec<_> = used.iter().filter(|name| !named.contains(name)).collect();
    assert!(lacking.is_empty(), "decision 0004 does not name {lacking:?}");
}

/// Between backticks in the first column of the table of mutants are files of `src` or functions of these files.
#[test]
fn the_mutants_that_live_are_named_as_they_are() {
    let page = text_of("docs/testing.md");
    let cells = page.lines().filter_map(|line| line.trim().strip_prefix("| ")?.split(" | ").next());
    let mut seen = 0;
    for cell in cells.filter(|cell| cell.contains(".rs`") || cell.contains("/`")) {
        let (files, names): (Vec<_>, Vec<_>) =
            cell.split('`').skip(1).step_by(2).partition(|name| name.ends_with(".rs") || name.ends_with('/'));
        let sources: String = files.iter().map(|file| sources_of(file)).collect();
        seen += names.len();
        names.iter().for_each(|name| assert!(sources.contains(name), "{cell}: no {name}"));
    }
    assert!(seen > 30, "{seen}");
}

/// The text of a file of `src`, or of the files of a folder.
fn sources_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
    let mut files = vec![path.clone()];
    if path.is_dir() {
        files.clear();
        source_files(&path, &mut files);
    }
    files.iter().map(|file| fs::read_to_string(file).unwrap_or_else(|error| panic!("{name}: {error}"))).collect()
}

/// Each rule rejects a line that breaks it.
#[test]
fn the_rules_can_fail() {
    assert_eq!(imports("use crate::ops::any;"), ["ops"]);
    assert_eq!(imports("let x = crate::io::read(crate::base::shape::step());"), ["io", "shape"]);
    assert_eq!(imports("use crate::tensor::Tensor; use crate::tensor::coo::CooTensor;"), ["tensor", "coo"]);
    assert!(imports("$crate::Error lacuna_crate::ops").is_empty());
    let floors: BTreeMap<_, _> = FLOORS.iter().flat_map(|floor| floor.iter()).map(|m| (*m, floor_of(m))).collect();
    assert!(floors["ops"] > floors["pattern"] && floors["pattern"] > floors["shape"]);
    assert!(modules().len() > 20, "the walk finds the sources");
}

/// The names that a line imports behind `prefix`: the one, or those in braces.
fn names_behind<'a>(line: &'a str, prefix: &str) -> Vec<&'a str> {
    let behind = line.split(prefix).skip(1);
    let names = behind.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split(['}', ',']).map(str::trim).collect(),
        None => vec![rest],
    });
    names.map(|name| name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")).collect()
}

/// The parts of `io`, a file or a folder each, and the files of each folder in it.
#[test]
fn the_parts_of_io_import_each_other_in_no_circle() {
    let mut imports = BTreeMap::<String, Vec<String>>::new();
    for (_, file, lines) in modules().iter().filter(|(module, ..)| module == "io") {
        let parts: Vec<&str> = file.trim_start_matches("io/").trim_end_matches(".rs").split('/').collect();
        for line in lines {
            let beside = names_behind(line, "crate::io::").into_iter().map(str::to_string);
            imports.entry(parts[0].into()).or_default().extend(beside.filter(|name| name != parts[0]));
            if let [folder, name] = parts[..] {
                let siblings = names_behind(line, "super::").into_iter().map(|sibling| format!("{folder}/{sibling}"));
                imports.entry(format!("{folder}/{name}")).or_default().extend(siblings);
            }
        }
    }
    imports.retain(|name, _| !name.ends_with("mod"));
    // Modules without imports are removed until none is left. Only cycles remain.
    loop {
        let names: Vec<String> = imports.keys().cloned().collect();
        imports.values_mut().for_each(|to| to.retain(|name| names.contains(name)));
        let before = imports.len();
        imports.retain(|_, to| !to.is_empty());
        if imports.len() == before {
            break;
        }
    }
    assert!(imports.is_empty(), "imports in a circle, or on the way to one: {imports:?}");
}

/// The parameters between the brackets that begin at `open`, and what follows them.
fn parameters(code: &str, open: usize) -> (&str, &str) {
    let (mut depth, mut before) = (0, ' ');
    for (at, c) in code[open..].char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' && before != '=' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&code[open + 1..open + at], &code[open + at + 1..]);
        }
        before = c;
    }
    ("", "")
}

/// Returns whether parameters name a type of patterns or coordinates, and whether they name a type of elements.
fn kinds(parameters: &str) -> (bool, bool) {
    let has = |words: &[&str]| {
        let mut bounds = parameters.split(|c: char| !c.is_alphanumeric() && c != '_');
        bounds.any(|bound| words.contains(&bound))
    };
    (has(&["Pattern", "Index"]), has(&["Element", "Ring", "Float", "Real", "Plain", "FileElement"]))
}

/// Code whose strings are empty, and whose characters are no braces.
fn without_literals(code: &str) -> String {
    let (mut kept, mut is_string, mut is_escaped) = (String::new(), false, false);
    for c in code.replace("'{'", "' '").replace("'}'", "' '").replace("'\"'", "' '").chars() {
        let ends = c == '"' && !is_escaped;
        if !is_string || ends || c == '\n' {
            kept.push(c);
        }
        is_escaped = is_string && c == '\\' && !is_escaped;
        is_string ^= ends;
    }
    kept
}

/// The functions of a file that are generic over both, its own parameters and those of its `impl` taken together, with
/// the number of lines of their bodies.
fn generic_over_both(lines: &[String]) -> Vec<(String, usize)> {
    let code = without_literals(&lines.join("\n"));
    let (mut found, mut depth, mut outer) = (Vec::new(), 0usize, Vec::new());
    for (at, c) in code.char_indices() {
        let rest = &code[at..];
        let starts_word = at == 0 || !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if c == '{' {
            depth += 1;
        } else if c == '}' {
            depth -= 1;
            outer.retain(|(own, _)| *own < depth);
        } else if starts_word && rest.starts_with("impl<") {
            let is_block = code[..at].rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
            if is_block {
                outer.push((depth, kinds(parameters(&code, at + 4).0)));
            }
        } else if starts_word && rest.starts_with("fn ") {
            let name: String = rest[3..].chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect();
            let open = at + 3 + name.len();
            let (own, after) =
                if code[open..].starts_with('<') { parameters(&code, open) } else { ("", &code[open..]) };
            let all = outer.iter().map(|(_, kinds)| *kinds).chain([kinds(own)]);
            let (pattern, element) = all.fold((false, false), |a, b| (a.0 | b.0, a.1 | b.1));
            let body = after.find('{').filter(|&brace| after.find(';').is_none_or(|end| brace < end));
            if let (true, true, Some(brace)) = (pattern, element, body) {
                let mut open = 0;
                let length = after[brace..].char_indices().find_map(|(at, c)| {
                    open += i32::from(c == '{') - i32::from(c == '}');
                    (open == 0).then_some(at)
                });
                found.push((name, after[brace..brace + length.unwrap_or(0)].lines().count() - 1));
            }
        }
    }
    found
}

/// Patterns are values: plans, kernels and drivers are compiled for them once. A door, which puts types away, calls and
/// puts them back, has a short body.
#[test]
fn no_function_is_generic_over_elements_and_patterns_but_doors() {
    // Transposition is matched by width outside of its loops: a separate pass for coordinates reads all entries twice.
    const KEPT: [&str; 1] = ["kernels/transpose.rs"];
    let longest = |module: &str| match module {
        "base" | "element" | "kernels" | "pattern" | "plan" => Some(0),
        "ops" | "convert" | "dynamic" | "io" | "tensor" | "coo" | "csr" | "entries" | "erased" | "stored" => Some(11),
        _ => None,
    };
    let mut wrong = Vec::new();
    for (module, file, lines) in modules().iter().filter(|(_, file, _)| !KEPT.contains(&file.as_str())) {
        let Some(longest) = longest(module) else { continue };
        let functions = generic_over_both(lines).into_iter().filter(|(_, lines)| *lines > longest || longest == 0);
        wrong.extend(functions.map(|(name, lines)| format!("{file}: {name}, {lines} lines")));
    }
    assert!(wrong.is_empty(), "generic over elements and patterns:\n{}", wrong.join("\n"));
}

#[test]
fn the_scan_for_generic_functions_can_fail() {
    let scan = |code: &str| generic_over_both(&code.lines().map(String::from).collect::<Vec<_>>());
    let both = scan("fn both<P: Pattern, T: Element>(x: &Tensor<P, T>) -> bool {\nlet a = 1;\na == 1\n}");
    assert_eq!(both, [("both".to_string(), 2)]);
    let split =
        "impl<I: Index> Face<I> {\nfn of<T: Ring>(x: T) -> Box<dyn Fn(T) -> T> {\nf(x)\n}\nfn own(&self) {\n}\n}";
    assert_eq!(scan(split), [("of".to_string(), 1)]);
    let braces = "fn close() {\nf('}', \"}\", b'}')\n}\nfn both<P: Pattern, T: Element>() {\n\n}";
    assert_eq!(scan(braces), [("both".to_string(), 1)]);
    assert!(scan("fn one<T: Element>(x: &AnyPattern) {\nf(x)\n}\nfn other<I: Index>(x: &[I]) {\n}").is_empty());
}
