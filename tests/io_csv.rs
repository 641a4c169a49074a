//! Tables of labels and values: what is read, what is refused and where, and hostile bytes.

#![cfg(feature = "io")]

use std::io::{Read, Write};

use lacuna::io::{
    Compression, CsvColumns, Labelled, Labels, ReadOptions, WriteOptions, read_coo, read_csv, read_csv_from, write_csv,
    write_csv_to,
};
use lacuna::{CooTensor, Duplicates, Error};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn columns() -> CsvColumns {
    CsvColumns::new(["who", "what"]).value("n")
}

fn read(text: &str) -> lacuna::Result<Labelled<f64>> {
    read_csv_from(text.as_bytes(), &columns(), &ReadOptions::default())
}

#[track_caller]
fn refused(text: impl AsRef<[u8]>) -> String {
    match read_csv_from::<i32, u32>(text.as_ref(), &columns(), &ReadOptions::default()) {
        Err(Error::Format { place, message }) => format!("{place}: {message}"),
        other => panic!("not a format error: {other:?}"),
    }
}

/// The table has the numbers of an archive of pydata/sparse, whose axes have another order.
#[test]
fn a_table_is_the_tensor_of_its_figures() {
    let file = |name: &str| format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let columns = CsvColumns::new(["class", "sex", "age", "survived"]).value("people");
    let table: Labelled<i64> = read_csv(file("titanic.csv"), &columns, &ReadOptions::default()).unwrap();
    let expected: CooTensor<i64> = read_coo(file("titanic.npz"), &ReadOptions::default()).unwrap();
    assert_eq!((table.tensor.shape(), table.tensor.nnz()), (expected.shape(), 24));
    for (at, people) in &expected {
        assert_eq!(table.tensor.get(&[at[0], at[1], 1 - at[2], at[3]]), Ok(people));
    }
    let names: Vec<Vec<&str>> = table.labels.iter().map(|labels| labels.iter().collect()).collect();
    let [class, rest @ ..] = &names[..] else { panic!() };
    assert_eq!(class, &["first", "second", "third", "crew"]);
    assert_eq!(rest, [["male", "female"], ["adult", "child"], ["no", "yes"]]);
    for labels in &table.labels {
        assert!(labels.iter().enumerate().all(|(number, label)| labels.number(label) == Some(number)));
        assert_eq!((labels.label(labels.len()), labels.number("nobody")), (None, None));
    }
}

#[test]
fn fields_are_quoted_and_lines_end_in_any_way() {
    let expected = read("who,what,n\nAda,\"tea, \"\"iced\"\"\",2\n\"B\nb\",x,1e3\n").unwrap();
    assert_eq!(expected.tensor.entries(), [(vec![0, 0], 2.0), (vec![1, 1], 1000.0)]);
    assert_eq!((expected.labels[0].label(1), expected.labels[1].label(0)), (Some("B\nb"), Some("tea, \"iced\"")));
    for text in [
        "who,what,n\r\nAda,\"tea, \"\"iced\"\"\",2\r\n\"B\nb\",x,1e3",
        "\u{feff}who,what,n\n\n\nAda,\"tea, \"\"iced\"\"\", 2 \n\n\"B\nb\",x,1000\n\n",
    ] {
        assert_eq!(read(text).unwrap(), expected, "{text:?}");
    }
    let tabs = "n\twhat\tother\twho\n2\ttea, \"iced\"\t\tAda\n1000\tx\t7\tBob\n";
    let table: Labelled<f64> =
        read_csv_from(tabs.as_bytes(), &columns().delimiter(b'\t'), &ReadOptions::default()).unwrap();
    assert_eq!(table.tensor, expected.tensor);
}

