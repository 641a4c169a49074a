//! Steps that select entries, insert entries, and list or compare values.

use std::any::Any;
use std::sync::Arc;

use ndarray::ArrayD;

use super::Lazy;
use super::call::{Arg, Call, Typed};
use super::node::{ErasedValue, Form, Node, StepImpl, downcast};
use super::steps::{LazyStored, Steps, operand, step_impl};
use super::text::text_of_list;
use super::zips::{Beside, BesideStored, Side, zipped_by};
use crate::CooTensor;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::element::{Element, Magnitude, Real};
use crate::kernels::zip::Zip;
use crate::ops::{self, Closeness, OpSpec, Partner, Tolerance, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the entries of a tensor that a test accepts.
type Keep<P, T, F> = fn(&Tensor<P, T>, &F) -> Result<Tensor<P, T>>;

/// Returns the gradient of [`Keep`], from a tensor and the upstream gradient.
type KeepBackward<P, T, F> = fn(&Tensor<P, T>, &Tensor<P, T>, &F) -> Result<Tensor<P, T>>;

impl<P: Pattern, T: Element> Lazy<Tensor<P, T>> {
    /// Returns the step [`select`](Tensor::select): the entries whose values pass a test.
    ///
    /// Two `select` steps are never merged as common subexpressions. The step does not have a textual form.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![-3.0, 5.0], 0.0)?.lazy();
    /// let found = x.select(|value| value > 0.0);
    /// assert_eq!(found.collect()?.values(), [5.0]);
    /// assert_eq!(found.gradient(&x, &found).collect()?.values(), [0.0, 5.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn select(&self, test: impl Fn(T) -> bool + Send + Sync + 'static) -> Self {
        let ops = [&op::select, &op::select_backward];
        self.passed(ops, test, |x, test| x.select(test), |x, g, test| ops::select_backward(x, g, test))
    }

    /// Returns the step [`filter_entries`](Tensor::filter_entries): the entries that pass a test.
    ///
    /// The test receives the coordinates and the value of an entry.
    ///
    /// Two `filter_entries` steps are never merged as common subexpressions. The step does not have a textual form.
    #[track_caller]
    pub fn filter_entries(&self, test: impl Fn(&[usize], T) -> bool + Send + Sync + 'static) -> Self {
        let ops = [&op::filter_entries, &op::filter_entries_backward];
        // The test reads coordinates, but chunks of entries do not have coordinates.
        self.passed(ops, test, |x, test| x.filter_entries(test), |x, g, test| ops::filter_entries_backward(x, g, test))
    }

    /// Returns the step of the entries that pass a test. `keep` and `back` compute the entries and the gradient.
    #[track_caller]
    fn passed<F: Send + Sync + 'static>(
        &self,
        [op, backward]: [&'static OpSpec; 2],
        test: F,
        keep: Keep<P, T, F>,
        back: KeepBackward<P, T, F>,
    ) -> Self {
        let (own, test) = (Arg::own(), Arc::new(test));
        let (call, used) = (Call::of(op, [Arg::Input(0), own.clone()]), Arc::clone(&test));
        let shape = |[x]: [&Shape; 1]| Ok(Some(x.clone()));
        let step = Lazy::own_step(op.name, call, [&self.node], shape, move |inputs| keep(downcast(&inputs[0]), &used));
        step.with_work(|work| work.form = Form::Own)
            .with_gradient(backward, own, move |inputs| back(downcast(&inputs[0]), downcast(&inputs[1]), &test))
    }

    /// Returns the coordinates of the elements that are not zero, one row per element.
    ///
    /// The method [`nonzero`](Tensor::nonzero) of tensors returns the same coordinates by axis.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use ndarray::arr2;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![-3.0, 5.0], 0.0)?;
    /// assert_eq!(x.lazy().nonzero().collect()?, arr2(&[[0, 2], [1, 0]]).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn nonzero(&self) -> Lazy<ArrayD<u64>> {
        let run = step_impl!(ArrayD<u64>, |_, inputs| rows_of(downcast::<Tensor<P, T>>(&inputs[0])));
        Lazy::step(Call::of(&op::nonzero, [Arg::Input(0)]), [&self.node], run)
    }

    /// Returns the step [`with_entries`](Tensor::with_entries).
    ///
    /// The result is this tensor with other values at some positions.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![-3.0, 5.0], 0.0)?.lazy();
    /// assert_eq!(x.with_entries([([1], 7.0), ([2], 1.0)]).collect()?.values(), [-3.0, 7.0, 1.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn with_entries<C: AsRef<[usize]>>(&self, entries: impl IntoIterator<Item = (C, T)>) -> Self {
        let entries = entries.into_iter().map(|(at, value)| (Arg::counts(at.as_ref()), value));
        let (positions, values): (Vec<Arg>, Vec<T>) = entries.unzip();
        let values = Arg::Typed(Arc::new(InsertedValues(values)));
        let call = Call::of(&op::with_entries, [Arg::Input(0), Arg::List(positions), values]);
        let run = step_impl!(Tensor<P, T>, |node, inputs| {
            let call = node.args();
            let Arg::List(positions) = call.named("indices") else { return Err(Error::NoTensor) };
            let values = &call.data::<InsertedValues<T>>("values").expect("values of this type").0;
            let positions = positions.iter().map(|at| at.as_counts());
            downcast::<Tensor<P, T>>(&inputs[0]).with_entries(positions.zip(values.iter().copied()))
        });
        Lazy::step(call, [&self.node], run)
    }

    /// Returns a matrix with this vector on a diagonal.
    ///
    /// The diagonal is `offset` columns to the right of the main diagonal, or to the left if `offset` is negative. All
    /// other elements are zero. The matrix stores only the entries of the vector. If the vector has unstored positions,
    /// the fill of the vector must be zero.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![-3.0, 5.0], 0.0)?.lazy();
    /// assert_eq!(x.diag(1).collect()?.entries(), [(vec![0, 1], -3.0), (vec![2, 3], 5.0)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn diag(&self, offset: isize) -> Self {
        let call = Call::of(&op::diag, [Arg::Input(0), Arg::Integer(offset as i128)]);
        let run = step_impl!(Tensor<P, T>, |node, inputs| {
            ops::diagonal_of(downcast::<Tensor<P, T>>(&inputs[0]), node.args().position("offset", 0))
        });
        Lazy::step(call, [&self.node], run)
    }
}

