//! The layout of a picture: the positions of panels, their ticks and names, the lines above and the legend below.

use super::axis::{Axis, Scale, Space, fit, stretch};
use super::raster::{Raster, pairs};
use super::scene::{Anchor, CHARACTER, Colour, LINE, Mosaic, Scene, Text};
use super::shades::Classes;
use super::ticks::{Tick, short, ticks};

/// The default width of a picture in pixels, and the part of it outside the panels.
pub(super) const USUAL: usize = 700;
const SIDES: usize = 52;
/// The white margin around the picture.
const MARGIN: usize = 16;
/// The length of a tick, including the white next to it.
const TICK: usize = 8;
/// The white between the name of an axis and its indices.
const GUARD: usize = 4;
/// The minimum extent of a panel.
const MIN_WIDTH: usize = 48;
/// The white between the panels of a grid.
const BETWEEN: usize = 14;
/// The smallest cell, so that a single cell is visible.
const SMALLEST_CELL: usize = 2;
/// The maximum number of characters of the last index of an axis, which fit into the place of a missing panel.
const WIDEST_INDEX: usize = 7;
/// The maximum number of characters of a line. A narrower picture grows to fit the lines, so that no count is
/// truncated.
const WIDEST_LINE: usize = 84;
/// The height of a swatch of the legend.
const SWATCH: usize = 16;

/// The width of a picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct PictureWidth {
    /// The pixels for all panels and the white between the panels.
    across: usize,
}

impl PictureWidth {
    /// Returns the width of a picture of `pixels` pixels, or a few more.
    pub(super) fn of(pixels: usize) -> Self {
        PictureWidth { across: pixels - SIDES }
    }

    /// Returns a length that is `usual` in a picture of the default width.
    fn scaled(self, usual: usize) -> usize {
        (usual * self.across / (USUAL - SIDES)).max(1)
    }

    /// Returns the number of characters that fit in a line across the picture.
    pub(super) fn characters(self) -> usize {
        self.scaled(WIDEST_LINE)
    }
}

/// The texts around the panels.
pub(super) struct Words {
    /// The lines above the panels; the first of several lines is bold.
    pub(super) head: Vec<String>,
    /// The description of a cell for the legend; `None` if no legend is needed.
    pub(super) cell: Option<String>,
}

/// Returns the scales of axes with the given lengths, with a panel per pair of axes.
pub(super) fn scales(width: PictureWidth, lengths: &[usize]) -> Vec<Scale> {
    let panels = lengths.len().saturating_sub(1).max(1);
    let all = width.across.saturating_sub((panels - 1) * gutter());
    // The number of cells leaves three pixels per cell, or a little less if each cell is one position.
    let (positions, largest) = (width.scaled(256), width.scaled(64));
    let max_len = if lengths.iter().all(|&length| length <= positions) { positions } else { width.across / 3 };
    let cells = max_len.min(all / panels / SMALLEST_CELL);
    let space = Space { units: all / panels, cells, unit: largest };
    let axes: Vec<_> = lengths.iter().map(|&length| (length, space)).collect();
    let mut scales = fit(&axes);
    let empty = lengths.iter().filter(|&&length| length == 0).count();
    stretch(&mut scales, all.saturating_sub(empty * MIN_WIDTH), largest);
    scales
}

/// Returns the width to the left of a panel within a grid, for the name of its row axis and the ticks.
const fn gutter() -> usize {
    BETWEEN + LINE + GUARD + TICK
}

/// Returns the height above a panel, for the name of its column axis, the indices and the ticks.
const fn headroom() -> usize {
    2 * LINE + TICK
}

/// Lays out a picture.
pub(super) fn compose(axes: &[Axis], rasters: &[Raster], words: &Words) -> Scene {
    let mut scene = Scene::default();
    let classes = Classes::of(rasters);
    write_head(&mut scene, &words.head);
    let plan = PanelLayout::new(axes, scene.height);
    for (raster, (row, column)) in rasters.iter().zip(pairs(axes.len())) {
        plan.draw_panel(&mut scene, raster, (row, column), classes.as_ref());
    }
    scene.reserve(plan.right(), plan.bottom());
    if let (Some(cell), Some(classes)) = (&words.cell, &classes) {
        write_legend(&mut scene, cell, classes);
    }
    scene.width += MARGIN;
    scene.height += MARGIN;
    scene
}

