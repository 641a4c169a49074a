//! The layout of a picture in pixels: what stands where. Both kinds of image file are drawn from it, so they agree.

use super::axis::{Axis, Room, Scale, fit, stretch};
use super::raster::{Raster, pairs};
use super::shades::Classes;
use super::ticks::{Tick, short, ticks};

/// The width of a character.
pub(super) const CHARACTER: usize = 9;
/// The height of a line of text.
pub(super) const LINE: usize = 20;
/// Where the baseline of a line of text is, from its top.
pub(super) const BASELINE: usize = 15;

/// The white around everything.
const MARGIN: usize = 16;
/// The length of a tick, and the white behind it.
const TICK: usize = 8;
/// The white between the name of an axis and its indices.
const GUARD: usize = 4;
/// The least extent of a panel.
const LEAST: usize = 48;
/// The white between the panels of a grid.
const BETWEEN: usize = 14;
/// What all panels and the white between them may take, across.
const ACROSS: usize = 648;
/// The most cells of a panel along an axis.
const MOST_CELLS: usize = 216;
/// The smallest cell, so that one by itself is seen, and the largest.
const SMALLEST_CELL: usize = 2;
const LARGEST_CELL: usize = 64;
/// A cell of so many pixels has a white line at its end, so that neighbours are told apart.
const GAP_FROM: usize = 8;
/// The most characters of the last index of an axis, for which there is room where a panel of a grid is missing.
const WIDEST_INDEX: usize = 7;
/// The most characters of a line across the whole picture.
pub(super) const WIDEST_LINE: usize = 84;
/// The height of a swatch of the legend.
const SWATCH: usize = 16;

/// A colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// Text and frames.
    Ink,
    /// One of the shades.
    Shade(usize),
}

/// A filled rectangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rect {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) colour: Colour,
}

/// Where a text stands from its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text. Its point is on its upper edge; of one that is turned to read upward, on its left edge, halfway.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) anchor: Anchor,
    pub(super) bold: bool,
    pub(super) turned: bool,
    pub(super) text: String,
}

/// The cells of a panel, and the pixels of a cell.
#[derive(Debug, Clone)]
pub(super) struct Mosaic {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) cell: (usize, usize),
    /// The shade of each cell, row by row; none where nothing stands.
    pub(super) shades: Vec<Option<usize>>,
}

impl Mosaic {
    /// The white lines between cells: `(height of those between rows, width of those between columns)`.
    pub(super) fn gaps(&self) -> (usize, usize) {
        let gap = |unit: usize| usize::from(unit >= GAP_FROM);
        (gap(self.cell.0), gap(self.cell.1))
    }

    /// The runs of cells of one shade in a row, as `(first column, cells, shade)`.
    pub(super) fn runs(&self, row: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let shades = &self.shades[row * self.columns..(row + 1) * self.columns];
        let mut start = 0;
        let run = move |run: &[Option<usize>]| {
            let at = start;
            start += run.len();
            run[0].map(|shade| (at, run.len(), shade))
        };
        shades.chunk_by(|a, b| a == b).map(run).collect::<Vec<_>>().into_iter().flatten()
    }
}

/// All that stands in a picture.
#[derive(Debug, Default)]
pub(super) struct Scene {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) texts: Vec<Text>,
    pub(super) rects: Vec<Rect>,
    pub(super) mosaics: Vec<Mosaic>,
}

/// What is written around the panels.
pub(super) struct Words {
    /// The lines above: the first one in bold if there are several.
    pub(super) head: Vec<String>,
    /// What a cell is, for the legend; none if no legend is needed.
    pub(super) cell: Option<String>,
}

/// The scales of axes of the lengths named, of which each two have a panel.
pub(super) fn scales(lengths: &[usize]) -> Vec<Scale> {
    let panels = lengths.len().saturating_sub(1).max(1);
    let all = ACROSS - (panels - 1) * gutter();
    let cells = MOST_CELLS.min(all / panels / SMALLEST_CELL);
    let room = Room { units: all / panels, cells, unit: LARGEST_CELL };
    let axes: Vec<_> = lengths.iter().map(|&length| (length, room)).collect();
    let mut scales = fit(&axes);
    let empty = lengths.iter().filter(|&&length| length == 0).count();
    stretch(&mut scales, all.saturating_sub(empty * LEAST), LARGEST_CELL);
    scales
}

