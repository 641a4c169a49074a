//! Features of the machine beyond safe Rust: huge pages, SIMD, unchecked indexing.
//!
//! This is the only module with `unsafe` code. Without the feature `machine` the crate does not have `unsafe` code, and
//! computes the same results more slowly.

/// Requests huge pages for a buffer. The contents of the buffer are the same whether or not the kernel provides huge
/// pages.
#[cfg(all(feature = "machine", target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
pub(crate) fn advise_huge_pages<T>(buffer: &[T]) {
    const HUGE: usize = 2 << 20;
    let bytes = buffer.as_ptr_range();
    let start = bytes.start.addr().next_multiple_of(HUGE);
    let length = (bytes.end.addr() & !(HUGE - 1)).saturating_sub(start);
    // SAFETY: the call accepts any address and any length, and gives a hint about the memory there. It neither writes,
    // unmaps nor moves memory that a program can see. The range is inside `buffer`, so the hint applies only to the
    // memory of the buffer. If the call fails (an old kernel, huge pages switched off), nothing changes.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(start), length, libc::MADV_HUGEPAGE) };
}

#[cfg(not(all(feature = "machine", target_os = "linux", not(miri))))]
pub(crate) fn advise_huge_pages<T>(_: &[T]) {}

#[cfg(all(feature = "machine", target_arch = "x86_64", not(miri)))]
fn has_512_bits() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

/// Runs a plain loop, compiled for AVX-512 or AVX2 if the processor has them.
///
/// The loop must be an `#[inline(always)]` closure, so that it is compiled into the functions with these features.
/// AVX-512 speeds up loops with at most ten tests per element the most. A comparison of eight keys in one cache line is
/// as fast with AVX2 (`docs/speed-log.md`). Unoptimized builds have no SIMD, so they compile only the plain loop.
#[cfg(all(feature = "machine", target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn in_wide_vectors<R>(f: impl FnOnce() -> R) -> R {
    if cfg!(debug_assertions) { f() } else { in_widest_vectors(f) }
}

#[cfg(all(feature = "machine", target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[inline(always)]
fn in_widest_vectors<R>(f: impl FnOnce() -> R) -> R {
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    fn with_512_bits<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
    #[target_feature(enable = "avx2")]
    fn with_256_bits<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
    if has_512_bits() {
        // SAFETY: the function requires five features. The test above found that the processor has these features.
        unsafe { with_512_bits(f) }
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the function requires one feature. The test above found that the processor has this feature.
        unsafe { with_256_bits(f) }
    } else {
        f()
    }
}

#[cfg(not(all(feature = "machine", target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) fn in_wide_vectors<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Returns the items of `data` at `positions`. All positions are compared with the length before the first lookup.
///
/// Without a comparison per lookup, the processor runs more lookups at the same time. A few hundred positions stay in
/// the cache until their lookup.
///
/// # Panics
///
/// If one of the positions is not below the length.
#[cfg(feature = "machine")]
#[allow(unsafe_code)]
#[inline(always)]
pub(crate) fn at_positions<'a, T: Copy>(data: &'a [T], positions: &'a [usize]) -> impl ExactSizeIterator<Item = T> {
    let max = in_wide_vectors(
        #[inline(always)]
        || positions.iter().fold(0, |max, &position| max.max(position)),
    );
    assert!(positions.is_empty() || max < data.len(), "position {max} is out of range for {} elements", data.len());
    // SAFETY: no position is greater than `max`. If there is a position, the assertion above found that `max` is below
    // the length. Both slices are borrowed for the lifetime of the iterator, so neither changes before a lookup.
    positions.iter().map(|&position| unsafe { *data.get_unchecked(position) })
}

#[cfg(not(feature = "machine"))]
#[inline(always)]
pub(crate) fn at_positions<'a, T: Copy>(data: &'a [T], positions: &'a [usize]) -> impl ExactSizeIterator<Item = T> {
    positions.iter().map(|&position| data[position])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the SIMD functions also in unoptimized builds, in which no other code calls them.
    #[cfg(all(feature = "machine", target_arch = "x86_64", not(miri)))]
    #[test]
    fn a_loop_in_wide_vectors_gives_what_it_gives_elsewhere() {
        let data: Vec<u32> = (0..1000).map(|at| at * 2_654_435).collect();
        let sum = || data.iter().fold(0, |sum: u32, &item| sum.wrapping_add(item ^ sum >> 3));
        assert_eq!(in_widest_vectors(sum), sum());
    }

    #[test]
    fn items_at_positions_are_those_of_plain_look_ups() {
        let data: Vec<u16> = (0..1000).collect();
        for count in [0, 1, 7, 64, 300] {
            let positions: Vec<usize> = (0..count).map(|at| (at * 7919 + 999) % 1000).collect();
            let expected: Vec<u16> = positions.iter().map(|&position| position as u16).collect();
            assert_eq!(at_positions(&data, &positions).collect::<Vec<_>>(), expected);
        }
        assert_eq!(at_positions::<u8>(&[], &[]).len(), 0);
    }

    /// An invalid position panics at any index, before the first lookup.
    #[test]
    fn a_position_outside_ends_the_program_instead_of_reading_what_is_there() {
        for (length, outside) in [(0, 0), (5, 5), (5, usize::MAX), (1000, 1 << 63)] {
            for place in [0, 3, 8, 15] {
                let mut positions = vec![length.max(1) - 1; 16];
                positions[place] = outside;
                let taken = std::panic::catch_unwind(|| at_positions(&vec![0u8; length], &positions).count());
                let summed = std::panic::catch_unwind(|| {
                    at_positions(&vec![0u8; length], &positions).map(u64::from).sum::<u64>()
                });
                assert!(summed.is_err() && (cfg!(not(feature = "machine")) || taken.is_err()), "{length} {outside}");
            }
        }
    }
}
