//! A picture as text: dots of braille in a frame, two across and four down per character.

use super::axis::{Axis, Scale, Space, fit};
use super::raster::{Raster, pairs};
use super::ticks::{Tick, ticks};

/// The dots of a character, across and down.
const ACROSS: usize = 2;
const DOWN: usize = 4;
/// The maximum number of dots of a position along an axis.
const LARGEST: usize = 8;
/// The minimum number of characters of a readable panel.
const MIN_WIDTH: usize = 20;
/// The blanks between panels.
const BETWEEN: usize = 2;

/// Returns the maximum number of axes whose panels fit side by side.
pub(super) fn max_axes(columns: usize) -> usize {
    (columns + BETWEEN) / (MIN_WIDTH + BETWEEN) + 1
}

/// The width of the panels, and the maximum width of an index, in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Canvas {
    width: usize,
    widest: usize,
}

impl Canvas {
    /// Returns the canvas of a picture with the given lengths, with a panel per pair of axes.
    pub(super) fn new(columns: usize, lengths: &[usize]) -> Self {
        let panels = lengths.len().saturating_sub(1).max(1);
        let width = (columns + BETWEEN) / panels - BETWEEN;
        let longest = lengths.iter().max().map_or(0, |length| length.saturating_sub(1));
        Canvas { width, widest: longest.to_string().len().min(width / 3) }
    }

    /// Returns the scales of axes with the given lengths. The dots of a cell are a power of two, so that cells end at
    /// characters, or at even parts of characters. Cells of three dots would reach into the next character.
    pub(super) fn scales(&self, lengths: &[usize]) -> Vec<Scale> {
        let last = lengths.len() - 1;
        let space = |(at, &length): (usize, &usize)| (length, self.space(at < last, at > 0));
        let scales = fit(&lengths.iter().enumerate().map(space).collect::<Vec<_>>());
        scales.into_iter().map(|scale| Scale { unit: 1 << scale.unit.ilog2(), ..scale }).collect()
    }

    /// Returns the space of an axis. A column axis has the width that the frame and the indices leave. A row axis has 3
    /// lines per 8 characters of width.
    fn space(&self, is_row: bool, is_column: bool) -> Space {
        let across = self.width.saturating_sub(self.widest + 3).max(1) * ACROSS;
        let down = (self.width * 3 / 8).max(1) * DOWN;
        let units = match (is_row, is_column) {
            (true, true) => across.min(down),
            (true, false) => down,
            _ => across,
        };
        Space { units, cells: units, unit: LARGEST }
    }

    /// Draws the panels as lines of text, each pair of axes at its position.
    pub(super) fn draw(&self, axes: &[Axis], rasters: &[Raster]) -> String {
        let panels = rasters.iter().zip(pairs(axes.len()));
        let blocks: Vec<Vec<String>> = panels.map(|(raster, (r, c))| self.panel(raster, &axes[r], &axes[c])).collect();
        let mut blocks = blocks.into_iter();
        let mut text = String::new();
        for row in 0..axes.len() - 1 {
            let row_of_blocks: Vec<_> = blocks.by_ref().take(axes.len() - 1 - row).collect();
            let height = row_of_blocks.iter().map(Vec::len).max().unwrap_or(0);
            for line in 0..height {
                let mut written = " ".repeat(row * (self.width + BETWEEN));
                for block in &row_of_blocks {
                    let line = block.get(line).map_or("", String::as_str);
                    written += line;
                    written += &" ".repeat((self.width + BETWEEN).saturating_sub(line.chars().count()));
                }
                text += written.trim_end_matches(' ');
                text.push('\n');
            }
        }
        text
    }

