//! Files compressed with gzip: read by their first bytes, written by their name, and never trusted.

#![cfg(feature = "io")]

use flate2::write::GzEncoder;
use lacuna::io::{
    AnyTensor, Compression, FileFormat, ReadOptions, WriteOptions, read, read_from, save, write, write_to,
};
use lacuna::{CooTensor, Error};
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;

const TEXT: &str = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 75.25\n2 3 -0.5\n3 3 -1e100\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn read_bytes(bytes: &[u8]) -> lacuna::Result<AnyTensor> {
    read_from(bytes, None, &ReadOptions::default())
}

fn tensor() -> AnyTensor {
    read_bytes(TEXT.as_bytes()).unwrap()
}

/// Place and message of a format error.
fn refused(result: lacuna::Result<AnyTensor>) -> (String, String) {
    match result {
        Err(Error::Format { place, message }) => (place, message),
        other => panic!("not a format error: {other:?}"),
    }
}

/// A folder of its own for a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lacuna-gzip-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_path_that_ends_in_gz_is_compressed_and_read_again() {
    let folder = Folder::new("paths");
    for name in ["x.mtx.gz", "x.npy.gz", "X.MTX.GZ"] {
        let path = folder.0.join(name);
        write(&path, &tensor(), &WriteOptions::default()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(&[0x1f, 0x8b]), "{name}");
        assert!(read(&path, &ReadOptions::default()).unwrap().same_as(&tensor()), "{name}");
        assert!(read_bytes(&bytes).unwrap().same_as(&tensor()), "{name} as a stream");
    }
    let refused = write(folder.0.join("x.npz.gz"), &tensor(), &WriteOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("the extension does not name one"), "{refused}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 3);
}

#[test]
fn the_first_bytes_tell_and_not_the_extension() {
    let folder = Folder::new("names");
    let cases = [
        ("a.mtx", gzip(TEXT.as_bytes())),
        ("b.gz", gzip(TEXT.as_bytes())),
        ("c.dat", gzip(TEXT.as_bytes())),
        ("d.mtx.gz", TEXT.as_bytes().to_vec()),
    ];
    for (name, bytes) in cases {
        std::fs::write(folder.0.join(name), bytes).unwrap();
        assert!(read(folder.0.join(name), &ReadOptions::default()).unwrap().same_as(&tensor()), "{name}");
    }
    std::fs::write(folder.0.join("e.gz"), gzip(b"1 2 3\n")).unwrap();
    let (place, message) = refused(read(folder.0.join("e.gz"), &ReadOptions::default()));
    assert_eq!((place.as_str(), message.contains("name it with --from")), ("the format", true));
}

#[test]
fn the_same_tensor_gives_the_same_bytes_without_time_and_name() {
    let mut options = WriteOptions::default();
    options.compression = Compression::Gzip;
    let bytes = || {
        let mut bytes = Vec::new();
        write_to(&mut bytes, FileFormat::MatrixMarket, &tensor(), &options).unwrap();
        bytes
    };
    assert_eq!(bytes(), bytes());
    // No flags, so no name, and a time of zero.
    assert_eq!(bytes()[2..8], [8, 0, 0, 0, 0, 0]);
    let folder = Folder::new("same");
    write(folder.0.join("x.mtx.gz"), &tensor(), &WriteOptions::default()).unwrap();
    assert_eq!(std::fs::read(folder.0.join("x.mtx.gz")).unwrap(), bytes());
}

#[test]
fn several_members_are_one_file() {
    let (first, second) = TEXT.split_at(60);
    let parts = [gzip(first.as_bytes()), gzip(b""), gzip(second.as_bytes())].concat();
    assert!(read_bytes(&parts).unwrap().same_as(&tensor()));
}

#[test]
fn a_file_cut_at_any_byte_is_refused_and_says_where() {
    let bytes = gzip(TEXT.as_bytes());
    for end in 2..bytes.len() {
        let (place, message) = refused(read_bytes(&bytes[..end]));
        assert_eq!(message, "the gzip data are truncated", "cut at {end}");
        assert_eq!(place, format!("gzip data, after {end} bytes"));
    }
    // A second member that is cut is no shorter file.
    let two = [bytes.clone(), gzip(b"% a comment\n")].concat();
    assert!(read_bytes(&two).is_ok());
    for end in bytes.len() + 1..two.len() {
        assert_eq!(refused(read_bytes(&two[..end])).1, "the gzip data are truncated", "cut at {end}");
    }
}

