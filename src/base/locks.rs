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
        _ => Ok(path.exists().then_some(file)),
    }
}

/// The file, if the process that made it is gone. It is locked, so that nobody else finds it as well.
pub(crate) fn abandoned(path: &Path) -> Option<File> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    // Somebody else may have removed it meanwhile.
    (file.try_lock().is_ok() && path.exists()).then_some(file)
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
        Ok(())
    }
}