/// The width of what stands to the left of a panel within a grid: the name of its row axis and ticks.
const fn gutter() -> usize {
    BETWEEN + LINE + GUARD + TICK
}

/// The height of what stands above a panel: the name of its column axis, indices, ticks.
const fn headroom() -> usize {
    2 * LINE + TICK
}

/// Text of at most `most` characters, the middle left out where it is longer.
pub(super) fn elide(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.into();
    }
    let kept = most.saturating_sub(3);
    let head: String = text.chars().take(kept - kept / 2).collect();
    let tail: String = text.chars().skip(count - kept / 2).collect();
    format!("{head}...{tail}")
}

/// Lays a picture out.
pub(super) fn compose(axes: &[Axis], rasters: &[Raster], words: &Words) -> Scene {
    let mut scene = Scene::default();
    let classes = Classes::of(rasters);
    scene.write_head(&words.head);
    let plan = Plan::new(axes, scene.height);
    for (raster, (row, column)) in rasters.iter().zip(pairs(axes.len())) {
        plan.draw_panel(&mut scene, raster, (row, column), classes.as_ref());
    }
    scene.reserve(plan.right(), plan.bottom());
    if let (Some(cell), Some(classes)) = (&words.cell, &classes) {
        scene.write_legend(cell, classes);
    }
    scene.width += MARGIN;
    scene.height += MARGIN;
    scene
}

impl Scene {
    /// Makes the picture so large that `x` and `y` are in it.
    fn reserve(&mut self, x: usize, y: usize) {
        self.width = self.width.max(x);
        self.height = self.height.max(y);
    }

    fn write(&mut self, x: usize, y: usize, anchor: Anchor, text: &str) {
        let width = text.chars().count() * CHARACTER;
        let end = match anchor {
            Anchor::Start => x + width,
            Anchor::Middle => x + width / 2,
            Anchor::End => x,
        };
        self.reserve(end, y + LINE);
        self.texts.push(Text { x, y, anchor, bold: false, turned: false, text: text.into() });
    }

    fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: Colour) {
        self.rects.push(Rect { x, y, width, height, colour });
    }

    /// The outline of a box, one pixel wide, around what is inside.
    fn frame(&mut self, x: usize, y: usize, width: usize, height: usize) {
        self.fill(x - 1, y - 1, width + 2, 1, Colour::Ink);
        self.fill(x - 1, y + height, width + 2, 1, Colour::Ink);
        self.fill(x - 1, y, 1, height, Colour::Ink);
        self.fill(x + width, y, 1, height, Colour::Ink);
    }

    fn write_head(&mut self, head: &[String]) {
        for (number, line) in head.iter().enumerate() {
            let y = MARGIN + number * (LINE + 2);
            self.write(MARGIN, y, Anchor::Start, &elide(line, WIDEST_LINE));
            self.texts[number].bold = number == 0 && head.len() > 1;
        }
        self.height += MARGIN / 2;
    }

    /// The shades, each with the counts that it stands for.
    fn write_legend(&mut self, cell: &str, classes: &Classes) {
        let y = self.height + MARGIN;
        self.write(MARGIN, y, Anchor::Start, &elide(cell, WIDEST_LINE));
        let last = (classes.starts.last() != Some(&classes.greatest)).then_some(&classes.greatest);
        let numbers: Vec<String> = classes.starts.iter().chain(last).map(|&start| short(start)).collect();
        let width = numbers.iter().map(|number| (number.len() + 2) * CHARACTER).max().unwrap_or(0).max(LEAST);
        let (left, top) = (MARGIN + 1, y + LINE + 4);
        let count = classes.starts.len();
        for class in 0..count {
            let x = left + class * width;
            self.fill(x, top, width, SWATCH, Colour::Shade(classes.shade_of_class(class)));
            match classes.are_single() {
                true => self.write(x + width / 2, top + SWATCH + 4, Anchor::Middle, &numbers[class]),
                false if class == 0 => self.write(x, top + SWATCH + 4, Anchor::Start, &numbers[class]),
                false => self.write(x, top + SWATCH + 4, Anchor::Middle, &numbers[class]),
            }
        }
        if let Some(greatest) = numbers.get(count).filter(|_| !classes.are_single()) {
            self.write(left + count * width, top + SWATCH + 4, Anchor::End, greatest);
        }
        self.frame(left, top, count * width, SWATCH);
    }
}

