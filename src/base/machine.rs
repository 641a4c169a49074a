//! What the machine has to offer beyond what every machine has: huge pages, wide vectors. The only module with
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

/// Whether [`in_wide_vectors`] compiles for vectors of 512 bits here.
#[cfg(all(feature = "machine", target_arch = "x86_64", not(miri)))]
pub(crate) fn has_512_bits() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(not(all(feature = "machine", target_arch = "x86_64", not(miri))))]
pub(crate) fn has_512_bits() -> bool {
    false
}

/// Runs a plain loop, compiled for vectors of 512 or 256 bits where the processor has them: an `#[inline(always)]`
/// closure, which is compiled into the functions that may use them.
///
/// Ten tests an element and fewer gain the most by 512 bits; where a line of eight keys is compared at once 256 do as
/// well (`docs/performance.md`).
#[cfg(all(feature = "machine", target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
#[inline(always)]
pub(crate) fn in_wide_vectors<R>(f: impl FnOnce() -> R) -> R {
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
