//! The specification of an einsum: a label for each axis of each operand and of the result.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::ops::op;

/// The name of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Label {
    /// An axis that `...` represents, counted from the last one.
    Dots(usize),
    Letter(char),
}

/// One list of axes, as written.
#[derive(Debug, Clone, Default, PartialEq)]
struct LabelList {
    letters: Vec<char>,
    /// The number of letters before the dots, and the byte offset of the dots in the string.
    dots: Option<(usize, usize)>,
    /// The byte offset of each letter in the string.
    places: Vec<usize>,
}

/// The labels of the axes of operands and of the result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) operands: Vec<Vec<Label>>,
    pub(super) result: Vec<Label>,
}

pub(super) fn wrong<T>(why: String) -> Result<T> {
    Err(Error::Argument { operation: op::einsum.name, why })
}

/// Returns the lists of axes in a string, and the list of the result if the string has one.
fn written(text: &str) -> Result<(Vec<LabelList>, Option<LabelList>)> {
    let mut chars = text.char_indices().peekable();
    let (mut lists, mut result, mut own) = (Vec::new(), None, LabelList::default());
    let mut is_result = false;
    while let Some((place, char)) = chars.next() {
        match char {
            ' ' => {}
            'a'..='z' | 'A'..='Z' => {
                own.letters.push(char);
                own.places.push(place);
            }
            '.' => read_dots(&mut chars, place, &mut own)?,
            ',' if !is_result => lists.push(std::mem::take(&mut own)),
            '-' if !is_result && chars.next_if(|&(_, next)| next == '>').is_some() => {
                is_result = true;
                lists.push(std::mem::take(&mut own));
            }
            other => return wrong(format!("{other:?} at {place} is not a letter, `,`, `->` or `...`")),
        }
    }
    match is_result {
        true => result = Some(own),
        false => lists.push(own),
    }
    Ok((lists, result))
}

fn read_dots(chars: &mut Peekable<CharIndices<'_>>, place: usize, own: &mut LabelList) -> Result<()> {
    let more = (0..2).filter(|_| chars.next_if(|&(_, next)| next == '.').is_some()).count();
    if more < 2 {
        return wrong(format!("\".\" at {place} is not part of \"...\""));
    }
    if own.dots.replace((own.letters.len(), place)).is_some() {
        return wrong(format!("\"...\" at {place} is repeated within one operand"));
    }
    Ok(())
}

impl Spec {
    /// Returns the labels that a string assigns to the axes of operands with these lengths.
    pub(super) fn new(text: &str, lengths: &[&[usize]]) -> Result<Self> {
        let (lists, result) = written(text)?;
        if lists.len() != lengths.len() {
            return wrong(format!("{text:?} describes {} operands, found {}", lists.len(), lengths.len()));
        }
        let labels = lists.iter().zip(lengths).enumerate();
        let operands: Vec<Vec<Label>> =
            labels.map(|(at, (list, lengths))| list.labels(at, lengths.len())).collect::<Result<_>>()?;
        let result = match result {
            Some(result) => result.labels_of_result(&operands)?,
            None => implied(&operands),
        };
        Ok(Spec { operands, result })
    }

    /// Returns the length of a label; all axes with one label have the same length.
    pub(super) fn length_of(&self, label: Label, lengths: &[&[usize]]) -> usize {
        let axes = self.operands.iter().zip(lengths).flat_map(|(labels, lengths)| labels.iter().zip(*lengths));
        axes.into_iter().find(|(own, _)| **own == label).map_or(1, |(_, &length)| length)
    }

