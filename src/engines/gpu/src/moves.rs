//! Moves of elements: the coordinates of the result as expressions of those of the operand.

use lacuna::lazy::engine_api::{AxisOrder, MoveStep, StepRange};
use lacuna::{Result, Shape};

use crate::Gpu;
use crate::context::{Context, Size, Words};
use crate::groups::{csr_of_coords, gathered};
use crate::kernel::{Access, BITS_EACH, Items, Kernel, Params, marks_of};
use crate::ranks::{Ranks, words_of_bits};
use crate::selection::{Chosen, Selection, places_of};
use crate::tensor::{DevicePattern, Layout};

/// The coordinates and the tests of an entry whose coordinates are `c0`, `c1` and so on.
pub(crate) struct Moves {
    coords: Vec<String>,
    /// An entry is in the result if all of these are true.
    tests: Vec<String>,
    /// The parameters from 1 on.
    numbers: Vec<u32>,
    keeps_order: bool,
    /// Whether the result has positions that are set to zero.
    pub(crate) has_zeros: bool,
}

impl Moves {
    /// Returns the moves of these steps, if the device computes them.
    pub(crate) fn new(rank: usize, steps: &[(MoveStep, Shape)]) -> Option<Self> {
        let coords = (0..rank).map(|axis| format!("c{axis}")).collect();
        let (tests, numbers) = Default::default();
        let mut moves = Moves { coords, tests, numbers, keeps_order: true, has_zeros: false };
        steps.iter().try_for_each(|(step, shape)| moves.step(step, shape))?;
        Params::fitting(&moves.params(0)).map(|_| moves)
    }

    fn params(&self, count: u32) -> Vec<u32> {
        [&[count], &self.numbers[..]].concat()
    }

    /// Adds a number as a parameter, so that other numbers run the same kernel.
    fn number(&mut self, number: usize) -> Option<String> {
        self.numbers.push(number.try_into().ok()?);
        Some(format!("param({}u)", self.numbers.len()))
    }

    fn step(&mut self, step: &MoveStep, shape: &[usize]) -> Option<()> {
        match step {
            MoveStep::Cut(cuts) => (0..cuts.len()).try_for_each(|axis| self.cut(axis, &cuts[axis], shape[axis])),
            MoveStep::Order(axis, order) => self.order(*axis, *order, shape[*axis]),
            MoveStep::Pad(before) => {
                before.iter().enumerate().filter(|(_, before)| **before > 0).try_for_each(|(axis, &before)| {
                    let before = self.number(before)?;
                    self.coords[axis] = format!("({} + {before})", self.coords[axis]);
                    Some(())
                })
            }
            MoveStep::Axes(axes) => {
                let long: Vec<usize> = axes.iter().flatten().copied().filter(|&axis| shape[axis] > 1).collect();
                self.keeps_order &= long.is_sorted();
                let coord = |axis: &Option<usize>| axis.map_or("0u".into(), |axis| self.coords[axis].clone());
                self.coords = axes.iter().map(coord).collect();
                Some(())
            }
            MoveStep::Band(min, max) => {
                self.has_zeros = true;
                self.band(*min, *max)
            }
            MoveStep::Diagonal(offset) => {
                self.band(*offset, *offset)?;
                let (column, row) = (self.coords.pop()?, self.coords.pop()?);
                self.coords.push(if *offset >= 0 { row } else { column });
                Some(())
            }
        }
    }

    fn cut(&mut self, axis: usize, cut: &StepRange, length: usize) -> Option<()> {
        if (cut.first, cut.step, cut.length) == (0, 1, length) {
            return Some(());
        }
        let (first, count) = (self.number(cut.first)?, self.number(cut.length)?);
        let at = format!("({} - {first})", self.coords[axis]);
        self.tests.push(format!("{} >= {first}", self.coords[axis]));
        let place = match cut.step {
            1 => at,
            step => {
                let step = self.number(step)?;
                self.tests.push(format!("{at} % {step} == 0u"));
                format!("({at} / {step})")
            }
        };
        self.tests.push(format!("{place} < {count}"));
        self.coords[axis] = place;
        Some(())
    }

    fn order(&mut self, axis: usize, order: AxisOrder, length: usize) -> Option<()> {
        self.keeps_order = false;
        let coord = self.coords[axis].clone();
        self.coords[axis] = match order {
            AxisOrder::Reverse => format!("({} - {coord})", self.number(length.saturating_sub(1))?),
            AxisOrder::Rotate(places) => {
                let (places, end) = (self.number(places)?, self.number(length - places)?);
                format!("select({coord} + {places}, {coord} - {end}, {coord} >= {end})")
            }
            AxisOrder::Tile(_) | AxisOrder::Each(_) => return None,
        };
        Some(())
    }

    /// Tests that the last coordinate minus the one before is between two bounds.
    fn band(&mut self, min: i128, max: i128) -> Option<()> {
        let lower = self.is_at_least(min)?;
        let upper = self.is_at_least(max.saturating_add(1))?;
        self.tests.extend([lower, format!("!{upper}")]);
        Some(())
    }

    /// Returns whether the last coordinate minus the one before is at least a bound.
    fn is_at_least(&mut self, bound: i128) -> Option<String> {
        let [row, column] = self.coords.last_chunk::<2>()?.clone();
        if bound.unsigned_abs() > u32::MAX.into() {
            return Some((bound < 0).to_string());
        }
        let by = self.number(bound.unsigned_abs() as usize)?;
        Some(match bound >= 0 {
            true => format!("({column} >= {by} && {column} - {by} >= {row})"),
            false => format!("({row} <= {by} || {row} - {by} <= {column})"),
        })
    }

