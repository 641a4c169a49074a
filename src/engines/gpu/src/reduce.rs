//! `any` and `all` over axes, by bits.

use std::sync::Arc;

use lacuna::{Result, Shape};

use crate::Gpu;
use crate::context::{MAX_ITEMS, Size, Windowed, Words};
use crate::element::form_of;
use crate::groups::{gathered, unraveled};
use crate::kernel::{Access, BITS_EACH, Form, Items, Kernel, Params, marks_of};
use crate::outline::Outline;
use crate::ranks::{Ranks, words_of_bits};
use crate::tensor::{DevicePattern, DeviceValue, Layout};

/// The axes that a reduction may keep: a parameter for each stride has to fit.
pub(crate) const MAX_KEPT: usize = 8;

/// The output elements that a bitmap has per entry at most.
const CELLS_PER_ENTRY: u64 = 16;

/// A reduction to `bool`. An element is a hit if it decides the result of its group: a nonzero one of `any`, a zero one
/// of `all`.
pub(crate) struct Reduction {
    pub(crate) is_all: bool,
    pub(crate) kept: Vec<usize>,
    pub(crate) counts_unstored: bool,
}

/// The output elements with entries, in row-major order.
pub(crate) struct Cells {
    /// The row-major number of each output element.
    numbers: Words,
    /// The number of its entries.
    entries: Words,
    pub(crate) pattern: Arc<DevicePattern>,
}

/// The lanes of CSR with entries, in order.
pub(crate) struct StoredLanes {
    /// The number of each lane.
    numbers: Words,
    pattern: Arc<DevicePattern>,
}

/// Returns the statement that sets the bit of a cell. Most bits are set already, and reading a word is faster than an
/// atomic write to it.
fn set_bit(name: &str) -> String {
    format!(
        "if ((atomicLoad(&{name}[cell / 32u]) & (1u << (cell % 32u))) == 0u) \
         {{ atomicOr(&{name}[cell / 32u], 1u << (cell % 32u)); }}"
    )
}

/// Adds the coordinate arrays of the axes that are kept to a kernel. Returns the cell of an entry, as an expression
/// with the strides in the parameters from 1 on.
fn with_axes(mut kernel: Kernel, rank: usize) -> (Kernel, String) {
    for axis in 0..rank {
        kernel = kernel.array(format!("axis{axis}"), Access::Read, Items::Words);
    }
    let terms: Vec<String> = (0..rank).map(|axis| format!("axis{axis}[i] * param({}u)", 1 + axis)).collect();
    (kernel, if terms.is_empty() { "0u".into() } else { terms.join(" + ") })
}

/// Returns the strides of axes. Their product fits a word.
fn strides_of(lengths: &[usize]) -> Vec<u32> {
    let stride = |axis: usize| lengths[axis + 1..].iter().fold(1, |all: u32, &length| all.wrapping_mul(length as u32));
    (0..lengths.len()).map(stride).collect()
}

impl Cells {
    /// Marks the output element of each entry in a bitmap, and counts its entries.
    pub(crate) fn new(gpu: &Gpu, of: &DevicePattern, kept: &[usize]) -> Result<Self> {
        let (context, nnz) = (&gpu.0.context, of.nnz);
        let lengths: Vec<usize> = kept.iter().map(|&axis| of.shape[axis]).collect();
        let cells = lengths.iter().map(|&length| length as u64).product::<u64>();
        let (bits, counts) = (context.zeros(words_of_bits(cells))?, context.zeros(cells)?);
        let axes = of.coords(gpu)?;
        let (kernel, cell) = with_axes(Kernel::new("mark_cells"), kept.len());
        let kernel = kernel
            .array("stored", Access::Atomic, Items::Words)
            .array("counts", Access::Atomic, Items::Words)
            .body(&format!(
                "if (i >= param(0u)) {{ return; }}\nlet cell = {cell};\n{}\natomicAdd(&counts[cell], 1u);",
                set_bit("stored")
            ));
        let mut arrays: Vec<_> = kept.iter().map(|&axis| Windowed::Items(&axes[axis], 32)).collect();
        arrays.extend([Windowed::Whole(&bits), Windowed::Whole(&counts)]);
        let params = Params::of(&[&[0], &strides_of(&lengths)[..]].concat());
        context.run_in_windows(&kernel, &arrays, params, nnz.into(), Size::Invocations)?;
        let stored = Ranks::new(context, bits)?;
        let count = stored.count(context)?;
        let numbers = stored.numbers(context, count)?;
        let entries = gathered(context, &counts, &numbers, count)?;
        let layout = Layout::Coo(unraveled(context, &numbers, &lengths, count)?);
        let pattern = DevicePattern::new(context, Shape::from(lengths), count, layout);
        Ok(Cells { numbers, entries, pattern })
    }
}

