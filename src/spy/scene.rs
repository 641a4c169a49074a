//! The contents of a picture, in pixels. Both image formats draw the same scene, so they agree.

/// The width of a character.
pub(super) const CHARACTER: usize = 9;
/// The height of a line of text.
pub(super) const LINE: usize = 20;
/// The position of the baseline of a line of text, from its top.
pub(super) const BASELINE: usize = 15;

/// The size in pixels from which on a cell ends with a white line, so that neighbors are distinct.
const GAP_FROM: usize = 8;

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

/// The position of a text relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text. Its point is on its upper edge. If a text is rotated to read upward, its point is in the middle of
/// its left edge.
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
    /// The shade of each cell, row by row; `None` for an empty cell.
    pub(super) shades: Vec<Option<usize>>,
}

impl Mosaic {
    /// Returns the white lines between cells: `(height between rows, width between columns)`.
    pub(super) fn gaps(&self) -> (usize, usize) {
        let gap = |unit: usize| usize::from(unit >= GAP_FROM);
        (gap(self.cell.0), gap(self.cell.1))
    }

    /// Returns the runs of cells of one shade in a row, as `(first column, cells, shade)`.
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

/// The contents of a picture.
#[derive(Debug, Default)]
pub(super) struct Scene {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) texts: Vec<Text>,
    pub(super) rects: Vec<Rect>,
    pub(super) mosaics: Vec<Mosaic>,
}

impl Scene {
    /// Enlarges the picture to contain `x` and `y`.
    pub(super) fn reserve(&mut self, x: usize, y: usize) {
        self.width = self.width.max(x);
        self.height = self.height.max(y);
    }

    /// Adds a line of text, and enlarges the picture to contain the text.
    pub(super) fn write(&mut self, x: usize, y: usize, anchor: Anchor, text: &str) {
        let width = text.chars().count() * CHARACTER;
        let end = match anchor {
            Anchor::Start => x + width,
            Anchor::Middle => x + width / 2,
            Anchor::End => x,
        };
        self.reserve(end, y + LINE);
        self.texts.push(Text { x, y, anchor, bold: false, turned: false, text: text.into() });
    }

    /// Adds a filled rectangle.
    pub(super) fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: Colour) {
        self.rects.push(Rect { x, y, width, height, colour });
    }

    /// Adds the outline of a box, one pixel wide, around its inside.
    pub(super) fn frame(&mut self, x: usize, y: usize, width: usize, height: usize) {
        self.fill(x - 1, y - 1, width + 2, 1, Colour::Ink);
        self.fill(x - 1, y + height, width + 2, 1, Colour::Ink);
        self.fill(x - 1, y, 1, height, Colour::Ink);
        self.fill(x + width, y, 1, height, Colour::Ink);
    }
}
