//! The folder of files that are needed while a graph is computed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::base::error::Result;
use crate::base::{locks, temporary};

/// What the folders are called, before the numbers of the process and of the folder.
const NAME: &str = "lacuna-spill-";

/// The file in a folder that the process holds a lock of: one without belongs to a process that is gone.
const LOCK: &str = "lock";

/// A folder for temporary files: made when it is asked for, and removed with this. What a process that was killed left
/// goes when the next one is made beside it.
pub struct Spill {
    base: PathBuf,
    made: Mutex<Option<Made>>,
}

struct Made {
    folder: PathBuf,
    lock: Option<File>,
}

impl Spill {
    /// One in this folder, or in that of the system for such files.
    pub fn new(base: Option<PathBuf>) -> Self {
        Spill { base: base.unwrap_or_else(std::env::temp_dir), made: Mutex::default() }
    }

    /// The folder.
    ///
    /// # Errors
    ///
    /// `Io`: it cannot be made.
    pub fn folder(&self) -> Result<PathBuf> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.is_none() {
            let told = |error: std::io::Error| format!("the folder {}: {error}", self.base.display());
            let found = Made::new(&self.base).map_err(|error| std::io::Error::new(error.kind(), told(error)))?;
            *made = Some(found);
        }
        Ok(made.as_ref().map_or_else(PathBuf::new, |made| made.folder.clone()))
    }
}

impl Made {
    fn new(base: &Path) -> std::io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        remove_stale(base);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let folder = base.join(format!("{NAME}{}-{number}", std::process::id()));
            match temporary::create(&folder, || fs::create_dir(&folder).map(Some)) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            let mut made = Made { folder, lock: None };
            made.lock = locks::create(&made.folder.join(LOCK), File::options().write(true).create_new(true))?;
            if made.lock.is_some() {
                return Ok(made);
            }
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // What holds a file open must let it go where open ones cannot be removed.
        self.lock = None;
        let _ = temporary::end(&self.folder, || fs::remove_dir_all(&self.folder));
    }
}

/// Removes what processes that were killed left behind: their locks went with them.
fn remove_stale(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(NAME));
        let lock = is_ours.then(|| locks::abandoned(&entry.path().join(LOCK))).flatten();
        // It is held until the folder is gone: whoever has just made it waits, and makes another one.
        if lock.is_some() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
