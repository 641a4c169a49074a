//! The readers and writers of files: round trips, real files, and what formats cannot hold.

#![cfg(feature = "io")]

use lacuna::io::{
    AnyTensor, FileElement, FileFormat, Format, ReadOptions, WriteOptions, read, read_from, read_header, save, write,
    write_to,
};
use lacuna::{
    CooTensor, DType, Duplicates, Element, Error, Number, Pattern, Shape, Tensor, Triplets, dispatch, dispatch_dtype,
};
use std::io::Write;
use std::path::{Path, PathBuf};

fn options(change: impl FnOnce(&mut ReadOptions)) -> ReadOptions {
    let mut options = ReadOptions::default();
    change(&mut options);
    options
}

fn mtx(text: &str) -> lacuna::Result<AnyTensor> {
    read_from(text.as_bytes(), FileFormat::MatrixMarket, &ReadOptions::default())
}

fn bytes_of(x: &AnyTensor, format: FileFormat) -> lacuna::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_to(&mut bytes, format, x, &WriteOptions::default())?;
    Ok(bytes)
}

fn back(x: &AnyTensor, format: FileFormat) -> AnyTensor {
    read_from(&bytes_of(x, format).unwrap()[..], format, &ReadOptions::default()).unwrap()
}

#[test]
fn tensors_of_any_type_are_the_same_only_in_every_respect() {
    let coo = |at: u64, value: f64, fill: f64| {
        let pattern = lacuna::CooPattern::<u64>::new([3], 1, vec![vec![at]]).unwrap();
        Tensor::from_parts(pattern, vec![value], fill).unwrap()
    };
    let x = AnyTensor::from(coo(1, 2.0, 0.0));
    assert!(x.same_as(&coo(1, 2.0, 0.0).into()));
    assert!(!x.same_as(&coo(1, 3.0, 0.0).into()) && !x.same_as(&coo(1, 2.0, 1.0).into()));
    assert!(!x.same_as(&coo(2, 2.0, 0.0).into()));
    assert!(!x.same_as(&coo(1, 2.0, 0.0).to_csr().unwrap().into()));
    assert!(!x.same_as(&coo(1, 2.0, 0.0).map_values(|value| value as f32).unwrap().into()));
}

