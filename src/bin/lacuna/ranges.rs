//! Positions and ranges of positions, as a comma-separated list has them.

/// An item of a comma-separated list.
#[derive(Debug, Clone)]
pub(crate) enum PositionItem {
    /// A position; a negative one counts from the end.
    One(i128),
    /// `start:stop:step`.
    Range(Range),
}

impl PositionItem {
    pub(crate) fn parse(word: &str) -> Result<Self, String> {
        if word.contains(':') {
            Range::parse(word).map(PositionItem::Range)
        } else {
            parse_position(word).map(PositionItem::One)
        }
    }
}

/// Parses an integer that fits `i64` or `u64`.
pub(crate) fn parse_position(word: &str) -> Result<i128, String> {
    let position = word.parse::<i64>().map(i128::from).or_else(|_| word.parse::<u64>().map(i128::from));
    position.map_err(|_| format!("`{word}` is not a 64-bit integer"))
}

/// A range as in Python, except that an end out of range is an error.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    word: String,
    start: Option<i128>,
    stop: Option<i128>,
    step: i128,
}

impl Range {
    fn parse(word: &str) -> Result<Self, String> {
        let end = |part: &str| if part.is_empty() { Ok(None) } else { parse_position(part).map(Some) };
        let parts = word.split(':').map(str::trim).map(end).collect::<Result<Vec<_>, _>>();
        let (start, stop, step) = match parts.as_deref() {
            Ok([start, stop]) => (*start, *stop, 1),
            Ok([start, stop, step]) => (*start, *stop, step.unwrap_or(1)),
            _ => return Err(format!("`{word}` is not a range start:stop or start:stop:step of integers")),
        };
        match step {
            0 => Err(format!("the step of the range `{word}` is 0")),
            _ => Ok(Range { word: word.into(), start, stop, step }),
        }
    }

    /// Returns the positions of the range on an axis of the given length.
    pub(crate) fn on(&self, length: i128) -> Result<PositionRun, String> {
        for end in [self.start, self.stop].into_iter().flatten() {
            if !(-length..=length).contains(&end) {
                return Err(format!("the range {}: {end} is outside -{length}..={length}", self.word));
            }
        }
        let from_front = |end: i128| if end < 0 { end + length } else { end };
        let (start, stop) = (self.start.map(from_front), self.stop.map(from_front));
        let (first, steps) = match self.step {
            1.. => (start.unwrap_or(0), stop.unwrap_or(length) - start.unwrap_or(0)),
            _ => {
                let first = start.unwrap_or(length).min(length - 1);
                (first, first - stop.unwrap_or(-1))
            }
        };
        let count = if steps > 0 { (steps - 1) / self.step.abs() + 1 } else { 0 };
        Ok(PositionRun { first, count, step: self.step })
    }
}

/// Positions at equal distances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PositionRun {
    pub(crate) first: i128,
    pub(crate) count: i128,
    pub(crate) step: i128,
}

impl PositionRun {
    /// Returns a run of one position.
    pub(crate) fn one(position: i128) -> Self {
        PositionRun { first: position, count: 1, step: 1 }
    }

    /// Returns the last position, or `first` if the range is empty.
    pub(crate) fn last(self) -> i128 {
        self.first + (self.count - 1).max(0) * self.step
    }

    pub(crate) fn positions(self) -> impl Iterator<Item = i128> {
        (0..self.count).map(move |number| self.first + number * self.step)
    }
}
