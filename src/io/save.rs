//! Writes that are all or nothing.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;

/// Writes the file at `path` by way of one beside it, which takes its place once `write` has succeeded.
///
/// A target that is no regular file (a pipe, a device), or has no name any more, is written as it is. A link is followed.
///
/// # Errors
///
/// What `write` returns, or `Io`; then no file is left behind, and one that was there is as it was.
///
/// # Examples
///
/// ```
/// use lacuna::Error;
/// use lacuna::io::save;
/// use std::io::Write;
///
/// let path = std::env::temp_dir().join("lacuna-save-example.txt");
/// save(&path, |file| Ok(file.write_all(b"whole")?))?;
/// let failed = save(&path, |file| {
///     file.write_all(b"half")?;
///     Err(Error::TakeFromEmpty { count: 1 })
/// });
/// assert!(failed.is_err());
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn save(path: impl AsRef<Path>, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let path = path.as_ref();
    let existing = existing_at(path)?;
    let has_no_name = existing.is_some() && fs::canonicalize(path).is_err();
    if has_no_name || existing.as_ref().is_some_and(|target| !target.is_file() && !target.is_dir()) {
        // Under the name that was given: what `/dev/stdout` leads to may have none of its own.
        let mut file = OpenOptions::new().write(true).truncate(has_no_name).open(path)?;
        write(&mut file)?;
        return Ok(file.flush()?);
    }
    if existing.as_ref().is_some_and(Metadata::is_dir) {
        return Err(std::io::Error::new(ErrorKind::IsADirectory, "the path to write to is a folder").into());
    }
    let path = target_of(path);
    let (aside, mut file) = create_aside(&path)?;
    // First, so that nobody reads of the new bytes who may not read the old ones.
    if let Some(existing) = existing {
        file.set_permissions(existing.permissions())?;
    }
    write(&mut file)?;
    file.sync_all()?;
    drop(file);
    aside.replace(&path)?;
    sync_folder(&path);
    Ok(())
}

/// What is at a path, if anything.
fn existing_at(path: &Path) -> Result<Option<Metadata>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// The most links that are followed one after another, as Linux has it.
const MOST_LINKS: usize = 40;

/// The file that a path stands for: behind links, also behind those to a file that is not there yet.
fn target_of(path: &Path) -> PathBuf {
    let behind = |path: &PathBuf| {
        let link = fs::read_link(path).ok()?;
        Some(path.parent().map_or(link.clone(), |folder| folder.join(&link)))
    };
    let followed = || iter::successors(Some(path.to_path_buf()), behind).take(MOST_LINKS + 1).last();
    fs::canonicalize(path).ok().or_else(followed).unwrap_or_default()
}

/// Makes the new name last as the bytes do. Not every file system can, and the file is in its place already: a failure
/// is none of this write.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// A file that is removed unless it takes the place of another.
struct Aside(Option<PathBuf>);

impl Aside {
    fn replace(mut self, target: &Path) -> Result<()> {
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

/// A new file in the folder of `path`, under a name that no other process takes: a short one, however long the
/// target's is.
fn create_aside(path: &Path) -> Result<(Aside, File)> {
    static NAMES: AtomicUsize = AtomicUsize::new(0);
    if path.file_name().is_none() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "the path to write to names no file").into());
    }
    for _ in 0..100 {
        let number = NAMES.fetch_add(1, Ordering::Relaxed);
        let aside = path.with_file_name(format!(".lacuna-{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&aside) {
            Ok(file) => return Ok((Aside(Some(aside)), file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(std::io::Error::new(ErrorKind::AlreadyExists, "too many temporary files beside the target").into())
}