/// The bytes that `numpy.save` of numpy 2.4.6 writes.
#[test]
fn headers_are_those_of_numpy() {
    let header = |dict: &str| [&b"\x93NUMPY\x01\x00v\x00"[..], format!("{dict:<117}\n").as_bytes()].concat();
    let one = CooTensor::new([3], vec![vec![1]], vec![2.0], 0.0).unwrap().with_index::<u64>().unwrap();
    let expected = header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }");
    let bytes = bytes_of(&one.clone().into(), FileFormat::Npy).unwrap();
    assert_eq!((&bytes[..128], bytes.len()), (&expected[..], 128 + 24));
    let truths = one.map_values(|value| value > 1.0).unwrap();
    for (shape, tuple) in [(vec![], "()"), (vec![1, 3], "(1, 3)"), (vec![3, 1, 1], "(3, 1, 1)")] {
        let x = match shape.is_empty() {
            true => CooTensor::full(shape, true).unwrap().with_index::<u64>().unwrap(),
            false => truths.reshape(shape).unwrap(),
        };
        let expected = header(&format!("{{'descr': '|b1', 'fortran_order': False, 'shape': {tuple}, }}"));
        assert_eq!(&bytes_of(&x.into(), FileFormat::Npy).unwrap()[..128], &expected[..], "{tuple}");
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The dense elements as text, row by row.
fn dense(x: &AnyTensor) -> Vec<String> {
    fn elements<P: Pattern, T: FileElement>(x: &Tensor<P, T>) -> Vec<String> {
        let text = |value: &T| {
            let mut text = Vec::new();
            value.print(&mut text);
            String::from_utf8(text).unwrap()
        };
        x.to_dense().unwrap().iter().map(text).collect()
    }
    dispatch!(x, x => elements(x))
}

fn message<T>(result: lacuna::Result<T>) -> String {
    result.err().expect("an error").to_string()
}

/// Every value that the type reads of a list that has the edges of all of them.
fn edges<T: FileElement>() -> Vec<T> {
    let texts = "0 1 -1 true 127 -128 255 32767 65535 -2147483648 4294967295 9223372036854775807 -9223372036854775808 \
                 18446744073709551615 nan inf -inf -0.0 0.1 1.5 -2.5e-7 5e-324 1.7976931348623157e308 3.4028235e38 \
                 1+2j -0.0-0.0j nan+infj 1e-3-infj";
    texts.split_whitespace().filter_map(T::parse).collect()
}

fn matrix_of_edges<T: FileElement>() -> CooTensor<T, u64> {
    let mut triplets = Triplets::<T, u64>::new_with_index([5, 9]).unwrap();
    for (at, value) in edges::<T>().into_iter().enumerate() {
        triplets.push(&[at * 7 % 5, at * 5 % 9], value).unwrap();
    }
    triplets.coalesce(Duplicates::Last).unwrap()
}

/// Every element type of this build, as a tensor.
fn every_type(make: impl Fn(DType) -> Option<AnyTensor>) -> Vec<AnyTensor> {
    let made: Vec<_> = DType::ALL.into_iter().filter_map(make).collect();
    assert_eq!(made.len(), if cfg!(feature = "half") { 15 } else { 13 });
    made
}

fn matrices_of_edges() -> Vec<AnyTensor> {
    every_type(|dtype| dispatch_dtype!(dtype, T => Some(matrix_of_edges::<T>().into()), else => None))
}

#[test]
fn what_is_told_of_a_tensor_of_any_type_is_that_of_the_tensor_in_it() {
    for x in matrices_of_edges() {
        assert_eq!((x.format(), x.rank(), x.shape()), (Format::Coo, 2, &Shape::from([5, 9])));
        let inside = dispatch!(&x, x => (x.nnz(), x.density(), x.stored_bytes(), x.fill().to_number()));
        assert_eq!((x.nnz(), x.density(), x.stored_bytes(), x.fill()), inside);
        assert_eq!((x.density(), x.fill()), (x.nnz() as f64 / 45.0, Number::Integer(0)));
        let csr = x.clone().into_format(Format::Csr).unwrap();
        assert_eq!((csr.format(), csr.nnz(), csr.dtype()), (Format::Csr, x.nnz(), x.dtype()));
        for x in [x, csr] {
            let inside = dispatch!(&x, x => format!("{x:?}"));
            assert_eq!(format!("{x:?}"), format!("{:?}({inside})", x.dtype()));
        }
    }
}

#[test]
fn a_fill_is_read_in_every_type() {
    for x in matrices_of_edges() {
        let bytes = bytes_of(&x, FileFormat::MatrixMarket).unwrap();
        let with = options(|o| (o.dtype, o.fill) = (Some(x.dtype()), Some("1".into())));
        let filled = read_from(&bytes[..], FileFormat::MatrixMarket, &with).unwrap();
        assert_eq!((filled.dtype(), filled.fill(), filled.nnz()), (x.dtype(), Number::Integer(1), x.nnz()));
        let unfilled = back(&x, FileFormat::MatrixMarket).cast(x.dtype()).unwrap();
        let gaps = dense(&filled).into_iter().zip(dense(&unfilled)).filter(|(filled, unfilled)| filled != unfilled);
        assert_eq!(gaps.count(), 45 - x.nnz(), "{}", x.dtype());
    }
}

#[test]
fn formats_are_displayed_by_their_names() {
    let names = FileFormat::ALL.map(|format| format!("[{format:>4}]"));
    assert_eq!(names[..4], ["[ mtx]", "[ tns]", "[ npy]", "[ npz]"]);
    assert_eq!(format!("[{:<4}] [{:^5}]", Format::Coo, Format::Csr), "[coo ] [ csr ]");
}

#[test]
fn npz_gives_back_every_type_in_both_formats_bit_for_bit() {
    for x in matrices_of_edges().into_iter().filter(|x| x.dtype() != DType::BFloat16) {
        for format in [Format::Coo, Format::Csr] {
            let x = x.clone().into_format(format).unwrap();
            let again = back(&x, FileFormat::Npz);
            assert!(again.same_as(&x), "{x:?} {again:?}");
            assert_eq!(dense(&again), dense(&x));
        }
    }
}

#[test]
fn an_array_is_written_as_numpy_writes_it() {
    let columns = ndarray::Array::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 12 + j * 4 + k) as f32 - 5.0);
    let columns = columns.reversed_axes();
    let special = ndarray::arr1(&[-0.0, 0.0, f64::NAN, f64::INFINITY, 1.5]);
    let mut file = Vec::new();
    write_to(&mut file, FileFormat::Npy, &special, &WriteOptions::default()).unwrap();
    let data = &file[file.len() - 40..];
    let bits: Vec<u64> = data.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(bits, special.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
    for format in [FileFormat::Npy, FileFormat::Npz, FileFormat::Tns] {
        let (mut file, mut of_tensor) = (Vec::new(), Vec::new());
        write_to(&mut file, format, &columns.view(), &WriteOptions::default()).unwrap();
        let tensor = CooTensor::from_dense(&columns, 0.0).unwrap();
        write_to(&mut of_tensor, format, &tensor, &WriteOptions::default()).unwrap();
        assert_eq!(file, of_tensor, "{format:?}");
    }
    // An array of bytes needs no coordinates, of which 2^26 would exceed the limit; a repeated element is no array.
    let bytes = ndarray::Array2::from_elem((1 << 13, 1 << 13), 1_u8);
    let mut file = Vec::new();
    write_to(&mut file, FileFormat::Npy, &bytes, &WriteOptions::default()).unwrap();
    assert_eq!(file.len() - (1 << 26), 128);
    let repeated = ndarray::aview1(&[1.5]);
    let repeated = repeated.broadcast((1 << 20, 1 << 20)).unwrap();
    let error = write_to(std::io::sink(), FileFormat::Npy, &repeated, &WriteOptions::default()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let scalar = ndarray::arr0(2.5);
    let mut file = Vec::new();
    write_to(&mut file, FileFormat::Npy, &scalar, &WriteOptions::default()).unwrap();
    assert_eq!(file.len(), 128 + 8);
    assert!(
        write_to(Vec::new(), FileFormat::Npy, &ndarray::Array2::<f64>::zeros((0, 3)), &WriteOptions::default()).is_ok()
    );
    let limit = WriteOptions::default().max_memory(50);
    assert!(write_to(Vec::new(), FileFormat::Npy, &columns, &limit).is_err());
}

#[test]
fn npy_gives_back_the_dense_array_of_every_type() {
    for x in matrices_of_edges().into_iter().filter(|x| x.dtype() != DType::BFloat16) {
        let again = back(&x, FileFormat::Npy);
        assert_eq!((again.dtype(), again.shape(), dense(&again)), (x.dtype(), x.shape(), dense(&x)));
        assert!(again.same_as(&dispatch!(&x, x => x.prune().unwrap().into())));
    }
}

#[test]
fn matrix_market_gives_back_every_type_in_its_field() {
    for x in matrices_of_edges() {
        let field = match x.dtype() {
            DType::Bool | DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => DType::Int64,
            DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => DType::UInt64,
            DType::Complex64 | DType::Complex128 => DType::Complex128,
            _ => DType::Float64,
        };
        let text = bytes_of(&x, FileFormat::MatrixMarket).unwrap();
        let read_as = |dtype| read_from(&text[..], FileFormat::MatrixMarket, &options(|o| o.dtype = dtype)).unwrap();
        assert_eq!(read_as(None).dtype(), field);
        let again = read_as(Some(x.dtype()));
        assert!(again.same_as(&x), "{}", String::from_utf8_lossy(&text));
        assert_eq!(bytes_of(&x.into_format(Format::Csr).unwrap(), FileFormat::MatrixMarket).unwrap(), text);
    }
}

#[test]
fn npz_gives_back_every_rank_and_fill() {
    let shapes: [&[usize]; 8] = [&[], &[0], &[5], &[3, 0], &[2, 3], &[2, 3, 2], &[1, 2, 0, 3], &[2, 1, 2, 1, 3]];
    for (shape, fill) in shapes.into_iter().flat_map(|shape| [0.0, -0.0, f64::NAN, 2.5].map(|fill| (shape, fill))) {
        let mut triplets = Triplets::<f64, u64>::new_with_index(shape).unwrap().with_fill(fill);
        if !shape.contains(&0) {
            triplets.push(&vec![0; shape.len()], 0.0).unwrap();
            triplets.push(&shape.iter().map(|length| length - 1).collect::<Vec<_>>(), -7.5).unwrap();
        }
        let coo = AnyTensor::from(triplets.coalesce(Duplicates::Last).unwrap());
        let csr = coo.clone().into_format(Format::Csr).unwrap();
        assert!(back(&coo, FileFormat::Npz).same_as(&coo), "{coo:?}");
        let again = back(&csr, FileFormat::Npz);
        let expected = if shape.len() < 2 { &coo } else { &csr };
        assert!(again.same_as(expected), "{csr:?} {again:?}");
    }
}

#[test]
fn matrix_market_symmetries() {
    let array = |field: &str, symmetry: &str, entries: &str| {
        mtx(&format!("%%MatrixMarket matrix array {field} {symmetry}\n3 3\n{}", entries.replace(' ', "\n"))).unwrap()
    };
    let coordinate = |field: &str, symmetry: &str, entries: &str| {
        let count = entries.split(';').count();
        let entries = entries.replace(';', "\n");
        mtx(&format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n3 3 {count}\n{entries}")).unwrap()
    };
    let symmetric = ["1", "2", "3", "2", "4", "5", "3", "5", "6"];
    assert_eq!(dense(&array("integer", "symmetric", "1 2 3 4 5 6")), symmetric);
    assert_eq!(dense(&coordinate("integer", "symmetric", "1 1 1;2 1 2;3 1 3;2 2 4;3 2 5;3 3 6")), symmetric);
    assert_eq!(dense(&coordinate("unsigned-integer", "symmetric", "1 1 1;1 2 2;1 3 3;2 2 4;2 3 5;3 3 6")), symmetric);
    let skew = ["0", "-2", "-3", "2", "0", "-5", "3", "5", "0"];
    assert_eq!(dense(&array("integer", "skew-symmetric", "2 3 5")), skew);
    assert_eq!(dense(&coordinate("integer", "skew-symmetric", "2 1 2;3 1 3;3 2 5")), skew);
    let real = ["0.0", "-2.0", "-3.0", "2.0", "0.0", "-5.0", "3.0", "5.0", "0.0"];
    assert_eq!(dense(&coordinate("real", "skew-symmetric", "2 1 2;3 1 3;3 2 5;1 1 0")), real);
    let hermitian =
        ["1.0+0.0j", "2.0-1.0j", "0.0+0.0j", "2.0+1.0j", "0.0+0.0j", "0.0+0.0j", "0.0+0.0j", "0.0+0.0j", "0.0+0.0j"];
    assert_eq!(dense(&coordinate("complex", "hermitian", "1 1 1 0;2 1 2 1")), hermitian);
    let pattern = coordinate("pattern", "symmetric", "2 1;3 3");
    assert_eq!((pattern.nnz(), pattern.dtype()), (3, DType::Float64));
    // For real numbers, Hermitian means symmetric.
    for field in ["real", "integer"] {
        let (real, symmetric) =
            (coordinate(field, "hermitian", "1 1 1;2 1 2"), coordinate(field, "symmetric", "1 1 1;2 1 2"));
        assert_eq!(dense(&real), dense(&symmetric));
    }
    let hermitian_array = mtx("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n3 4\n2 0\n").unwrap();
    assert_eq!(dense(&hermitian_array), ["1.0+0.0j", "3.0-4.0j", "3.0+4.0j", "2.0+0.0j"]);
    let complex_skew = mtx("%%MatrixMarket matrix array complex skew-symmetric\n2 2\n3 4\n").unwrap();
    assert_eq!(dense(&complex_skew), ["0.0+0.0j", "-3.0-4.0j", "3.0+4.0j", "0.0+0.0j"]);
}

#[test]
fn an_array_stores_every_position_unless_a_fill_is_asked_for() {
    let text = "%%MatrixMarket matrix array real general\n2 3\n0\n1\n0\n0\nnan\n2\n";
    assert_eq!(mtx(text).unwrap().nnz(), 6);
    assert_eq!(dense(&mtx(text).unwrap()), ["0.0", "0.0", "nan", "1.0", "0.0", "2.0"]);
    let sparse = read_from(text.as_bytes(), FileFormat::MatrixMarket, &options(|o| o.fill = Some("0".into()))).unwrap();
    assert_eq!(sparse.nnz(), 3);
    let nan = read_from(text.as_bytes(), FileFormat::MatrixMarket, &options(|o| o.fill = Some("nan".into()))).unwrap();
    assert_eq!((nan.nnz(), dense(&nan)), (5, dense(&mtx(text).unwrap())));
    for (sizes, shape) in [("3 0", [3, 0]), ("0 3", [0, 3])] {
        let nothing = mtx(&format!("%%MatrixMarket matrix array real general\n{sizes}\n")).unwrap();
        assert_eq!((nothing.nnz(), nothing.shape()), (0, &Shape::from(shape)));
    }
}

#[test]
fn comments_blank_lines_odd_spacing_and_line_ends() {
    let text = "  %MatrixMarket MATRIX Coordinate\tReal  General\r\n% a\r\n\r\n%%b\r\n  2\t2  2\r\n\r\n1 1  1e-3\r\n% c\r\n 2 2 +.5";
    let x = mtx(text).unwrap();
    assert_eq!(dense(&x), ["0.001", "0.0", "0.0", "0.5"]);
    assert_eq!(
        dense(&mtx("%%MatrixMarket vector coordinate integer general\n4 2\n1 5\n4 6\n").unwrap()),
        ["5", "0", "0", "6"]
    );
    let tensor = mtx("%%MatrixMarket tensor coordinate integer general\n1 2 2 1\n1 2 1 7\n").unwrap();
    assert_eq!((tensor.rank(), dense(&tensor)), (3, vec!["0".into(), "0".into(), "7".into(), "0".into()]));
}

#[test]
fn integers_are_exact_and_unsigned_on_request() {
    let text = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 18446744073709551615\n";
    assert!(message(mtx(text)).starts_with("line 3: the value `18446744073709551615` does not fit int64"));
    let x = read_from(text.as_bytes(), FileFormat::MatrixMarket, &options(|o| o.dtype = Some(DType::UInt64))).unwrap();
    assert_eq!(dense(&x), ["18446744073709551615"]);
    let skew = |value| {
        let text = format!("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 {value}\n");
        let unsigned = options(|o| o.dtype = Some(DType::UInt64));
        read_from(text.as_bytes(), FileFormat::MatrixMarket, &unsigned)
    };
    assert_eq!(message(skew(5)), "line 3: 5 cannot be mirrored: its negative does not fit");
    assert_eq!(dense(&skew(0).unwrap()), ["0"; 4]);
    let huge = mtx("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1E9999\n").unwrap();
    assert_eq!(dense(&huge), ["inf"]);
}

#[test]
fn duplicates_are_summed_unless_asked_otherwise() {
    let text = "%%MatrixMarket matrix coordinate integer general\n2 2 3\n2 2 5\n1 1 3\n2 2 -5\n";
    let with =
        |duplicates| read_from(text.as_bytes(), FileFormat::MatrixMarket, &options(|o| o.duplicates = duplicates));
    let summed = with(Duplicates::Sum).unwrap();
    assert_eq!((summed.nnz(), dense(&summed)), (2, vec!["3".into(), "0".into(), "0".into(), "0".into()]));
    assert_eq!(dense(&with(Duplicates::Last).unwrap())[3], "-5");
    assert_eq!(dense(&with(Duplicates::Max).unwrap())[3], "5");
    assert_eq!(message(with(Duplicates::Error)), "line 5: the entry (2, 2) is already on line 3");
}

#[test]
fn what_is_asked_for_is_given_or_refused() {
    let text = "%%MatrixMarket matrix coordinate real general\n2 3 1\n2 2 0.1\n";
    let ask = |change: fn(&mut ReadOptions)| read_from(text.as_bytes(), FileFormat::MatrixMarket, &options(change));
    assert_eq!(ask(|o| o.format = Some(Format::Csr)).unwrap().format(), Format::Csr);
    let filled = ask(|o| (o.fill, o.dtype) = (Some("0.1".into()), Some(DType::Float32))).unwrap();
    assert_eq!(filled.fill(), Number::Real(f64::from(0.1f32)));
    assert!(dense(&filled).iter().all(|text| text == "0.1"));
    assert_eq!(message(ask(|o| o.dtype = Some(DType::Int8))), "0.1 (float64) at line 3 cannot be converted to int8");
    assert_eq!(message(ask(|o| o.fill = Some("x".into()))), "the fill: `x` is not a value of type float64");
    let array = "%%MatrixMarket matrix array real general\n1 2\n1\n300\n";
    let npy = bytes_of(&mtx(array).unwrap(), FileFormat::Npy).unwrap();
    for (bytes, format) in [(array.as_bytes(), FileFormat::MatrixMarket), (&npy, FileFormat::Npy)] {
        let refused = read_from(bytes, format, &options(|o| o.fill = Some("x".into())));
        assert_eq!(message(refused), "the fill: `x` is not a value of type float64", "{format}");
    }
    let filled = AnyTensor::from(CooTensor::full([1], 300).unwrap().with_index::<u64>().unwrap());
    assert_eq!(message(filled.cast(DType::Int8)), "300 (int32) at the fill cannot be converted to int8");
    assert!(matches!(ask(|o| o.shape = Some(Shape::from([3, 2]))), Err(Error::ShapeMismatch { .. })));
    assert!(ask(|o| o.shape = Some(Shape::from([2, 3]))).is_ok());
}

#[test]
fn a_fill_for_a_dense_file_leaves_exactly_that_value_unstored() {
    let x = mtx("%%MatrixMarket matrix array real general\n4 1\nnan\n0.1\n-0.0\n0\n").unwrap();
    let npy = bytes_of(&x, FileFormat::Npy).unwrap();
    let with = |change: fn(&mut ReadOptions)| read_from(&npy[..], FileFormat::Npy, &options(change)).unwrap();
    let nnz_of = |fill: fn(&mut ReadOptions)| {
        let read = with(fill);
        assert_eq!(dense(&read), dense(&x));
        read.nnz()
    };
    assert_eq!(nnz_of(|_| ()), 3);
    assert_eq!(nnz_of(|o| o.fill = Some("-0.0".into())), 3);
    assert_eq!(nnz_of(|o| o.fill = Some("nan".into())), 3);
    assert_eq!(nnz_of(|o| o.fill = Some("7".into())), 4);
    // 0.1 as f32 is another number than the 0.1 of the file, so nothing of the file equals that fill.
    let narrow = with(|o| (o.fill, o.dtype) = (Some("0.1".into()), Some(DType::Float32)));
    assert_eq!(narrow.nnz(), 4);
}

#[test]
fn vast_matrices_are_fine_in_coordinates_and_refused_compressed() {
    let text = "%%MatrixMarket matrix coordinate real general\n1000000000000 1000000000000 1\n1000000000000 1 2\n";
    let x = mtx(text).unwrap();
    assert_eq!((x.nnz(), x.shape()[0]), (1, 1_000_000_000_000));
    let csr = read_from(text.as_bytes(), FileFormat::MatrixMarket, &options(|o| o.format = Some(Format::Csr)));
    assert!(message(csr).starts_with("the offsets of the lanes would take 8000000000008 bytes"));
    assert!(back(&x, FileFormat::Npz).same_as(&x));
    assert!(matches!(bytes_of(&x, FileFormat::Npy), Err(Error::TooLarge { .. })));
}

/// 64 MiB, and 16 bytes for each byte of the file: comments and zeros count as well.
#[test]
fn what_may_be_held_grows_with_the_bytes_of_the_file() {
    let compressed = options(|options| {
        options.format = Some(Format::Csr);
        options.fill = Some("0".into());
    });
    let comments = format!("%{}\n", "-".repeat(500_000)).repeat(8);
    let text = |comments: &str| {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{comments}9000000 1 1\n7 1 2.5\n");
        read_from(text.as_bytes(), FileFormat::MatrixMarket, &compressed)
    };
    assert!(matches!(text(""), Err(Error::TooLarge { .. })));
    assert_eq!(text(&comments).unwrap().nnz(), 1);
    let array = |length: usize, byte: u8, options: &ReadOptions| {
        let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({length}, 1), }}\n");
        let head = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
        read_from(&[head, vec![byte; length]].concat()[..], FileFormat::Npy, options)
    };
    assert_eq!(array(9_000_000, 0, &compressed).unwrap().nnz(), 0);
    assert_eq!(array(5_000_000, 1, &ReadOptions::default()).unwrap().nnz(), 5_000_000);
}