impl StoredLanes {
    pub(crate) fn new(gpu: &Gpu, of: &DevicePattern, offsets: &Words) -> Result<Self> {
        let (context, lanes) = (&gpu.0.context, of.lanes());
        let bits = context.zeros(words_of_bits(lanes))?;
        let kernel = Kernel::new("stored_lanes")
            .array("offsets", Access::Read, Items::Words)
            .function("fn holds(e: u32) -> bool { return offsets[e + 1u] > offsets[e]; }");
        let size = Size::Invocations(lanes.div_ceil(BITS_EACH));
        context.run(&marks_of(kernel), &[offsets, &bits], [lanes as u32], size)?;
        let stored = Ranks::new(context, bits)?;
        let count = stored.count(context)?;
        let numbers = stored.numbers(context, count)?;
        let shape = Shape::from(of.shape.lane_axes());
        let (inner, outer) = (shape.columns() as u64, shape.lane_axes().iter().product::<usize>() as u64);
        let (columns, starts) = (context.zeros(count.into())?, context.zeros(outer + 1)?);
        let kernel = Kernel::new("columns_of_lanes")
            .array("numbers", Access::Read, Items::Words)
            .array("columns", Access::Write, Items::Words)
            .body("if (i < param(0u)) { columns[i] = numbers[i] % param(1u); }");
        context.run(&kernel, &[&numbers, &columns], [count, inner as u32], Size::Invocations(count.into()))?;
        let kernel = Kernel::new("starts_of_lanes")
            .ranks("stored")
            .array("starts", Access::Write, Items::Words)
            .body("if (i < param(0u)) { starts[i] = before_stored(i * param(1u)); }");
        let params = [outer as u32 + 1, inner as u32];
        context.run(&kernel, &[&stored.bits, &stored.before, &starts], params, Size::Invocations(outer + 1))?;
        let pattern = DevicePattern::new(context, shape, count, Layout::Csr { offsets: starts, columns });
        Ok(StoredLanes { numbers, pattern })
    }
}

