//! Writes that are all or nothing.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
use std::iter;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::io::atomic_write::{self, ReplacementFile};

/// Writes the file at `path` completely or not at all.
///
/// `write` writes to a temporary file, which replaces the target after `write` has succeeded.
///
/// A target is written directly if it is not a regular file, if it was deleted, or if it is the standard output. Links
/// are followed. The new file has the permissions of the old file and, as far as the system allows, its owner and
/// group. Temporary files of terminated processes in the folder are removed.
///
/// # Errors
///
/// The error of `write`, or `Io`. After an error, no new file exists, and an existing file is unchanged.
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
    save_to(path, write).map_err(|error| error.in_file(path))
}

fn save_to(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    match TargetKind::at(path)? {
        TargetKind::Folder => Err(is_folder()),
        TargetKind::Stream(mut file) => {
            write(&mut file)?;
            Ok(file.flush()?)
        }
        TargetKind::File(before) => replace(&target_of(path), Some(&before), write),
        TargetKind::New => replace(&target_of(path), None, write),
    }
}

/// The kind of target at a path.
enum TargetKind {
    New,
    File(Metadata),
    /// A target that is written directly.
    Stream(File),
    Folder,
}

impl TargetKind {
    fn at(path: &Path) -> Result<Self> {
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(TargetKind::New),
            found => found?,
        };
        if found.is_dir() {
            return Ok(TargetKind::Folder);
        }
        // The given path is opened, because the file to which `/dev/stdout` leads may not have a name.
        let has_no_name = fs::canonicalize(path).is_err();
        if has_no_name || !found.is_file() {
            return Ok(TargetKind::Stream(OpenOptions::new().write(true).truncate(has_no_name).open(path)?));
        }
        if let Some(output) = own_output(&found) {
            return Ok(TargetKind::Stream(output));
        }
        // If the permissions do not allow writing to a file, the file is not replaced.
        OpenOptions::new().write(true).open(path)?;
        Ok(TargetKind::File(found))
    }
}

/// Writes a temporary file, and moves it to `path` when it is complete.
fn replace(path: &Path, before: Option<&Metadata>, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let mut saving = Saving::of(path, before)?;
    write(saving.file())?;
    saving.commit()
}

/// A temporary file, which is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Saving {
    path: PathBuf,
    replacement: ReplacementFile,
    file: File,
}

impl Saving {
    /// Begins a [`save`] that continues step by step; only regular files are accepted.
    #[cfg(feature = "parquet")]
    pub(crate) fn begin(path: &Path) -> Result<Saving> {
        match TargetKind::at(path)? {
            TargetKind::Folder => Err(is_folder()),
            TargetKind::Stream(_) => {
                let why = "chunks are written to a regular file or to a folder";
                Err(std::io::Error::new(ErrorKind::InvalidInput, why).into())
            }
            TargetKind::File(before) => Saving::of(&target_of(path), Some(&before)),
            TargetKind::New => Saving::of(&target_of(path), None),
        }
    }

    fn of(path: &Path, before: Option<&Metadata>) -> Result<Saving> {
        let Some(folder) = path.file_name().and(path.parent()) else {
            return Err(std::io::Error::new(ErrorKind::InvalidInput, "the output path does not name a file").into());
        };
        atomic_write::remove_some_left(folder);
        let (replacement, file) = atomic_write::create(folder, atomic_write::FILE, before.is_some())?;
        if let Some(before) = before {
            keep_access(&file, before)?;
        }
        Ok(Saving { path: path.into(), replacement, file })
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Moves the file to its target.
    pub(crate) fn commit(self) -> Result<()> {
        self.file.sync_all()?;
        // The lock is held until the file has its name. Otherwise another process could remove the file as a leftover.
        // Only Unix can rename an open file.
        let held = if cfg!(unix) { Some(self.file) } else { None };
        self.replacement.replace(&self.path)?;
        drop(held);
        sync_folder(&self.path);
        Ok(())
    }
}

fn is_folder() -> Error {
    std::io::Error::new(ErrorKind::IsADirectory, "the output path is a folder").into()
}

/// Returns the standard output of this program, if it is the file found. A shell has opened this file, and other
/// programs may also write to it, so it must not be replaced.
#[cfg(unix)]
fn own_output(found: &Metadata) -> Option<File> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let outputs = [std::io::stdout().as_fd().try_clone_to_owned(), std::io::stderr().as_fd().try_clone_to_owned()];
    let is_found = |file: &File| file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()));
    outputs.into_iter().flatten().map(File::from).find(is_found)
}

#[cfg(not(unix))]
fn own_output(_: &Metadata) -> Option<File> {
    None
}

/// Copies the owner, the group and the permissions of the old file to a new file that only its owner may read. If the
/// group cannot be set, the group does not get permissions.
#[cfg(unix)]
fn keep_access(file: &File, before: &Metadata) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (owner, group) = (before.uid(), before.gid());
    let is_kept = fchown(file, Some(owner), Some(group)).is_ok() || fchown(file, None, Some(group)).is_ok();
    let mode = if is_kept { before.mode() } else { before.mode() & !0o070 };
    Ok(file.set_permissions(fs::Permissions::from_mode(mode & 0o7777))?)
}

#[cfg(not(unix))]
fn keep_access(file: &File, before: &Metadata) -> Result<()> {
    Ok(file.set_permissions(before.permissions())?)
}

/// The maximum number of links that are followed one after another, as in Linux.
const MAX_LINKS: usize = 40;

/// Follows links and returns the final path, which may be missing.
fn target_of(path: &Path) -> PathBuf {
    let behind = |path: &PathBuf| {
        let link = fs::read_link(path).ok()?;
        Some(path.parent().map_or(link.clone(), |folder| folder.join(&link)))
    };
    let followed = || iter::successors(Some(path.to_path_buf()), behind).take(MAX_LINKS + 1).last();
    fs::canonicalize(path).ok().or_else(followed).unwrap_or_default()
}

/// Makes the new name as durable as the bytes. Failures are ignored, because not every file system supports this, and
/// the file already has its name.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}
