//! The folder of the files that DataFusion needs meanwhile. This process holds its lock: so what one that was killed
//! left is known, and goes when the next one begins.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fs, thread};

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use lacuna::lazy::outside::Spill;

/// How often the folder is removed at most, while somebody still writes there.
const TRIES: u32 = 100;

/// The folder, made when it is asked for. Whoever runs what writes there owns this, and no session or plan does: those
/// may outlive a query.
pub(crate) struct Folder {
    spill: Mutex<Option<Spill>>,
    made: OnceLock<PathBuf>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Folder { spill: Mutex::new(Some(Spill::new(None))), made: OnceLock::new() }
    }

    /// The setting of DataFusion for it. If no folder can be made, nothing is written, and data that does not fit memory
    /// is an error.
    pub(crate) fn disk(&self) -> DiskManagerBuilder {
        let spill = self.spill.lock().unwrap_or_else(PoisonError::into_inner);
        let mode = match spill.as_ref().and_then(|spill| spill.folder().ok()) {
            Some(folder) => DiskManagerMode::Directories(vec![self.made.get_or_init(|| folder).clone()]),
            None => DiskManagerMode::Disabled,
        };
        DiskManagerBuilder::default().with_mode(mode)
    }

    /// Removes it, and what is in it. What still computes may write meanwhile, and no more once it is gone.
    pub(crate) fn remove(&self) {
        drop(self.spill.lock().unwrap_or_else(PoisonError::into_inner).take());
        let Some(folder) = self.made.get() else { return };
        for _ in 0..TRIES {
            match fs::remove_dir_all(folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.remove();
    }
}
