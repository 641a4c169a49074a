//! Draws the pictures of the documents as SVG. Coordinates have at most one decimal, so that a picture has the same
//! text on every machine.

// Without files fewer pictures are drawn.
#![cfg_attr(not(feature = "io"), allow(dead_code))]

use std::fmt::{Display, Write};
use std::fs;
use std::path::{Path, PathBuf};

/// Stored entries and steps, unstored positions, and the lines of charts.
pub(crate) const LIGHT_BLUE: &str = "#9ecae1";
pub(crate) const LIGHT_ORANGE: &str = "#fdd0a2";
pub(crate) const LIGHT_GREEN: &str = "#a1d99b";
pub(crate) const LIGHT_GREY: &str = "#eeeeee";
pub(crate) const BLUE: &str = "#2a6f97";
pub(crate) const RED: &str = "#c8553d";
pub(crate) const AMBER: &str = "#c98a1b";
pub(crate) const GREY: &str = "#ddd";

pub(crate) const CELL: f64 = 30.0;

pub(crate) type Place = [f64; 2];

pub(crate) fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub(crate) fn page(name: &str) -> String {
    fs::read_to_string(in_repository(name)).unwrap()
}

/// Compares a picture with the file in the documents; `LACUNA_WRITE=1` writes the file.
pub(crate) fn is_drawn(name: &str, svg: &str) {
    let path = in_repository("docs/pictures").join(name).with_extension("svg");
    if std::env::var_os("LACUNA_WRITE").is_some() {
        fs::write(&path, svg).unwrap();
    }
    let same = fs::read_to_string(&path).is_ok_and(|drawn| drawn == svg);
    assert!(same, "{} is out of date: LACUNA_WRITE=1", path.display());
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0 + 0.0
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;")
}

/// A range of numbers on each axis, and the area of the picture where it is drawn.
pub(crate) struct Chart {
    pub(crate) x: [f64; 2],
    pub(crate) y: [f64; 2],
    pub(crate) corner: Place,
    pub(crate) size: Place,
}

impl Chart {
    pub(crate) fn at(&self, [x, y]: [f64; 2]) -> Place {
        let share = |value: f64, [from, to]: [f64; 2]| (value - from) / (to - from);
        let down = 1.0 - share(y, self.y);
        [self.corner[0] + self.size[0] * share(x, self.x), self.corner[1] + self.size[1] * down]
    }

    pub(crate) fn path(&self, points: &[[f64; 2]]) -> Vec<Place> {
        points.iter().map(|&point| self.at(point)).collect()
    }
}

pub(crate) struct Drawing(String);

