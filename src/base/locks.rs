//! Files that are locked while the process that created them lives.
//!
//! The locks of an interrupted process disappear, which marks its remaining files as abandoned.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Result;
use std::path::Path;

/// Creates a file with these options and locks it.
///
/// Returns `None` if another process treated the file as abandoned and removed it before it was locked. If the system
/// does not support locks, the file stays unlocked, and no file counts as abandoned.
pub(crate) fn create(path: &Path, options: &OpenOptions) -> Result<Option<File>> {
    let file = options.open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        _ => Ok(is_at(&file, path).then_some(file)),
    }
}

/// Returns the file if the process that created it has ended. The file is locked, so only one process receives it.
pub(crate) fn abandoned(path: &Path) -> Option<File> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    (file.try_lock().is_ok() && is_at(&file, path)).then_some(file)
}

/// Returns whether a file still has this name. Another process may have renamed or replaced the file before it was
/// locked.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |found: std::fs::Metadata| (found.dev(), found.ino());
    let named = std::fs::symlink_metadata(path).map(number);
    named.is_ok_and(|named| file.metadata().is_ok_and(|found| number(found) == named))
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Locks a folder until the result is dropped. Another process that locks the folder waits.
///
/// Returns `None` on a system that cannot lock folders.
#[cfg(feature = "parquet")]
pub(crate) fn hold(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.lock().is_ok().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_not_abandoned() -> Result<()> {
        let path = std::env::temp_dir().join(format!("lacuna-locks-{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let held = create(&path, &options)?;
        assert!(held.is_some() && abandoned(&path).is_none());
        drop(held);
        let found = abandoned(&path);
        assert!(found.is_some() && abandoned(&path).is_none());
        std::fs::remove_file(&path)?;
        drop(found);
        assert!(abandoned(&path).is_none());
        // A new file of that name differs from the file that was opened.
        let opened = options.open(&path)?;
        std::fs::remove_file(&path)?;
        let other = options.open(&path)?;
        assert!(is_at(&other, &path) && (cfg!(not(unix)) || !is_at(&opened, &path)));
        std::fs::remove_file(&path)
    }
}