#[test]
fn records_of_one_place_merge_as_asked() {
    let text = "who,what,n\na,x,1\nb,x,2\na,x,4\n";
    assert_eq!(read(text).unwrap().tensor.values(), [5.0, 2.0]);
    let counted: Labelled<u64> =
        read_csv_from(text.as_bytes(), &CsvColumns::new(["who"]), &ReadOptions::default()).unwrap();
    assert_eq!(counted.tensor.values(), [2, 1]);
    let mut options = ReadOptions::default();
    options.fill = Some("nan".into());
    for (duplicates, expected) in [(Duplicates::First, 1.0), (Duplicates::Last, 4.0)] {
        options.duplicates = duplicates;
        let table: Labelled<f64> = read_csv_from(text.as_bytes(), &columns(), &options).unwrap();
        assert!(table.tensor.values() == [expected, 2.0] && table.tensor.fill().is_nan());
    }
    options.duplicates = Duplicates::Error;
    let error = read_csv_from::<f64, u32>(text.as_bytes(), &columns(), &options).unwrap_err();
    assert_eq!(error.to_string(), "line 4: the labels are the same as on line 2");
    let alone: Labelled<f64> =
        read_csv_from(text.as_bytes(), &CsvColumns::new([""; 0]).value("n"), &ReadOptions::default()).unwrap();
    assert_eq!(alone.tensor.item(), Ok(7.0));
}

#[test]
fn what_is_wrong_is_named_with_the_line_on_which_its_record_begins() {
    for (text, message) in [
        ("", "line 1: the file is empty; the first record must have the column names"),
        ("\n\n", "line 1: the file is empty; the first record must have the column names"),
        ("\nwho,n\n", "line 2: there is no column `what`; there are `who`, `n`"),
        ("who,what,who,n\n", "line 1: there are two columns `who`"),
        ("who,what,n\na,b,1\nc,d\n", "line 3: the record has 2 fields, but the first record has 3"),
        (
            "who,what,n\r\n\r\na,b,1\r\n\"c\r\nc\",d,2\r\n\r\ne,f,2,3",
            "line 7: the record has 4 fields, but the first record has 3",
        ),
        ("who,what,n\n\"a\na\",b,1.5\n", "line 2: `1.5` is not a value of type int32"),
        ("who,what,n\na,b,\n", "line 2: `` is not a value of type int32"),
        ("who,what,n\na,b,\x1b[31m\n", "line 2: `\\u{1b}[31m` is not a value of type int32"),
    ] {
        assert_eq!(refused(text), message, "{text:?}");
    }
    assert_eq!(refused(b"who,what,n\na\xff,b,1\n"), "line 2: the label `a\u{fffd}` is not UTF-8");
}

#[test]
fn a_shape_has_room_for_labels_or_has_not() {
    let text = "who,what,n\na,x,1\nb,x,2\n";
    let mut options = ReadOptions::default();
    options.shape = Some([5, 1].into());
    let table: Labelled<f64> = read_csv_from(text.as_bytes(), &columns(), &options).unwrap();
    assert_eq!((table.tensor.shape(), table.labels[0].len()), (options.shape.as_ref().unwrap(), 2));
    options.shape = Some([1, 5].into());
    let error = read_csv_from::<f64, u32>(text.as_bytes(), &columns(), &options).unwrap_err();
    assert_eq!(error.to_string(), "line 3: the label `b` does not fit an axis of length 1");
    options.shape = Some([5].into());
    let error = read_csv_from::<f64, u32>(text.as_bytes(), &columns(), &options).unwrap_err();
    assert!(matches!(error, Error::RankMismatch { expected: 2, found: 1, .. }));
}

