//! The folder for temporary files of DataFusion. This process holds a lock on the folder. The next process removes the
//! folders of terminated processes.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fs, thread};

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use lacuna::lazy::engine_api::Spill;

/// The maximum number of attempts to remove the folder, while threads still write there.
const TRIES: u32 = 100;

/// The folder, created on first use. The code that runs DataFusion owns the folder, because sessions and plans may
/// outlive a query.
pub(crate) struct Folder {
    spill: Mutex<Option<Spill>>,
    created: OnceLock<PathBuf>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Folder { spill: Mutex::new(Some(Spill::new(None))), created: OnceLock::new() }
    }

    /// Returns the setting of DataFusion for the folder. If no folder can be created, nothing is written, and data that
    /// does not fit memory is an error.
    pub(crate) fn disk(&self) -> DiskManagerBuilder {
        let spill = self.spill.lock().unwrap_or_else(PoisonError::into_inner);
        let mode = match spill.as_ref().and_then(|spill| spill.folder().ok()) {
            Some(folder) => DiskManagerMode::Directories(vec![self.created.get_or_init(|| folder).clone()]),
            None => DiskManagerMode::Disabled,
        };
        DiskManagerBuilder::default().with_mode(mode)
    }

    /// Removes the folder and its files. Threads that still compute may write meanwhile, but not after the folder is
    /// removed.
    pub(crate) fn remove(&self) {
        drop(self.spill.lock().unwrap_or_else(PoisonError::into_inner).take());
        let Some(folder) = self.created.get() else { return };
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
