//! Tables out of any bytes: what is read is the same in pieces, and reads the same when it is written, also by hand. Of
//! gzip data that are corrupt the pieces decide how much is inflated before that is found, and with it which of two
//! errors comes first.
#![no_main]

use std::io::Read;

use lacuna::io::{CsvColumns, Labelled, ReadOptions, WriteOptions, read_csv_from, write_csv_to};
use libfuzzer_sys::fuzz_target;

/// At most three bytes at a time.
struct Pieces<'a>(&'a [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let room = buffer.len().min(3);
        self.0.read(&mut buffer[..room])
    }
}

fn columns() -> CsvColumns {
    CsvColumns::new(["a", "b"]).value("v")
}

fn read(reader: impl Read) -> lacuna::Result<Labelled<f64>> {
    read_csv_from(reader, &columns(), &ReadOptions::default())
}

/// The table again, all of it quoted.
fn write(table: &Labelled<f64>) -> String {
    let quoted = |label: &str| format!("\"{}\"", label.replace('"', "\"\""));
    let mut text = "a,b,v\n".to_string();
    for (at, value) in &table.tensor {
        let label = |axis: usize| quoted(table.labels[axis].label(at[axis]).expect("each number has a label"));
        text += &format!("{},{},{value:?}\n", label(0), label(1));
    }
    text
}

/// Every element of the table stands at its labels in a text of it.
fn assert_holds(text: &[u8], whole: &Labelled<f64>) {
    let again = read(text).expect("what was written can be read");
    assert_eq!(again.tensor.nnz(), whole.tensor.nnz());
    for (at, value) in &whole.tensor {
        let label = |axis: usize| whole.labels[axis].label(at[axis]).expect("each number has a label");
        let found = again.get(&[label(0), label(1)]).unwrap();
        assert!(found.to_bits() == value.to_bits() || (found.is_nan() && value.is_nan()));
    }
}

fuzz_target!(|data: &[u8]| {
    match (read(data), read(Pieces(data))) {
        (Ok(whole), Ok(pieces)) => {
            assert!(pieces.tensor.same_as(&whole.tensor) && pieces.labels == whole.labels);
            assert_eq!(
                whole.tensor.shape().to_vec(),
                whole.labels.iter().map(|labels| labels.len()).collect::<Vec<_>>()
            );
            assert_holds(write(&whole).as_bytes(), &whole);
            let mut text = Vec::new();
            write_csv_to(&mut text, &whole, &columns(), &WriteOptions::default()).expect("there is room for it");
            assert_holds(&text, &whole);
        }
        (Err(_), Err(_)) if data.starts_with(&[0x1f, 0x8b]) => {}
        (Err(whole), Err(pieces)) => assert_eq!(pieces.to_string(), whole.to_string()),
        (whole, pieces) => panic!("{pieces:?} is not {whole:?}"),
    }
});