#[test]
fn any_change_of_a_byte_is_an_error_or_no_change_of_the_tensor() {
    let bytes = gzip(TEXT.as_bytes());
    let mut harmless = std::collections::BTreeSet::new();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let result = read_from(&changed[..], FileFormat::MatrixMarket, &ReadOptions::default());
            match result {
                Ok(x) => {
                    assert!(x.same_as(&tensor()), "byte {at}, bit {bit}");
                    harmless.insert(at);
                }
                Err(error) => assert!(matches!(error, Error::Format { .. }), "byte {at}, bit {bit}: {error:?}"),
            }
        }
    }
    // The flags, the time, the kind of compression, the system, and the bits that fill up the last byte of the data.
    assert_eq!(Vec::from_iter(harmless), [3, 4, 5, 6, 7, 8, 9, bytes.len() - 9]);
}

#[test]
fn a_wrong_checksum_and_bytes_after_the_end_are_named() {
    let bytes = gzip(TEXT.as_bytes());
    let length = bytes.len();
    let mut wrong = bytes.clone();
    wrong[length - 5] ^= 1;
    let (place, message) = refused(read_bytes(&wrong));
    assert_eq!(place, format!("gzip data, after {length} bytes"));
    assert!(message.contains("checksum"), "{message}");
    for (rubbish, zeros) in [(&b"rubbish after the end"[..], 0), (b"x", 0), (b"\0\0y", 2)] {
        let (place, message) = refused(read_bytes(&[&bytes, rubbish].concat()));
        assert_eq!(place, format!("gzip data, after {} bytes", length + zeros));
        assert_eq!(message, "the gzip data are followed by other data");
    }
    let (place, message) = refused(read_bytes(&[&bytes[..], &[0x1f]].concat()));
    assert_eq!(
        (place, message.as_str()),
        (format!("gzip data, after {} bytes", length + 1), "the gzip data are truncated")
    );
}

/// Tapes and disks are written in blocks: the zeros after the last member are nothing to gzip, and were an error here.
#[test]
fn zeros_after_a_member_are_padding() {
    let (first, second) = TEXT.split_at(50);
    let members = [gzip(first.as_bytes()), gzip(second.as_bytes())];
    for zeros in [0, 1, 512, 100_000] {
        let padded = [&members[0][..], &vec![0; zeros], &members[1], &vec![0; zeros]].concat();
        assert!(read_bytes(&padded).unwrap().same_as(&tensor()), "{zeros} zeros");
    }
}

/// The limit is 64 times the file; where what compresses well came first, it was 64 times what had been read of it.
#[test]
fn what_a_file_may_inflate_to_does_not_depend_on_the_order_of_its_parts() {
    let folder = Folder::new("order");
    let mut comments = b"%".repeat(1 << 10);
    comments.push(b'\n');
    let comments = comments.repeat(80 << 10);
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'!' + (state >> 26) as u8
    };
    let mut line = || [b"%".to_vec(), (0..1 << 19).map(|_| noise()).collect(), b"\n".to_vec()].concat();
    let rest = [line(), line(), line(), line()].concat();
    let (banner, entries) = TEXT.split_at(TEXT.find('\n').unwrap() + 1);
    let bytes = gzip(&[banner.as_bytes(), &comments, &rest, entries.as_bytes()].concat());
    assert!(64 * bytes.len() > 90 << 20, "{}", bytes.len());
    let path = folder.0.join("x.mtx.gz");
    std::fs::write(&path, &bytes).unwrap();
    assert!(read(&path, &ReadOptions::default()).unwrap().same_as(&tensor()));
}

#[test]
fn a_bomb_is_refused_and_the_limit_can_be_raised() {
    let comment = [b"%".repeat(1023), b"\n".to_vec()].concat().repeat(70 << 10);
    let (banner, rest) = TEXT.split_at(TEXT.find('\n').unwrap() + 1);
    let bomb = gzip(&[banner.as_bytes(), &comment, rest.as_bytes()].concat());
    assert!(bomb.len() < 1 << 20);
    let error = read_bytes(&bomb).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 67_108_864, .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("the inflated file would take 67"), "{text}");
    assert!(text.contains("raise --max-memory (ReadOptions::max_memory)"), "{text}");
    let mut options = ReadOptions::default();
    options.max_memory = Some(71 << 20);
    assert!(read_from(&bomb[..], None, &options).unwrap().same_as(&tensor()));
    options.max_memory = Some(10);
    let error = read_from(&gzip(TEXT.as_bytes())[..], None, &options).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 10, .. }), "{error:?}");
}