#[test]
fn a_record_without_an_end_is_refused() {
    for (begin, message) in [
        ("", "line 4: the record is longer than 1048576 bytes"),
        ("\"", "line 4: the quote on this line is not closed within 1048576 bytes"),
        ("\"\n\n\",\"", "line 6: the quote on this line is not closed within 1048576 bytes"),
    ] {
        let text = format!("who,what,n\na,b,1\n\n{begin}");
        let endless = text.as_bytes().chain(std::io::repeat(b'x').take(1 << 24));
        let error = read_csv_from::<f64, u32>(endless, &columns(), &ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let blank = std::io::repeat(b'\n').take(3 << 20);
    let error = read_csv_from::<f64, u32>(blank, &columns(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("line 1: the file is empty"));
    let many_fields = "who,what,n".to_string() + &",".repeat(200_000) + "\n";
    assert_eq!(read(&many_fields).unwrap().tensor.nnz(), 0);
}

#[test]
fn quotes_that_do_not_go_together_are_refused() {
    const NEVER: &str = "the quote on this line is never closed";
    const AFTER: &str = "follows the closing quote of a field; double a quote within a field";
    let z = format!("line 2: `z` {AFTER}");
    for (text, message) in [
        ("who,what,n,m\nx,y,1,\"k\nz,y,2,k\n", format!("line 2: {NEVER}")),
        ("who,what,n\nx,y,1\n\"\nz,y,2", format!("line 3: {NEVER}")),
        ("who,what,n\n\"a\nb\",\"y,1\n", format!("line 3: {NEVER}")),
        ("who,what,n\nx,y,\"", format!("line 2: {NEVER}")),
        ("who,what,n\nx,y,\"\"\"", format!("line 2: {NEVER}")),
        ("\"who,what,n\nx,y,1\n", format!("line 1: {NEVER}")),
        ("who,what,n\n\"x\"z,y,1\n", z.clone()),
        ("who,what,n\nx,y,\"1\"z", z.clone()),
        ("who,what,n\n\"x\"\"\"z,y,1\n", z),
        ("who,what,n\n\"x\" ,y,1\n", format!("line 2: ` ` {AFTER}")),
        ("who,what,n\n\"a\nb\"c,y,1\n", format!("line 3: `c` {AFTER}")),
        ("who,what,n\n\"x\"\u{e9},y,1\n", format!("line 2: `\\xc3` {AFTER}")),
    ] {
        assert_eq!(refused(text), message, "{text:?}");
        let bytes = text.bytes().map(|byte| [byte]).collect::<Vec<_>>();
        let pieces =
            bytes.iter().fold(Box::new(std::io::empty()) as Box<dyn Read>, |all, byte| Box::new(all.chain(&byte[..])));
        let error = read_csv_from::<i32, u32>(pieces, &columns(), &ReadOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), message, "{text:?} in pieces");
    }
    for text in ["who,what,n\n\"x\",\"\",1\r\n", "who,what,n\nx\"z\",\"y\"\"\",1", "who,what,n\n x,y\"\",\"1\"\r"] {
        assert_eq!(read(text).unwrap().tensor.nnz(), 1, "{text:?}");
    }
}

#[test]
fn labels_and_entries_take_no_more_memory_than_allowed() {
    let text: String = ["who,what,n\n".into()].into_iter().chain((0..20_000).map(|at| format!("{at},b,1\n"))).collect();
    let mut options = ReadOptions::default();
    assert!(read_csv_from::<f64, u32>(text.as_bytes(), &columns(), &options).is_ok());
    for limit in [400_000, 100_000] {
        options.max_memory = Some(limit);
        let error = read_csv_from::<f64, u32>(text.as_bytes(), &columns(), &options).unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: found, .. } if found == limit), "{error}");
    }
}

/// At most three bytes at a time.
struct Pieces<'a>(&'a [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let room = buffer.len().min(3);
        self.0.read(&mut buffer[..room])
    }
}

