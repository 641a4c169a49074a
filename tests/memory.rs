//! The peak of memory of readers, medians and takes, which one allocator counts for all of them.

use std::sync::Mutex;

use peak_alloc::PeakAlloc;

mod io_memory;
mod io_memory_chunks;
mod io_memory_npz;
mod io_memory_parquet;
mod operations_memory;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// One test at a time, from its first array to its last, as all of them share the allocator.
static ALONE: Mutex<()> = Mutex::new(());
