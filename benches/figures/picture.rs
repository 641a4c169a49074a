//! Nanoseconds per entry against entries, both logarithmic, one panel a group of cases: what is proportional lies flat.

use std::fmt::Write;

use crate::Figure;

const WIDTH: f64 = 500.0;
const HEIGHT: f64 = 330.0;
/// Around the axes of a panel: left, top, right (the names of the lines), bottom.
const MARGINS: [f64; 4] = [40.0, 34.0, 200.0, 34.0];
const LEAST: f64 = 0.1;
const MOST: f64 = 200.0;
const COLOURS: [&str; 6] = ["#1f5fa8", "#c0392b", "#1e8449", "#7d3c98", "#b9770e", "#444444"];
/// Names stand at least so far apart.
const LINE: f64 = 13.0;

pub(crate) fn draw(panels: &[&str], lines: &[(usize, &str, Vec<Figure>)]) -> String {
    let rows = panels.len().div_ceil(2) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"11\" \
         fill=\"#222222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        2.0 * WIDTH,
        rows * HEIGHT
    );
    for (number, title) in panels.iter().enumerate() {
        let (x, y) = ((number % 2) as f64 * WIDTH, (number / 2) as f64 * HEIGHT);
        let mine = lines.iter().filter(|(panel, ..)| *panel == number).map(|(_, name, figures)| (*name, &figures[..]));
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">\n{}</g>", panel(title, &mine.collect::<Vec<_>>()));
    }
    svg + "</svg>\n"
}

fn panel(title: &str, lines: &[(&str, &[Figure])]) -> String {
    let sizes: Vec<f64> =
        lines.first().map_or(&[][..], |line| line.1).iter().map(|figure| figure.size as f64).collect();
    let (Some(&least), Some(&most)) = (sizes.first(), sizes.last()) else { return String::new() };
    let [left, top, right, bottom] = MARGINS;
    let x = |size: f64| left + (WIDTH - left - right) * (size / least).ln() / (most / least).ln().max(1e-9);
    let y = |each: f64| top + (HEIGHT - top - bottom) * (1.0 - (each / LEAST).ln() / (MOST / LEAST).ln());
    let mut svg = format!("<text x=\"{left}\" y=\"18\" font-size=\"13\">{title}: ns per entry</text>\n");
    for each in (-1..=2).map(|power| 10f64.powi(power)) {
        let (height, end) = (y(each), WIDTH - right);
        let _ = write!(svg, "<path d=\"M{left} {height:.1}H{end}\" stroke=\"#dddddd\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{each}</text>", left - 6.0, height + 4.0);
    }
    for &size in &sizes {
        let power = format!("10<tspan dy=\"-4\" font-size=\"8\">{:.0}</tspan>", size.log10());
        let _ =
            writeln!(svg, "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{power}</text>", x(size), HEIGHT - 14.0);
    }
    for (number, (name, figures, label)) in labelled(lines, y).into_iter().enumerate() {
        let (colour, end) = (COLOURS[number % COLOURS.len()], WIDTH - right);
        let points = figures.iter().map(|figure| (x(figure.size as f64), y(figure.nanoseconds_each())));
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>", points.join(" "));
        let from = figures.last().map_or(label, |last| y(last.nanoseconds_each()));
        let _ = write!(
            svg,
            "<path d=\"M{end} {from:.1}L{} {label:.1}\" stroke=\"{colour}\" stroke-width=\"0.4\"/>",
            end + 14.0
        );
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>", end + 17.0, label + 4.0);
    }
    svg
}

/// The lines from the top, with the height of the name of each: beside its end, but below the name above.
fn labelled<'a>(lines: &[(&'a str, &'a [Figure])], y: impl Fn(f64) -> f64) -> Vec<(&'a str, &'a [Figure], f64)> {
    let end = |figures: &[Figure]| figures.last().map_or(0.0, |last| y(last.nanoseconds_each()));
    let mut sorted = lines.to_vec();
    sorted.sort_by(|a, b| end(a.1).total_cmp(&end(b.1)));
    let mut last = 0.0;
    let place = |(name, figures): (&'a str, &'a [Figure])| {
        last = f64::max(end(figures), last + LINE);
        (name, figures, last)
    };
    sorted.into_iter().map(place).collect()
}