impl Reduction {
    /// Returns whether a value is a hit, as an expression.
    fn hit(&self) -> &'static str {
        if self.is_all { "!truthy_x(load_x(e))" } else { "truthy_x(load_x(e))" }
    }

    /// Returns the result of an output element with a hit or without one, as an expression.
    fn decided(&self) -> &'static str {
        if self.is_all { "return truth(!is_hit);" } else { "return truth(is_hit);" }
    }

    /// Returns the axes that are reduced.
    pub(crate) fn reduced(&self, shape: &Shape) -> Vec<usize> {
        (0..shape.rank()).filter(|axis| !self.kept.contains(axis)).collect()
    }

    /// Returns the number of output elements, if their bitmap and counts fit the device.
    pub(crate) fn cells(&self, shape: &[usize], max_bytes: u64) -> Option<u64> {
        let lengths = self.kept.iter().map(|&axis| shape[axis] as u64);
        let cells = lengths.into_iter().try_fold(1_u64, |cells, length| cells.checked_mul(length))?;
        (cells < MAX_ITEMS && 4 * cells <= max_bytes).then_some(cells)
    }

    /// Returns whether a bitmap of the result is not much longer than the entries. Otherwise they are sorted.
    pub(crate) fn is_dense(&self, of: &DevicePattern) -> bool {
        let cells = self.kept.iter().fold(1_u64, |cells, &axis| cells.saturating_mul(of.shape[axis] as u64));
        cells <= CELLS_PER_ENTRY * u64::from(of.nnz) + (1 << 16)
    }

    /// Computes the result.
    pub(crate) fn run(&self, x: &DeviceValue, outline: &Outline) -> Result<Option<DeviceValue>> {
        let Some(form) = form_of(outline.dtype) else { return Ok(None) };
        let shape = &x.pattern.shape;
        let extent = self.reduced(shape).iter().fold(1_u64, |extent, &axis| extent.saturating_mul(shape[axis] as u64));
        // An unstored position decides the result of its group if the fill is a hit.
        let are_hits = self.counts_unstored && x.is_fill_truthy() != self.is_all;
        let unstored = [u32::from(are_hits), u32::try_from(extent).unwrap_or(u32::MAX)];
        let (pattern, values) = match &x.pattern.layout {
            Layout::Coo(axes) => self.of_coords(x, axes, form, unstored)?,
            Layout::Csr { offsets, .. } => self.of_lanes(x, offsets, form, unstored)?,
        };
        Ok(Some(x.with(pattern, values, outline)))
    }

    /// Computes the result of coordinates: a bit for each output element with a hit.
    fn of_coords(
        &self,
        x: &DeviceValue,
        axes: &[Words],
        out: Form,
        unstored: [u32; 2],
    ) -> Result<(Arc<DevicePattern>, Words)> {
        let (context, nnz, shape) = (&x.gpu.0.context, x.pattern.nnz, &x.pattern.shape);
        let cells = x.pattern.cells(&x.gpu, &self.kept)?;
        let lengths: Vec<usize> = self.kept.iter().map(|&axis| shape[axis]).collect();
        let size = lengths.iter().map(|&length| length as u64).product::<u64>();
        let hits = context.zeros(words_of_bits(size))?;
        let (kernel, cell) = with_axes(Kernel::new("mark_hits"), lengths.len());
        let kernel = kernel.values("x", x.form()).array("hits", Access::Atomic, Items::Words).body(&format!(
            "let e = i;\nif (e >= param(0u) || !({})) {{ return; }}\nlet cell = {cell};\n{}",
            self.hit(),
            set_bit("hits")
        ));
        let mut arrays: Vec<_> = self.kept.iter().map(|&axis| Windowed::Items(&axes[axis], 32)).collect();
        arrays.extend([Windowed::Items(&x.values, x.form().bits), Windowed::Whole(&hits)]);
        let params = Params::of(&[&[0], &strides_of(&lengths)[..]].concat());
        context.run_in_windows(&kernel, &arrays, params, nnz.into(), Size::Invocations)?;
        let (count, results) = (cells.pattern.nnz, context.zeros(out.words(cells.pattern.nnz.into()))?);
        let kernel = Kernel::new("results_of_cells")
            .array("numbers", Access::Read, Items::Words)
            .array("entries", Access::Read, Items::Words)
            .array("hits", Access::Read, Items::Words)
            .output(
                out,
                &format!(
                    "let cell = numbers[e];
    var is_hit = ((hits[cell / 32u] >> (cell % 32u)) & 1u) == 1u;
    if (param(1u) == 1u && entries[e] < param(2u)) {{ is_hit = true; }}
    {}",
                    self.decided()
                ),
            );
        let arrays = [&cells.numbers, &cells.entries, &hits, &results];
        let size = Size::Invocations(out.invocations(count.into()));
        context.run(&kernel, &arrays, [count, unstored[0], unstored[1]], size)?;
        Ok((Arc::clone(&cells.pattern), results))
    }

    /// Computes the result of lanes, over the last axis. The number of hits before each entry is known, so a lane of
    /// any length takes two lookups.
    fn of_lanes(
        &self,
        x: &DeviceValue,
        offsets: &Words,
        out: Form,
        unstored: [u32; 2],
    ) -> Result<(Arc<DevicePattern>, Words)> {
        let (context, nnz) = (&x.gpu.0.context, x.pattern.nnz);
        let bits = context.zeros(words_of_bits(nnz.into()))?;
        let holds = format!("fn holds(e: u32) -> bool {{ return {}; }}", self.hit());
        let kernel = marks_of(Kernel::new("hits").values("x", x.form()).function(&holds));
        let arrays = [Windowed::Items(&x.values, x.form().bits), Windowed::Items(&bits, 1)];
        let size = |count: u64| Size::Invocations(count.div_ceil(BITS_EACH));
        context.run_in_windows(&kernel, &arrays, [0], nnz.into(), size)?;
        let (hits, lanes) = (Ranks::new(context, bits)?, x.pattern.stored_lanes(&x.gpu, offsets)?);
        let (count, results) = (lanes.pattern.nnz, context.zeros(out.words(lanes.pattern.nnz.into()))?);
        let kernel = Kernel::new("results_of_lanes")
            .array("numbers", Access::Read, Items::Words)
            .array("offsets", Access::Read, Items::Words)
            .ranks("hits")
            .output(
                out,
                &format!(
                    "let start = offsets[numbers[e]];
    let end = offsets[numbers[e] + 1u];
    let is_hit = before_hits(end) > before_hits(start) || (param(1u) == 1u && end - start < param(2u));
    {}",
                    self.decided()
                ),
            );
        let arrays = [&lanes.numbers, offsets, &hits.bits, &hits.before, &results];
        let size = Size::Invocations(out.invocations(count.into()));
        context.run(&kernel, &arrays, [count, unstored[0], unstored[1]], size)?;
        Ok((Arc::clone(&lanes.pattern), results))
    }
}
