//! Entries chosen by what they are, entries put in, and what is found of values: as steps.

use std::sync::Arc;

use ndarray::ArrayD;

use super::gradient::on_pattern_of;
use super::node::{Form, Held, Node, known, unlike};
use super::text::{Text, WRITTEN, said, with_option};
use super::unary::{LazyStored, Steps, rule_of_all, same, step};
use super::{Lazy, Value, shares};
use crate::CooTensor;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::element::{Element, Float, FloatVisitor, Magnitude, Numeric, Real, RealNumber};
use crate::ops::{self, Operand, Tolerance};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

impl<P: Pattern, T: Element> Lazy<Tensor<P, T>> {
    /// The step [`select`](Tensor::select): the entries whose values pass a test. Two of them are never taken for one,
    /// and none can be written as text.
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
        let test = Arc::new(test);
        let used = Arc::clone(&test);
        let back = move |x: &Tensor<P, T>, g: &Tensor<P, T>| x.select_backward(g, &*test);
        self.passed(["select", "select_backward"], move |x| x.select(&*used), back).with_shares(shares::same())
    }

    /// The step [`filter_entries`](Tensor::filter_entries): the entries whose coordinates and values pass a test, as
    /// [`select`](Lazy::select) has it.
    #[track_caller]
    pub fn filter_entries(&self, test: impl Fn(&[usize], T) -> bool + Send + Sync + 'static) -> Self {
        let test = Arc::new(test);
        let used = Arc::clone(&test);
        let back = move |x: &Tensor<P, T>, g: &Tensor<P, T>| x.filter_entries_backward(g, &*test);
        self.passed(["filter_entries", "filter_entries_backward"], move |x| x.filter_entries(&*used), back)
    }

    #[track_caller]
    fn passed(
        &self,
        [name, backward]: [&'static str; 2],
        keep: impl Fn(&Tensor<P, T>) -> Result<Tensor<P, T>> + Send + Sync + 'static,
        back: impl Fn(&Tensor<P, T>, &Tensor<P, T>) -> Result<Tensor<P, T>> + Send + Sync + 'static,
    ) -> Self {
        let (number, back) = (unlike(), Arc::new(back));
        self.then(name, number.clone(), Form::Own, same, keep).with_rule(move |asked| {
            let back = Arc::clone(&back);
            let run = move |inputs: &[Held]| back(known(&inputs[0]), known(&inputs[1]));
            let nodes = [&asked.inputs[0], asked.upstream];
            let dx: Lazy<Tensor<P, T>> = step(backward, number.clone(), nodes, Form::OfFirst, |[x, _]| same(x), run);
            Some(vec![Some(dx.node)])
        })
    }

    /// The coordinates of the elements that are not zero, a row each: what [`nonzero`](Tensor::nonzero) lists by axes.
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
        let run = |x: &Tensor<P, T>| {
            let (axes, rank) = (x.nonzero()?, x.rank());
            // Without axes there are no coordinates to count.
            let count =
                axes.first().map_or_else(|| x.values().iter().filter(|value| value.is_truthy()).count(), Vec::len);
            let size = count.checked_mul(rank).ok_or(Error::AxisOverflow { axis: 0 })?;
            let rows = crate::base::alloc::collect((0..size).map(|at| axes[at % rank][at / rank].to_usize() as u64))?;
            Ok(dense_array(&Shape::from([count, rank]), rows))
        };
        let text = Text::call("nonzero", &["%0"], said!());
        self.then("nonzero", String::new(), Form::Own, |_| Ok(None), run).written(text)
    }

    /// The step [`with_entries`](Tensor::with_entries): the same tensor with other values at some positions.
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
        let entries: Vec<(Vec<usize>, T)> =
            entries.into_iter().map(|(at, value)| (at.as_ref().to_vec(), value)).collect();
        let said = said_of_entries(&entries);
        let arguments = said.clone().unwrap_or_else(unlike);
        let run = move |x: &Tensor<P, T>| x.with_entries(entries.iter().map(|(at, value)| (at, *value)));
        self.then("with_entries", arguments, Form::Own, same, run).written(Text::call("with_entries", &["%0"], said))
    }

    /// A matrix with this vector on a diagonal, `offset` columns to the right of the main one: zeros elsewhere, and no
    /// entry where the vector has none.
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
        let shape = |x: &Shape| ops::diagonal_side(x, offset).map(|side| Some([side, side].into()));
        let run = move |x: &Tensor<P, T>| ops::diagonal_of(x, offset);
        let step = self.then("diag", offset.to_string(), Form::Own, shape, run);
        let step = step.written(Text::call("diag", &["%0"], said!(offset)));
        rule_of_all!(step, T, [P: Pattern], (offset: isize), |[x, g]| {
            let diagonal = Lazy::<Tensor<P, F>>::of(Arc::clone(g)).diagonal(offset);
            vec![on_pattern_of::<Tensor<P, F>, _>(x, &diagonal)]
        })
    }
}

