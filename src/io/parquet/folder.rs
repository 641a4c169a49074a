//! A folder of tables that is being written: its parts, then its manifest.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::mem::take;
use std::path::{Path, PathBuf};

use super::description::Description;
use super::manifest::{MANIFEST, Manifest, TablePart};
use crate::base::error::Result;
use crate::base::{locks, temporary};
use crate::io::atomic_write::{self, ReplacementFile};
use crate::io::save::save;

/// A folder that is being written.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
    /// True if the folder was created here.
    is_new: bool,
    /// The first number to try for the name of the next part.
    next: usize,
    /// The names of the files created here, and the facts about finished parts.
    created: Vec<String>,
    pub(super) parts: Vec<TablePart>,
    /// The file with the names of the parts that this writer holds. It holds the parts while the file is locked.
    list: Option<(ReplacementFile, File)>,
    is_done: bool,
}

/// The end of the names of such files.
const LIST: &str = ".parts";

impl Folder {
    pub(super) fn at(root: &Path) -> Result<Folder> {
        let is_new = match fs::create_dir(root) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            created => created.map(|()| true)?,
        };
        let (created, parts, is_done) = (vec![], vec![], false);
        let mut folder = Folder { root: root.into(), is_new, next: 0, created, parts, list: None, is_done };
        let locked = locks::hold(root);
        atomic_write::remove_left(root, atomic_write::FILE, |_| ());
        // Names are read before the lists and the manifest. Each part is therefore named in a list or in the manifest,
        // except parts of other programs.
        let found = names(root)?;
        let held = remove_unnamed(root)?;
        let (mut strangers, is_tensor) = (0, root.join(MANIFEST).is_file());
        for name in found {
            let number = number_of(&name).filter(|_| is_tensor || held.contains(&name));
            match number {
                // Readers of the existing tensor still use its parts.
                Some(number) => folder.next = folder.next.max(number + 1),
                // A finished writer has removed its own files, so the file may not exist any more.
                None => strangers += usize::from(!name.starts_with(atomic_write::NAME) && root.join(name).exists()),
            }
        }
        drop(locked);
        if strangers > 0 && !is_tensor {
            let why = "the folder has files that are not a tensor; name a new folder";
            return Err(std::io::Error::new(ErrorKind::AlreadyExists, why).into());
        }
        folder.list = Some(atomic_write::create(root, LIST, false)?);
        Ok(folder)
    }

    fn note(&mut self, name: &str) -> Result<()> {
        Ok(self.list.iter_mut().try_for_each(|(_, list)| list.write_all(format!("{name}\n").as_bytes()))?)
    }

    /// Creates a file under a name that no other writer uses.
    pub(super) fn new_part(&mut self) -> Result<(String, File)> {
        loop {
            let name = format!("part-{:05}.parquet", self.next);
            self.next += 1;
            self.note(&name)?;
            let path = self.root.join(&name);
            match temporary::create(&path, || File::create_new(&path).map(Some)) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && self.next <= MAX_PARTS => {}
                file => {
                    if let Some(file) = file? {
                        self.created.push(name.clone());
                        return Ok((name, file));
                    }
                }
            }
        }
    }

    /// Writes a manifest that names the new parts, and removes the parts that the manifest does not name.
    pub(super) fn commit(&mut self, described: Description) -> Result<()> {
        let manifest = Manifest { described, are_checked: true, parts: take(&mut self.parts) };
        let text = manifest.to_text();
        // A manifest that could not be read again is not written.
        Manifest::parse(&text)?;
        let _locked = locks::hold(&self.root);
        // An interrupt leaves either the new manifest with only its parts, or the folder unchanged.
        let _uninterrupted = temporary::uninterrupted();
        save(self.root.join(MANIFEST), |file| Ok(file.write_all(text.as_bytes())?))?;
        // From here on, the manifest names the parts.
        self.created.iter().for_each(|name| temporary::end(&self.root.join(name), || ()));
        (self.is_done, self.list) = (true, None);
        // The next write removes the parts that are left.
        let _ = remove_unnamed(&self.root);
        Ok(())
    }
}

/// Removes parts that are not named in the manifest and not held by a writer. Returns the parts that writers hold.
/// Without a manifest, only parts of terminated writers are removed, because other parts may be tables of another
/// program.
///
/// A part is held before it is created, and until the manifest names it. Therefore the names of all parts are read
/// first, then the lists, then the manifest.
fn remove_unnamed(root: &Path) -> Result<BTreeSet<String>> {
    let parts: Vec<String> = names(root)?.into_iter().filter(|name| number_of(name).is_some()).collect();
    let Lists { held, left, dead } = Lists::read(root)?;
    let named: BTreeSet<String> = match Manifest::read(root) {
        Ok(manifest) => manifest.parts.into_iter().map(|part| part.file).collect(),
        Err(_) if root.join(MANIFEST).exists() => return Ok(held),
        Err(_) => parts.iter().filter(|name| !left.contains(*name)).cloned().collect(),
    };
    for name in parts.iter().filter(|name| !named.contains(*name) && !held.contains(*name)) {
        let _ = fs::remove_file(root.join(name));
    }
    dead.iter().for_each(|(path, _)| drop(fs::remove_file(path)));
    Ok(held)
}

/// The parts that the lists of writers name.
#[derive(Default)]
struct Lists {
    /// The parts of running writers.
    held: BTreeSet<String>,
    /// The parts of terminated writers.
    left: BTreeSet<String>,
    /// The lists of terminated writers, which are locked.
    dead: Vec<(PathBuf, File)>,
}

impl Lists {
    fn read(root: &Path) -> Result<Lists> {
        let mut lists = Lists::default();
        for name in names(root)?.iter().filter(|name| name.starts_with(atomic_write::NAME) && name.ends_with(LIST)) {
            let path = root.join(name);
            match locks::abandoned(&path) {
                Some(list) => {
                    lists.left.extend(lines(&list));
                    lists.dead.push((path, list));
                }
                None => File::open(&path).iter().for_each(|list| lists.held.extend(lines(list))),
            }
        }
        Ok(lists)
    }
}

fn lines(list: &File) -> impl Iterator<Item = String> {
    BufReader::new(list).lines().map_while(std::io::Result::ok)
}

/// Returns the names of all files in a folder.
fn names(root: &Path) -> Result<Vec<String>> {
    fs::read_dir(root)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// The maximum number of parts of a folder.
const MAX_PARTS: usize = 1 << 20;

/// Returns the number in the name of a part.
fn number_of(name: &str) -> Option<usize> {
    name.strip_prefix("part-")?.strip_suffix(".parquet")?.parse().ok().filter(|&number| number < MAX_PARTS)
}

/// Removes the files of an unfinished write.
impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        for name in &self.created {
            let path = self.root.join(name);
            let _ = temporary::end(&path, || fs::remove_file(&path));
        }
        self.list = None;
        if self.is_new {
            let _ = fs::remove_dir(&self.root);
        }
    }
}
