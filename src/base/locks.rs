//! Files that are locked while the process that created them lives.
//!
//! The locks of an interrupted process disappear, which marks its remaining files as abandoned.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Result;
use std::path::Path;

/// Creates a file with these options and locks it.
///
/// Returns `None` if another process took the file for an abandoned one and removed it before it was locked. On a
/// system without locks the file stays unlocked, and no file counts as abandoned.
pub(crate) fn create(path: &Path, options: &OpenOptions) -> Result<Option<File>> {
    let file = options.open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        _ => Ok(is_at(&file, path).then_some(file)),
    }
}

/// Returns the file if the process that created it has ended. It is locked, so no other process finds it too.
pub(crate) fn abandoned(path: &Path) -> Option<File> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    (file.try_lock().is_ok() && is_at(&file, path)).then_some(file)
}

/// Returns whether a file still has this name. Before it was locked, another process may have renamed or replaced it.
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

/// Returns a folder that is locked until the result is dropped. Another process that locks it waits.
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
