//! The folders below which a worker reads files.

use std::io;
use std::path::{Component, Path, PathBuf};

/// Folders, with all links resolved.
#[derive(Debug, Clone)]
pub(crate) struct Roots(Vec<PathBuf>);

impl Roots {
    pub(crate) fn new(folders: &[PathBuf]) -> io::Result<Self> {
        let resolved = |folder: &PathBuf| match folder.canonicalize()? {
            folder if folder.is_dir() => Ok(folder),
            folder => Err(io::Error::other(format!("{} is not a folder", folder.display()))),
        };
        folders.iter().map(resolved).collect::<io::Result<Vec<_>>>().map(Roots)
    }

    /// Returns a file below a root, or a folder whose files are all below a root. Other paths are not found, whether
    /// they exist or not. A pipe is not found either, because opening a pipe may block forever.
    pub(crate) fn find(&self, path: &Path) -> Option<PathBuf> {
        let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.is_absolute() || !path.components().all(is_plain) {
            return None;
        }
        let found = self.below(path)?;
        if found.is_dir() {
            let mut files = found.read_dir().ok()?;
            files.all(|file| file.is_ok_and(|file| self.below(&file.path()).is_some())).then_some(())?;
        }
        Some(found)
    }

    fn below(&self, path: &Path) -> Option<PathBuf> {
        let found = path.canonicalize().ok()?;
        let is_below = self.0.iter().any(|root| found.starts_with(root));
        (is_below && (found.is_file() || found.is_dir())).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_elsewhere_is_not_there() -> io::Result<()> {
        let folder = std::env::temp_dir().join(format!("lacuna-roots-{}", std::process::id()));
        let root = folder.join("root");
        std::fs::create_dir_all(root.join("x"))?;
        std::fs::create_dir_all(root.join("y"))?;
        std::fs::create_dir_all(folder.join("root-not"))?;
        for file in ["root/x/part", "root/y/part", "secret", "root-not/secret"] {
            std::fs::write(folder.join(file), "")?;
        }
        let roots = Roots::new(std::slice::from_ref(&root))?;
        let canonical = root.canonicalize()?;
        assert_eq!(roots.find(&root.join("x")), Some(canonical.join("x")));
        assert_eq!(roots.find(&root.join("x/part")), Some(canonical.join("x/part")));
        let elsewhere = ["secret", "root/../secret", "root/../root/x", "root-not/secret", "root/none"];
        for path in elsewhere.map(|path| folder.join(path)) {
            assert_eq!(roots.find(&path), None, "{}", path.display());
        }
        assert_eq!(roots.find(Path::new("root/x")), None);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.join("secret"), root.join("link"))?;
            std::os::unix::fs::symlink(folder.join("secret"), root.join("y/link"))?;
            std::os::unix::fs::symlink(root.join("x"), root.join("inner"))?;
            assert_eq!(roots.find(&root.join("link")), None);
            assert_eq!(roots.find(&root.join("y")), None, "one of its files is outside the folder");
            assert_eq!(roots.find(&root.join("inner")), Some(canonical.join("x")));
            let is_made = std::process::Command::new("mkfifo").arg(root.join("x/pipe")).status()?.success();
            assert!(is_made && roots.find(&root.join("x/pipe")).is_none());
            assert_eq!(roots.find(&root.join("x")), None, "one of its files is a pipe");
        }
        std::fs::remove_dir_all(&folder)
    }
}
