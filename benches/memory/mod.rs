//! The memory of this process, as Linux tells it.

use std::fs;

/// A line of `/proc/self/status` in MiB, such as `VmRSS` (now) or `VmHWM` (the peak); NaN where there is no such file.
fn status_mib(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

/// The peak memory of `run`, beyond what was there before, in MiB.
pub(crate) fn peak_of<R>(run: impl FnOnce() -> R) -> (R, f64) {
    let before = status_mib("VmRSS");
    let _ = fs::write("/proc/self/clear_refs", "5"); // sets the peak back to the present
    let result = run();
    (result, status_mib("VmHWM") - before)
}
