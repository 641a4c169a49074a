//! The descriptor of shape manipulations: a list of steps that apply to patterns and arrays.

use ndarray::{ArrayD, ArrayViewD};

use super::{Select, StepLimits};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::shape::{Shape, ravel, step};
use crate::convert::{check_result, dense_array, dense_bytes};
use crate::element::Element;
use crate::kernels::take::scatter_add;
use crate::pattern::AnyPattern;
use crate::plan::moves::{AxisOrder, MoveStep, StepRange};
use crate::plan::selection::Selected;

/// A move of the elements of an operand of one shape.
///
/// A step that changes nothing is removed.
#[derive(Clone, PartialEq)]
pub struct Moves {
    /// The shapes before each step, and the shape of the result.
    shapes: Vec<Shape>,
    steps: Vec<MoveStep>,
    /// Name of the result in errors, if it has positions set to zero and so requires a fill of zero.
    zeros: Option<&'static str>,
}

impl Moves {
    pub(super) fn of(lengths: &[usize]) -> Self {
        // Most moves are one step.
        let mut shapes = Vec::with_capacity(2);
        shapes.push(lengths.into());
        Moves { shapes, steps: Vec::new(), zeros: None }
    }

    /// Returns the axes in their new order, if the move only permutes axes.
    pub(crate) fn permutation(&self) -> Option<Vec<usize>> {
        let rank = self.shapes[0].rank();
        match &self.steps[..] {
            [] => Some((0..rank).collect()),
            [MoveStep::Axes(axes)] if axes.len() == rank => axes.iter().copied().collect(),
            _ => None,
        }
    }

    fn then(mut self, step: MoveStep, shape: impl Into<Shape>) -> Self {
        self.shapes.push(shape.into());
        self.steps.push(step);
        self
    }

    pub(super) fn cut(self, cuts: Vec<StepRange>) -> Self {
        let lengths: Shape = cuts.iter().map(|cut| cut.length).collect();
        self.then(MoveStep::Cut(cuts), lengths)
    }

    pub(super) fn reverse(self, axis: usize) -> Self {
        let shape = self.shape().clone();
        if shape[axis] < 2 { self } else { self.then(MoveStep::Order(axis, AxisOrder::Reverse), shape) }
    }

    pub(super) fn rotate(self, axis: usize, places: usize) -> Self {
        let shape = self.shape().clone();
        if places == 0 { self } else { self.then(MoveStep::Order(axis, AxisOrder::Rotate(places)), shape) }
    }

    pub(super) fn tile(self, axis: usize, times: usize) -> Result<Self> {
        self.longer(axis, times, AxisOrder::Tile(times))
    }

    pub(super) fn each(self, axis: usize, times: usize) -> Result<Self> {
        self.longer(axis, times, AxisOrder::Each(times))
    }

    fn longer(self, axis: usize, times: usize, order: AxisOrder) -> Result<Self> {
        let mut shape = self.shape().to_vec();
        shape[axis] = shape[axis].checked_mul(times).ok_or(Error::AxisOverflow { axis })?;
        Ok(if times == 1 { self } else { self.then(MoveStep::Order(axis, order), shape) })
    }

    pub(super) fn pad(self, widths: &[(usize, usize)]) -> Result<Self> {
        let padded = self.shape().iter().zip(widths).enumerate().map(|(axis, (length, (before, after)))| {
            length.checked_add(*before).and_then(|sum| sum.checked_add(*after)).ok_or(Error::AxisOverflow { axis })
        });
        let shape = padded.collect::<Result<Vec<_>>>()?;
        Ok(self.then(MoveStep::Pad(widths.iter().map(|width| width.0).collect()), shape))
    }

    pub(super) fn axes(self, axes: Vec<Option<usize>>) -> Self {
        if axes.iter().copied().eq((0..self.shape().rank()).map(Some)) {
            return self;
        }
        let lengths: Shape = axes.iter().map(|axis| axis.map_or(1, |axis| self.shape()[axis])).collect();
        self.then(MoveStep::Axes(axes), lengths)
    }

    pub(super) fn band(mut self, name: &'static str, min: i128, max: i128) -> Self {
        self.zeros = Some(name);
        let shape = self.shape().clone();
        self.then(MoveStep::Band(min, max), shape)
    }