impl Drawing {
    /// An empty picture on a white card, which is readable on light and dark pages.
    pub(crate) fn new([width, height]: [usize; 2]) -> Self {
        let root = r#"<svg xmlns="http://www.w3.org/2000/svg""#;
        let font = r#"font-family="sans-serif" font-size="14""#;
        let card = format!(r#"<rect width="{width}" height="{height}" fill="white"/>"#);
        Self(format!("{root} width=\"{width}\" height=\"{height}\" {font}>\n{card}\n"))
    }

    pub(crate) fn finish(self) -> String {
        self.0 + "</svg>\n"
    }

    fn styled(&mut self, [x, y]: Place, anchor: &str, style: &str, words: &str) {
        let (x, y, words) = (tenths(x), tenths(y), escaped(words));
        writeln!(self.0, r#"<text x="{x}" y="{y}" text-anchor="{anchor}"{style}>{words}</text>"#).unwrap();
    }

    pub(crate) fn text(&mut self, at: Place, anchor: &str, words: &str) {
        self.styled(at, anchor, "", words);
    }

    pub(crate) fn title(&mut self, at: Place, words: &str) {
        self.styled(at, "start", r#" font-weight="bold""#, words);
    }

    pub(crate) fn small(&mut self, at: Place, anchor: &str, words: &str) {
        self.styled(at, anchor, r##" font-size="12" fill="#444""##, words);
    }

    fn rectangle(&mut self, [left, top]: Place, [width, height]: [f64; 2], style: &str) {
        let [left, top, width, height] = [left, top, width, height].map(tenths);
        writeln!(self.0, r#"<rect x="{left}" y="{top}" width="{width}" height="{height}" {style}/>"#).unwrap();
    }

    pub(crate) fn rect(&mut self, corner: Place, size: [f64; 2], color: &str) {
        self.rectangle(corner, size, &format!(r##"fill="{color}" stroke="#555""##));
    }

    pub(crate) fn dashed(&mut self, corner: Place, size: [f64; 2]) {
        self.rectangle(corner, size, r##"fill="none" stroke="#555" stroke-dasharray="4 3""##);
    }

    /// An area without a border.
    pub(crate) fn area(&mut self, corner: Place, size: [f64; 2], color: &str) {
        self.rectangle(corner, size, &format!(r#"fill="{color}""#));
    }

    /// A square with a number.
    pub(crate) fn cell(&mut self, [left, top]: Place, color: &str, number: &str) {
        self.rect([left, top], [CELL; 2], color);
        self.text([left + CELL / 2.0, top + CELL / 2.0 + 5.0], "middle", number);
    }

    /// A square of one colour and its meaning.
    pub(crate) fn key(&mut self, [left, top]: Place, color: &str, words: &str) {
        self.rect([left, top], [12.0; 2], color);
        self.small([left + 18.0, top + 10.5], "start", words);
    }

    pub(crate) fn line(&mut self, places: &[Place], color: &str, width: f64) {
        let points = places.iter().map(|place| place.map(tenths)).map(|[x, y]| format!("{x} {y}"));
        let path = points.collect::<Vec<_>>().join("L");
        writeln!(self.0, r#"<path d="M{path}" fill="none" stroke="{color}" stroke-width="{width}"/>"#).unwrap();
    }

    pub(crate) fn dot(&mut self, at: Place, color: &str) {
        let [x, y] = at.map(tenths);
        writeln!(self.0, r#"<circle cx="{x}" cy="{y}" r="3.5" fill="{color}"/>"#).unwrap();
    }

    pub(crate) fn arrow(&mut self, from: Place, to: Place) {
        let (right, down) = (to[0] - from[0], to[1] - from[1]);
        let length = right.hypot(down);
        let (right, down) = (right / length, down / length);
        let neck = [to[0] - 8.0 * right, to[1] - 8.0 * down];
        self.line(&[from, neck], "#555", 1.5);
        let sides = [4.0, -4.0].map(|side| [neck[0] + side * down, neck[1] - side * right].map(tenths));
        let ([x, y], [[a, b], [c, d]]) = (to.map(tenths), sides);
        writeln!(self.0, r##"<path d="M{x} {y}L{a} {b}L{c} {d}Z" fill="#555"/>"##).unwrap();
    }

    /// Marks of the horizontal axis, with their labels below the chart.
    pub(crate) fn marks_x<L: Display>(&mut self, chart: &Chart, marks: impl IntoIterator<Item = (f64, L)>) {
        for (value, label) in marks {
            let [x, bottom] = chart.at([value, chart.y[0]]);
            self.line(&[[x, bottom], [x, bottom + 5.0]], "#555", 1.0);
            self.small([x, bottom + 18.0], "middle", &label.to_string());
        }
        self.line(&chart.path(&[[chart.x[0], chart.y[0]], [chart.x[1], chart.y[0]]]), "#555", 1.0);
    }

    /// Lines of the vertical axis, with their labels to the left of the chart.
    pub(crate) fn marks_y<L: Display>(&mut self, chart: &Chart, marks: impl IntoIterator<Item = (f64, L)>) {
        for (value, label) in marks {
            let [left, y] = chart.at([chart.x[0], value]);
            self.line(&[[left, y], [left + chart.size[0], y]], GREY, 1.0);
            self.small([left - 6.0, y + 4.0], "end", &label.to_string());
        }
    }
}
