//! Arrow's record batches: what goes out comes back as it was, and shares its memory where it can.

#![cfg(feature = "arrow")]

use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch, cast::AsArray};
use lacuna::io::{FileElement, ReadOptions};
use lacuna::{CooTensor, DType, Duplicates, Error, Index, Result, Triplets};
use std::sync::Arc;

fn default() -> ReadOptions {
    ReadOptions::default()
}

fn bytes_of<T: FileElement>(value: T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.to_bytes(&mut bytes);
    bytes
}

fn of<T: FileElement, I: Index>(values: &[&[u8]]) -> CooTensor<T, I> {
    let values: Vec<T> = values.iter().map(|bytes| T::from_bytes(bytes, false).unwrap()).collect();
    let coords = vec![(0..values.len() as u32).collect(), vec![2; values.len()]];
    let fill = values.last().copied().unwrap_or(T::ZERO);
    CooTensor::new([values.len() + 1, 3], coords, values, fill).unwrap().with_index().unwrap()
}

fn comes_back<T: FileElement, I: Index>(x: &CooTensor<T, I>) {
    for batch in [x.to_record_batch().unwrap(), x.to_csr().unwrap().to_record_batch().unwrap()] {
        let again = CooTensor::<T, I>::from_record_batch(batch, &default()).unwrap();
        let bits =
            |x: &CooTensor<T, I>| [x.fill()].iter().chain(x.values()).map(|&value| bytes_of(value)).collect::<Vec<_>>();
        assert!(again.same_as(x) && bits(&again) == bits(x), "{again:?} is not {x:?}");
    }
}

#[test]
fn every_type_keeps_its_bits() {
    for dtype in DType::ALL {
        lacuna::dispatch_dtype!(dtype, T => {
            let size = size_of::<T>();
            let [zeros, ones] = [0u8, 255].map(|byte| vec![byte; size]);
            let mixed: Vec<u8> = (1..=size as u8).collect();
            let samples: Vec<&[u8]> = if dtype == DType::Bool { vec![&[0], &[1], &[1]] } else { vec![&zeros, &ones, &mixed] };
            comes_back::<T, u32>(&of(&samples));
            comes_back::<T, u64>(&of(&samples));
            comes_back::<T, usize>(&of(&samples));
            comes_back::<T, u32>(&of(&[]));
        }, else => ());
    }
}

#[test]
fn ranks_and_vast_shapes() {
    let mut scalar = Triplets::<u8>::new([0usize; 0]).unwrap();
    comes_back(&scalar.clone().with_fill(3).coalesce(Duplicates::Error).unwrap());
    scalar.push(&[], 7).unwrap();
    comes_back(&scalar.coalesce(Duplicates::Error).unwrap());
    let mut vast = Triplets::<f32, u64>::new_with_index([usize::MAX, 2]).unwrap();
    vast.push(&[usize::MAX - 1, 1], 0.5).unwrap();
    let vast = vast.coalesce(Duplicates::Error).unwrap();
    let batch = vast.to_record_batch().unwrap();
    assert!(CooTensor::<f32, u64>::from_record_batch(batch.clone(), &default()).unwrap().same_as(&vast));
    assert!(matches!(CooTensor::<f32, u32>::from_record_batch(batch, &default()), Err(Error::AxisTooLong { .. })));
}

#[test]
fn nothing_is_copied_where_types_allow() {
    let x = CooTensor::new([9, 9], vec![vec![1, 2], vec![0, 8]], vec![0.5, -1.0], 0.0).unwrap();
    let batch = x.to_record_batch().unwrap();
    assert_eq!(batch.column(2).as_primitive::<Float64Type>().values().as_ptr(), x.values().as_ptr());
    let columns = |x: &CooTensor<f64>| x.pattern().coords(1).as_ptr();
    assert_eq!(batch.column(1).as_primitive::<UInt32Type>().values().as_ptr(), columns(&x));
    // The batch outlives the tensor.
    drop(x);
    assert_eq!(batch.column(2).as_primitive::<Float64Type>().values()[..], [0.5, -1.0]);
    // In: what was a vector that nobody else has.
    let values = vec![0.5, -1.0];
    let at = values.as_ptr();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(PrimitiveArray::<UInt32Type>::from(vec![1, 2])),
        Arc::new(PrimitiveArray::<UInt32Type>::from(vec![0, 8])),
        Arc::new(PrimitiveArray::<Float64Type>::from(values)),
    ];
    let of = |arrays| RecordBatch::try_new(batch.schema(), arrays).unwrap();
    let found = CooTensor::<f64>::from_record_batch(of(arrays), &default()).unwrap();
    assert_eq!(found.values().as_ptr(), at);
    // A part of a batch is the part of the entries.
    let part = batch.slice(1, 1);
    let part = CooTensor::<f64>::from_record_batch(part, &default()).unwrap();
    assert_eq!(part.entries(), [(vec![2, 8], -1.0)]);
}

fn table(rows: Vec<i64>, values: Vec<Option<f64>>) -> RecordBatch {
    let rows: ArrayRef = Arc::new(PrimitiveArray::<Int64Type>::from(rows));
    let values: ArrayRef = Arc::new(PrimitiveArray::<Float64Type>::from(values));
    RecordBatch::try_from_iter_with_nullable([("row", rows, true), ("value", values, true)]).unwrap()
}

fn named() -> ReadOptions {
    let mut options = default();
    options.shape = Some([5].into());
    options.columns = Some(vec!["row".into(), "value".into()]);
    options
}

fn read(batch: RecordBatch) -> Result<CooTensor<f64>> {
    CooTensor::from_record_batch(batch, &named())
}

#[test]
fn tables_of_others() {
    let x = read(table(vec![4, 0, 4], vec![Some(1.0), Some(2.0), Some(0.5)])).unwrap();
    assert_eq!(x.entries(), [(vec![0], 2.0), (vec![4], 1.5)]);
    assert!(matches!(read(table(vec![-1], vec![Some(1.0)])), Err(Error::NegativeIndex { index: -1, .. })));
    assert!(matches!(read(table(vec![5], vec![Some(1.0)])), Err(Error::IndexOutOfBounds { index: 5, .. })));
    let message = |found: Result<CooTensor<f64>>| found.unwrap_err().to_string();
    assert!(message(read(table(vec![1], vec![None]))).contains("missing (null)"));
    let batch = table(vec![1], vec![Some(1.0)]);
    assert!(message(CooTensor::from_record_batch(batch.clone(), &default())).contains("name the shape"));
    let mut options = named();
    options.columns = Some(vec!["row".into(), "none".into()]);
    assert!(message(CooTensor::from_record_batch(batch.clone(), &options)).contains("column none is missing"));
    options.columns = Some(vec!["value".into(), "value".into()]);
    assert!(message(CooTensor::from_record_batch(batch.clone(), &options)).contains("does not hold coordinates"));
    assert!(CooTensor::<f32>::from_record_batch(batch, &named()).unwrap_err().to_string().contains("not float32"));
}

#[test]
fn a_batch_that_promises_order_keeps_it() {
    let x = CooTensor::new([9], vec![vec![1, 2]], vec![0.5, -1.0], 0.0).unwrap();
    let batch = x.to_record_batch().unwrap();
    let rows: ArrayRef = Arc::new(PrimitiveArray::<UInt32Type>::from(vec![2, 1]));
    let batch = RecordBatch::try_new(batch.schema(), vec![rows, batch.column(1).clone()]).unwrap();
    assert!(matches!(CooTensor::<f64>::from_record_batch(batch, &default()), Err(Error::NotSorted { .. })));
}
