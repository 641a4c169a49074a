//! The temporary files and folders of this process, which are removed when a signal ends it.

use std::collections::BTreeSet;
#[cfg(feature = "io")]
use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The paths of all existing temporary files and folders.
///
/// Every function that creates, renames or removes a temporary file holds the lock. The list is therefore correct
/// whenever the lock is free.
static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A lock that keeps signals from ending the process. It is acquired before the lock of the list.
#[cfg(feature = "io")]
static UNINTERRUPTED: Mutex<()> = Mutex::new(());

/// Keeps signals from ending the process while the guard lives.
#[cfg(feature = "parquet")]
pub(crate) fn uninterrupted() -> MutexGuard<'static, ()> {
    UNINTERRUPTED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a file or a folder, and lists its path if it was created.
pub(crate) fn create<T>(path: &Path, create: impl FnOnce() -> Result<Option<T>>) -> Result<Option<T>> {
    let mut paths = paths();
    let created = create()?;
    if created.is_some() {
        paths.insert(path.into());
    }
    Ok(created)
}

/// Renames or removes a file or a folder, and removes its path from the list.
pub(crate) fn end<T>(path: &Path, end: impl FnOnce() -> T) -> T {
    let mut paths = paths();
    let ended = end();
    paths.remove(path);
    ended
}

/// Removes the temporary files of this process, and calls `end`.
///
/// `end` ends the process.
///
/// Other threads that create or rename temporary files wait.
#[cfg(feature = "io")]
#[doc(hidden)]
pub fn remove_temporary(end: impl FnOnce()) {
    let _waited = UNINTERRUPTED.lock().unwrap_or_else(PoisonError::into_inner);
    let paths = paths();
    remove_all(&paths);
    end();
}

#[cfg(feature = "io")]
fn remove_all(paths: &BTreeSet<PathBuf>) {
    /// The number of attempts to remove a folder. Other threads may write to the folder at the same time.
    const ATTEMPTS: usize = 3;
    for path in paths {
        if path.is_dir() {
            let _ = (0..ATTEMPTS).any(|_| fs::remove_dir_all(path).is_ok());
        } else {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(all(test, feature = "io"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_listed_and_what_is_listed_can_be_removed() -> Result<()> {
        let path = |name: &str| std::env::temp_dir().join(format!("lacuna-temporary-{name}-{}", std::process::id()));
        let [file, folder, renamed, failed] = ["file", "folder", "renamed", "failed"].map(path);
        create(&file, || fs::write(&file, "").map(Some))?;
        create(&folder, || fs::create_dir(&folder).map(Some))?;
        fs::write(folder.join("spilled"), "")?;
        create(&renamed, || fs::write(&renamed, "").map(Some))?;
        end(&renamed, || fs::rename(&renamed, path("target")))?;
        assert!(create(&failed, || fs::write(&failed, "").map(|()| None::<()>))?.is_none());
        let mut listed = paths().clone();
        listed.retain(|path| [&file, &folder, &renamed, &failed].contains(&path));
        assert!(listed.iter().eq([&file, &folder]));
        remove_all(&listed);
        assert!(!file.exists() && !folder.exists() && path("target").exists() && failed.exists());
        end(&file, || ());
        end(&folder, || ());
        assert!(!paths().contains(&file) && !paths().contains(&folder));
        fs::remove_file(path("target"))?;
        fs::remove_file(failed)
    }
}