/// The values that `with_entries` inserts.
#[derive(Debug)]
struct InsertedValues<T>(Vec<T>);

impl<T: Element> Typed for InsertedValues<T> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Typed) -> bool {
        self.to_text().is_some() && self.to_text() == other.to_text()
    }

    fn to_text(&self) -> Option<String> {
        text_of_list(&self.0)
    }
}

/// Returns the coordinates of the elements that are not zero, one row per element.
fn rows_of<P: Pattern, T: Element>(x: &Tensor<P, T>) -> Result<ArrayD<u64>> {
    let (axes, rank) = (x.nonzero()?, x.rank());
    // A tensor of rank 0 does not have coordinates to count.
    let count = axes.first().map_or_else(|| x.values().iter().filter(|value| value.is_truthy()).count(), Vec::len);
    let size = count.checked_mul(rank).ok_or(Error::AxisOverflow { axis: 0 })?;
    let rows = crate::base::alloc::collect((0..size).map(|at| axes[at % rank][at / rank].to_usize() as u64))?;
    Ok(dense_array(&Shape::from([count, rank]), rows))
}

/// Returns the implementation of `unique`.
fn counted<X: Steps<Elem: Real>>() -> StepImpl {
    step_impl!((ArrayD<X::Elem>, ArrayD<u64>), |node, inputs| {
        let (values, counts) = ops::unique(&operand::<X>(node, &inputs[0]))?;
        let shape = Shape::from([values.len()]);
        Ok((dense_array(&shape, values), dense_array(&shape, counts)))
    })
}

impl<T: Real, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`unique`](crate::unique()): the distinct elements and the count of each.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 2]], vec![5.0, 5.0], 0.0)?.lazy();
    /// let (values, counts) = x.unique().parts();
    /// assert_eq!(values.collect()?, arr1(&[0.0, 5.0]).into_dyn());
    /// assert_eq!(counts.collect()?, arr1(&[2, 2]).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn unique(&self) -> Lazy<(ArrayD<T>, ArrayD<u64>)> {
        Lazy::step(Call::of(&op::unique, [Arg::Input(0)]), [&self.node], counted::<X>())
    }
}

