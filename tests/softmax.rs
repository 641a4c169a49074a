//! Softmax among entries and among the elements of arrays, against the definition.

use crate::generators::{Drawn, DrawnGrad, Reduction, reductions, seeds};
use crate::reference::dense::Sparse;
use crate::reference::exact::SummedFloat;
use crate::reference::softmax::{by_rule, logarithm_gradients, logarithms, share_gradients, shares};
use crate::support::*;
use lacuna::{Axes, CooTensor, Error, Float, grad, log_softmax, softmax};
use ndarray::{arr1, arr2};

fn results_are_those_of_the_definition<T: Both + DrawnGrad + SummedFloat + Float>() {
    check((reductions::<T, T>(), seeds::<T>()), |(case, upstream)| {
        let Reduction { x, axes, normalised, .. } = &case;
        let (axes, g) = (axes_of(axes, false), upstream.build(&x.shape));
        let dense = g.to_dense();
        let expected = |fill, rule| by_rule(x, normalised, &dense, fill, rule);
        let (coo, csr, g) = (coo(x), csr(x), csr(&g));
        let wanted = expected(0.0, shares);
        assert_entries(&coo.stored().softmax(axes.clone()).unwrap(), &wanted);
        assert_entries(&csr.stored().softmax(axes.clone()).unwrap(), &wanted);
        assert_entries(&csr.stored().log_softmax(axes.clone()).unwrap(), &expected(f64::NEG_INFINITY, logarithms));
        let wanted = expected(0.0, share_gradients);
        assert_entries(&grad::softmax(&coo.stored(), &g, axes.clone()).unwrap(), &wanted);
        assert_entries(&grad::softmax(&csr.stored(), &array(&dense), axes.clone()).unwrap(), &wanted);
        let wanted = expected(0.0, logarithm_gradients);
        assert_entries(&grad::log_softmax(&coo.stored(), &g, axes).unwrap(), &wanted);
    });
}

stamp!(results_are_those_of_the_definition: float64 = f64; beside float32 = f32; half float16 = half::f16);

/// Arrays of any layout are as if every element were stored.
#[test]
fn arrays_are_tensors_that_store_everything() {
    check((reductions::<f64, f64>(), f64::values()), |(case, value)| {
        let Reduction { x, axes, .. } = &case;
        let (axes, whole) = (axes_of(axes, false), x.to_dense());
        let all =
            Sparse::new(&x.shape, whole.coords().into_iter().map(|at| (at.clone(), whole.get(&at))).collect(), 0.0);
        let all = coo(&all);
        let g = ndarray::ArrayD::from_elem(&x.shape[..], value);
        for_each_layout(&whole, |_, view| {
            let same = |found: ndarray::ArrayD<f64>, of: lacuna::Result<CooTensor<f64>>| {
                assert_array(&found, &dense_of(&of.unwrap().to_dense().unwrap().view()));
            };
            same(softmax(&view, axes.clone()).unwrap(), all.stored().softmax(axes.clone()));
            same(log_softmax(&view, axes.clone()).unwrap(), all.stored().log_softmax(axes.clone()));
            let found = grad::softmax(&view, &g, axes.clone()).unwrap();
            same(found, grad::softmax(&all.stored(), &g, axes.clone()));
            let found = grad::log_softmax(&view, &g, axes.clone()).unwrap();
            same(found, grad::log_softmax(&all.stored(), &g, axes.clone()));
        });
    });
}

#[test]
fn the_whole_of_a_sparse_tensor_names_its_view() {
    let x = CooTensor::new([2, 2], vec![vec![0], vec![0]], vec![1.0], 0.0).unwrap();
    let refused = softmax(&x, 1).unwrap_err();
    assert!(refused.to_string().contains("x.stored().softmax"), "{refused}");
    assert!(log_softmax(&x, 1).unwrap_err().to_string().contains("x.stored().log_softmax"));
    assert!(matches!(softmax(&x.stored(), Axes::by(1, &[0, 0])), Err(Error::Argument { .. })));
    let refused = grad::softmax(&x.stored(), &arr1(&[1.0]), 1);
    assert!(matches!(refused, Err(Error::ShapeMismatch { .. })));
}

#[test]
fn great_numbers_neither_overflow_nor_vanish() {
    let x = arr2(&[[1e300, 1e300, -1e300], [-800.0, -801.0, f64::NEG_INFINITY]]);
    let y = softmax(&x, 1).unwrap();
    assert_eq!(y.row(0).to_vec(), [0.5, 0.5, 0.0]);
    assert_eq!(y[[1, 2]], 0.0);
    assert!((y[[1, 0]] - 0.731_058_578_630_004_9).abs() < 1e-15);
    for wild in [f64::NAN, f64::INFINITY] {
        assert!(softmax(&arr1(&[1.0, wild]), 0).unwrap().iter().all(|y| y.to_bits() == f64::NAN.to_bits()));
    }
    assert!(softmax(&arr1(&[f64::NEG_INFINITY]), 0).unwrap()[[0]].is_nan());
}

trait Rows {
    fn row(&self, row: usize) -> ndarray::ArrayView1<'_, f64>;
}

impl Rows for ndarray::ArrayD<f64> {
    fn row(&self, row: usize) -> ndarray::ArrayView1<'_, f64> {
        self.view().into_dimensionality::<ndarray::Ix2>().unwrap().index_axis_move(ndarray::Axis(0), row)
    }
}

/// Each element alone, and none at all.
#[test]
fn no_axes_and_no_elements() {
    let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![5.0, -7.0], 1.0).unwrap();
    assert_eq!(x.stored().softmax(Axes::none()).unwrap().values(), [1.0, 1.0]);
    assert_eq!(x.stored().log_softmax(Axes::none()).unwrap().values(), [0.0, 0.0]);
    let empty = ndarray::Array2::<f64>::zeros((0, 3));
    assert_eq!(softmax(&empty, 0).unwrap().shape(), [0, 3]);
    assert_eq!(softmax(&empty, 1).unwrap().shape(), [0, 3]);
    let none = CooTensor::<f64>::full([1 << 20, 1 << 20], 0.0).unwrap();
    assert_eq!(none.stored().softmax(0).unwrap().nnz(), 0);
}