/// Where the panels stand: each row and each column of the grid belongs to an axis.
struct Plan<'a> {
    axes: &'a [Axis],
    /// The left edges of the panels, by their column axis, and the right edge of the last one.
    lefts: Vec<usize>,
    /// The upper edges of the panels, by their row axis, and the lower edge of the last one.
    tops: Vec<usize>,
    row_ticks: Vec<Vec<Tick>>,
    column_ticks: Vec<Vec<Tick>>,
}

impl<'a> Plan<'a> {
    fn new(axes: &'a [Axis], top: usize) -> Self {
        let column_needs = |label: &str| (label.len() + 1) * CHARACTER;
        let ticks_of = |axis: &Axis, needs: &dyn Fn(&str) -> usize| match axis.number {
            Some(_) => ticks(&axis.scale, WIDEST_INDEX, needs),
            None => Vec::new(),
        };
        let row_ticks: Vec<_> = axes.iter().map(|axis| ticks_of(axis, &|_| LINE + 4)).collect();
        let column_ticks = axes.iter().map(|axis| ticks_of(axis, &column_needs)).collect();
        let label = row_ticks[0].iter().map(|tick| tick.label.len() * CHARACTER).max().unwrap_or(0);
        let name = if axes[0].number.is_some() { LINE + GUARD + TICK } else { 0 };
        let first = MARGIN + 1 + label + name;
        let lefts = edges(axes.iter().skip(1), first, gutter());
        let tops = edges(axes[..axes.len() - 1].iter(), top + headroom() + 1, headroom() + BETWEEN);
        Plan { axes, lefts, tops, row_ticks, column_ticks }
    }

    /// The right edge of the last panel, with room for half of the last index.
    fn right(&self) -> usize {
        self.lefts.last().copied().unwrap_or(0) + 1
    }

    fn bottom(&self) -> usize {
        self.tops.last().copied().unwrap_or(0) + 1
    }

    /// A panel of the grid, with its frame, its ticks and the names of its axes; indices stand beside the first panel
    /// of a row, and above each panel.
    fn draw_panel(&self, scene: &mut Scene, raster: &Raster, at: (usize, usize), classes: Option<&Classes>) {
        let (rows, columns) = (&self.axes[at.0], &self.axes[at.1]);
        let (x, y) = (self.lefts[at.1 - 1], self.tops[at.0]);
        let (width, height) = (span(columns), span(rows));
        let shades = raster.counts.iter().map(|&count| classes.and_then(|classes| classes.shade(count))).collect();
        let cell = (rows.scale.unit, columns.scale.unit);
        let mosaic = Mosaic { x, y, rows: raster.rows, columns: raster.columns, cell, shades };
        // The last cell of a row has its white line at the right; the first has one at the left too.
        let (above, left) = mosaic.gaps();
        scene.mosaics.push(mosaic);
        scene.frame(x - left, y - above, width + left, height + above);
        for tick in &self.row_ticks[at.0] {
            scene.fill(x - left - TICK + 2, y + tick.at, TICK - 3, 1, Colour::Ink);
        }
        for tick in &self.column_ticks[at.1] {
            scene.fill(x + tick.at, y - above - TICK + 2, 1, TICK - 3, Colour::Ink);
            scene.write(x + tick.at, y - TICK - LINE, Anchor::Middle, &tick.label);
        }
        if let Some(name) = columns.name() {
            scene.write(x + width / 2, y - headroom(), Anchor::Middle, &name);
        }
        let mut labels = 0;
        if at.1 == at.0 + 1 {
            for tick in &self.row_ticks[at.0] {
                labels = labels.max(tick.label.len() * CHARACTER);
                scene.write(x - TICK, (y + tick.at).saturating_sub(LINE / 2), Anchor::End, &tick.label);
            }
        }
        if let Some(text) = rows.name() {
            let x = (x - TICK).saturating_sub(labels + LINE + GUARD);
            let y = y + height / 2;
            scene.texts.push(Text { x, y, anchor: Anchor::Middle, bold: false, turned: true, text });
        }
    }
}

/// The pixels that an axis takes: an axis without positions has an empty panel.
fn span(axis: &Axis) -> usize {
    match axis.scale.extent() {
        0 => LEAST,
        extent => extent,
    }
}

/// Where panels begin whose extents are those of `axes`, and where the last one ends.
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