/// Entries as they are written: their coordinates, and their values.
fn said_of_entries<T: Element>(entries: &[(Vec<usize>, T)]) -> Option<String> {
    if entries.len() > WRITTEN {
        return None;
    }
    let coordinates: Vec<&Vec<usize>> = entries.iter().map(|(at, _)| at).collect();
    let values: Option<Vec<String>> = entries.iter().map(|(_, value)| super::text::Said::said(value)).collect();
    Some(format!("{coordinates:?}, [{}]", values?.join(", ")))
}

/// The distinct elements, and how often each stands there.
fn counted<X: Operand<Elem: Real>>(x: &X) -> Result<(ArrayD<X::Elem>, ArrayD<u64>)> {
    let (values, counts) = ops::unique(x)?;
    let shape = Shape::from([values.len()]);
    Ok((dense_array(&shape, values), dense_array(&shape, counts)))
}

/// How that is written.
fn said_of_counted(x: &str) -> Text {
    Text::Calls(["unique", "unique_counts"].map(|name| format!("{name}({x})")).to_vec())
}

impl<T: Real, X: Steps<Elem = T>> Lazy<X> {
    /// The step [`unique`](crate::unique()): the distinct elements, and how often each stands there.
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
        let step = self.then("unique", String::new(), Form::Own, |_| Ok(None), counted);
        step.written(said_of_counted("%0"))
    }
}

impl<P: Pattern, T: Real> LazyStored<P, T> {
    /// The step [`unique`](crate::unique()) of the entries alone.
    #[track_caller]
    pub fn unique(&self) -> Lazy<(ArrayD<T>, ArrayD<u64>)> {
        let run = |x: &Tensor<P, T>| counted(&x.stored());
        let step = self.x.then("unique", "stored".into(), Form::Own, |_| Ok(None), run);
        step.written(said_of_counted("stored(%0)"))
    }
}

/// A tolerance as it is written.
fn said_of(tolerance: Tolerance) -> Option<String> {
    let numbers = said!(tolerance.rtol, tolerance.atol);
    with_option(numbers, tolerance.equal_nan.then(|| "equal_nan=true".into()))
}

/// Whether all elements of both are close, as `close` finds it.
#[track_caller]
fn all_close<X: Value>(
    [x, y]: [&Lazy<X>; 2],
    seen: &str,
    tolerance: Tolerance,
    close: impl Fn(&X, &X) -> Result<bool> + Send + Sync + 'static,
) -> Lazy<CooTensor<bool>> {
    let run = move |inputs: &[Held]| CooTensor::full([0; 0], close(known(&inputs[0]), known(&inputs[1]))?);
    let shape = |[x, y]: [&Shape; 2]| super::zips::broadcast([x, y]).map(|_| Some([].into()));
    step("allclose", format!("{seen}{tolerance:?}"), [&x.node, &y.node], Form::Own, shape, run)
}

macro_rules! allclose {
    ($([$($generics:tt)*] $x:ty;)*) => {$(
        impl<$($generics)*> Lazy<$x> {
            /// The step [`allclose`](crate::allclose()): a tensor of rank 0, whose [`item`](CooTensor::item) tells
            /// whether all elements of both are close.
            #[track_caller]
            pub fn allclose(&self, other: &Self, tolerance: impl Into<Tolerance>) -> Lazy<CooTensor<bool>> {
                let tolerance: Tolerance = tolerance.into();
                let close = move |x: &$x, y: &$x| ops::allclose(x, y, tolerance);
                let step = all_close([self, other], "", tolerance, close);
                step.written(Text::call("allclose", &["%0", "%1"], said_of(tolerance)))
            }
        }
    )*};
}

allclose! {
    [P: Pattern, T: Magnitude] Tensor<P, T>;
    [T: Magnitude] ArrayD<T>;
}

impl<P: Pattern, T: Magnitude> LazyStored<P, T> {
    /// The step [`allclose`](crate::allclose()) of what both store. It cannot be written as text.
    #[track_caller]
    pub fn allclose(&self, other: &Self, tolerance: impl Into<Tolerance>) -> Lazy<CooTensor<bool>> {
        let tolerance: Tolerance = tolerance.into();
        let close = move |x: &Tensor<P, T>, y: &Tensor<P, T>| ops::allclose(&x.stored(), y.stored(), tolerance);
        all_close([&self.x, &other.x], "stored ", tolerance, close)
    }
}