/// Writes the lines above the panels.
fn write_head(scene: &mut Scene, head: &[String]) {
    for (number, line) in head.iter().enumerate() {
        let y = MARGIN + number * (LINE + 2);
        scene.write(MARGIN, y, Anchor::Start, &elide(line, WIDEST_LINE));
        scene.texts[number].bold = number == 0 && head.len() > 1;
    }
    scene.height += MARGIN / 2;
}

/// Draws the shades below the panels, each with its counts.
fn write_legend(scene: &mut Scene, cell: &str, classes: &Classes) {
    let y = scene.height + MARGIN;
    scene.write(MARGIN, y, Anchor::Start, &elide(cell, WIDEST_LINE));
    let widest = classes.starts.iter().chain([&classes.max]).map(|&count| short(count).len()).max().unwrap_or(0);
    let width = ((widest + 2) * CHARACTER).max(MIN_WIDTH);
    let (left, top) = (MARGIN + 1, y + LINE + 4);
    for class in 0..classes.starts.len() {
        let shade = Colour::Shade(classes.shade_of_class(class));
        scene.fill(left + class * width, top, width, SWATCH, shade);
    }
    scene.frame(left, top, classes.starts.len() * width, SWATCH);
    for (at, anchor, count) in legend_counts(classes, width) {
        scene.write(left + at, top + SWATCH + 4, anchor, &short(count));
    }
}

/// Returns the positions of the counts below the swatches of a legend. If each class has a single count, the count is
/// in the middle of its swatch. Otherwise the smallest count of a class is at the start of its swatch, and the largest
/// count is at the end.
fn legend_counts(classes: &Classes, width: usize) -> Vec<(usize, Anchor, u64)> {
    let starts = classes.starts.iter().enumerate();
    if classes.are_single() {
        return starts.map(|(class, &count)| (class * width + width / 2, Anchor::Middle, count)).collect();
    }
    let anchor = |class: usize| if class == 0 { Anchor::Start } else { Anchor::Middle };
    let mut counts: Vec<_> = starts.map(|(class, &start)| (class * width, anchor(class), start)).collect();
    if classes.starts.last() != Some(&classes.max) {
        counts.push((classes.starts.len() * width, Anchor::End, classes.max));
    }
    counts
}

/// Returns a text of at most `max_len` characters, without the middle of a longer text.
pub(super) fn elide(text: &str, max_len: usize) -> String {
    let count = text.chars().count();
    if count <= max_len {
        return text.into();
    }
    let kept = max_len.saturating_sub(3);
    let head: String = text.chars().take(kept - kept / 2).collect();
    let tail: String = text.chars().skip(count - kept / 2).collect();
    format!("{head}...{tail}")
}

/// The positions of the panels: each row and each column of the grid belongs to an axis.
struct PanelLayout<'a> {
    axes: &'a [Axis],
    /// The left edges of the panels, by their column axis, and the right edge of the last one.
    lefts: Vec<usize>,
    /// The upper edges of the panels, by their row axis, and the lower edge of the last one.
    tops: Vec<usize>,
    row_ticks: Vec<Vec<Tick>>,
    column_ticks: Vec<Vec<Tick>>,
}

impl<'a> PanelLayout<'a> {
    fn new(axes: &'a [Axis], top: usize) -> Self {
        let column_needs = |label: &str| (label.len() + 1) * CHARACTER;
        let ticks_of = |axis: &Axis, needs: &dyn Fn(&str) -> usize| match axis.number {
            Some(_) => ticks(&axis.scale, WIDEST_INDEX, needs),
            None => Vec::new(),
        };
        let row_ticks: Vec<_> = axes.iter().map(|axis| ticks_of(axis, &|_| LINE + 4)).collect();
        let column_ticks = axes.iter().map(|axis| ticks_of(axis, &column_needs)).collect();
        let label = widest(&row_ticks[0]);
        let name = if axes[0].number.is_some() { LINE + GUARD + TICK } else { 0 };
        let first = MARGIN + 1 + label + name;
        let lefts = edges(axes.iter().skip(1), first, gutter());
        let tops = edges(axes[..axes.len() - 1].iter(), top + headroom() + 1, headroom() + BETWEEN);
        PanelLayout { axes, lefts, tops, row_ticks, column_ticks }
    }

