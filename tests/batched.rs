//! Paddle's and PyTorch's batched layouts, in and out.

use lacuna::{CsrTensor, Error, PaddleCsr, Shape, Triplets};
use ndarray::{Array, Array1, Array2, ArrayD, IxDyn, arr1, arr2};
use proptest::prelude::*;

fn paddle(shape: impl Into<Shape>, crows: &[i64], cols: &[i64]) -> lacuna::Result<CsrTensor<f64>> {
    CsrTensor::from_paddle(shape, crows, cols, (0..cols.len()).map(|value| value as f64).collect())
}

#[test]
fn a_matrix_is_one_batch() {
    let x = paddle([3, 4], &[0, 2, 3, 5], &[1, 3, 2, 0, 1]).unwrap();
    assert_eq!(x.offsets(), [0, 2, 3, 5]);
    assert_eq!(x.columns(), [1, 3, 2, 0, 1]);
    let PaddleCsr { crows, cols, values } = x.to_paddle().unwrap();
    assert_eq!((crows, cols, values), (vec![0, 2, 3, 5], vec![1, 3, 2, 0, 1], vec![0.0, 1.0, 2.0, 3.0, 4.0]));
}

/// The shapes that a stride of `cols` for `rows + 1` gets wrong, with batches that hold different numbers of entries.
#[test]
fn batches_of_paddle_hold_different_numbers_of_entries() {
    for shape in [[6, 2, 3], [2, 3, 3], [2, 3, 5], [2, 2, 4], [3, 4, 4]] {
        let mut triplets = Triplets::new(shape).unwrap();
        let size: usize = shape.iter().product();
        for position in (0..size).filter(|position| position % 5 < 2 || position * 3 > size * 2) {
            let coords = [position / (shape[1] * shape[2]), position / shape[2] % shape[1], position % shape[2]];
            triplets.push(&coords, position as i64).unwrap();
        }
        let x = triplets.coalesce_csr(Default::default()).unwrap();
        let PaddleCsr { crows, cols, values } = x.to_paddle().unwrap();
        assert_eq!(crows.len(), shape[0] * (shape[1] + 1));
        assert!(crows.chunks(shape[1] + 1).all(|crows| crows[0] == 0));
        assert_eq!(CsrTensor::from_paddle(shape, &crows, &cols, values).unwrap(), x);
        assert!(matches!(x.to_torch(), Err(Error::UnevenBatches { .. })), "{shape:?}");
    }
}

#[test]
fn several_batch_axes_and_empty_ones() {
    let crows = [0, 1, 1, 0, 0, 2, 0, 0, 0, 0, 1, 2];
    let x = paddle([2, 2, 2, 3], &crows, &[2, 0, 1, 0, 0]).unwrap();
    assert_eq!(x.offsets(), [0, 1, 1, 1, 3, 3, 3, 4, 5]);
    assert_eq!(x.to_paddle().unwrap().crows, crows);
    let none = paddle([0, 5, 3], &[], &[]).unwrap();
    assert_eq!(none.offsets(), [0]);
    assert!(none.to_paddle().unwrap().crows.is_empty());
    let no_rows = paddle([3, 0, 7], &[0, 0, 0], &[]).unwrap();
    assert_eq!(no_rows.to_paddle().unwrap().crows, [0, 0, 0]);
    let no_columns = paddle([1, 2, 0], &[0, 0, 0], &[]).unwrap();
    assert_eq!(no_columns.to_paddle().unwrap().crows, [0, 0, 0]);
}

