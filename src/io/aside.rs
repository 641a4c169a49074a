//! Files that are written aside, under names of their own, and what processes that were killed left of them.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::error::Result;
use crate::base::locks;

/// What all names begin with, before the number of the process.
pub(super) const NAME: &str = ".lacuna-";

/// What the names of files end with that are to take the place of others.
pub(super) const FILE: &str = ".tmp";

/// A file that is removed unless it takes the place of another.
#[derive(Debug)]
pub(super) struct Aside(Option<PathBuf>);

impl Aside {
    pub(super) fn replace(mut self, target: &Path) -> Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, target)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// A new file in a folder, under a short name that no other process takes, and locked. If it is `private` nobody but its
/// owner may open it.
#[cfg_attr(not(unix), allow(unused_variables))]
pub(super) fn create(folder: &Path, ending: &str, private: bool) -> Result<(Aside, File)> {
    static NAMES: AtomicUsize = AtomicUsize::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    for _ in 0..100 {
        let number = NAMES.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{NAME}{}-{number}{ending}", std::process::id()));
        match locks::create(&path, &options) {
            Ok(Some(file)) => return Ok((Aside(Some(path)), file)),
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(std::io::Error::new(ErrorKind::AlreadyExists, "too many temporary files beside the target").into())
}

/// Calls `found` with each file of such a name in a folder whose process is gone, and removes it.
#[cfg(feature = "parquet")]
pub(super) fn remove_left(folder: &Path, ending: &str, mut found: impl FnMut(&File)) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_ours = name.is_some_and(|name| name.starts_with(NAME) && name.ends_with(ending));
        // Its lock is held until it is gone.
        if let Some(file) = is_ours.then(|| locks::abandoned(&path)).flatten() {
            found(&file);
            let _ = fs::remove_file(&path);
        }
    }
}
