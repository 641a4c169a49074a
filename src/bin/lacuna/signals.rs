//! Signals that terminate this program: temporary files are removed first.

use std::sync::mpsc::channel;
use std::thread;

use lacuna::io::remove_temporary;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Removes the temporary files when a signal terminates the program. The exit status is that of the signal.
pub(crate) fn watch() {
    let (ready, is_ready) = channel();
    let watching = move || {
        let ignored = ignored();
        let signals = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
        let Ok(mut signals) = Signals::new(signals) else { return };
        drop(ready);
        if let Some(signal) = signals.forever().next() {
            remove_temporary(|| end_by(signal));
        }
    };
    // Without a thread, the signals have their default effect.
    if thread::Builder::new().name("signals".into()).spawn(watching).is_ok() {
        let _: Result<(), _> = is_ready.recv();
    }
}

/// Terminates the program as the signal would. Process 1 of a container, which signals do not terminate by default,
/// exits with the status that a shell reports for the signal.
fn end_by(signal: i32) {
    if std::process::id() == 1 {
        std::process::exit(128 + signal);
    }
    let _ = emulate_default_handler(signal);
}

/// Returns the signals that the program ignores since its start, as a set of bits; they stay ignored. `nohup` ignores
/// the hangup signal, and a shell ignores the interrupt of a background program. The set is empty if the system does
/// not report it.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