#[test]
fn many_empty_members_end_in_time() {
    let members = gzip(b"").repeat(200_000);
    let start = std::time::Instant::now();
    let (place, message) = refused(read_from(&members[..], FileFormat::MatrixMarket, &ReadOptions::default()));
    assert_eq!((place.as_str(), message.starts_with("the file is empty")), ("line 1", true));
    assert!(start.elapsed().as_secs_f64() < 2.0, "{:?}", start.elapsed());
}

#[test]
fn an_archive_inside_gzip_is_refused() {
    let mut archive = Vec::new();
    write_to(&mut archive, FileFormat::Npz, &tensor(), &WriteOptions::default()).unwrap();
    let bytes = gzip(&archive);
    for format in [None, Some(FileFormat::Npz)] {
        let (place, message) = refused(read_from(&bytes[..], format, &ReadOptions::default()));
        assert_eq!(place, "the archive");
        assert!(message.contains("run gunzip first"), "{message}");
    }
    let folder = Folder::new("archive");
    std::fs::write(folder.0.join("x.npz"), &bytes).unwrap();
    let (place, message) = refused(read(folder.0.join("x.npz"), &ReadOptions::default()));
    assert!(place == "the archive" && message.contains("run gunzip first"), "{place}: {message}");
}

/// A reader that fails after some bytes, as a disk does.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::new(ErrorKind::TimedOut, "the disk is gone")),
            count => Ok(count),
        }
    }
}

/// A matrix whose file is longer than what is looked at to tell its format, compressed too.
fn long() -> AnyTensor {
    let coords: Vec<u64> = (0..5000).collect();
    let values: Vec<f64> = coords.iter().map(|&at| ((at * at % 100_003) as f64).sqrt()).collect();
    let pattern = lacuna::CooPattern::new([1, 5000], 5000, vec![vec![0; 5000], coords]).unwrap();
    let x: CooTensor<f64, u64> = lacuna::Tensor::from_parts(pattern, values, 0.0).unwrap();
    x.into()
}

#[test]
fn a_failing_disk_is_no_corrupt_file() {
    let mut text = Vec::new();
    write_to(&mut text, FileFormat::MatrixMarket, &long(), &WriteOptions::default()).unwrap();
    let bytes = gzip(&text);
    assert!(bytes.len() > 30_000);
    for end in [2, 12, 4097, 20_000, bytes.len()] {
        let error = read_from(Failing(&bytes[..end]), None, &ReadOptions::default()).unwrap_err();
        let gone = Error::from(std::io::Error::new(ErrorKind::TimedOut, "the disk is gone"));
        assert_eq!(error, gone, "after {end}");
    }
}

#[test]
fn errors_inside_keep_their_lines() {
    let wrong = TEXT.replace("2 3 -0.5", "2 4 -0.5");
    assert_eq!(refused(read_bytes(&gzip(wrong.as_bytes()))).0, "line 4");
}

