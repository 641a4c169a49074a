//! The README is short, prints what it says, and shows the arrays that the library makes.
//!
//! `LACUNA_WRITE=1 cargo test --all-features --test library readme` draws its picture again.

use lacuna::{CooTensor, Duplicates, Triplets};

use crate::drawing::{CELL, Drawing, LIGHT_BLUE, LIGHT_GREEN, LIGHT_GREY, LIGHT_ORANGE, Place, is_drawn, page};

/// The tensor of the first example and of the picture.
fn tensor() -> CooTensor<f64> {
    let mut entries = Triplets::new([3, 4]).unwrap();
    for (position, value) in [([0, 1], 2.0), ([1, 0], 3.0), ([1, 3], 4.0)] {
        entries.push(&position, value).unwrap();
    }
    entries.coalesce(Duplicates::Error).unwrap()
}

#[test]
fn the_first_example_prints_its_comments() {
    let x = tensor();
    let printed = [x.to_string(), x.sum(1).unwrap().to_string(), x.mean(1).unwrap().to_string()];
    let stored = x.stored().mean(1).unwrap().to_string();
    let readme = page("README.md");
    let comments = readme.lines().filter_map(|line| line.trim_start().strip_prefix("// ")).collect::<Vec<_>>();
    let lines = printed.iter().chain([&stored]).flat_map(|text| text.lines()).collect::<Vec<_>>();
    assert_eq!(comments, lines);
}

#[test]
fn it_is_read_in_a_minute() {
    let readme = page("README.md");
    let (lines, words) = (readme.lines().count(), readme.split_whitespace().count());
    assert!(lines <= 110 && words <= 700, "{lines} lines, {words} words");
}

/// A colour for each entry.
const COLORS: [&str; 3] = [LIGHT_BLUE, LIGHT_ORANGE, LIGHT_GREEN];

/// An array with its name on the left, a cell for each number.
fn array(picture: &mut Drawing, [left, top]: Place, name: &str, colors: &[&str], numbers: &[String]) {
    picture.text([left - 8.0, top + CELL / 2.0 + 5.0], "end", name);
    for (place, number) in numbers.iter().enumerate() {
        picture.cell([left + place as f64 * CELL, top], colors[place % colors.len()], number);
    }
}

fn texts<T: ToString>(numbers: &[T]) -> Vec<String> {
    numbers.iter().map(T::to_string).collect()
}

fn grid(picture: &mut Drawing, x: &CooTensor<f64>, [left, top]: Place) {
    let dense = x.to_dense().unwrap();
    for (position, value) in dense.indexed_iter() {
        let (row, column) = (position[0], position[1]);
        let entry = (0..x.nnz()).find(|&entry| [x.coords(0)[entry], x.coords(1)[entry]] == [row as u32, column as u32]);
        let color = entry.map_or(LIGHT_GREY, |entry| COLORS[entry]);
        picture.cell([left + column as f64 * CELL, top + row as f64 * CELL], color, &value.to_string());
    }
}

/// The dense grid, and what COO and CSR store of it, each entry in one colour.
fn layout() -> String {
    let (x, csr) = (tensor(), tensor().to_csr().unwrap());
    let mut picture = Drawing::new([720, 200]);
    for (left, title) in [(90.0, "dense"), (330.0, "COO"), (570.0, "CSR")] {
        picture.text([left, 24.0], "middle", title);
    }
    grid(&mut picture, &x, [30.0, 44.0]);
    picture.text([90.0, 176.0], "middle", "grey: unstored, the fill");
    let (fill, white) = ([x.fill().to_string()], ["white"]);
    array(&mut picture, [285.0, 44.0], "axis 0", &COLORS, &texts(x.coords(0)));
    array(&mut picture, [285.0, 78.0], "axis 1", &COLORS, &texts(x.coords(1)));
    array(&mut picture, [285.0, 112.0], "values", &COLORS, &texts(x.values()));
    array(&mut picture, [285.0, 156.0], "fill", &[LIGHT_GREY], &fill);
    array(&mut picture, [510.0, 44.0], "offsets", &white, &texts(csr.offsets()));
    array(&mut picture, [510.0, 78.0], "columns", &COLORS, &texts(csr.columns()));
    array(&mut picture, [510.0, 112.0], "values", &COLORS, &texts(csr.values()));
    array(&mut picture, [510.0, 156.0], "fill", &[LIGHT_GREY], &fill);
    picture.finish()
}

#[test]
fn the_picture_shows_the_arrays_of_the_library() {
    is_drawn("layout", &layout());
}
