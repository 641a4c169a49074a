//! Sentences of the documents and of rustdoc keep five rules of style. A rule that a sentence breaks makes the reader
//! go back.

use std::path::{Path, PathBuf};

use crate::architecture::source_files;

/// The rules, each with the words that break it, in lower case. `^` is the beginning of a sentence.
const RULES: [(&str, &[&str]); 5] = [
    ("begin a sentence with a thing, not with `What`", &["^what "]),
    ("write `is not a`, not `is no`", &[" is no ", " are no "]),
    ("write `reports` or `returns`, not `told`", &[" told "]),
    ("write `requested` or `tested`, not `asked of`", &[" asked of "]),
    (
        "write `only` before the noun, not `alone` after the noun",
        &["entries alone", "values alone", "tensor alone", "axis alone", "axes alone", "stored alone", "row alone"],
    ),
];

/// Words that contain the words of a rule, and keep it.
const EXCEPTIONS: [&str; 2] = [" is no longer ", " are no longer "];

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("README.md")];
    let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    files.extend(pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    source_files(&root.join("src"), &mut files);
    files
}

/// Returns the text of a page, or the documentation in a source file. Code, headings and heads of tables are not
/// included.
fn prose(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let is_source = path.extension().is_some_and(|extension| extension == "rs");
    let documentation = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or_default().trim().to_string()
    };
    let lines = text.lines().map(|line| if is_source { documentation(line) } else { line.trim().to_string() });
    let mut is_code = false;
    let kept = lines.map(|line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence || line.starts_with('#') { String::new() } else { line }
    });
    let kept: Vec<String> = kept.collect();
    let is_header = |line: usize| kept.get(line + 1).is_some_and(|next| next.starts_with("| ---"));
    let lines = (0..kept.len()).map(|line| if is_header(line) { "" } else { kept[line].as_str() });
    without_code(&lines.collect::<Vec<_>>().join("\n"))
}

/// Replaces code between backticks by a word.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(part, text)| if part % 2 == 0 { text } else { "code" }).collect()
}

/// Returns the sentences of a text, in lower case, between spaces.
fn sentences(text: &str) -> Vec<String> {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let items = paragraphs.flat_map(|paragraph| {
        let marked =
            [". ", ": ", "| ", "- ", "? "].iter().fold(paragraph, |text, end| text.replace(end, &format!("{end}\n")));
        marked.lines().map(str::to_lowercase).collect::<Vec<_>>()
    });
    items.filter(|sentence| !sentence.ends_with("? ")).collect()
}

fn breaks(sentence: &str, words: &[&str]) -> bool {
    let sentence = EXCEPTIONS.iter().fold(format!(" {sentence}"), |text, fair| text.replace(fair, " "));
    words.iter().any(|words| match words.strip_prefix('^') {
        Some(beginning) => sentence.trim_start().starts_with(beginning),
        None => sentence.contains(words),
    })
}

#[test]
fn documents_keep_the_rules_of_style() {
    let (mut seen, mut broken) = (0, Vec::new());
    for path in documents() {
        for sentence in sentences(&prose(&path)) {
            seen += 1;
            for (rule, _) in RULES.iter().filter(|(_, words)| breaks(&sentence, words)) {
                broken.push(format!("{}: {rule}: {sentence}", path.display()));
            }
        }
    }
    assert!(seen > 10_000, "{seen} sentences");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn each_rule_finds_a_sentence_that_breaks_it() {
    let text = "It works. What is stored is kept.\n\nA NaN is no number: nobody told\nthe reader. Much is asked of them.\n\n\
                - the stored entries alone";
    let of = |rule: usize| sentences(text).iter().filter(|sentence| breaks(sentence, RULES[rule].1)).count();
    assert_eq!([0, 1, 2, 3, 4].map(of), [1; 5]);
    let fair = sentences("What is a fill? This is no longer `is no x`. Only stored entries.");
    assert!(RULES.iter().all(|(_, words)| !fair.iter().any(|sentence| breaks(sentence, words))), "{fair:?}");
}