/// A writer that fails once `room` bytes are written, as a full disk does.
struct Full {
    room: usize,
    failures: usize,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = bytes.len().min(self.room);
        self.room -= count;
        if count > 0 {
            return Ok(count);
        }
        self.failures += 1;
        Err(std::io::Error::new(ErrorKind::StorageFull, "no space left"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_fills_up_anywhere_is_an_error_in_every_format() {
    let x = long();
    for compression in [Compression::Usual, Compression::None, Compression::Gzip] {
        for format in FileFormat::ALL {
            let mut options = WriteOptions::default();
            options.compression = compression;
            let mut whole = Vec::new();
            write_to(&mut whole, format, &x, &options).unwrap();
            for room in (0..whole.len()).step_by(997).chain([whole.len() - 1]) {
                let mut full = Full { room, failures: 0 };
                let error = write_to(&mut full, format, &x, &options).unwrap_err();
                let expected = Error::from(std::io::Error::new(ErrorKind::StorageFull, "no space left"));
                assert_eq!(error, expected, "{format} {compression:?}, room for {room}");
                assert_eq!(full.failures, 1, "nothing is written after the failure");
            }
        }
    }
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new("whole");
    let path = folder.0.join("x.mtx.gz");
    write(&path, &tensor(), &WriteOptions::default()).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut options = WriteOptions::default();
    options.compression = Compression::Gzip;
    let failed = save(&path, |file| {
        write_to(&mut *file, FileFormat::MatrixMarket, &tensor(), &options)?;
        file.write_all(b"half of ")?;
        Err(Error::TakeFromEmpty { count: 1 })
    });
    assert_eq!(failed, Err(Error::TakeFromEmpty { count: 1 }));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
    let into_folder = save(&folder.0, |_| panic!("nothing is written where a folder stands")).unwrap_err();
    assert!(matches!(into_folder, Error::Io { kind: ErrorKind::IsADirectory, .. }), "{into_folder:?}");
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_to_a_file_that_is_there_and_to_one_that_is_not() {
    let folder = Folder::new("links");
    std::os::unix::fs::symlink("target.mtx", folder.0.join("link.mtx")).unwrap();
    for entries in [tensor(), long()] {
        write(folder.0.join("link.mtx"), &entries, &WriteOptions::default()).unwrap();
        assert!(folder.0.join("link.mtx").is_symlink());
        assert!(read(folder.0.join("target.mtx"), &ReadOptions::default()).unwrap().same_as(&entries));
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn links_behind_links_are_followed_and_a_ring_of_them_is_refused() {
    let folder = Folder::new("chain");
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(to, folder.0.join(from)).unwrap();
    link("first", "second");
    link("second", "third");
    save(folder.0.join("first"), |file| Ok(file.write_all(b"whole")?)).unwrap();
    assert_eq!(std::fs::read(folder.0.join("third")).unwrap(), b"whole");
    assert!(folder.0.join("second").is_symlink());
    link("left", "right");
    link("right", "left");
    let ring = save(folder.0.join("left"), |_| panic!("nothing is written where links lead nowhere"));
    assert!(matches!(ring, Err(Error::Io { .. })), "{ring:?}");
    assert!(folder.0.join("right").is_symlink());
}

#[cfg(unix)]
#[test]
fn what_others_may_not_read_they_may_not_read_while_it_is_written() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("secret");
    let path = folder.0.join("x.tns");
    std::fs::write(&path, "1 1\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    save(&path, |file| {
        assert_eq!(file.metadata()?.permissions().mode() & 0o777, 0o600);
        Ok(file.write_all(b"2 2\n")?)
    })
    .unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(target_os = "linux")]
#[test]
fn a_named_pipe_gets_the_bytes_and_stays_a_pipe() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new("pipe");
    let path = folder.0.join("x.mtx");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let reader = std::thread::spawn({
        let path = path.clone();
        move || std::fs::read(path).unwrap()
    });
    write(&path, &tensor(), &WriteOptions::default()).unwrap();
    assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
    assert!(read_bytes(&reader.join().unwrap()).unwrap().same_as(&tensor()));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

/// `/dev/stdout` and `/dev/fd/3` are links to what has no name: followed to the end they led to a file that is not
/// there.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_without_a_name_gets_the_bytes() {
    use std::os::fd::AsRawFd;
    let (mut pipe, writer) = std::io::pipe().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    });
    let path = format!("/dev/fd/{}", writer.as_raw_fd());
    let written = save(path, |file| write_to(file, FileFormat::MatrixMarket, &tensor(), &WriteOptions::default()));
    drop(writer);
    assert_eq!(written, Ok(()));
    assert!(read_bytes(&reader.join().unwrap().unwrap()).unwrap().same_as(&tensor()));
}

/// A file that was removed while it is open has no name either: a new one beside it is nobody's.
#[cfg(target_os = "linux")]
#[test]
fn an_open_file_without_a_name_gets_the_bytes() {
    use std::io::Seek;
    use std::os::fd::AsRawFd;
    let folder = Folder::new("removed");
    let path = folder.0.join("x.mtx");
    let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    file.write_all(&[b'9'; 5000]).unwrap();
    file.rewind().unwrap();
    std::fs::remove_file(&path).unwrap();
    let target = format!("/dev/fd/{}", file.as_raw_fd());
    save(target, |file| write_to(file, FileFormat::MatrixMarket, &tensor(), &WriteOptions::default())).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    assert!(read_bytes(&bytes).unwrap().same_as(&tensor()));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

/// Names ran out after a hundred files that were left under one number of a process: in a container it is always 1.
#[test]
fn temporary_files_of_others_are_stepped_over_and_not_overwritten() {
    let folder = Folder::new("aside");
    let aside = |number: usize| folder.0.join(format!(".lacuna-{}-{number}.tmp", std::process::id()));
    (0..3000).for_each(|number| std::fs::write(aside(number), "of others").unwrap());
    // Somebody still writes these; the others were left.
    let held: Vec<_> = (0..3000).filter(|number| number % 10 < 3).collect();
    let locks: Vec<_> = held.iter().map(|&number| std::fs::File::open(aside(number)).unwrap()).collect();
    locks.iter().for_each(|file| file.try_lock().unwrap());
    let path = folder.0.join("x.mtx");
    write(&path, &tensor(), &WriteOptions::default()).unwrap();
    assert!(read(&path, &ReadOptions::default()).unwrap().same_as(&tensor()));
    assert!(held.iter().all(|&number| std::fs::read(aside(number)).unwrap() == b"of others"));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), held.len() + 1);
}

