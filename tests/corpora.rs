//! The inputs that the fuzzer found worth keeping, `tests/corpus/<target>.zip`, as files, which it wants, and back.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The folder that `LACUNA_CORPUS` names, with a folder for each target in it.
fn unpacked() -> PathBuf {
    std::env::var_os("LACUNA_CORPUS").expect("LACUNA_CORPUS names a folder").into()
}

/// The archives, one a target.
fn archives() -> impl Iterator<Item = PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    files_in(&folder).into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "zip"))
}

/// The files of a folder, by name.
fn files_in(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
#[ignore = "writes a file for each input into the folder that LACUNA_CORPUS names"]
fn unpack() {
    for path in archives() {
        let folder = unpacked().join(path.file_stem().unwrap());
        fs::create_dir_all(&folder).unwrap();
        let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
        for at in 0..archive.len() {
            let mut member = archive.by_index(at).unwrap();
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).unwrap();
            fs::write(folder.join(member.name().unwrap().as_ref()), bytes).unwrap();
        }
    }
}

/// Targets that have no folder there stay as they are. The same files make the same archive.
#[test]
#[ignore = "packs the inputs in the folder that LACUNA_CORPUS names"]
fn pack() {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for folder in files_in(&unpacked()) {
        let name = Path::new(folder.file_name().unwrap()).with_extension("zip");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
        let mut archive = ZipWriter::new(File::create(path).unwrap());
        for file in files_in(&folder) {
            archive.start_file(file.file_name().unwrap().to_str().unwrap(), options).unwrap();
            archive.write_all(&fs::read(file).unwrap()).unwrap();
        }
        archive.finish().unwrap();
    }
}
