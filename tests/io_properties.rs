//! Whatever tensor is written, in every file format, is what is read again.

#![cfg(feature = "io")]

use crate::generators::{Drawn, sparse, sparse_of_rank};
use crate::reference::dense::Sparse;
use crate::support::*;
use lacuna::io::{
    AnyTensor, Compression, FileElement, FileFormat, FileTensor, ReadOptions, WriteOptions, read_from, write_to,
};
use lacuna::{CooPattern, CooTensor, Element, Result, Tensor};
use proptest::prelude::any;
use proptest::sample::{Index, select};

/// The bytes of a file, compressed or not.
fn written(tensor: &impl FileTensor, format: FileFormat, compressed: bool) -> Vec<u8> {
    let mut options = WriteOptions::default();
    options.compression = if compressed { Compression::Gzip } else { Compression::None };
    let mut bytes = Vec::new();
    write_to(&mut bytes, format, tensor, &options).unwrap();
    bytes
}

fn read(bytes: &[u8], format: FileFormat) -> Result<AnyTensor> {
    read_from(bytes, format, &ReadOptions::default())
}

/// Returns whether numpy has the type. Tensors are rejected for no other reason.
fn is_known_to_numpy<T: FileElement>(x: &CooTensor<T>) -> bool {
    let known = T::NPY_KIND.is_some();
    let refused = write_to(std::io::sink(), FileFormat::Npz, x, &WriteOptions::default());
    assert_eq!(refused.is_ok(), known, "{refused:?}");
    known
}

fn archives_give_back_every_entry<T: Both + Drawn + FileElement>() {
    check((sparse::<T>(), any::<bool>()), |(x, compressed)| {
        if is_known_to_numpy(&coo(&x)) {
            let of_coo = read(&written(&coo(&x), FileFormat::Npz, compressed), FileFormat::Npz).unwrap();
            assert_entries(&of_coo.into_coo::<T, u32>().unwrap(), &x);
        }
        if T::NPY_KIND.is_some() && !x.shape.is_empty() {
            let of_csr = read(&written(&csr(&x), FileFormat::Npz, compressed), FileFormat::Npz).unwrap();
            assert_entries(&of_csr.into_csr::<T, u32>().unwrap(), &x);
        }
    });
}

fn arrays_give_back_the_dense_form<T: Both + Drawn + FileElement>() {
    check((sparse::<T>(), any::<bool>()), |(x, compressed)| {
        if is_known_to_numpy(&coo(&x)) {
            let again = read(&written(&coo(&x), FileFormat::Npy, compressed), FileFormat::Npy).unwrap();
            assert_array(&again.into_coo::<T, u32>().unwrap().to_dense().unwrap(), &x.to_dense());
        }
    });
}

/// Returns the tensor with the fill 0, which is the only fill of text files.
fn without_fill<T: Both>(x: &Sparse<T>) -> CooTensor<T> {
    coo(x).with_fill(<T as Element>::ZERO)
}

fn matrices_give_back_every_entry<T: Both + Drawn + FileElement>() {
    check((sparse_of_rank::<T>(2, 2), any::<bool>()), |(x, compressed)| {
        let x = without_fill(&x);
        let again = read(&written(&x, FileFormat::MatrixMarket, compressed), FileFormat::MatrixMarket).unwrap();
        assert!(again.into_coo::<T, u32>().unwrap().same_as(&x));
    });
}

/// The lists name no type: it is asked for.
fn lists_of_entries_give_back_every_entry<T: Both + Drawn + FileElement>() {
    let mut options = ReadOptions::default();
    options.dtype = Some(T::DTYPE);
    check((sparse_of_rank::<T>(1, 10), any::<bool>()), |(x, compressed)| {
        let x = without_fill(&x);
        let again = read_from(&*written(&x, FileFormat::Tns, compressed), FileFormat::Tns, &options).unwrap();
        assert!(again.into_coo::<T, u32>().unwrap().same_as(&x));
    });
}

for_all_types!(archives_give_back_every_entry, arrays_give_back_the_dense_form, matrices_give_back_every_entry);
for_real_types!(lists_of_entries_give_back_every_entry);

/// A tensor that every format can hold.
fn files() -> impl proptest::strategy::Strategy<Value = (Sparse<f64>, FileFormat, bool)> {
    (sparse_of_rank::<f64>(2, 2), select(FileFormat::ALL.to_vec()), any::<bool>())
}

/// A byte may make an error of a file or another tensor, and not more: what is read holds what it promises.
#[test]
fn a_changed_byte_is_an_error_or_a_valid_tensor() {
    check((files(), any::<Index>(), any::<u8>()), |((x, format, compressed), at, byte)| {
        let mut bytes = written(&without_fill(&x), format, compressed);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(changed) = read(&bytes, format).and_then(AnyTensor::into_coo::<f64, u64>) {
            let coords = (0..changed.rank()).map(|axis| changed.coords(axis).to_vec()).collect();
            let pattern = CooPattern::new(changed.shape().clone(), changed.nnz(), coords).unwrap();
            let _ = Tensor::from_parts(pattern, changed.values().to_vec(), changed.fill()).unwrap();
        }
    });
}

/// Binary files say how long they are.
#[test]
fn a_cut_file_is_an_error() {
    check((files(), any::<Index>()), |((x, format, compressed), end)| {
        let bytes = written(&without_fill(&x), format, compressed);
        let is_text = matches!(format, FileFormat::MatrixMarket | FileFormat::Tns);
        if compressed || !is_text {
            assert!(read(&bytes[..end.index(bytes.len())], format).is_err());
        }
    });
}
