//! Temporary files that replace a target when complete, and the removal of files that terminated processes left.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::base::error::Result;
use crate::base::{locks, temporary};

/// The beginning of all names, before the process id.
pub(super) const NAME: &str = ".lacuna-";

/// The end of the names of files that replace a target.
pub(super) const FILE: &str = ".tmp";

/// The number of names to try for one file. The other names are used by other processes, or were left by terminated
/// processes on systems without locks.
const MAX_NAMES: usize = 1 << 16;

/// The average number of folder entries to check per written file.
const LOOKS: usize = 64;

/// The maximum number of folders whose entries are counted.
const MAX_FOLDERS: usize = 1 << 10;

/// A temporary file, which is removed unless it replaces its target.
#[derive(Debug)]
pub(super) struct ReplacementFile(Option<PathBuf>);

impl ReplacementFile {
    pub(super) fn replace(mut self, target: &Path) -> Result<()> {
        if let Some(path) = &self.0 {
            temporary::end(path, || fs::rename(path, target))?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for ReplacementFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = temporary::end(path, || fs::remove_file(path));
        }
    }
}

/// Creates a locked file in a folder, under a short name that no other process uses. If `private` is set, only the
/// owner of the file may open it. A signal that terminates the process removes the file.
#[cfg_attr(not(unix), allow(unused_variables))]
pub(super) fn create(folder: &Path, ending: &str, private: bool) -> Result<(ReplacementFile, File)> {
    static NAMES: AtomicUsize = AtomicUsize::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    for _ in 0..MAX_NAMES {
        let number = NAMES.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{NAME}{}-{number}{ending}", std::process::id()));
        match temporary::create(&path, || locks::create(&path, &options)) {
            Ok(Some(file)) => return Ok((ReplacementFile(Some(path)), file)),
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    let why = format!("the folder has {MAX_NAMES} temporary files; remove those named {NAME}*{ending}");
    Err(std::io::Error::new(ErrorKind::AlreadyExists, why).into())
}

/// Removes the temporary files of terminated processes in a folder. The check reads the entire folder. A small folder
/// is checked before each write, and a large folder once per many writes.
pub(super) fn remove_some_left(folder: &Path) {
    static TO_DELETE: Mutex<Option<HashMap<PathBuf, usize>>> = Mutex::new(None);
    let mut to_delete = TO_DELETE.lock().unwrap_or_else(PoisonError::into_inner);
    let to_delete = to_delete.get_or_insert_default();
    match to_delete.get_mut(folder) {
        Some(files @ 1..) => *files -= 1,
        _ => {
            let looked = remove_left(folder, FILE, |_| ());
            if to_delete.len() >= MAX_FOLDERS {
                to_delete.clear();
            }
            to_delete.insert(folder.into(), looked / LOOKS);
        }
    }
}

/// Calls `found` with each temporary file of a terminated process in a folder, then removes the file. Returns the
/// number of files in the folder.
pub(super) fn remove_left(folder: &Path, ending: &str, mut found: impl FnMut(&File)) -> usize {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let mut looked = 0;
    for entry in entries.flatten() {
        looked += 1;
        let name = entry.file_name();
        let is_lacuna = name.to_str().is_some_and(|name| name.starts_with(NAME) && name.ends_with(ending));
        let path = entry.path();
        // The lock of the file is held until the file is removed.
        if let Some(file) = is_lacuna.then(|| locks::abandoned(&path)).flatten() {
            found(&file);
            let _ = fs::remove_file(&path);
        }
    }
    looked
}