#[test]
fn a_stream_in_pieces_cut_or_compressed_is_the_same_file() {
    let text = "\u{feff}who,what,n\r\n\"a \"\"b\"\"\",x,1\r\n\r\nb,\"y\r\nz\",2\r\n";
    let whole = read(text).unwrap();
    let in_pieces = |text: &[u8]| read_csv_from::<f64, u32>(Pieces(text), &columns(), &ReadOptions::default());
    for cut in 0..=text.len() {
        let text = &text.as_bytes()[..cut];
        let at_once = read_csv_from::<f64, u32>(text, &columns(), &ReadOptions::default());
        match (at_once, in_pieces(text)) {
            (Ok(one), Ok(other)) => assert_eq!(one, other),
            (one, other) => assert_eq!(one.unwrap_err().to_string(), other.unwrap_err().to_string(), "{cut}"),
        }
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let compressed = encoder.finish().unwrap();
    let table: Labelled<f64> = read_csv_from(&compressed[..], &columns(), &ReadOptions::default()).unwrap();
    assert_eq!(table, whole);
    let error = read_csv_from::<f64, u32>(&compressed[..20], &columns(), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Format { .. }), "{error:?}");
    let error = read_csv::<f64, u32>("no/such.csv", &columns(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("no/such.csv: "), "{error}");
}

/// The first inflated bytes are not a table, and then a distance reaches too far back. A reader in pieces reports the
/// first of these errors.
#[test]
fn corrupt_gzip_data_are_refused_whole_and_in_pieces() {
    let bytes = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xf2\x9d\xff\x8b\x8b\x08\x08\x2c\x01\0\xff\xff\xff\xfb\x2c\x16";
    let read = |reader: &mut dyn Read| read_csv_from::<f64, u32>(reader, &columns(), &ReadOptions::default());
    for refused in [read(&mut &bytes[..]), read(&mut Pieces(bytes))] {
        assert!(matches!(refused, Err(Error::Format { .. })), "{refused:?}");
    }
}

/// Records that end with a carriage return alone end no line, so that entries run ahead of the lines: their difference
/// was taken as a natural number, and a fuzzer found the panic.
#[test]
fn records_may_be_more_than_lines() {
    let text = "who,what,n\rx,y,1\rz,y,2\rw,y,3\r";
    assert_eq!(read(text).unwrap().tensor.values(), [1.0, 2.0, 3.0]);
    let mut options = ReadOptions::default();
    options.duplicates = Duplicates::Error;
    let twice = format!("{text}x,y,4\r");
    assert!(read_csv_from::<f64, u32>(twice.as_bytes(), &columns(), &options).is_err());
}

/// Each position goes with its label, and where there was none the fill is.
#[test]
fn the_labels_of_an_axis_are_put_in_another_order() {
    let mut options = ReadOptions::default();
    options.fill = Some("nan".into());
    let text = "who,what,n\nBob,tea,1\nAda,tea,2\nBob,milk,3\n";
    let table: Labelled<f64> = read_csv_from(text.as_bytes(), &columns(), &options).unwrap();
    let people = Labels::new(["Ada", "Cyd", "Bob", "Ada"]).unwrap();
    let moved = table.with_labels(-2, &people).unwrap();
    assert_eq!(moved.labels, [people.clone(), table.labels[1].clone()]);
    assert_eq!(moved.tensor.entries(), [(vec![0, 0], 2.0), (vec![2, 0], 1.0), (vec![2, 1], 3.0)]);
    assert!(moved.get(&["Cyd", "milk"]).unwrap().is_nan());
    for (who, what) in [("Ada", "tea"), ("Bob", "tea"), ("Bob", "milk")] {
        assert_eq!(moved.get(&[who, what]), table.get(&[who, what]));
    }
    let back = moved.with_labels(0, &Labels::new(["Bob", "Ada", "Cyd"]).unwrap()).unwrap();
    assert!(back.tensor.same_as(&table.tensor.pad([(0, 1), (0, 0)]).unwrap()));
}

#[test]
fn no_label_is_lost_and_no_axis_made_up() {
    let table = read("who,what,n\nBob,tea,1\nAda,tea,2\n").unwrap();
    let error = table.with_labels(0, &Labels::new(["Bob"]).unwrap()).unwrap_err().to_string();
    assert_eq!(error, "with_labels: axis 0 has the label \"Ada\", which the new labels do not have");
    assert!(matches!(table.with_labels(2, &table.labels[0]), Err(Error::AxisOutOfRange { axis: 2, rank: 2 })));
    let none = read("who,what,n\n").unwrap();
    let some = none.with_labels(0, &table.labels[0]).unwrap();
    assert_eq!((some.tensor.shape().to_vec(), some.tensor.nnz()), (vec![2, 0], 0));
    // A table that the caller took apart.
    let mut odd = table.clone();
    odd.tensor = CooTensor::full([0; 0], 1.0).unwrap();
    assert!(odd.with_labels(0, &table.labels[0]).is_err());
}

/// The other readers do not take tables, and name the one that does.
#[test]
fn a_table_among_tensors_is_sent_to_its_reader() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/titanic.csv");
    let error = read_coo::<f64, u32>(path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("read tables with read_csv"), "{error}");
}

/// Labels of anything that a table must quote, and of what looks like something else.
fn label() -> impl Strategy<Value = String> {
    let odd = [
        "",
        " ",
        ",",
        ";",
        "\"",
        "\n",
        "\r",
        "\u{feff}",
        "\u{feff}a",
        "a,b",
        "\"a\"",
        "a\"\"b",
        "é",
        "1",
        "\0",
        "n\r\n",
    ];
    let odd: Vec<String> = odd.map(String::from).to_vec();
    prop_oneof![select(odd), "[a-c]{1,2}", any::<String>()]
}

