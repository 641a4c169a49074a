//! Files that are locked as long as the process that made them lives: so what a process that was killed left behind is
//! known, as its locks went with it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Result;
use std::path::Path;

/// Makes a file by these options and locks it; none if another process took it, before it was locked, for one that was
/// left, and removed it. On a system without locks it has none, and is never taken for one that was left.
pub(crate) fn create(path: &Path, options: &OpenOptions) -> Result<Option<File>> {
    let file = options.open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        _ => Ok(is_at(&file, path).then_some(file)),
    }
}

/// The file, if the process that made it is gone. It is locked, so that nobody else finds it as well.
pub(crate) fn abandoned(path: &Path) -> Option<File> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    (file.try_lock().is_ok() && is_at(&file, path)).then_some(file)
}

/// Whether a file still has this name: another process may have renamed or removed it, and created another one, before
/// it was locked.
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

/// A folder that is locked until what this gives is dropped; another process that asks for it waits. None on a system
/// that locks no folders.
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
        // Another file of that name is not the one that was opened.
        let opened = options.open(&path)?;
        std::fs::remove_file(&path)?;
        let other = options.open(&path)?;
        assert!(is_at(&other, &path) && (cfg!(not(unix)) || !is_at(&opened, &path)));
        std::fs::remove_file(&path)
    }
}
