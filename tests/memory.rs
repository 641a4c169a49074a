//! The peak of memory of readers, medians and takes, which one allocator counts for all of them.

use std::process::Command;

use peak_alloc::PeakAlloc;

mod io_memory;
mod io_memory_chunks;
mod io_memory_npz;
mod io_memory_parquet;
mod operations_memory;
#[cfg(feature = "io")]
#[path = "support/share.rs"]
mod share;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Runs the test that asks in a process of its own, whose allocator counts for nothing else: true when that has passed,
/// and false in that process, which is to do the work.
fn was_run_apart() -> bool {
    const APART: &str = "LACUNA_APART";
    if std::env::var_os(APART).is_some() {
        return false;
    }
    let thread = std::thread::current();
    let name = thread.name().expect("the thread of a test has its name");
    let program = std::env::current_exe().unwrap();
    let told = Command::new(program).args([name, "--exact", "--nocapture"]).env(APART, "").output().unwrap();
    let [out, err] = [told.stdout, told.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    println!("{out}{err}");
    assert!(told.status.success() && out.contains("1 passed"), "{name} failed in a process of its own");
    true
}
