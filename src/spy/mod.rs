//! Pictures of the pattern of a sparse tensor: as text, SVG and PNG.
//!
//! A matrix is drawn with its rows from top to bottom, and a tensor of rank 1 is drawn as a strip. A tensor of higher
//! rank has one panel per pair of axes. The panel of axes 0 and 2 counts the entries with each pair of coordinates on
//! these axes, for any other coordinates. If there is not enough space for all axes, only the longest axes are shown,
//! and the picture names these axes. An image shows at most five axes.
//!
//! Each cell of a panel covers the same number of positions, except that the last cells of an axis may cover fewer
//! positions. An image has shades for the number of entries per cell. If a cell covers several positions, or if the
//! rank is above 2, the image also has a legend. Text has dots in each cell with an entry. If more than half of the
//! cells have an entry, only about half of the cells have dots: the cells with the highest density. Cells with equal
//! density either all have dots or are all blank.
//!
//! Pictures show stored entries, including stored zeros. A picture does not need the dense form. One pass over the
//! pattern takes O(nnz · panels), where *nnz* is the number of stored entries, for axes of any length.
//!
//! # Examples
//!
//! ```
//! use lacuna::CooTensor;
//! use lacuna::spy::Spy;
//!
//! let x = CooTensor::new([4, 4], vec![vec![0, 1, 2, 3], vec![0, 1, 2, 0]], vec![1.0; 4], 0.0)?;
//! let picture = Spy::new(x.pattern()).titled("steps");
//! let text = picture.braille(40);
//! assert!(text.ends_with("steps: [4, 4], 4 stored of 16 (25.0 %)\n"));
//! assert!(text.contains("0 ┤⣿⣿⣿⣿"));
//! assert!(picture.svg().starts_with("<svg"));
//! assert!(picture.png()?.starts_with(b"\x89PNG"));
//! # Ok::<(), lacuna::Error>(())
//! ```

mod axis;
mod bitmap;
mod braille;
mod layout;
mod raster;
mod scene;
mod shades;
mod svg;
mod ticks;

use axis::{Axis, Scale};
use layout::{PictureWidth, Words, elide};
use scene::Scene;

use crate::base::error::Result;
use crate::pattern::{AnyPattern, Pattern};
use crate::tensor::format::extent;

/// The maximum number of axes of an image: the panels of more axes would be unreadable.
const MAX_AXES: usize = 5;

/// The minimum and the maximum width of text, in characters.
const COLUMNS: std::ops::RangeInclusive<usize> = 24..=400;

/// The minimum and the maximum width of an image, in pixels.
const PIXELS: std::ops::RangeInclusive<usize> = 240..=4000;

/// A picture of a pattern, to be drawn as text, SVG or PNG.
///
/// The [module](self) documents what a picture shows.
#[must_use]
#[derive(Debug, Clone)]
pub struct Spy<'a, P> {
    pattern: &'a P,
    title: String,
    pixels: usize,
}

impl<'a, P: Pattern> Spy<'a, P> {
    /// Constructs a picture of a pattern, such as `x.pattern()`.
    pub fn new(pattern: &'a P) -> Self {
        Spy { pattern, title: String::new(), pixels: layout::USUAL }
    }

    /// Sets a title, such as the name of a file.
    ///
    /// Characters that XML does not allow are replaced: control characters, U+FFFE and U+FFFF.
    pub fn titled(self, title: &str) -> Self {
        let is_rejected = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
        let shown = |c: char| if is_rejected(c) { char::REPLACEMENT_CHARACTER } else { c };
        Spy { title: title.chars().map(shown).collect(), ..self }
    }

    /// Sets the approximate width of images in pixels: 240 to 4000, by default 700.
    ///
    /// A wider image has more or larger cells. A value out of the range is replaced by the nearest value in the range.
    pub fn sized(self, pixels: usize) -> Self {
        Spy { pixels: pixels.clamp(*PIXELS.start(), *PIXELS.end()), ..self }
    }

