//! The README is short, prints what it says, and shows the arrays that the library makes.
//!
//! `LACUNA_WRITE=1 cargo test --all-features --test library readme` draws its picture again.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use lacuna::{CooTensor, Duplicates, Triplets};

/// The tensor of the first example and of the picture.
fn tensor() -> CooTensor<f64> {
    let mut entries = Triplets::new([3, 4]).unwrap();
    for (position, value) in [([0, 1], 2.0), ([1, 0], 3.0), ([1, 3], 4.0)] {
        entries.push(&position, value).unwrap();
    }
    entries.coalesce(Duplicates::Error).unwrap()
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_first_example_prints_its_comments() {
    let x = tensor();
    let printed = [x.to_string(), x.sum(1).unwrap().to_string(), x.mean(1).unwrap().to_string()];
    let stored = x.stored().mean(1).unwrap().to_string();
    let readme = fs::read_to_string(in_repository("README.md")).unwrap();
    let comments = readme.lines().filter_map(|line| line.trim_start().strip_prefix("// ")).collect::<Vec<_>>();
    let lines = printed.iter().chain([&stored]).flat_map(|text| text.lines()).collect::<Vec<_>>();
    assert_eq!(comments, lines);
}

#[test]
fn it_is_read_in_a_minute() {
    let readme = fs::read_to_string(in_repository("README.md")).unwrap();
    let (lines, words) = (readme.lines().count(), readme.split_whitespace().count());
    assert!(lines <= 110 && words <= 700, "{lines} lines, {words} words");
}

/// A colour for each entry, and one for the fill.
const COLORS: [&str; 3] = ["#9ecae1", "#fdd0a2", "#a1d99b"];
const OF_THE_FILL: &str = "#eeeeee";
const CELL: usize = 30;

/// A square with a number, at a place of the picture.
fn cell(svg: &mut String, [left, top]: [usize; 2], color: &str, number: &str) {
    let (x, y) = (left + CELL / 2, top + CELL / 2 + 5);
    writeln!(svg, r##"<rect x="{left}" y="{top}" width="{CELL}" height="{CELL}" fill="{color}" stroke="#555"/>"##)
        .unwrap();
    writeln!(svg, r#"<text x="{x}" y="{y}" text-anchor="middle">{number}</text>"#).unwrap();
}

/// A text that ends or begins at a place.
fn label(svg: &mut String, [x, y]: [usize; 2], anchor: &str, text: &str) {
    writeln!(svg, r#"<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>"#).unwrap();
}

/// An array with its name on the left, a cell for each number.
fn array(svg: &mut String, [left, top]: [usize; 2], name: &str, colors: &[&str], numbers: &[String]) {
    label(svg, [left - 8, top + CELL / 2 + 5], "end", name);
    for (place, number) in numbers.iter().enumerate() {
        cell(svg, [left + place * CELL, top], colors[place % colors.len()], number);
    }
}

fn texts<T: ToString>(numbers: &[T]) -> Vec<String> {
    numbers.iter().map(T::to_string).collect()
}

fn grid(svg: &mut String, x: &CooTensor<f64>, [left, top]: [usize; 2]) {
    let dense = x.to_dense().unwrap();
    for (position, value) in dense.indexed_iter() {
        let (row, column) = (position[0], position[1]);
        let entry = (0..x.nnz()).find(|&entry| [x.coords(0)[entry], x.coords(1)[entry]] == [row as u32, column as u32]);
        let color = entry.map_or(OF_THE_FILL, |entry| COLORS[entry]);
        cell(svg, [left + column * CELL, top + row * CELL], color, &value.to_string());
    }
}

/// The dense grid, and what COO and CSR store of it, each entry in one colour.
fn picture() -> String {
    let (x, csr) = (tensor(), tensor().to_csr().unwrap());
    let mut svg = String::from(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="720" height="200" font-family="sans-serif" font-size="14">
<rect width="720" height="200" fill="white"/>
"#,
    );
    for (left, title) in [(90, "dense"), (330, "COO"), (570, "CSR")] {
        label(&mut svg, [left, 24], "middle", title);
    }
    grid(&mut svg, &x, [30, 44]);
    label(&mut svg, [90, 176], "middle", "grey: unstored, the fill");
    let (fill, white) = ([x.fill().to_string()], ["white"]);
    array(&mut svg, [285, 44], "axis 0", &COLORS, &texts(x.coords(0)));
    array(&mut svg, [285, 78], "axis 1", &COLORS, &texts(x.coords(1)));
    array(&mut svg, [285, 112], "values", &COLORS, &texts(x.values()));
    array(&mut svg, [285, 156], "fill", &[OF_THE_FILL], &fill);
    array(&mut svg, [510, 44], "offsets", &white, &texts(csr.offsets()));
    array(&mut svg, [510, 78], "columns", &COLORS, &texts(csr.columns()));
    array(&mut svg, [510, 112], "values", &COLORS, &texts(csr.values()));
    array(&mut svg, [510, 156], "fill", &[OF_THE_FILL], &fill);
    svg + "</svg>\n"
}

#[test]
fn the_picture_shows_the_arrays_of_the_library() {
    let path = in_repository("docs/pictures/layout.svg");
    if std::env::var_os("LACUNA_WRITE").is_some() {
        fs::write(&path, picture()).unwrap();
    }
    let is_drawn_so = fs::read_to_string(&path).is_ok_and(|drawn| drawn == picture());
    assert!(is_drawn_so, "{} is out of date: LACUNA_WRITE=1", path.display());
}
