//! The first line of a Matrix Market file, and the sizes after it.

use std::io::BufRead;

use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::io::fields::{Fields, LineResult, quote};
use crate::io::limits::MAX_AXES;
use crate::io::lines::{TextLines, at_line};

/// The byte that starts a comment.
pub(super) const COMMENT: u8 = b'%';

/// The layout of a file: entries with coordinates, or all positions column by column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatrixLayout {
    Coordinate,
    Array,
}

/// The kind of value that an entry has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Real,
    Integer,
    Unsigned,
    Complex,
    Pattern,
}

/// The relation between the lower and the upper triangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

/// The facts in the first line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Banner {
    /// The rank that the object implies: 2 for a matrix, 1 for a vector, `None` for a tensor.
    rank: Option<usize>,
    pub(super) layout: MatrixLayout,
    pub(super) field: Field,
    pub(super) symmetry: Symmetry,
}

/// The names of the objects, and their ranks.
const OBJECTS: &[(&str, Option<usize>)] = &[("matrix", Some(2)), ("vector", Some(1)), ("tensor", None)];

/// The names of the layouts.
const LAYOUTS: &[(&str, MatrixLayout)] = &[("coordinate", MatrixLayout::Coordinate), ("array", MatrixLayout::Array)];

/// The names of the fields; `double` and `unsigned` are common, but not official.
const FIELDS: &[(&str, Field)] = &[
    ("real", Field::Real),
    ("double", Field::Real),
    ("integer", Field::Integer),
    ("unsigned-integer", Field::Unsigned),
    ("unsigned", Field::Unsigned),
    ("complex", Field::Complex),
    ("pattern", Field::Pattern),
];

/// The names of the symmetries.
const SYMMETRIES: &[(&str, Symmetry)] = &[
    ("general", Symmetry::General),
    ("symmetric", Symmetry::Symmetric),
    ("skew-symmetric", Symmetry::Skew),
    ("hermitian", Symmetry::Hermitian),
];

impl Banner {
    /// Reads the first line.
    pub(super) fn read<R: BufRead>(lines: &mut TextLines<R>) -> Result<Banner> {
        match lines.next_line()? {
            None => Err(at_line(1, "the file is empty, expected `%%MatrixMarket`")),
            Some(mut fields) => Self::parse(&mut fields).map_err(|why| at_line(1, why)),
        }
    }

    fn parse(fields: &mut Fields<'_>) -> LineResult<Banner> {
        let first = fields.next().unwrap_or(b"");
        if !is_magic(first) {
            return Err(format!("expected `%%MatrixMarket`, found `{}`", quote(first)));
        }
        let banner = Banner {
            rank: choose(fields, "the object", OBJECTS)?,
            layout: choose(fields, "the layout", LAYOUTS)?,
            field: choose(fields, "the field", FIELDS)?,
            symmetry: choose(fields, "the symmetry", SYMMETRIES)?,
        };
        fields.end()?;
        banner.check()?;
        Ok(banner)
    }

    /// Rejects meaningless combinations.
    fn check(&self) -> LineResult<()> {
        let rejection = match (self.layout, self.field, self.symmetry) {
            (MatrixLayout::Array, Field::Pattern, _) => "an array has values, so its field must not be `pattern`",
            (_, Field::Pattern | Field::Unsigned, Symmetry::Skew) => {
                "this field does not have negative values to mirror"
            }
            (_, _, symmetry) if symmetry != Symmetry::General && self.rank != Some(2) => {
                "only a matrix can be symmetric"
            }
            (MatrixLayout::Array, ..) if self.rank.is_none() => "a tensor must have the layout `coordinate`",
            _ => return Ok(()),
        };
        Err(rejection.into())
    }

    /// Reads the line of sizes: the shape and, for coordinates, the number of entries.
    pub(super) fn read_sizes<R: BufRead>(&self, lines: &mut TextLines<R>) -> Result<(Shape, usize)> {
        while let Some(mut fields) = lines.next_line()? {
            if !fields.is_blank_or_comment(COMMENT) {
                let sizes = self.sizes(&mut fields);
                return sizes.map_err(|why| lines.error(why));
            }
        }
        Err(at_line(lines.line() + 1, "the file ends before the line of sizes"))
    }

    fn sizes(&self, fields: &mut Fields<'_>) -> LineResult<(Shape, usize)> {
        let mut sizes = Vec::new();
        match self.rank {
            Some(rank) => {
                for axis in 0..rank {
                    sizes.push(fields.count(["the number of rows", "the number of columns"][axis])?);
                }
                if self.layout == MatrixLayout::Coordinate {
                    sizes.push(fields.count("the number of entries")?);
                }
                fields.end()?;
            }
            None => {
                // Reading stops as soon as there are too many sizes.
                while let (Some(word), true) = (fields.clone().next(), sizes.len() < MAX_AXES + 2) {
                    sizes.push(fields.count(&format!("the size `{}`", quote(word)))?);
                }
            }
        }
        self.split_sizes(sizes)
    }

    /// Returns the shape and the number of entries that the sizes declare.
    fn split_sizes(&self, mut sizes: Vec<usize>) -> LineResult<(Shape, usize)> {
        let count = match self.layout {
            MatrixLayout::Coordinate => sizes.pop().unwrap_or(0),
            MatrixLayout::Array => self.array_count(&sizes).ok_or_else(|| {
                let shape = Shape::from(&sizes[..]);
                format!("an array of shape {shape} has 2^64 entries or more")
            })?,
        };
        if sizes.len() > MAX_AXES {
            return Err(format!("{} axes are more than {MAX_AXES}", sizes.len()));
        }
        if self.symmetry != Symmetry::General && sizes[0] != sizes[1] {
            return Err(format!("a matrix of {} x {} cannot be symmetric", sizes[0], sizes[1]));
        }
        Ok((sizes.into(), count))
    }

    /// Returns the number of entries that an array lists.
    fn array_count(&self, sizes: &[usize]) -> Option<usize> {
        let n = sizes[0] as u128;
        let count = match self.symmetry {
            Symmetry::General => crate::base::shape::saturating_product(sizes),
            Symmetry::Symmetric | Symmetry::Hermitian => n * (n + 1) / 2,
            Symmetry::Skew => n * n.saturating_sub(1) / 2,
        };
        usize::try_from(count).ok()
    }
}

/// Returns whether `word` starts a banner; some files have only one percent sign.
pub(crate) fn is_magic(word: &[u8]) -> bool {
    let name = word.strip_prefix(b"%%").or_else(|| word.strip_prefix(b"%")).unwrap_or(b"");
    name.eq_ignore_ascii_case(b"MatrixMarket")
}

/// Reads the next word as one of `choices`, in upper or lower case.
fn choose<T: Copy>(fields: &mut Fields<'_>, what: &str, choices: &[(&str, T)]) -> LineResult<T> {
    let word = fields.word(what)?;
    let chosen = choices.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
    chosen.map(|&(_, choice)| choice).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        format!("{what} `{}` is not one of {}", quote(word), names.join(", "))
    })
}
