//! A full disk, a limit on the size of files, or a kill leaves no part of a file. The error names the file.

#![cfg(all(feature = "cli", feature = "parquet", unix))]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lacuna::io::{FileFormat, WriteOptions, write, write_to};
use lacuna::{CooTensor, Error};

/// A folder of its own, which is removed with this.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lacuna-full-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("small")).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A table of some 3 MB, whose rows and columns are to be told apart.
    fn with_table(self) -> Self {
        write(self.path("x.parquet"), &numbers(), &WriteOptions::default()).unwrap();
        self
    }

    /// Returns the files in the folder with little space.
    fn left(&self) -> Vec<PathBuf> {
        let mut left: Vec<PathBuf> = fs::read_dir(self.path("small")).unwrap().map(|it| it.unwrap().path()).collect();
        left.sort();
        left
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Numbers that follow no pattern at every third position of 400 x 1000.
fn numbers() -> CooTensor<f64> {
    let cells = (0..400_u32).flat_map(|row| (row % 3..1000).step_by(3).map(move |column| (row, column)));
    let (rows, columns): (Vec<u32>, Vec<u32>) = cells.unzip();
    let value = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / 1e9;
    let values = (0..rows.len() as u64).map(value).collect();
    CooTensor::new([400, 1000], vec![rows, columns], values, 0.0).unwrap()
}

/// Runs lines of a shell, to which the program, the table and the folder with little room are known.
fn shell(folder: &Folder, lines: &str) -> Output {
    let mut command = Command::new("sh");
    command.arg("-c").arg(lines).env("LACUNA", env!("CARGO_BIN_EXE_lacuna")).env("X", folder.path("x.parquet"));
    command.env("SMALL", folder.path("small")).output().unwrap()
}

/// Commands that write more than there is room for, and the file that is to be named.
const COMMANDS: &[(&str, &str)] = &[
    (r#""$LACUNA" convert "$X" "$SMALL/y.mtx""#, "small/y.mtx: "),
    (r#""$LACUNA" convert "$X" "$SMALL/y.npz""#, "small/y.npz: "),
    (r#""$LACUNA" convert "$X" "$SMALL/y.parquet""#, "small/y.parquet: "),
    (r#""$LACUNA" convert "$X" --to parquet "$SMALL/y/""#, "small/y/: "),
    (r#""$LACUNA" eval 'x * 2' x="$X" -o "$SMALL/y.parquet" --engine chunks --max-memory 1M"#, "small/y.parquet: "),
    (r#""$LACUNA" eval 'x * 2' x="$X" --to parquet -o "$SMALL/y/" --engine chunks --max-memory 1M"#, "small/y/: "),
    (r#""$LACUNA" nanmedian "$X" --axis 0 --engine chunks --max-memory 1M --spill "$SMALL""#, "small/lacuna-spill-"),
];

/// Each command fails with these words and the name of the file, without a panic, and leaves nothing.
fn check(folder: &Folder, command: &str, file: &str, found: &Output, why: &str) {
    let told = String::from_utf8_lossy(&found.stderr);
    assert_eq!(found.status.code(), Some(1), "{command}: {told}");
    assert!(told.contains(file) && told.contains(why) && !told.contains("panicked"), "{command}: {told}");
    assert_eq!(told.lines().count(), 1, "{command}: {told}");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{command} left files");
    assert!(folder.left().is_empty(), "{command} left files");
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let folder = Folder::new("disk").with_table();
    // A file system of the process alone, whose files are told before it goes.
    let mount = r#"mount -t tmpfs -o size=256k none "$SMALL""#;
    let within = |lines: &str| shell(&folder, &format!("exec unshare -rm sh -c '{}'", lines.replace('\'', r"'\''")));
    if !within(mount).status.success() {
        return println!("skipped: no file system may be mounted here");
    }
    for (command, file) in COMMANDS {
        let found = within(&format!(r#"{mount} && {command}; code=$?; ls -A "$SMALL"; exit $code"#));
        check(&folder, command, file, &found, "No space left on device");
    }
}

#[test]
fn a_file_that_may_not_grow_is_an_error_that_names_it() {
    let folder = Folder::new("limit").with_table();
    for (command, file) in COMMANDS {
        // In blocks of 512 bytes: less than each file of what is spilled has.
        let found = shell(&folder, &format!("trap '' XFSZ; ulimit -f 16; {command}"));
        check(&folder, command, file, &found, "File too large");
    }
}

/// A command that fails for lack of space may run again with more space.
#[test]
fn a_spill_folder_that_is_full_is_told_with_a_way_out() {
    let folder = Folder::new("way").with_table();
    let (command, _) = COMMANDS[COMMANDS.len() - 1];
    let told = shell(&folder, &format!("trap '' XFSZ; ulimit -f 16; {command}")).stderr;
    assert!(String::from_utf8_lossy(&told).contains("--spill"), "{}", String::from_utf8_lossy(&told));
    assert!(shell(&folder, command).status.success());
    assert!(folder.left().is_empty());
}

/// A killed process leaves files, and the next one that writes there removes them. The signal for a file that grows
/// beyond what it may kills in the middle of a write.
#[test]
fn what_a_killed_process_left_goes_with_the_next_write() {
    for (command, _) in &COMMANDS[3..] {
        let folder = Folder::new("killed").with_table();
        let killed = shell(&folder, &format!("ulimit -c 0; ulimit -f 16; {command}"));
        assert!(!killed.status.success(), "{command}");
        assert!(!folder.left().is_empty(), "{command} was not killed");
        let left = names(&folder.path("small"));
        let next = shell(&folder, command);
        assert!(next.status.success(), "{command}: {}", String::from_utf8_lossy(&next.stderr));
        let now = names(&folder.path("small"));
        let is_result =
            |name: &String| name.contains("y.parquet") || name.contains("part-") || name.contains("_lacuna");
        assert!(now.iter().all(is_result), "{command}: {left:?}, then {now:?}");
        assert!(now.iter().filter(|name| name.contains("part-")).count() <= 1, "{command}: {left:?}, then {now:?}");
    }
}

/// The names of all files below a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { found.extend(names(&path)) } else { found.push(path.to_str().unwrap().into()) }
    }
    found
}

#[test]
fn a_full_device_is_an_error_of_every_format() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return println!("skipped: there is no /dev/full");
    };
    for format in FileFormat::ALL {
        let error = write_to(&full, format, &numbers(), &WriteOptions::default()).unwrap_err();
        let is_full = matches!(&error, Error::Io { kind, .. } if *kind == std::io::ErrorKind::StorageFull);
        assert!(is_full, "{format}: {error}");
    }
    for name in ["y.mtx", "y.npz"] {
        let link = std::env::temp_dir().join(format!("lacuna-full-link-{}-{name}", std::process::id()));
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let told = write(&link, &numbers(), &WriteOptions::default()).unwrap_err().to_string();
        fs::remove_file(&link).unwrap();
        assert!(told.contains(name) && told.contains("No space left"), "{told}");
    }
}

/// The bytes that a command reads and writes, if the system counts them.
fn bytes_moved(folder: &Folder, command: &str) -> Option<[u64; 2]> {
    // The count includes the processes that the shell waited for.
    let found = shell(folder, &format!("{command} >&2 && cat /proc/$$/io"));
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let told = String::from_utf8_lossy(&found.stdout).into_owned();
    let value = |name| told.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some([value("rchar:")?, value("wchar:")?])
}

/// Each range looked into each file of what was partitioned out: with an eighth of the memory, eight times as many
/// bytes.
#[test]
fn what_is_dealt_out_is_read_and_written_once() {
    let folder = Folder::new("partitioned").with_table();
    let medians = r#""$LACUNA" nanmedian "$X" --axis 0 --engine chunks --spill "$SMALL" --max-memory"#;
    let (few, many) = (format!("{medians} 4M"), format!("{medians} 160K"));
    let (Some(few), Some(many)) = (bytes_moved(&folder, &few), bytes_moved(&folder, &many)) else {
        return println!("skipped: the system does not count bytes");
    };
    println!("read and written with 4M: {few:?}, with 160K: {many:?}");
    // Chunks of 20 kB are more than the files that may be open at once, so each entry is written twice.
    let entries = numbers().nnz() as u64 * 16;
    assert!((entries..entries * 3 / 2).contains(&few[1]), "{few:?}");
    assert!(many[1] < entries * 5 / 2, "{many:?}");
    assert!(many[0] < few[0] + entries * 3 / 2, "{few:?}, {many:?}");
}

/// A row of a result is a column of ranges to the engine: the whole file was partitioned out for it.
#[test]
fn a_slice_reads_the_pages_that_it_lies_in() {
    let folder = Folder::new("slice").with_table();
    for expression in
        ["x[5]", "x[5] * 2 + 1", "(x * 2)[5]", "x[5, 3]", "x[-1, ::2]", "sum(x[5])", "x[3:5][1]", "x[5][2:9]"]
    {
        let line = |rest: &str| format!(r#""$LACUNA" eval '{expression}' x="$X" --json --limit all {rest}"#);
        let chunks = line(r#"--engine chunks --max-memory 1M --spill "$SMALL""#);
        let [expected, found] = [line(""), chunks.clone()].map(|line| shell(&folder, &line));
        let told = String::from_utf8_lossy(&found.stderr);
        assert!(found.status.success() && found.stdout == expected.stdout, "{expression}: {told}");
        let Some([read, written]) = bytes_moved(&folder, &chunks) else {
            return println!("skipped: the system does not count bytes");
        };
        let file = fs::metadata(folder.path("x.parquet")).unwrap().len();
        println!("{expression}: of {file} bytes {read} are read and {written} written");
        assert!(read < file / 2 && written < 100_000, "{expression}: of {file} bytes {read} read, {written} written");
    }
}