impl<P: Pattern, T: Real> LazyStored<P, T> {
    /// Returns the step [`unique`](crate::unique()) of the stored entries.
    #[track_caller]
    pub fn unique(&self) -> Lazy<(ArrayD<T>, ArrayD<u64>)> {
        Lazy::step(Call::of(&op::unique, [Arg::Stored(0)]), [&self.x.node], counted::<Tensor<P, T>>())
    }
}

/// Returns the call of a comparison within a tolerance.
fn close(op: &'static OpSpec, operands: [Arg; 2], tolerance: Tolerance) -> Call {
    let equal_nan = if tolerance.equal_nan { Arg::Flag(true) } else { Arg::Absent };
    let [x, y] = operands;
    Call::of(op, [x, y, Arg::Real(tolerance.rtol), Arg::Real(tolerance.atol), equal_nan])
}

fn tolerance_of(node: &Node) -> Tolerance {
    let [rtol, atol] = ["rtol", "atol"].map(|name| node.args().real(name).unwrap_or(0.0));
    let tolerance = Tolerance::within(rtol, atol);
    if node.args().flag("equal_nan") { tolerance.equal_nan() } else { tolerance }
}

/// The right operand of a comparison in a run: a value of the same type.
struct Compared<'a>(&'a Node, &'a [ErasedValue]);

impl<X: Steps> Partner<X> for Compared<'_> {
    type Elem = X::Elem;
    type Zipped<U: Element> = X::Of<U>;

    fn zip<Z: Zip<X::Elem, X::Elem>>(self, _: &X, op: Z) -> Result<X::Of<Z::Out>> {
        X::zipped(self.0.args(), self.1, op)
    }
}

/// Returns the implementation of `allclose`: a tensor of rank 0.
fn compared<X: Steps<Elem: Magnitude>>() -> StepImpl {
    step_impl!(CooTensor<bool>, |node, inputs| {
        let is_close = ops::allclose(downcast::<X>(&inputs[0]), Compared(node, inputs), tolerance_of(node));
        CooTensor::full([0; 0], is_close?)
    })
}

/// Returns the step of a comparison of each element within a tolerance.
#[track_caller]
fn compared_each<X: Steps<Elem: Magnitude>>(
    x: &Lazy<X>,
    y: Side<X>,
    of: fn(usize) -> Arg,
    tolerance: Tolerance,
) -> Lazy<X::Of<bool>> {
    let implementation =
        step_impl!(X::Of<bool>, |node, inputs| { X::zipped(node.args(), inputs, Closeness::new(tolerance_of(node))) });
    zipped_by(x, y, of, |operands| close(&op::is_close, operands, tolerance), implementation)
}

impl<T: Magnitude, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`is_close`](crate::is_close()).
    #[track_caller]
    pub fn is_close(&self, other: impl Beside<X>, tolerance: impl Into<Tolerance>) -> Lazy<X::Of<bool>> {
        compared_each(self, other.side(), Arg::Input, tolerance.into())
    }

    /// Returns the step [`allclose`](crate::allclose()): a tensor of rank 0.
    ///
    /// The [`item`](CooTensor::item) of the result is true if all elements of the two operands are close.
    #[track_caller]
    pub fn allclose(&self, other: &Self, tolerance: impl Into<Tolerance>) -> Lazy<CooTensor<bool>> {
        let call = close(&op::allclose, [Arg::Input(0), Arg::Input(1)], tolerance.into());
        Lazy::step(call, [&self.node, &other.node], compared::<X>())
    }
}

impl<P: Pattern, T: Magnitude> LazyStored<P, T> {
    /// Returns the step [`is_close`](crate::is_close()) of the stored entries.
    #[track_caller]
    pub fn is_close(&self, other: impl BesideStored<P, T>, tolerance: impl Into<Tolerance>) -> Lazy<Tensor<P, bool>> {
        compared_each(&self.x, other.entries(), Arg::Stored, tolerance.into())
    }

    /// Returns the step [`allclose`](crate::allclose()) of the stored entries.
    ///
    /// The step does not have a textual form.
    #[track_caller]
    pub fn allclose(&self, other: &Self, tolerance: impl Into<Tolerance>) -> Lazy<CooTensor<bool>> {
        let call = close(&op::allclose, [Arg::Stored(0), Arg::Stored(1)], tolerance.into()).without_text();
        Lazy::step(call, [&self.x.node, &other.x.node], compared::<Tensor<P, T>>())
    }
}
