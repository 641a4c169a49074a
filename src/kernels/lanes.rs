//! Offsets of lanes from entries in order.

use crate::parallel;

/// Writes where the entries of each lane start into `starts`, which has one item more than there are lanes.
///
/// `lane` says the lane of an entry; it does not decrease over the `count` entries. The entries are shared out, and with
/// them the lanes: each thread writes those that start among its entries.
pub(crate) fn mark_starts(starts: &mut [usize], count: usize, lane: impl Fn(usize) -> usize + Sync + Send) {
    let parts = parallel::map_parts(count, 0, |entries| entries);
    let after = |end: usize| if end == 0 { 0 } else { lane(end - 1) + 1 };
    let mut ends: Vec<usize> = parts.iter().map(|entries| after(entries.end)).collect();
    ends.push(starts.len());
    parallel::map_slices(starts, &ends, |part, starts| {
        let base = if part == 0 { 0 } else { ends[part - 1] };
        // Behind the last entry all lanes start where the entries end.
        let Some(entries) = parts.get(part).cloned() else { return starts.fill(count) };
        let mut next = 0;
        for entry in entries {
            // A lane that started among the entries of the part before is its own.
            let Some(lane) = lane(entry).checked_sub(base) else { continue };
            if lane >= next {
                starts[next..=lane].fill(entry);
                next = lane + 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lanes: &[usize], count: usize) {
        let mut starts = vec![usize::MAX; count + 1];
        mark_starts(&mut starts, lanes.len(), |entry| lanes[entry]);
        let expected: Vec<usize> = (0..=count).map(|lane| lanes.partition_point(|&at| at < lane)).collect();
        assert_eq!(starts, expected);
    }

    #[test]
    fn every_lane_starts_at_its_first_entry() {
        check(&[], 0);
        check(&[], 3);
        check(&[0, 0, 2, 2, 2, 5], 7);
        check(&[3], 4);
        let many: Vec<usize> = (0..200_000).map(|entry| entry / 7 * 3).collect();
        check(&many, 90_000);
        check(&vec![5; 200_000], 100_000);
        let few: Vec<usize> = (0..200_000).map(|entry| entry / 150_000).collect();
        check(&few, 2);
    }
}