/// A large folder is not looked through before each file that is written there.
#[test]
fn files_that_were_left_are_removed_by_the_next_write_or_soon() {
    let folder = Folder::new("left");
    let left = folder.0.join(".lacuna-1-0.tmp");
    let next = |name: &str| {
        write(folder.0.join(name), &tensor(), &WriteOptions::default()).unwrap();
        left.exists()
    };
    for name in ["a.mtx", "a.mtx", "b.npz"] {
        std::fs::write(&left, "half").unwrap();
        assert!(!next(name));
    }
    (0..1000).for_each(|number| std::fs::write(folder.0.join(number.to_string()), "").unwrap());
    assert!(!next("a.mtx"));
    std::fs::write(&left, "half").unwrap();
    let writes = (1..).find(|_| !next("a.mtx")).unwrap();
    assert!((2..=1004 / 64 + 1).contains(&writes), "{writes}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_whatever_is_written_to_it() {
    for compression in [Compression::Usual, Compression::None, Compression::Gzip] {
        for format in FileFormat::ALL {
            let mut options = WriteOptions::default();
            options.compression = compression;
            let error = save("/dev/full", |file| write_to(file, format, &tensor(), &options)).unwrap_err();
            assert!(matches!(error, Error::Io { kind: ErrorKind::StorageFull, .. }), "{error:?}");
        }
    }
}

#[test]
fn an_archive_is_stored_or_deflated_as_asked() {
    let bytes = |compression| {
        let mut options = WriteOptions::default();
        options.compression = compression;
        let mut bytes = Vec::new();
        write_to(&mut bytes, FileFormat::Npz, &tensor(), &options).unwrap();
        assert!(read_bytes(&bytes).unwrap().same_as(&tensor()));
        bytes
    };
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let header = b"'fortran_order'";
    assert!(has(&bytes(Compression::None), header));
    assert!(!has(&bytes(Compression::Usual), header));
    assert_eq!(bytes(Compression::Gzip), bytes(Compression::Usual));
}

/// The standard output of a program may be a file in which other programs write too. Such a file is not replaced.
#[cfg(all(target_os = "linux", feature = "cli"))]
#[test]
fn a_file_that_the_program_prints_to_is_not_replaced() {
    let folder = Folder::new("own");
    let (input, output) = (folder.0.join("x.mtx"), folder.0.join("out.txt"));
    std::fs::write(&input, TEXT).unwrap();
    std::fs::write(&output, "before\n").unwrap();
    let appended = std::fs::OpenOptions::new().append(true).open(&output).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lacuna"));
    command.args(["convert".as_ref(), input.as_os_str(), "/dev/stdout".as_ref(), "--to".as_ref(), "mtx".as_ref()]);
    assert!(command.stdout(appended).status().unwrap().success());
    let found = std::fs::read_to_string(&output).unwrap();
    assert!(found.starts_with("before\n%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 75.25\n"), "{found}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
}

/// A file that its user may not write was replaced all the same, as the folder was theirs; and the owner and the group
/// of one that root wrote were gone, its permissions then those of another group.
#[cfg(unix)]
#[test]
fn the_permissions_of_a_file_outlive_it() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = Folder::new("permissions");
    let path = folder.0.join("x.mtx");
    for mode in [0o640, 0o600, 0o666, 0o755] {
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        save(&path, |file| {
            // Nobody else may open it meanwhile, either.
            let aside = file.metadata().unwrap();
            assert_eq!(aside.mode() & 0o777, mode);
            Ok(file.write_all(b"new")?)
        })
        .unwrap();
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!((found.mode() & 0o7777, std::fs::read(&path).unwrap()), (mode, b"new".to_vec()));
    }
    if chown(&path, Some(65_534), Some(65_533)).is_ok() {
        save(&path, |_| Ok(())).unwrap();
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (65_534, 65_533, 0o755));
    } else {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
        let refused = save(&path, |_| Ok(())).unwrap_err();
        assert!(matches!(refused, Error::Io { kind: ErrorKind::PermissionDenied, .. }), "{refused:?}");
    }
}
