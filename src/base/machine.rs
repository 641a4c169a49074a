//! What the machine has to offer beyond what is safe: huge pages, wide vectors, bare look-ups. The only module with
//! `unsafe`; without the feature `machine` there is none in the crate, and the same results more slowly.

/// Asks for huge pages behind a buffer; what the kernel answers makes no difference to what the buffer holds.
#[cfg(all(feature = "machine", target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
pub(crate) fn advise_huge_pages<T>(buffer: &[T]) {
    const HUGE: usize = 2 << 20;
    let bytes = buffer.as_ptr_range();
    let start = bytes.start.addr().next_multiple_of(HUGE);
    let length = (bytes.end.addr() & !(HUGE - 1)).saturating_sub(start);
    // SAFETY: the call takes an address and a length, both of which may be anything, and gives a hint about the memory
    // there: it neither writes, unmaps nor moves memory that a program can see. Here they lie within `buffer` besides,
    // so that nobody else's memory is spoken for. Failing (an old kernel, huge pages switched off) leaves all as it
    // was.
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

/// Runs a plain loop, compiled for vectors of 512 or 256 bits where the processor has them: an `#[inline(always)]`
/// closure, which is compiled into the functions that may use them.
///
/// Ten tests an element and fewer gain the most by 512 bits; where a line of eight keys is compared at once 256 do as
/// well (`docs/performance.md`). Where nothing is optimised there are no vectors, and all of this would be compiled in
/// vain.
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
        // SAFETY: the function wants the five features that the processor was just found to have.
        unsafe { with_512_bits(f) }
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the function wants the one feature that the processor was just found to have.
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

/// The items of `data` at `positions`, which are compared with its length all at once: without a comparison for each
/// look-up more of them are under way at a time. A few hundred positions are still in the cache when they are looked
/// up.
///
/// # Panics
///
/// If one of the positions is not below the length.
#[cfg(feature = "machine")]
#[allow(unsafe_code)]
#[inline(always)]
pub(crate) fn at_positions<'a, T: Copy>(data: &'a [T], positions: &'a [usize]) -> impl ExactSizeIterator<Item = T> {
    let greatest = in_wide_vectors(
        #[inline(always)]
        || positions.iter().fold(0, |greatest, &position| greatest.max(position)),
    );
    assert!(positions.is_empty() || greatest < data.len(), "there is no position {greatest} of {}", data.len());
    // SAFETY: no position is greater than the greatest, which was just found to be below the length; both slices are
    // borrowed for as long as the iterator is there, so that neither changes before a look-up.
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

    /// Also where nothing is optimised, and nothing else runs in them.
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

    /// Wherever it stands among the others, before anything is looked up.
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