fn written<T: lacuna::io::FileElement>(table: &Labelled<T>, columns: &CsvColumns) -> lacuna::Result<Vec<u8>> {
    let mut text = Vec::new();
    write_csv_to(&mut text, table, columns, &WriteOptions::default()).map(|()| text)
}

/// Every element is found at its labels again, whatever these and the delimiter are, and what is written of that is the
/// same again but for the order of its records.
fn is_read_again(records: &[(String, String, f64)], delimiter: u8) {
    let columns = columns().delimiter(delimiter);
    let mut text = String::from("who,what,n\n");
    let quoted = |label: &str| format!("\"{}\"", label.replace('"', "\"\""));
    records.iter().for_each(|(a, b, n)| text += &format!("{},{},{n:?}\n", quoted(a), quoted(b)));
    let last = ReadOptions::default().duplicates(Duplicates::Last);
    let table: Labelled<f64> = read_csv_from(text.as_bytes(), &self::columns(), &last).unwrap();
    let bytes = written(&table, &columns).unwrap();
    let again: Labelled<f64> = read_csv_from(&bytes[..], &columns, &ReadOptions::default()).unwrap();
    assert_eq!(again.tensor.nnz(), table.tensor.nnz());
    for (at, value) in &table.tensor {
        let labels: Vec<&str> = at.iter().zip(&table.labels).map(|(&at, of)| of.label(at).unwrap()).collect();
        let found = again.get(&labels).unwrap();
        assert!(found.to_bits() == value.to_bits() || (found.is_nan() && value.is_nan()), "{labels:?}");
    }
    let second: Labelled<f64> =
        read_csv_from(&written(&again, &columns).unwrap()[..], &columns, &ReadOptions::default()).unwrap();
    assert!(second.tensor.same_as(&again.tensor) && second.labels == again.labels);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
    #[test]
    fn a_table_that_is_written_is_read_again(
        records in vec((label(), label(), any::<f64>()), 0..12),
        delimiter in select(vec![b',', b';', b'\t', b' ', b'a', b'1', b'.', 0xc3]),
    ) {
        is_read_again(&records, delimiter);
    }
}

