//! The folder for temporary files of a running graph.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::base::error::Result;
use crate::base::{locks, temporary};

/// The prefix of folder names, before the numbers of the process and of the folder.
const NAME: &str = "lacuna-spill-";

/// The file that a process locks in its folder. If the file is not locked, the process has ended.
const LOCK: &str = "lock";

/// A folder for temporary files, created on first use and removed on drop.
///
/// The first use also removes the folders of interrupted processes in the same parent folder.
pub struct Spill {
    base: PathBuf,
    created: Mutex<Option<CreatedFolder>>,
}

struct CreatedFolder {
    folder: PathBuf,
    lock: Option<File>,
}

impl Spill {
    /// Returns a folder in `base`, or in the temporary folder of the system.
    ///
    /// The folder is not created yet.
    pub fn new(base: Option<PathBuf>) -> Self {
        Spill { base: base.unwrap_or_else(std::env::temp_dir), created: Mutex::default() }
    }

    /// Returns the path of the folder, which is created on the first call.
    ///
    /// # Errors
    ///
    /// `Io`: the folder cannot be created.
    pub fn folder(&self) -> Result<PathBuf> {
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        if created.is_none() {
            let in_folder = |error: std::io::Error| format!("the folder {}: {error}", self.base.display());
            let found =
                CreatedFolder::new(&self.base).map_err(|error| std::io::Error::new(error.kind(), in_folder(error)))?;
            *created = Some(found);
        }
        Ok(created.as_ref().map_or_else(PathBuf::new, |created| created.folder.clone()))
    }
}

impl CreatedFolder {
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
            let mut created = CreatedFolder { folder, lock: None };
            created.lock = locks::create(&created.folder.join(LOCK), File::options().write(true).create_new(true))?;
            if created.lock.is_some() {
                return Ok(created);
            }
        }
    }
}

impl Drop for CreatedFolder {
    fn drop(&mut self) {
        // The lock file is closed first, because some systems do not remove open files.
        self.lock = None;
        let _ = temporary::end(&self.folder, || fs::remove_dir_all(&self.folder));
    }
}

/// Removes the folders of interrupted processes, whose locks are released.
fn remove_stale(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let is_lacuna = entry.file_name().to_str().is_some_and(|name| name.starts_with(NAME));
        let lock = is_lacuna.then(|| locks::abandoned(&entry.path().join(LOCK))).flatten();
        // The lock is held until the folder is removed. A process that has just created the folder waits, and creates
        // another.
        if lock.is_some() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
