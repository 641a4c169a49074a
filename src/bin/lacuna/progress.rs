//! Progress of a long read or write: a bar on stderr, if stderr is a terminal.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use lacuna::io::Progress;

/// The time before a bar appears.
const PATIENCE: Duration = Duration::from_millis(500);

/// A bar that appears if the work takes long, and is cleared when the work ends.
pub(crate) struct Bar {
    what: &'static str,
    total: Option<u64>,
    shown: Arc<OnceLock<ProgressBar>>,
}

impl Bar {
    /// Returns a bar for the work `what`; `total` is the number of bytes, if known.
    pub(crate) fn new(what: &'static str, total: Option<u64>) -> Self {
        Bar { what, total, shown: Arc::default() }
    }

    /// Returns the function that moves the bar; `None` if stderr is not a terminal.
    pub(crate) fn hook(&self) -> Option<Progress> {
        let (what, total, shown, started) = (self.what, self.total, Arc::clone(&self.shown), Instant::now());
        stderr().is_terminal().then(|| {
            Progress::new(move |bytes| {
                if started.elapsed() > PATIENCE {
                    let bar = shown.get_or_init(|| visible(what, total).with_elapsed(started.elapsed()));
                    // The directory of an archive is read twice, and counts twice.
                    bar.set_position(total.map_or(bytes, |total| bytes.min(total)));
                }
            })
        })
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.shown.get() {
            bar.finish_and_clear();
        }
    }
}

fn visible(what: &'static str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{msg} [{bar:30}] {binary_bytes}/{binary_total_bytes}, {rate}/s",
        None => "{msg} {binary_bytes}, {rate}/s",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style.progress_chars("=> ").with_key("rate", write_rate);
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_style(style).with_message(what)
}

/// Writes the bytes per second since the work began. The rate of `indicatif` starts with the bar, after the work began.
fn write_rate(state: &ProgressState, text: &mut dyn fmt::Write) {
    let rate = state.pos() as f64 / state.elapsed().as_secs_f64().max(PATIENCE.as_secs_f64());
    let _ = write!(text, "{}", BinaryBytes(rate as u64));
}