    pub(super) fn diagonal(self, offset: i128, length: usize) -> Self {
        let rank = self.shape().rank();
        let shape = [&self.shape()[..rank - 2], &[length]].concat();
        self.then(MoveStep::Diagonal(offset), shape)
    }

    /// Returns each step with the shape before it.
    pub(crate) fn with_shapes(&self) -> impl Iterator<Item = (MoveStep, Shape)> {
        self.steps.iter().cloned().zip(self.shapes.iter().cloned())
    }

    /// Returns the operand axis whose consecutive positions are those of a result axis, and the first of these
    /// positions.
    pub(crate) fn window(&self, of_result: usize) -> Option<(usize, usize)> {
        let mut steps = self.steps.iter().zip(self.shapes.windows(2)).rev();
        steps.try_fold((of_result, 0), |(axis, first), (step, shapes)| {
            let (axis, by) = step.window(axis, &shapes[0], &shapes[1])?;
            Some((axis, first + by))
        })
    }

    /// Returns the same move of a chunk of the operand, which holds `length` of the positions that
    /// [`window`](Self::window) finds.
    pub(crate) fn within(mut self, of_result: usize, length: usize) -> Self {
        let (mut axis, mut shape) = (of_result, self.shape().to_vec());
        shape[axis] = length;
        for at in (0..self.steps.len()).rev() {
            let before = self.shapes[at].clone();
            let own = self.steps[at].window(axis, &before, &self.shapes[at + 1]).map_or(axis, |(own, _)| own);
            if let MoveStep::Cut(cuts) = &mut self.steps[at] {
                cuts[axis] = StepRange::whole(length);
            }
            self.shapes[at + 1] = std::mem::replace(&mut shape, before.to_vec()).into();
            (axis, shape[own]) = (own, length);
        }
        self.shapes[0] = shape.into();
        self
    }

    /// Returns the only step, if there is exactly one.
    pub(super) fn only_step(&self) -> Option<&MoveStep> {
        if let [step] = &self.steps[..] { Some(step) } else { None }
    }

    /// Calls `visit` for each position of the result, with its source position if it has one.
    ///
    /// The positions are in row-major order.
    fn for_each(&self, mut visit: impl FnMut(Option<&[usize]>)) {
        let shape = self.shape();
        let (mut at, mut source) = (vec![0; shape.rank()], Vec::new());
        for _ in 0..shape.checked_size().unwrap_or(0) {
            source.clone_from(&at);
            let mut steps = self.steps.iter().zip(&self.shapes).rev();
            let holds = steps.all(|(step, before)| step.source(before, &mut source));
            visit(holds.then_some(&source));
            step(&mut at, shape);
        }
    }
}

impl Select for Moves {
    fn shape(&self) -> &Shape {
        &self.shapes[self.steps.len()]
    }

    fn moves(&self) -> Option<&Moves> {
        Some(self)
    }

    fn check_fill<T: Element>(&self, fill: T) -> Result<()> {
        match self.zeros {
            Some(target) if fill.is_truthy() => Err(Error::FillNotZero { fill: fill.to_number().to_string(), target }),
            _ => Ok(()),
        }
    }

    fn plan(&self, x: &AnyPattern, room: StepLimits) -> Result<Selected> {
        let mut selected = Selected::same(x.clone());
        for (step, shape) in self.steps.iter().zip(&self.shapes[1..]) {
            selected = step.plan(&selected.pattern, shape, room)?.then_of(selected.sources, x.nnz())?;
        }
        Ok(selected)
    }

    fn dense<T: Element>(&self, x: ArrayViewD<'_, T>) -> Result<ArrayD<T>> {
        check_result::<T>(self.shape(), dense_bytes(&x))?;
        let mut moved = alloc::with_capacity(self.shape().iter().product())?;
        self.for_each(|source| moved.push(source.map_or(T::ZERO, |source| x[source])));
        Ok(dense_array(self.shape(), moved))
    }

    fn dense_sums<G: Element>(&self, x: &Shape, gradients: &[G]) -> Result<std::result::Result<Vec<G>, usize>> {
        let (mut sources, mut gradients) = (alloc::with_capacity(gradients.len())?, gradients.iter());
        self.for_each(|source| {
            sources.extend(gradients.next().zip(source).map(|(&gradient, source)| (ravel(source, x), gradient)));
        });
        Ok(scatter_add(x.iter().product(), sources.into_iter())?)
    }
}
