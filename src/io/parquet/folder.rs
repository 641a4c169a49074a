//! A folder of tables while it is written: its parts, then its manifest.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::mem::take;
use std::path::{Path, PathBuf};

use super::described::Described;
use super::manifest::{MANIFEST, Manifest, Part};
use crate::base::error::Result;
use crate::io::aside::{self, Aside};
use crate::io::save::save;

/// A folder that is written.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
    /// Whether it was made here.
    is_new: bool,
    /// The number that the next part may have.
    next: usize,
    /// The names of the files that were made here, and what the ones that are whole hold.
    made: Vec<String>,
    pub(super) parts: Vec<Part>,
    /// The names of files that are to go if this process is killed, unless the manifest has them.
    list: Option<(Aside, File)>,
    is_done: bool,
}

/// What the names of such lists end with.
const LIST: &str = ".parts";

impl Folder {
    pub(super) fn at(root: &Path) -> Result<Folder> {
        let is_new = match fs::create_dir(root) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            made => made.map(|()| true)?,
        };
        remove_unfinished(root);
        let (made, parts, is_done) = (vec![], vec![], false);
        let mut folder = Folder { root: root.into(), is_new, next: 0, made, parts, list: None, is_done };
        let mut strangers = 0;
        for entry in fs::read_dir(root)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            match number_of(&name) {
                // Readers of the tensor that is there now go on with its parts.
                Some(number) => folder.next = folder.next.max(number + 1),
                None => strangers += usize::from(!name.starts_with(aside::NAME)),
            }
        }
        if strangers > 0 && !root.join(MANIFEST).is_file() {
            let why = "the folder holds files and no tensor; name a new one";
            return Err(std::io::Error::new(ErrorKind::AlreadyExists, why).into());
        }
        folder.list = Some(aside::create(root, LIST, false)?);
        Ok(folder)
    }

    fn note(&mut self, name: &str) -> Result<()> {
        Ok(self.list.iter_mut().try_for_each(|(_, list)| list.write_all(format!("{name}\n").as_bytes()))?)
    }

    /// Begins a file under a name that no other writer takes.
    pub(super) fn new_part(&mut self) -> Result<(String, File)> {
        loop {
            let name = format!("part-{:05}.parquet", self.next);
            self.next += 1;
            self.note(&name)?;
            match File::create_new(self.root.join(&name)) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && self.next <= MOST_PARTS => {}
                file => {
                    let file = file?;
                    self.made.push(name.clone());
                    return Ok((name, file));
                }
            }
        }
    }

    /// Makes the manifest name the new parts, and removes those that it named before.
    pub(super) fn commit(&mut self, described: Described) -> Result<()> {
        let before = Manifest::read(&self.root).map(|manifest| manifest.parts).unwrap_or_default();
        let is_old = |part: &&Part| number_of(&part.file).is_some() && !self.made.contains(&part.file);
        let old: Vec<String> = before.iter().filter(is_old).map(|part| part.file.clone()).collect();
        old.iter().try_for_each(|name| self.note(name))?;
        let manifest = Manifest { described, parts: take(&mut self.parts) };
        let text = manifest.to_text();
        // What could not be read is not written.
        Manifest::parse(&text)?;
        save(self.root.join(MANIFEST), |file| Ok(file.write_all(text.as_bytes())?))?;
        self.is_done = true;
        old.iter().for_each(|name| drop(fs::remove_file(self.root.join(name))));
        Ok(())
    }
}

/// Removes what writers that were killed left in a folder: what they wrote aside, and the parts that their lists name
/// and the manifest does not.
fn remove_unfinished(root: &Path) {
    aside::remove_left(root, aside::FILE, |_| ());
    let kept = match Manifest::read(root) {
        Ok(manifest) => manifest.parts,
        Err(_) if root.join(MANIFEST).exists() => return,
        Err(_) => Vec::new(),
    };
    aside::remove_left(root, LIST, |list| {
        for name in BufReader::new(list).lines().map_while(std::io::Result::ok) {
            if number_of(&name).is_some() && kept.iter().all(|part| part.file != name) {
                let _ = fs::remove_file(root.join(name));
            }
        }
    });
}

/// The most parts of one folder.
const MOST_PARTS: usize = 1 << 20;

/// The number in the name of a part.
fn number_of(name: &str) -> Option<usize> {
    name.strip_prefix("part-")?.strip_suffix(".parquet")?.parse().ok().filter(|&number| number < MOST_PARTS)
}

/// What was not finished is removed.
impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        for name in &self.made {
            let _ = fs::remove_file(self.root.join(name));
        }
        self.list = None;
        if self.is_new {
            let _ = fs::remove_dir(&self.root);
        }
    }
}
