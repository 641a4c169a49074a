//! A scene as SVG.

use std::fmt::Write;

use super::scene::{Anchor, BASELINE, CHARACTER, Colour, Mosaic, Rect, Scene, Text};
use super::shades::SHADES;

/// The colour of frames and text.
pub(super) const INK: [u8; 3] = [0x22, 0x22, 0x22];

const FONT: &str = "'Noto Sans Mono','DejaVu Sans Mono',Menlo,Consolas,monospace";

/// Draws a scene as SVG.
pub(super) fn draw(scene: &Scene) -> String {
    let (width, height) = (scene.width, scene.height);
    // The characters of these fonts are 0.6 times as wide as the font is high.
    let size = CHARACTER * 5 / 3;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONT}\" font-size=\"{size}\" fill=\"{}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n<g shape-rendering=\"crispEdges\">\n",
        hex(Colour::Ink)
    );
    for mosaic in &scene.mosaics {
        svg += &cells(mosaic);
    }
    for Rect { x, y, width, height, colour } in &scene.rects {
        let fill = hex(*colour);
        svg += &format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>\n");
    }
    svg += "</g>\n";
    for text in &scene.texts {
        svg += &line(text);
    }
    svg + "</svg>\n"
}

fn hex(colour: Colour) -> String {
    let [red, green, blue] = match colour {
        Colour::Ink => INK,
        Colour::Shade(shade) => SHADES[shade],
    };
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns the cells as one path per shade, in units of a cell, then the white lines between cells, in pixels.
fn cells(mosaic: &Mosaic) -> String {
    let mut paths = vec![String::new(); SHADES.len()];
    for row in 0..mosaic.rows {
        for (column, cells, shade) in mosaic.runs(row) {
            // Writing to a string does not fail.
            let _ = write!(paths[shade], "M{column} {row}h{cells}v1H{column}z");
        }
    }
    let (x, y, (tall, wide)) = (mosaic.x, mosaic.y, mosaic.cell);
    let mut svg = format!("<g transform=\"translate({x} {y}) scale({wide} {tall})\">\n");
    for (shade, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        svg += &format!("<path fill=\"{}\" d=\"{path}\"/>\n", hex(Colour::Shade(shade)));
    }
    svg + "</g>\n" + &gaps(mosaic)
}

/// Returns the white lines between cells as one path.
fn gaps(mosaic: &Mosaic) -> String {
    let (between_rows, between_columns) = mosaic.gaps();
    let (tall, wide) = mosaic.cell;
    let mut path = String::new();
    for row in 1..=mosaic.rows * between_rows {
        path += &format!("M{} {}h{}v1H{}z", mosaic.x, mosaic.y + row * tall - 1, mosaic.columns * wide, mosaic.x);
    }
    for column in 1..=mosaic.columns * between_columns {
        path += &format!("M{} {}v{}h1V{}z", mosaic.x + column * wide - 1, mosaic.y, mosaic.rows * tall, mosaic.y);
    }
    if path.is_empty() { path } else { format!("<path fill=\"#ffffff\" d=\"{path}\"/>\n") }
}

fn line(text: &Text) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let weight = if text.bold { " font-weight=\"bold\"" } else { "" };
    let (x, y) = (text.x, text.y);
    let place = match text.turned {
        false => format!("x=\"{x}\" y=\"{}\"", y + BASELINE),
        true => format!("transform=\"translate({} {y}) rotate(-90)\"", x + BASELINE),
    };
    format!("<text {place} text-anchor=\"{anchor}\"{weight}>{}</text>\n", escape(&text.text))
}

/// Escapes a text for XML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