#[test]
fn every_broken_invariant_of_paddle_has_its_error() {
    let refused = |shape: &[usize], crows: &[i64], cols: &[i64]| paddle(shape, crows, cols).unwrap_err();
    let rank =
        |found| Error::RankMismatch { what: "a matrix (or, with more axes, a batch of them)", expected: 2, found };
    assert_eq!(refused(&[], &[0, 0], &[]), rank(0));
    assert_eq!(refused(&[3], &[0, 0], &[]), rank(1));
    let crows = |expected, found| Error::LengthMismatch { what: "crows", expected, found };
    assert_eq!(refused(&[2, 2, 3], &[0, 1, 2, 3, 4], &[0; 4]), crows(6, 5));
    assert_eq!(refused(&[2, 3], &[], &[]), crows(3, 0));
    assert_eq!(refused(&[0, 2, 3], &[0], &[]), crows(0, 1));
    assert_eq!(refused(&[1 << 32, 1 << 32, 3], &[0], &[]), crows(usize::MAX, 1));
    let running = refused(&[2, 2, 3], &[0, 1, 1, 1, 2, 3], &[1, 0, 2]);
    assert_eq!(running, Error::OffsetsStart { found: 1 });
    let descending = refused(&[2, 2, 3], &[0, 1, 1, 0, 2, 1], &[1, 0, 2]);
    assert_eq!(descending, Error::OffsetsDecrease { lane: 3, start: 2, end: 1 });
    assert_eq!(refused(&[2, 2, 3], &[0, 1, 1, 0, 1, 1], &[1, 0, 2]), Error::OffsetsEnd { expected: 3, found: 2 });
    let vast = refused(&[2, 1, 3], &[0, i64::MAX, 0, i64::MAX], &[1]);
    assert_eq!(vast, Error::OffsetsEnd { expected: 1, found: 2 * (i64::MAX as usize) });
    let saturated = refused(&[3, 1, 3], &[0, i64::MAX, 0, i64::MAX, 0, i64::MAX], &[1]);
    assert_eq!(saturated, Error::OffsetsEnd { expected: 1, found: usize::MAX });
    assert_eq!(refused(&[1, 2, 3], &[0, -1, 1], &[1]), Error::NegativeOffset { offset: -1, at: 1 });
    assert_eq!(refused(&[2, 1, 3], &[0, 1, -9, 1], &[1]), Error::NegativeOffset { offset: -9, at: 2 });
    let later = Error::NegativeOffset { offset: -7, at: 5 };
    assert_eq!(refused(&[2, 2, 3], &[0, 0, 1, 0, 0, -7], &[1]), later);
    let negative = Error::NegativeIndex { index: -3, axis: 1, entry: 1 };
    assert_eq!(refused(&[1, 3], &[0, 2], &[0, -3]), negative);
    let nowhere = Error::IndexOutOfBounds { index: 0, axis: 1, length: 0, entry: Some(0) };
    assert_eq!(refused(&[1, 0], &[0, 1], &[0]), nowhere);
    let outside = Error::IndexOutOfBounds { index: 3, axis: 2, length: 3, entry: Some(1) };
    assert_eq!(refused(&[1, 1, 3], &[0, 2], &[0, 3]), outside);
    // As `u32` it would be column 0.
    let just_outside = Error::IndexOutOfBounds { index: 1 << 32, axis: 1, length: 1 << 32, entry: Some(0) };
    assert_eq!(refused(&[1, 1 << 32], &[0, 1], &[1 << 32]), just_outside);
    let unsorted = Error::NotSorted { entry: 2, coords: vec![1, 0, 1], previous: vec![1, 0, 1] };
    assert_eq!(refused(&[2, 1, 3], &[0, 1, 0, 2], &[0, 1, 1]), unsorted);
    let values = CsrTensor::from_paddle([1, 3], &[0, 1], &[2], vec![1.0, 2.0]).unwrap_err();
    assert_eq!(values, Error::LengthMismatch { what: "the values", expected: 1, found: 2 });
    assert!(matches!(refused(&[1, (1 << 32) + 1], &[0, 0], &[]), Error::AxisTooLong { axis: 1, .. }));
}

#[test]
fn what_paddle_cannot_hold_is_refused() {
    let zero = CsrTensor::full([2, 3], -0.0).unwrap().to_paddle().unwrap_err();
    assert_eq!(zero, Error::FillNotZero { fill: "-0.0".into(), target: "Paddle's layout" });
    assert!(matches!(
        CsrTensor::full([3], 0).unwrap().to_paddle(),
        Err(Error::RankMismatch { expected: 2, found: 1, .. })
    ));
    let endless = CsrTensor::<u8, u64>::try_from(&ArrayD::<u8>::zeros(IxDyn(&[1 << 40, 0, 3]))).unwrap();
    assert!(matches!(endless.to_paddle(), Err(Error::TooLarge { bytes: 8_796_093_022_208, .. })));
    assert!(matches!(endless.to_torch(), Err(Error::TooLarge { .. })));
    let pattern = lacuna::CsrPattern::<u64>::empty([1, usize::MAX]).unwrap();
    let wide = lacuna::Tensor::from_parts(pattern, vec![], 0u8).unwrap();
    assert!(matches!(wide.to_paddle(), Err(Error::AxisTooLong { axis: 1, index_type: "i64", .. })));
}