#[test]
fn what_a_format_cannot_hold_is_refused_and_names_one_that_can() {
    let cube = AnyTensor::from(CooTensor::full([2, 2, 2], 0.0).unwrap().with_index::<u64>().unwrap());
    assert_eq!(
        message(bytes_of(&cube, FileFormat::MatrixMarket)),
        "Matrix Market cannot hold a tensor of rank 3; write .npz"
    );
    let filled = AnyTensor::from(CooTensor::full([2, 2], -0.0).unwrap().with_index::<u64>().unwrap());
    assert!(message(bytes_of(&filled, FileFormat::MatrixMarket)).contains("the fill -0.0"));
}

#[test]
fn as_many_axes_are_written_as_a_reader_takes() {
    let deep = |rank| {
        let coords = vec![vec![0]; rank];
        let x = CooTensor::new(vec![1; rank], coords, vec![2.5], 0.0).unwrap();
        AnyTensor::from(x.with_index::<u64>().unwrap())
    };
    for format in [FileFormat::Npy, FileFormat::Npz, FileFormat::Tns] {
        assert!(message(bytes_of(&deep(65), format)).ends_with("cannot hold 65 axes; reshape it to at most 64"));
        assert!(back(&deep(64), format).same_as(&deep(64)), "{format:?}");
    }
}