    /// Returns the right edge of the last panel, with its frame.
    fn right(&self) -> usize {
        self.lefts.last().copied().unwrap_or(0) + 1
    }

    /// Returns the lower edge of the last panel, with its frame.
    fn bottom(&self) -> usize {
        self.tops.last().copied().unwrap_or(0) + 1
    }

    /// Draws a panel of the grid, with its frame, its ticks and the names of its axes.
    fn draw_panel(&self, scene: &mut Scene, raster: &Raster, at: (usize, usize), classes: Option<&Classes>) {
        let (rows, columns) = (&self.axes[at.0], &self.axes[at.1]);
        let (x, y) = (self.lefts[at.1 - 1], self.tops[at.0]);
        let shades = raster.counts.iter().map(|&count| classes.and_then(|classes| classes.shade(count))).collect();
        let cell = (rows.scale.unit, columns.scale.unit);
        let mosaic = Mosaic { x, y, rows: raster.rows, columns: raster.columns, cell, shades };
        // The frame leaves a white line after the last cell of a row, and also before the first cell.
        let (above, left) = mosaic.gaps();
        scene.mosaics.push(mosaic);
        scene.frame(x - left, y - above, span(columns) + left, span(rows) + above);
        self.mark_columns(scene, at.1, (x, y - above));
        self.mark_rows(scene, at, (x - left, y));
    }

    /// Draws the ticks above a panel, whose upper left corner is at a point, with their indices and the name of the
    /// axis.
    fn mark_columns(&self, scene: &mut Scene, column: usize, (x, y): (usize, usize)) {
        for tick in &self.column_ticks[column] {
            scene.fill(x + tick.at, y - TICK + 2, 1, TICK - 3, Colour::Ink);
            scene.write(x + tick.at, y - TICK - LINE, Anchor::Middle, &tick.label);
        }
        if let Some(name) = self.axes[column].name() {
            scene.write(x + span(&self.axes[column]) / 2, y - headroom(), Anchor::Middle, &name);
        }
    }

    /// Draws the ticks to the left of a panel, and the name of the axis. Only the first panel of a row has indices.
    fn mark_rows(&self, scene: &mut Scene, (row, column): (usize, usize), (x, y): (usize, usize)) {
        let ticks = &self.row_ticks[row];
        for tick in ticks {
            scene.fill(x - TICK + 2, y + tick.at, TICK - 3, 1, Colour::Ink);
        }
        let labelled = if column == row + 1 { &ticks[..] } else { &[] };
        for tick in labelled {
            scene.write(x - TICK, (y + tick.at).saturating_sub(LINE / 2), Anchor::End, &tick.label);
        }
        if let Some(text) = self.axes[row].name() {
            let x = (x - TICK).saturating_sub(widest(labelled) + GUARD + LINE);
            let y = y + span(&self.axes[row]) / 2;
            scene.texts.push(Text { x, y, anchor: Anchor::Middle, bold: false, turned: true, text });
        }
    }
}

/// Returns the width of the widest index.
fn widest(ticks: &[Tick]) -> usize {
    ticks.iter().map(|tick| tick.label.len() * CHARACTER).max().unwrap_or(0)
}

/// Returns the pixels of an axis; an axis without positions has an empty panel.
fn span(axis: &Axis) -> usize {
    match axis.scale.extent() {
        0 => MIN_WIDTH,
        extent => extent,
    }
}

/// Returns the starts of panels with the extents of `axes`, and the end of the last panel.
fn edges<'a>(axes: impl Iterator<Item = &'a Axis>, first: usize, between: usize) -> Vec<usize> {
    let mut edges = vec![];
    let mut next = first;
    for axis in axes {
        edges.push(next);
        next += span(axis) + between;
    }
    edges.push(next - between);
    edges
}