#[test]
fn torch_comes_in_from_arrays_of_any_layout_and_goes_out() {
    let crows = arr2(&[[0, 0], [1, 2], [2, 2]]);
    let (cols, values) = (arr2(&[[1, 0], [0, 2]]), arr2(&[[1.5, 2.5], [3.5, 4.5]]));
    let x = CsrTensor::from_torch([2, 2, 3], &crows.t(), &cols.view(), &values.view()).unwrap();
    assert_eq!(x.offsets(), [0, 1, 2, 4, 4]);
    let out = x.to_torch().unwrap();
    assert_eq!(out.crow_indices, arr2(&[[0, 1, 2], [0, 2, 2]]).into_dyn());
    assert_eq!(out.col_indices, cols.into_dyn());
    assert_eq!(out.values, values.into_dyn());
    assert_eq!(CsrTensor::from_torch([2, 2, 3], &out.crow_indices, &out.col_indices, &out.values).unwrap(), x);
}

#[test]
fn torch_without_and_with_several_batch_axes() {
    let x = CsrTensor::from_torch([1, 3], &arr1(&[0, 2]), &arr1(&[0, 2]), &arr1(&[true, false])).unwrap();
    assert_eq!(x.entries(), [(vec![0, 0], true), (vec![0, 2], false)]);
    let crows = Array::from_shape_vec(IxDyn(&[2, 1, 2]), vec![0, 1, 0, 1]).unwrap();
    let cols = Array::from_shape_vec(IxDyn(&[2, 1, 1]), vec![4, 0]).unwrap();
    let y = CsrTensor::<_, u64>::from_torch_with_index([2, 1, 1, 5], &crows, &cols, &cols).unwrap();
    assert_eq!(y.entries(), [(vec![0, 0, 0, 4], 4), (vec![1, 0, 0, 0], 0)]);
    assert_eq!(y.to_torch().unwrap().crow_indices, crows);
    let empty: Array2<i64> = Array2::zeros((0, 0));
    let z = CsrTensor::from_torch([0, 2, 3], &Array2::zeros((0, 3)), &empty, &empty).unwrap();
    assert_eq!(z.to_torch().unwrap().crow_indices.shape(), [0, 3]);
}

#[test]
fn every_broken_invariant_of_torch_has_its_error() {
    let refused = |shape: &[usize], crows: &Array2<i64>, cols: &Array2<i64>| {
        CsrTensor::from_torch(shape, crows, cols, cols).unwrap_err()
    };
    let (crows, cols) = (arr2(&[[0, 1], [0, 1]]), arr2(&[[0], [1]]));
    assert!(matches!(refused(&[3], &crows, &cols), Error::RankMismatch { expected: 2, found: 1, .. }));
    let shapes = |what, expected: [usize; 2], found: [usize; 2]| Error::ShapeMismatch {
        what,
        expected: expected.into(),
        found: found.into(),
    };
    assert_eq!(refused(&[2, 2, 3], &crows, &cols), shapes("crow_indices", [2, 3], [2, 2]));
    assert_eq!(refused(&[2, 1, 3], &crows, &arr2(&[[0]])), shapes("col_indices", [2, 1], [1, 1]));
    let values = CsrTensor::from_torch([2, 1, 3], &crows, &cols, &arr2(&[[1.0, 2.0]])).unwrap_err();
    assert_eq!(values, shapes("values", [2, 1], [1, 2]));
    let flat: Array1<i64> = arr1(&[0, 1, 0, 1]);
    assert!(matches!(
        CsrTensor::from_torch([2, 1, 3], &flat, &flat, &flat),
        Err(Error::ShapeMismatch { what: "crow_indices", .. })
    ));
    let first = refused(&[2, 1, 3], &arr2(&[[0, 2], [0, 1]]), &cols);
    assert_eq!(first, Error::OffsetsEnd { expected: 1, found: 2 });
    let uneven = refused(&[2, 1, 3], &arr2(&[[0, 1], [0, 0]]), &cols);
    assert_eq!(uneven, Error::UnevenBatches { batch: 1, expected: 1, found: 0 });
    assert_eq!(refused(&[2, 1, 3], &arr2(&[[1, 1], [0, 1]]), &cols), Error::OffsetsStart { found: 1 });
    assert_eq!(refused(&[2, 1, 3], &arr2(&[[-1, 1], [0, 1]]), &cols), Error::NegativeOffset { offset: -1, at: 0 });
    assert_eq!(refused(&[2, 1, 3], &arr2(&[[0, 1], [0, -1]]), &cols), Error::NegativeOffset { offset: -1, at: 3 });
    let negative = refused(&[2, 1, 3], &crows, &arr2(&[[0], [-1]]));
    assert_eq!(negative, Error::NegativeIndex { index: -1, axis: 2, entry: 1 });
    let outside = refused(&[2, 1, 3], &crows, &arr2(&[[3], [0]]));
    assert_eq!(outside, Error::IndexOutOfBounds { index: 3, axis: 2, length: 3, entry: Some(0) });
}