    /// Returns the entries of the result.
    pub(crate) fn selection(&self, gpu: &Gpu, of: &DevicePattern, shape: &Shape) -> Result<Selection> {
        let (context, axes) = (&gpu.0.context, of.coords(gpu)?);
        let (sources, count) = match self.tests.is_empty() {
            true => (None, of.nnz),
            false => {
                let kernel = with_coords(Kernel::new("marks_of_moves"), &axes);
                let holds = format!(
                    "fn holds(e: u32) -> bool {{ {}return {}; }}",
                    coords_at(&axes, "e"),
                    self.tests.join(" && ")
                );
                let arrays: Vec<&Words> = axes.iter().collect();
                let (sources, count) = chosen(context, kernel.function(&holds), &arrays, &self.params(of.nnz), of.nnz)?;
                (Some(sources), count)
            }
        };
        let coords = self.coords.iter().map(|coord| self.coords_of(context, coord, &axes, sources.as_ref(), count));
        let coords = coords.collect::<Result<_>>()?;
        Chosen { count, coords, sources, is_sorted: self.keeps_order }.selection(gpu, of, shape)
    }

    /// Returns one coordinate of each entry of the result.
    fn coords_of(
        &self,
        context: &Context,
        coord: &str,
        axes: &[Words],
        sources: Option<&Words>,
        count: u32,
    ) -> Result<Words> {
        let same = (0..axes.len()).find(|axis| coord == format!("c{axis}"));
        if let (Some(axis), None) = (same, sources) {
            return Ok(axes[axis].clone());
        }
        let found = context.zeros(count.into())?;
        if coord == "0u" {
            return Ok(found);
        }
        let kernel = with_coords(Kernel::new("coords_of_moves"), axes);
        let mut arrays: Vec<&Words> = axes.iter().collect();
        let (kernel, entry) = match sources {
            Some(sources) => {
                arrays.push(sources);
                (kernel.array("sources", Access::Read, Items::Words), "sources[i]")
            }
            None => (kernel, "i"),
        };
        let kernel = kernel.array("found", Access::Write, Items::Words).body(&format!(
            "if (i >= param(0u)) {{ return; }}\nlet entry = {entry};\n{}found[i] = {coord};",
            coords_at(axes, "entry")
        ));
        arrays.push(&found);
        context.run(&kernel, &arrays, Params::of(&self.params(count)), Size::Invocations(count.into()))?;
        Ok(found)
    }
}

/// Adds the coordinate arrays to a kernel.
fn with_coords(mut kernel: Kernel, axes: &[Words]) -> Kernel {
    for axis in 0..axes.len() {
        kernel = kernel.array(format!("axis{axis}"), Access::Read, Items::Words);
    }
    kernel
}

/// Returns the statements that read the coordinates of an entry.
fn coords_at(axes: &[Words], entry: &str) -> String {
    (0..axes.len()).map(|axis| format!("let c{axis} = axis{axis}[{entry}]; ")).collect()
}

/// Returns the entries for which the function `holds` of a kernel is true, and their number.
fn chosen(context: &Context, kernel: Kernel, arrays: &[&Words], params: &[u32], count: u32) -> Result<(Words, u32)> {
    let bits = context.zeros(words_of_bits(u64::from(count) + 1))?;
    let arrays = [arrays, &[&bits]].concat();
    let size = Size::Invocations(u64::from(count).div_ceil(BITS_EACH));
    context.run(&marks_of(kernel), &arrays, Params::of(params), size)?;
    let ranks = Ranks::new(context, bits)?;
    let found = ranks.count(context)?;
    Ok((ranks.numbers(context, found)?, found))
}

/// Returns the same entries in a format.
pub(crate) fn converted(gpu: &Gpu, of: &DevicePattern, format: &str) -> Result<Selection> {
    let coords = of.coords(gpu)?;
    let layout = match format {
        "csr" => csr_of_coords(&gpu.0.context, &of.shape, &coords, of.nnz)?,
        _ => Layout::Coo(coords),
    };
    let pattern = DevicePattern::new(&gpu.0.context, of.shape.clone(), of.nnz, layout);
    Ok(Selection { pattern, sources: None, is_increasing: true })
}

/// Returns the entries at coordinates that another pattern stores, or does not store.
pub(crate) fn overlap(gpu: &Gpu, of: &DevicePattern, other: &DevicePattern, are_common: bool) -> Result<Selection> {
    let (context, places) = (&gpu.0.context, places_of(gpu, of, other)?);
    let test = if are_common { "places[e] > 0u" } else { "places[e] == 0u" };
    let kernel = Kernel::new("marks_of_overlap")
        .array("places", Access::Read, Items::Words)
        .function(&format!("fn holds(e: u32) -> bool {{ return {test}; }}"));
    let (sources, count) = chosen(context, kernel, &[&places], &[of.nnz], of.nnz)?;
    let coords = of.coords(gpu)?;
    let coords = coords.iter().map(|axis| gathered(context, axis, &sources, count));
    let coords = coords.collect::<Result<_>>()?;
    Chosen { count, coords, sources: Some(sources), is_sorted: true }.selection(gpu, of, &of.shape)
}
