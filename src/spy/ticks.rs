//! The ticks of an axis: their positions and their labels.

use super::axis::Scale;

/// The last index above which the round numbers of an axis are shortened.
const LONG: usize = 99_999;

/// A position that has a label next to the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tick {
    /// The position of the tick, in units from the start of the axis.
    pub(super) at: usize,
    /// The index.
    pub(super) label: String,
}

/// Formats a number. The number is shortened if two decimals are exact: `1500000` becomes `1.5M`, and `1500001` is not
/// shortened.
pub(super) fn short(number: u64) -> String {
    const SUFFIXES: [char; 6] = ['k', 'M', 'G', 'T', 'P', 'E'];
    let Some(step) = (0..SUFFIXES.len()).rev().find(|&step| number >= 1000u64.pow(step as u32 + 1)) else {
        return number.to_string();
    };
    let unit = 1000u64.pow(step as u32 + 1);
    let hundredths = number % unit / (unit / 100);
    if !number.is_multiple_of(unit / 100) {
        return number.to_string();
    }
    let decimals = format!(".{hundredths:02}");
    format!("{}{}{}", number / unit, decimals.trim_end_matches('0').trim_end_matches('.'), SUFFIXES[step])
}

/// Returns 1, 2, 5, 10, 20, 50 … as long as the numbers fit in `u64`.
pub(super) fn round_numbers() -> impl Iterator<Item = u64> {
    let decades = std::iter::successors(Some(1u64), |decade| decade.checked_mul(10));
    decades.flat_map(|decade| [1, 2, 5].into_iter().filter_map(move |digit| decade.checked_mul(digit)))
}

/// Returns the ticks of an axis. Every index has a tick if the labels fit; `needs` returns the units of a label.
/// Otherwise round indices have ticks, with white between labels as wide as the labels. The last index has a tick if
/// its label has at most `widest` characters.
pub(super) fn ticks(scale: &Scale, widest: usize, needs: impl Fn(&str) -> usize) -> Vec<Tick> {
    let Some(last) = scale.length.checked_sub(1) else { return Vec::new() };
    let tick = |index: usize| Tick {
        at: scale.middle_of(index),
        label: if last > LONG { short(index as u64) } else { index.to_string() },
    };
    let apart =
        |a: &Tick, b: &Tick, airy: usize| 2 * b.at.saturating_sub(a.at) >= airy * (needs(&a.label) + needs(&b.label));
    let most = scale.extent() / needs("0").max(1) + 1;
    let round = |step: u64| -> Option<Vec<Tick>> {
        let step = usize::try_from(step).ok().filter(|step| last / step < most)?;
        let ticks: Vec<Tick> = (0..=last).step_by(step).map(tick).collect();
        let airy = if step == 1 { 1 } else { 2 };
        ticks.windows(2).all(|pair| apart(&pair[0], &pair[1], airy)).then_some(ticks)
    };
    let mut ticks = round_numbers().find_map(round).unwrap_or_else(|| vec![tick(0)]);
    let end = Tick { label: last.to_string(), ..tick(last) };
    if end.label.len() <= widest && apart(&ticks[0], &end, 1) {
        ticks.retain(|tick| apart(tick, &end, 1));
        ticks.push(end);
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(length: usize, per_cell: usize, unit: usize) -> Vec<String> {
        ticks(&Scale { length, per_cell, unit }, 20, |_| 20).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_end_with_the_last_index() {
        assert_eq!(labels(34, 1, 18), ["0", "5", "10", "15", "20", "25", "30", "33"]);
        assert_eq!(labels(1, 1, 64), ["0"]);
        assert_eq!(labels(3, 1, 64), ["0", "1", "2"]);
        assert!(labels(0, 1, 64).is_empty());
        assert_eq!(labels(1_000_000, 3907, 1), ["0", "200k", "400k", "600k", "800k", "999999"]);
        assert_eq!(labels(usize::MAX, usize::MAX.div_ceil(256), 2).last().unwrap(), "18446744073709551614");
    }

    #[test]
    fn a_short_number_is_the_same_number() {
        let written = [0, 999, 1000, 1500, 1501, 2_000_000, 1_050_000, 1_100_000_000_000].map(short);
        assert_eq!(written, ["0", "999", "1k", "1.5k", "1501", "2M", "1.05M", "1.1T"]);
        assert_eq!(short(u64::MAX), "18446744073709551615");
    }
}