    /// Draws a panel: the names of its axes, the indices of its columns, and the frame with the dots.
    fn panel(&self, raster: &Raster, rows: &Axis, columns: &Axis) -> Vec<String> {
        let row_ticks = self.ticks(rows, |_| DOWN);
        let column_ticks = self.ticks(columns, |label| (label.len() + 1) * ACROSS);
        let dots = Dots::of(raster, rows.scale.unit, columns.scale.unit);
        let gutter = row_ticks.iter().map(|tick| tick.label.len() + 1).max().unwrap_or(0);
        let names = [rows.name().map(|name| name + " ↓"), columns.name().map(|name| name + " →")];
        let names = names.into_iter().flatten().collect::<Vec<_>>().join("  ");
        let indices = self.indices(&column_ticks, gutter + 1);
        let above = [names, indices].into_iter().filter(|line| !line.is_empty());
        above.chain(framed(&dots, &row_ticks, &column_ticks, gutter)).collect()
    }

    fn ticks(&self, axis: &Axis, needs: impl Fn(&str) -> usize) -> Vec<Tick> {
        match axis.number {
            Some(_) => ticks(&axis.scale, self.widest, needs),
            None => Vec::new(),
        }
    }

    /// Returns the line of column indices, each centered above its tick, or as close to the center as the panel allows.
    /// The last index is written first, so that it has priority over the index before it.
    fn indices(&self, ticks: &[Tick], start: usize) -> String {
        let mut line = vec![' '; self.width.max(start + 1)];
        for Tick { at, label } in ticks.iter().rev() {
            let middle = start + at / ACROSS;
            let first =
                (middle + 1).saturating_sub(label.len().div_ceil(2)).min(line.len().saturating_sub(label.len()));
            let free =
                (first.saturating_sub(1)..first + label.len() + 1).all(|i| line.get(i).is_none_or(|c| *c == ' '));
            if free {
                line[first..first + label.len()].iter_mut().zip(label.chars()).for_each(|(slot, c)| *slot = c);
            }
        }
        line.into_iter().collect::<String>().trim_end().into()
    }
}

/// Returns the dots in a frame with ticks, after a gutter with the row indices.
fn framed(dots: &Dots, rows: &[Tick], columns: &[Tick], gutter: usize) -> Vec<String> {
    let mut border = vec!['─'; dots.wide];
    for tick in columns {
        border[(tick.at / ACROSS).min(dots.wide - 1)] = '┴';
    }
    let blank = " ".repeat(gutter);
    let mut lines = vec![format!("{blank}┌{}┐", border.iter().collect::<String>())];
    for line in 0..dots.tall {
        let start = match rows.iter().find(|tick| tick.at / DOWN == line) {
            Some(tick) => format!("{:>1$} ┤", tick.label, gutter - 1),
            None => format!("{blank}│"),
        };
        lines.push(format!("{start}{}│", dots.line(line)));
    }
    lines.push(format!("{blank}└{}┘", "─".repeat(dots.wide)));
    lines
}

/// The dots of a panel, as one byte per character.
struct Dots {
    tall: usize,
    wide: usize,
    bits: Vec<u8>,
}

impl Dots {
    /// Returns a block of `tall` by `wide` dots for each nonempty cell.
    fn of(raster: &Raster, tall: usize, wide: usize) -> Self {
        let lines = (raster.rows * tall).div_ceil(DOWN).max(1);
        let across = (raster.columns * wide).div_ceil(ACROSS).max(1);
        let mut dots = Dots { tall: lines, wide: across, bits: vec![0; lines * across] };
        for (cell, _) in raster.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (row, column) = (cell / raster.columns, cell % raster.columns);
            for y in row * tall..(row + 1) * tall {
                for x in column * wide..(column + 1) * wide {
                    dots.set(x, y);
                }
            }
        }
        dots
    }

    fn set(&mut self, x: usize, y: usize) {
        const BITS: [[u8; ACROSS]; DOWN] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        self.bits[y / DOWN * self.wide + x / ACROSS] |= BITS[y % DOWN][x % ACROSS];
    }

    fn line(&self, line: usize) -> String {
        let bits = &self.bits[line * self.wide..(line + 1) * self.wide];
        bits.iter().map(|&bits| char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')).collect()
    }
}