#[test]
fn uneven_batches_name_the_first_that_differs() {
    let x = paddle([3, 1, 3], &[0, 1, 0, 1, 0, 2], &[0, 1, 0, 2]).unwrap();
    assert_eq!(x.to_torch().unwrap_err(), Error::UnevenBatches { batch: 2, expected: 1, found: 2 });
}

#[test]
fn more_entries_than_sixteen_bits_count() {
    let (rows, columns) = (3usize, 40_000usize);
    let crows: Vec<i64> = (0..=rows).map(|row| (row * columns) as i64).collect();
    let cols: Vec<i64> = (0..rows * columns).map(|entry| (entry % columns) as i64).collect();
    let x = paddle([rows, columns], &crows, &cols).unwrap();
    assert_eq!(x.offsets(), [0, 40_000, 80_000, 120_000]);
    assert_eq!(x.get(&[2, 39_999]).unwrap(), 119_999.0);
    assert_eq!(x.to_paddle().unwrap().crows, crows);
}

proptest! {
    #[test]
    fn any_tensor_goes_through_paddle_and_back(
        shape in prop::collection::vec(0usize..4, 2..5),
        seed in prop::collection::vec(any::<(usize, i32)>(), 0..20),
    ) {
        let size: usize = shape.iter().product();
        let mut triplets = Triplets::new(shape.clone()).unwrap();
        for &(position, value) in seed.iter().filter(|_| size > 0) {
            let (mut rest, mut coords) = (position % size, vec![0; shape.len()]);
            for (coord, length) in coords.iter_mut().zip(&shape).rev() {
                (*coord, rest) = (rest % length, rest / length);
            }
            triplets.push(&coords, value).unwrap();
        }
        let x = triplets.coalesce_csr(lacuna::Duplicates::Last).unwrap();
        let PaddleCsr { crows, cols, values } = x.to_paddle().unwrap();
        prop_assert_eq!(&CsrTensor::from_paddle(shape.clone(), &crows, &cols, values).unwrap(), &x);
        if let Ok(torch) = x.to_torch() {
            let back = CsrTensor::from_torch(shape, &torch.crow_indices, &torch.col_indices, &torch.values);
            prop_assert_eq!(back.unwrap(), x);
        }
    }

    #[test]
    fn no_paddle_input_panics(
        shape in prop::collection::vec(0usize..4, 0..4),
        crows in prop::collection::vec(-2i64..6, 0..10),
        cols in prop::collection::vec(-1i64..4, 0..6),
    ) {
        if let Ok(x) = paddle(shape.clone(), &crows, &cols) {
            prop_assert_eq!(x.to_paddle().unwrap().crows, crows);
        }
    }
}

/// The offsets of no batches were counted with a product that overflowed.
#[test]
fn no_batches_of_the_most_rows_have_no_offsets() {
    let pattern = lacuna::CsrPattern::<u64>::new([0, usize::MAX, 3], vec![0], vec![]).unwrap();
    let x = lacuna::Tensor::from_parts(pattern, Vec::<f64>::new(), 0.0).unwrap();
    assert!(x.to_paddle().unwrap().crows.is_empty());
}

/// A few bytes, broadcast, were copied as often as they are repeated: 1.6 GB for 32 of them.
#[test]
fn arrays_that_repeat_their_elements_are_limited() {
    let each = 90_000_000usize;
    let (crows, one, values) = (arr1(&[0i64, each as i64]), arr1(&[0i64]), arr1(&[true]));
    let (cols, repeated) = (one.broadcast(each).unwrap(), values.broadcast(each).unwrap());
    let refused = CsrTensor::from_torch([1, each], &crows.view(), &cols, &repeated);
    assert!(matches!(refused, Err(Error::TooLarge { what: "the arrays of PyTorch's layout", .. })), "{refused:?}");
    let crows = arr1(&[0i64, 1]);
    let batches = 40_000_000;
    let refused = CsrTensor::from_torch(
        [batches, 1, 1],
        &crows.broadcast([batches, 2]).unwrap(),
        &one.broadcast([batches, 1]).unwrap(),
        &values.broadcast([batches, 1]).unwrap(),
    );
    assert!(matches!(refused, Err(Error::TooLarge { .. })));
    // A small tensor may repeat its arrays.
    let small = CsrTensor::from_torch(
        [1000, 1, 1],
        &crows.broadcast([1000, 2]).unwrap(),
        &one.broadcast([1000, 1]).unwrap(),
        &values.broadcast([1000, 1]).unwrap(),
    );
    assert_eq!(small.unwrap().nnz(), 1000);
}