    /// Returns the picture as text, with a caption below.
    ///
    /// A line of a panel has at most `columns` characters. A value of `columns` below 24 counts as 24, and a value
    /// above 400 counts as 400. The lines of the caption may be longer.
    ///
    /// A character has two dots across and four dots down. If there is space, a position covers 1, 2, 4 or 8 dots in
    /// each direction. Otherwise a dot covers several positions, and the caption states the number of positions. If
    /// more than half of the cells have an entry, only about half of the cells are drawn: the cells with the highest
    /// density. Cells with equal density are either all drawn or all blank. If cells are left blank, the caption states
    /// the lowest density of a cell that is drawn.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrPattern;
    /// use lacuna::spy::Spy;
    ///
    /// let pattern = CsrPattern::new([2, 3], vec![0, 1, 3], vec![1u32, 0, 2])?;
    /// let text = "\
    /// axis 0 ↓  axis 1 →
    ///      0   1   2
    ///   ┌──┴───┴───┴─┐
    ///   │⠀⠀⠀⠀⣿⣿⣿⣿⠀⠀⠀⠀│
    /// 0 ┤⠀⠀⠀⠀⣿⣿⣿⣿⠀⠀⠀⠀│
    ///   │⣿⣿⣿⣿⠀⠀⠀⠀⣿⣿⣿⣿│
    /// 1 ┤⣿⣿⣿⣿⠀⠀⠀⠀⣿⣿⣿⣿│
    ///   └────────────┘
    /// [2, 3], 3 stored of 6 (50.0 %)
    /// ";
    /// assert_eq!(Spy::new(&pattern).braille(40), text);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn braille(&self, columns: usize) -> String {
        self.picture().braille(columns)
    }

    /// Returns the picture as SVG, with exact counts in the legend.
    ///
    /// The picture is about 700 pixels wide, unless [`sized`](Spy::sized) sets another width.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooPattern;
    /// use lacuna::spy::Spy;
    ///
    /// let svg = Spy::new(&CooPattern::<u64>::empty([1 << 40, 3])?).titled("a < b").svg();
    /// assert!(svg.contains("a &lt; b") && svg.contains("axis 1"));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn svg(&self) -> String {
        svg::draw(&self.picture().scene())
    }

    /// Returns the picture as PNG, with the layout and the shades of [`svg`](Spy::svg).
    ///
    /// # Errors
    ///
    /// `Io`: the encoder failed. This is not known to happen.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooPattern;
    /// use lacuna::spy::Spy;
    ///
    /// let diagonal = CooPattern::new([3, 3], 3, vec![vec![0u32, 1, 2], vec![0, 1, 2]])?;
    /// assert!(Spy::new(&diagonal).png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn png(&self) -> Result<Vec<u8>> {
        bitmap::draw(&self.picture().scene())
    }

    fn picture(&self) -> PatternPicture<'_> {
        PatternPicture { pattern: self.pattern.any(), title: &self.title, pixels: self.pixels }
    }
}

/// A picture of a pattern without the types of its format and its coordinates.
struct PatternPicture<'a> {
    pattern: &'a AnyPattern,
    title: &'a str,
    pixels: usize,
}