#[test]
fn a_table_is_written_to_a_file_and_refused_where_none_would_be_read() {
    let (table, counts) = (read("who,what,n\nAda,tea,2\nBob,milk,-0.5\n").unwrap(), CsvColumns::new(["who", "what"]));
    let path = std::env::temp_dir().join(format!("lacuna-written-{}.csv.gz", std::process::id()));
    write_csv(&path, &table, &columns(), &WriteOptions::default()).unwrap();
    assert!(std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]));
    assert_eq!(read_csv::<f64, u32>(&path, &columns(), &ReadOptions::default()).unwrap(), table);
    std::fs::remove_file(&path).unwrap();
    let mut gzip = Vec::new();
    write_csv_to(&mut gzip, &table, &columns(), &WriteOptions::default().compression(Compression::Gzip)).unwrap();
    assert_eq!(read_csv_from::<f64, u32>(&gzip[..], &columns(), &ReadOptions::default()).unwrap(), table);

    let ones: Labelled<u8> = read_csv_from(&b"who,what\nAda,tea\n"[..], &counts, &ReadOptions::default()).unwrap();
    assert_eq!(written(&ones, &counts).unwrap(), b"who,what\nAda,tea\n");
    let mut filled = table.clone();
    filled.tensor = filled.tensor.with_fill(1.0);
    let mut unlabelled = table.clone();
    unlabelled.labels[1] = Labels::new(["tea"]).unwrap();
    let long: Labelled<f64> = table.with_labels(0, &Labels::new(["Ada", "Bob"]).unwrap()).unwrap();
    let mut too_long = long.clone();
    too_long.labels[0] = Labels::new(["x".repeat(1 << 20), "Bob".into()]).unwrap();
    // A column name may begin with the character of the UTF-8 mark at the start of the file.
    let marked = CsvColumns::new(["\u{feff}who", "what"]).value("n");
    let text = written(&table, &marked).unwrap();
    assert_eq!(read_csv_from::<f64, u32>(&text[..], &marked, &ReadOptions::default()).unwrap(), table);
    for (found, said) in [
        (written(&table, &counts), "the value 2.0 without a value column; name one with value()"),
        (
            written(&filled, &columns()),
            "the fill 1.0, because its unstored positions are zeros; leave these out with with_fill(0), or write .npz",
        ),
        (written(&unlabelled, &columns()), "write_csv: axis 1 has no label for position 1, which has an entry"),
        (written(&too_long, &columns()), "a record of 1048585 bytes, above 1048576; shorten its labels"),
        (written(&table, &CsvColumns::new(["who"]).value("n")), "1 column names and 2 lists of labels for 2 axes"),
        (written(&table, &CsvColumns::new(["n", "what"]).value("n")), "two columns have the name \"n\""),
        (written(&table, &columns().delimiter(b'"')), "the delimiter must not be a quote"),
    ] {
        let error = found.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn parts_of_a_table_are_asked_for_by_labels() {
    let table = read("who,what,n\nAda,tea,2\nBob,milk,1\nEve,tea,4\nEve,ice,3\n").unwrap();
    let names = |table: &Labelled<f64>, axis: usize| table.labels[axis].iter().map(String::from).collect::<Vec<_>>();
    let two = table.select(0, ["Eve", "Ada"]).unwrap();
    assert_eq!((names(&two, 0), names(&two, 1)), (vec!["Eve".into(), "Ada".into()], names(&table, 1)));
    assert_eq!((two.get(&["Eve", "ice"]), two.get(&["Ada", "tea"]), two.tensor.nnz()), (Ok(3.0), Ok(2.0), 3));
    assert_eq!(table.select(1, [""; 0]).unwrap().tensor.shape(), [3, 0]);
    for (part, expected) in [
        (table.slice(-1, "tea"..="milk"), vec!["tea", "milk"]),
        (table.slice(1, "tea".."milk"), vec!["tea"]),
        (table.slice(1, "milk"..), vec!["milk", "ice"]),
        (table.slice(1, ..="milk"), vec!["tea", "milk"]),
        (table.slice(1, ..), vec!["tea", "milk", "ice"]),
        (table.slice(1, "ice".."ice"), vec![]),
    ] {
        let part = part.unwrap();
        assert_eq!(
            (names(&part, 1), part.tensor.shape()[1]),
            (expected.iter().map(|&n| n.into()).collect(), expected.len())
        );
        for label in expected {
            assert_eq!(part.get(&["Eve", label]), table.get(&["Eve", label]));
        }
    }
    let said = |found: lacuna::Result<Labelled<f64>>| found.unwrap_err().to_string();
    assert_eq!(said(table.select(0, ["Ada", "Tom"])), "select: axis 0 has no label \"Tom\"");
    assert_eq!(said(table.select(0, ["Ada", "Ada"])), "select: the label \"Ada\" is selected twice");
    assert_eq!(said(table.slice(1, "soup"..)), "slice: axis 1 has no label \"soup\"");
    assert!(said(table.slice(1, "ice".."tea")).contains("is before its start, on axis 1"));
    assert!(matches!(table.slice(2, ..), Err(Error::AxisOutOfRange { .. })));
    // Positions behind the labels are none of a range of them.
    let wide = read_csv_from::<f64, u32>(
        &b"who,n\na,1\nb,2\n"[..],
        &CsvColumns::new(["who"]).value("n"),
        &ReadOptions::default().shape([5]),
    )
    .unwrap();
    assert_eq!(wide.slice(0, "b"..).unwrap().tensor.shape(), [1]);
}

#[test]
fn a_table_has_a_label_for_each_position() {
    let x = CooTensor::new([2, 1], vec![vec![1], vec![0]], vec![4.5], 0.0).unwrap();
    let labels = |counts: &[usize]| {
        counts.iter().map(|&count| Labels::new((0..count).map(|at| at.to_string())).unwrap()).collect()
    };
    assert_eq!(Labelled::new(x.clone(), labels(&[2, 1])).unwrap().get(&["1", "0"]).unwrap(), 4.5);
    let refused = Labelled::new(x.clone(), labels(&[2])).unwrap_err();
    assert!(matches!(refused, Error::RankMismatch { expected: 2, found: 1, .. }), "{refused}");
    let refused = Labelled::new(x, labels(&[2, 2])).unwrap_err();
    assert!(matches!(refused, Error::LengthMismatch { expected: 1, found: 2, .. }), "{refused}");
}