    /// Rejects axes with one label and different lengths.
    pub(super) fn check(&self, lengths: &[&[usize]]) -> Result<()> {
        for (at, (labels, own)) in self.operands.iter().zip(lengths).enumerate() {
            for (axis, (&label, &length)) in labels.iter().zip(*own).enumerate() {
                let expected = self.length_of(label, lengths);
                if expected != length {
                    let name = label.name();
                    return wrong(format!(
                        "{name} has length {expected}, but axis {axis} of operand {at} has length {length}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns the shape of the result.
    pub(super) fn shape(&self, lengths: &[&[usize]]) -> Shape {
        self.result.iter().map(|&label| self.length_of(label, lengths)).collect()
    }
}

impl Label {
    fn name(self) -> String {
        match self {
            Label::Dots(from_last) => format!("\"...\", axis -{}", from_last + 1),
            Label::Letter(letter) => format!("{letter:?}"),
        }
    }
}

impl LabelList {
    /// Returns the labels of the axes of an operand.
    fn labels(&self, operand: usize, rank: usize) -> Result<Vec<Label>> {
        let count = self.letters.len();
        match self.dots {
            None if count != rank => {
                wrong(format!("operand {operand} has rank {rank}, but its labels are {count} letters"))
            }
            Some(_) if count > rank => {
                wrong(format!("operand {operand} has rank {rank}, but its labels are {count} letters"))
            }
            _ => Ok(self.with_dots(rank - count)),
        }
    }

    fn with_dots(&self, count: usize) -> Vec<Label> {
        let mut labels: Vec<Label> = self.letters.iter().map(|&letter| Label::Letter(letter)).collect();
        if let Some((before, _)) = self.dots {
            labels.splice(before..before, (0..count).rev().map(Label::Dots));
        }
        labels
    }

    /// Returns the labels of the result; each belongs to an operand.
    fn labels_of_result(&self, operands: &[Vec<Label>]) -> Result<Vec<Label>> {
        for (at, (letter, place)) in self.letters.iter().zip(&self.places).enumerate() {
            if self.letters[..at].contains(letter) {
                return wrong(format!("{letter:?} at {place} is repeated in the result"));
            }
            if !operands.iter().flatten().any(|&label| label == Label::Letter(*letter)) {
                return wrong(format!("{letter:?} at {place} is in the result, but not in an operand"));
            }
        }
        let dots = count_of_dots(operands);
        match self.dots {
            None if dots > 0 => wrong("operands have \"...\", but the result does not".into()),
            _ => Ok(self.with_dots(dots)),
        }
    }
}

/// Returns the largest number of axes that the dots represent in an operand.
fn count_of_dots(operands: &[Vec<Label>]) -> usize {
    let dots = operands.iter().flatten().filter_map(|label| match label {
        Label::Dots(from_last) => Some(from_last + 1),
        Label::Letter(_) => None,
    });
    dots.max().unwrap_or(0)
}

/// Returns the labels of an implicit result: the dots, then the letters that appear once, in alphabetical order.
fn implied(operands: &[Vec<Label>]) -> Vec<Label> {
    let is_once = |label: &Label| operands.iter().flatten().filter(|&other| other == label).count() == 1;
    let letters = operands.iter().flatten().filter(|label| matches!(label, Label::Letter(_)) && is_once(label));
    let mut letters: Vec<Label> = letters.copied().collect();
    letters.sort_unstable();
    (0..count_of_dots(operands)).rev().map(Label::Dots).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(labels: &[Label]) -> String {
        let char = |label: &Label| match label {
            Label::Dots(from_last) => char::from_digit(*from_last as u32, 10).unwrap_or('?'),
            Label::Letter(letter) => *letter,
        };
        labels.iter().map(char).collect()
    }

    fn read(spec: &str, ranks: &[usize]) -> Result<String> {
        let lengths: Vec<Vec<usize>> = ranks.iter().map(|&rank| vec![2; rank]).collect();
        let lengths: Vec<&[usize]> = lengths.iter().map(Vec::as_slice).collect();
        let spec = Spec::new(spec, &lengths)?;
        let operands: Vec<String> = spec.operands.iter().map(|labels| text(labels)).collect();
        Ok(format!("{}>{}", operands.join(","), text(&spec.result)))
    }

    #[test]
    fn texts_name_the_axes() {
        assert_eq!(read("ij,jk->ik", &[2, 2]).unwrap(), "ij,jk>ik");
        assert_eq!(read(" b a , a c ", &[2, 2]).unwrap(), "ba,ac>bc");
        assert_eq!(read("ii", &[2]).unwrap(), "ii>");
        assert_eq!(read("", &[0]).unwrap(), ">");
        assert_eq!(read(",->", &[0, 0]).unwrap(), ",>");
        assert_eq!(read("i...j,...j->...i", &[4, 2]).unwrap(), "i10j,0j>10i");
        assert_eq!(read("...i,i", &[3, 1]).unwrap(), "10i,i>10");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let rejection = |spec, ranks: &[usize]| read(spec, ranks).unwrap_err().to_string();
        assert_eq!(rejection("ij,j2->i", &[2, 2]), "einsum: '2' at 4 is not a letter, `,`, `->` or `...`");
        assert!(rejection("i->j", &[1]).contains("'j' at 3"));
        assert!(rejection("ij->ii", &[2]).contains("'i' at 5"));
        assert!(rejection("i..j", &[2]).contains("\".\" at 1"));
        assert!(rejection("...i...", &[3]).contains("\"...\" at 4"));
        assert!(rejection("...i->i", &[3]).contains("operands have \"...\""));
        assert!(rejection("ij", &[2, 2]).contains("describes 1 operands, found 2"));
        assert!(rejection("ij", &[3]).contains("operand 0 has rank 3"));
        for hostile in ["->->", "i->j,k", "-", "i-j", "é", "\0", "...............", ".", "i>", "💥->"] {
            assert!(read(hostile, &[1]).is_err(), "{hostile}");
        }
        let spec = Spec::new("ij,jk", &[&[2, 3], &[4, 5]]).unwrap();
        let why = spec.check(&[&[2, 3], &[4, 5]]).unwrap_err().to_string();
        assert_eq!(why, "einsum: 'j' has length 3, but axis 0 of operand 1 has length 4");
    }
}