impl PatternPicture<'_> {
    fn braille(&self, columns: usize) -> String {
        let columns = columns.clamp(*COLUMNS.start(), *COLUMNS.end());
        let numbers = self.shown_axes(braille::max_axes(columns));
        let canvas = braille::Canvas::new(columns, &self.lengths(&numbers));
        let axes = join(&numbers, canvas.scales(&self.lengths(&numbers)));
        let mut rasters = raster::count(self.pattern, &axes);
        let size = self.pattern.shape().iter().map(|&length| length as f64).product();
        let min = raster::thin(&mut rasters, &axes, size);
        let mut text = canvas.draw(&axes, &rasters);
        let dot = several(&axes).map(|cell| format!("a dot is {cell}"));
        let drawn = min.map(|share| format!("dots are drawn where {} or more are stored", percent(share)));
        let name = if self.title.is_empty() { String::new() } else { format!("{}: ", self.title) };
        for line in [name + &self.counts()].into_iter().chain(dot).chain(drawn).chain(self.left_out(&numbers)) {
            text += &line;
            text.push('\n');
        }
        text
    }

    /// Returns the layout that both image formats share.
    fn scene(&self) -> Scene {
        let (width, numbers) = (PictureWidth::of(self.pixels), self.shown_axes(MAX_AXES));
        let axes = join(&numbers, layout::scales(width, &self.lengths(&numbers)));
        let rasters = raster::count(self.pattern, &axes);
        let title = Some(elide(self.title, width.characters())).filter(|title| !title.is_empty());
        let counts = match self.counts() {
            long if long.len() > width.characters() => vec![self.pattern.shape().to_string(), self.stored()],
            short => vec![short],
        };
        let head = title.into_iter().chain(counts).chain(self.left_out(&numbers)).collect();
        let after = (self.pattern.shape().rank() > 2).then(|| "a cell".to_string());
        let cell = several(&axes).map(|cell| format!("a cell of {cell}")).or(after);
        let cell = cell.map(|cell| format!("entries in {cell}"));
        layout::compose(&axes, &rasters, &Words { head, cell })
    }

    /// Returns the indices of the axes shown: all, or the `max_axes` longest. If the rank is below 2, missing axes are
    /// `None`.
    fn shown_axes(&self, max_axes: usize) -> Vec<Option<usize>> {
        let shape = self.pattern.shape();
        let mut longest: Vec<usize> = (0..shape.rank()).collect();
        longest.sort_by_key(|&axis| std::cmp::Reverse(shape[axis]));
        longest.truncate(max_axes);
        longest.sort_unstable();
        let missing = 2usize.saturating_sub(shape.rank());
        std::iter::repeat_n(None, missing).chain(longest.into_iter().map(Some)).collect()
    }

    /// Returns the lengths of the axes shown.
    fn lengths(&self, numbers: &[Option<usize>]) -> Vec<usize> {
        numbers.iter().map(|number| number.map_or(1, |number| self.pattern.shape()[number])).collect()
    }

    /// Returns a text with the shape and the number of stored entries.
    fn counts(&self) -> String {
        format!("{}, {}", self.pattern.shape(), self.stored())
    }

    fn stored(&self) -> String {
        let (shape, nnz) = (self.pattern.shape(), self.pattern.nnz());
        format!("{nnz} stored of {}", extent(nnz, shape.wide_size()))
    }

    /// Returns a text about the axes shown, if some axes are not shown.
    fn left_out(&self, numbers: &[Option<usize>]) -> Option<String> {
        let rank = self.pattern.shape().rank();
        let numbers: Vec<String> = numbers.iter().flatten().map(usize::to_string).collect();
        (numbers.len() < rank).then(|| format!("shown are axes {} of {rank}: the longest", numbers.join(", ")))
    }
}

/// Returns the axes with the given indices and scales.
fn join(numbers: &[Option<usize>], scales: Vec<Scale>) -> Vec<Axis> {
    numbers.iter().zip(scales).map(|(&number, scale)| Axis { number, scale }).collect()
}

/// Formats a fraction in percent.
fn percent(share: f64) -> String {
    if share < 0.001 { format!("{:.1e} %", 100.0 * share) } else { format!("{:.1} %", 100.0 * share) }
}

/// Returns a text about the positions per cell; `None` if there is one position per cell.
fn several(axes: &[Axis]) -> Option<String> {
    let per_cell = |axis: &Axis| axis.number.map(|number| (number, axis.scale.per_cell));
    let cuts: Vec<(usize, usize)> = axes.iter().filter_map(per_cell).collect();
    if cuts.iter().all(|(_, per_cell)| *per_cell == 1) {
        return None;
    }
    Some(match cuts[..] {
        [(_, positions)] => format!("{positions} positions"),
        [(_, rows), (_, columns)] => format!("{rows} × {columns} positions"),
        [(_, each), ..] if cuts.iter().all(|(_, per_cell)| *per_cell == each) => {
            format!("{each} positions along each axis")
        }
        _ => {
            let (numbers, positions): (Vec<_>, Vec<_>) =
                cuts.iter().map(|(n, p)| (n.to_string(), p.to_string())).unzip();
            format!("{} positions along axes {}", positions.join(", "), numbers.join(", "))
        }
    })
}