#[test]
fn an_axis_longer_than_an_int64_is_not_written_to_an_archive() {
    let of_length = |length| {
        let triplets = Triplets::<f64, u64>::new_with_index([length, 2]).unwrap();
        AnyTensor::from(triplets.coalesce(Duplicates::Sum).unwrap())
    };
    let longest = of_length(i64::MAX as usize);
    assert!(back(&longest, FileFormat::Npz).same_as(&longest));
    let wide = Triplets::<f64, u64>::new_with_index([2, 1 << 63]).unwrap().coalesce_csr(Duplicates::Sum).unwrap();
    assert!(message(bytes_of(&wide.into(), FileFormat::Npz)).starts_with(".npz cannot hold an axis of length "));
    assert_eq!(
        message(bytes_of(&of_length(1 << 63), FileFormat::Npz)),
        ".npz cannot hold an axis of length 9223372036854775808, because its indices are int64; keep it in memory"
    );
}

#[test]
fn a_path_that_names_no_file_is_not_written_to() {
    for path in ["", "none/.."] {
        let refused = save(path, |_| panic!("nothing is written where no file is named"));
        assert!(message(refused).ends_with("the output path does not name a file"), "{path:?}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_told_as_such() {
    let path = std::env::temp_dir().join(format!("lacuna-no-folder-{}/x.npz", std::process::id()));
    let refused = save(path, |_| panic!("there is nowhere to write to"));
    assert!(matches!(refused, Err(Error::Io { kind: std::io::ErrorKind::NotFound, .. })), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn a_file_may_have_the_longest_name_there_is() {
    let folder = std::env::temp_dir().join(format!("lacuna-io-long-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{}.mtx", "x".repeat(251)));
    let x = mtx("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 7\n").unwrap();
    write(&path, &x, &WriteOptions::default()).unwrap();
    assert!(read(&path, &ReadOptions::default()).unwrap().same_as(&x));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(feature = "half")]
#[test]
fn bfloat16_has_no_name_in_numpy() {
    let x = AnyTensor::from(CooTensor::full([2, 2], half::bf16::ZERO).unwrap().with_index::<u64>().unwrap());
    for format in [FileFormat::Npy, FileFormat::Npz] {
        assert!(message(bytes_of(&x, format)).contains("cannot hold elements of type bfloat16"));
    }
}

#[test]
fn writes_to_a_path_are_all_or_nothing() {
    let folder = std::env::temp_dir().join(format!("lacuna-io-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.mtx");
    let x = mtx("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 7\n").unwrap();
    write(&path, &x, &WriteOptions::default()).unwrap();
    let cube = AnyTensor::from(CooTensor::full([2, 2, 2], 0.0).unwrap().with_index::<u64>().unwrap());
    assert!(write(&path, &cube, &WriteOptions::default()).is_err());
    assert!(write(folder.join("new.mtx"), &cube, &WriteOptions::default()).is_err());
    assert!(write(folder.join("none/x.mtx"), &x, &WriteOptions::default()).is_err());
    assert!(
        message(write(folder.join("x.csv"), &x, &WriteOptions::default()))
            .contains("(known formats: .mtx, .tns, .npy, .npz")
    );
    assert!(save(&path, |file| Ok(file.write_all(b"half").and(Err(std::io::ErrorKind::StorageFull.into()))?)).is_err());
    assert!(read(&path, &ReadOptions::default()).unwrap().same_as(&x));
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["x.mtx"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_karate_club_is_one_matrix_in_four_files() {
    let [mtx, csr, csc, coo] = ["karate.mtx", "karate_csr.npz", "karate_csc.npz", "karate_coo.npz"]
        .map(|name| read(data(name), &ReadOptions::default()).unwrap());
    assert_eq!((mtx.nnz(), csr.format(), csc.format(), coo.format()), (156, Format::Csr, Format::Csr, Format::Coo));
    assert!(mtx.same_as(&coo));
    assert!(csr.same_as(&csc));
    assert!(csr.into_format(Format::Coo).unwrap().same_as(&mtx));
}

#[test]
fn the_titanic_is_one_table_in_five_files() {
    let dense_file = read(data("titanic.npy"), &ReadOptions::default()).unwrap();
    assert_eq!((dense_file.nnz(), dense_file.dtype()), (24, DType::Int64));
    for name in ["titanic.npz", "titanic_gcxs.npz", "titanic_gcxs_13.npz"] {
        let x = read(data(name), &ReadOptions::default()).unwrap();
        assert!(x.into_format(Format::Coo).unwrap().same_as(&dense_file), "{name}");
    }
    let flat = read(data("titanic_csc.npz"), &ReadOptions::default()).unwrap();
    assert_eq!((dense(&flat), flat.shape()), (dense(&dense_file), &Shape::from([4, 8])));
}

#[test]
fn the_air_of_mauna_loa() {
    let weeks = read(data("mauna_loa_co2.mtx"), &ReadOptions::default()).unwrap();
    assert_eq!((weeks.nnz(), weeks.shape()), (2284, &Shape::from([44, 53])));
    let months = read(data("mauna_loa_co2_monthly.npz"), &ReadOptions::default()).unwrap();
    assert_eq!((months.nnz(), months.shape()), (2284, &Shape::from([44, 12, 5])));
    let AnyTensor::Float64(months) = months else { panic!("{months:?}") };
    assert!(months.fill().is_nan());
    assert_eq!(months.values().iter().filter(|value| value.is_nan()).count(), 59);
    let tenths: f64 = months.values().iter().filter(|value| !value.is_nan()).map(|value| (value * 10.0).round()).sum();
    assert_eq!(tenths, 7_568_165.0);
}

#[test]
fn the_small_matrices_of_physics() {
    let spin = read(data("spin1_sy.mtx"), &ReadOptions::default()).unwrap();
    assert_eq!((spin.nnz(), spin.dtype()), (4, DType::Complex128));
    let cross = read(data("cross_123.mtx"), &ReadOptions::default()).unwrap();
    assert_eq!(dense(&cross), ["0", "-3", "2", "3", "0", "-1", "-2", "1", "0"]);
    let anscombe = read(data("anscombe.mtx"), &ReadOptions::default()).unwrap();
    assert_eq!((anscombe.nnz(), anscombe.shape()), (88, &Shape::from([11, 8])));
}

/// An element equal to the fill was left out before it was mirrored, and its negative with it.
#[test]
fn a_skew_array_keeps_the_mirror_of_what_equals_the_fill() {
    let text = "%%MatrixMarket matrix array integer skew-symmetric\n2 2\n3\n";
    let mut options = ReadOptions::default();
    options.fill = Some("3".into());
    let x = read_from(text.as_bytes(), FileFormat::MatrixMarket, &options).unwrap();
    let AnyTensor::Int64(x) = x else { panic!("an integer file") };
    assert_eq!(x.to_dense().unwrap(), ndarray::arr2(&[[0, -3], [3, 0]]).into_dyn());
}

#[test]
fn a_hermitian_diagonal_that_is_not_real_is_an_error_with_its_line() {
    let told = |text: &str| mtx(text).unwrap_err().to_string();
    let coordinate = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n";
    for diagonal in ["1 5", "0 -1", "1 nan", "1 inf"] {
        let message = told(&format!("{coordinate}2 1 2 1\n% one\n1 1 {diagonal}\n"));
        assert!(message.starts_with("line 5: the diagonal of a hermitian matrix must be real, found "), "{message}");
    }
    assert_eq!(
        told(&format!("{coordinate}1 1 1 5\n2 1 2 1\n")),
        "line 3: the diagonal of a hermitian matrix must be real, found 1.0+5.0j"
    );
    let real = mtx(&format!("{coordinate}1 1 1 -0\n2 1 2 1\n")).unwrap();
    assert_eq!(dense(&real), ["1.0-0.0j", "2.0-1.0j", "2.0+1.0j", "0.0+0.0j"]);
}

/// An array lists its lower triangle column by column, so that the diagonal has no coordinates in the file.
#[test]
fn a_hermitian_array_whose_diagonal_is_not_real_is_an_error_with_its_line() {
    let values = |wrong: Option<usize>| -> String {
        (0..10)
            .map(|at| format!("{at} {}\n", if wrong == Some(at) || ![0, 4, 7, 9].contains(&at) { 1 } else { 0 }))
            .collect()
    };
    let array = |values: &str| mtx(&format!("%%MatrixMarket matrix array complex hermitian\n% one\n4 4\n\n{values}"));
    assert_eq!(array(&values(None)).unwrap().nnz(), 16);
    for wrong in [0, 4, 7, 9] {
        let told = array(&values(Some(wrong))).unwrap_err().to_string();
        let expected =
            format!("line {}: the diagonal of a hermitian matrix must be real, found {wrong}.0+1.0j", wrong + 5);
        assert_eq!(told, expected);
    }
    let empty = mtx("%%MatrixMarket matrix array complex hermitian\n0 0\n").unwrap();
    assert_eq!(empty.nnz(), 0);
    // In a later block of the text.
    let side = 300;
    let long: String = (0..side)
        .flat_map(|column| (column..side).map(move |row| (row, column)))
        .map(|(row, column)| format!("0.12345678 {}\n", if row != column || row == side - 2 { 1 } else { 0 }))
        .collect();
    let told =
        mtx(&format!("%%MatrixMarket matrix array complex hermitian\n{side} {side}\n{long}")).unwrap_err().to_string();
    let line = side * (side + 1) / 2 - 2 + 2;
    assert!(told.starts_with(&format!("line {line}: the diagonal of a hermitian")), "{told}");
}

/// Fortran writes exponents of doubles with a D, and those of three digits without a letter.
#[test]
fn exponents_of_fortran_are_read() {
    let real =
        mtx("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.5D+00\n1 2 -2.5d-1\n2 2 0.1-100\n").unwrap();
    assert_eq!(dense(&real), ["1.5", "-0.25", "0.0", "1e-101"]);
    let array = mtx("%%MatrixMarket matrix array real general\n2 1\n1.5D+00\n-2.5d-1\n").unwrap();
    assert_eq!(dense(&array), ["1.5", "-0.25"]);
    let complex = mtx("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.5D+00 -2.5d-1\n").unwrap();
    assert_eq!(dense(&complex), ["1.5-0.25j"]);
    let read =
        |text: &str, dtype: Option<DType>| read_from(text.as_bytes(), FileFormat::Tns, &options(|o| o.dtype = dtype));
    assert_eq!(dense(&read("1 1.5D+00\n2 -2.5d-1\n", None).unwrap()), ["1.5", "-0.25"]);
    assert_eq!(dense(&read("1 4D0\n", Some(DType::Int32)).unwrap()), ["4"]);
    let told = mtx("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1.5D\n").unwrap_err().to_string();
    assert_eq!(told, "line 3: `1.5D` is not a float64");
}

#[test]
fn a_header_tells_what_is_read_but_for_the_entries() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut variants = vec![ReadOptions::default(); 3];
    variants[1].dtype = Some(DType::Complex128);
    variants[2].format = Some(Format::Csr);
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if FileFormat::from_path(&path).is_none() {
            continue;
        }
        files += 1;
        for options in &variants {
            let (whole, header) = (read(&path, options).unwrap(), read_header(&path, options).unwrap());
            let told = |x: &AnyTensor| (x.shape().clone(), x.dtype(), x.fill().to_string(), x.format());
            assert_eq!(told(&header), told(&whole), "{}", path.display());
            assert_eq!(header.nnz(), 0);
        }
    }
    assert!(files >= 10);
}

#[test]
fn behind_a_header_nothing_is_read() {
    let path = std::env::temp_dir().join(format!("lacuna-header-{}.mtx", std::process::id()));
    std::fs::write(&path, "%%MatrixMarket matrix coordinate integer symmetric\n3 3 1\nno entry\n").unwrap();
    assert!(!format!("{:?}", ReadOptions::default()).contains("header"), "no option of a user");
    let header = read_header(&path, &ReadOptions::default());
    let whole = read(&path, &ReadOptions::default());
    std::fs::write(&path, "%%MatrixMarket matrix coordinate integer symmetric\n3 4 1\n").unwrap();
    let refused = read_header(&path, &ReadOptions::default());
    let tns = path.with_extension("tns");
    std::fs::write(&tns, "1 1 2.5\n").unwrap();
    let without = read_header(&tns, &ReadOptions::default());
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&tns).unwrap();
    let header = header.unwrap();
    assert_eq!((header.shape().to_vec(), header.dtype()), (vec![3, 3], DType::Int64));
    assert!(matches!(whole, Err(Error::Format { .. })), "{whole:?}");
    assert!(matches!(refused, Err(Error::Format { .. })), "{refused:?}");
    assert!(without.unwrap_err().to_string().contains("a .tns file shows its type only with entries"));
}
