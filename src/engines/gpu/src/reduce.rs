//! `any` and `all` over axes.

use std::sync::Arc;

use lacuna::{Result, Shape};

use crate::context::{MOST_ITEMS, Size, Words};
use crate::kernel::{Access, BITS_EACH, Items, Kernel, marks_of};
use crate::outline::Outline;
use crate::ranks::{Ranks, words_of_bits};
use crate::tensor::{DevicePattern, DeviceValue, Layout};

/// The axes that a reduction may keep: a parameter for each stride and each length has to fit.
pub(crate) const MOST_KEPT: usize = 8;

/// A reduction to `bool`. An element is a hit if it decides the result of its group: a nonzero one of `any`, a zero one
/// of `all`.
pub(crate) struct Reduction {
    pub(crate) is_all: bool,
    pub(crate) kept: Vec<usize>,
    pub(crate) counts_gaps: bool,
}

impl Reduction {
    /// Returns whether a value is a hit, as an expression.
    fn hit(&self) -> &'static str {
        if self.is_all { "!truthy_x(load_x(e))" } else { "truthy_x(load_x(e))" }
    }

    /// Returns the axes that are reduced.
    pub(crate) fn reduced(&self, shape: &Shape) -> Vec<usize> {
        (0..shape.rank()).filter(|axis| !self.kept.contains(axis)).collect()
    }

    /// Returns the number of output elements, if their bitmap and counts fit the device.
    pub(crate) fn cells(&self, shape: &[usize], most_bytes: u64) -> Option<u64> {
        let lengths = self.kept.iter().map(|&axis| shape[axis] as u64);
        let cells = lengths.into_iter().try_fold(1_u64, |cells, length| cells.checked_mul(length))?;
        (cells < MOST_ITEMS && 4 * cells <= most_bytes).then_some(cells)
    }

    /// Computes the result.
    pub(crate) fn run(&self, x: &DeviceValue, outline: &Outline) -> Result<DeviceValue> {
        let shape = &x.pattern.shape;
        let extent = self.reduced(shape).iter().fold(1_u64, |extent, &axis| extent.saturating_mul(shape[axis] as u64));
        // An unstored position decides the result of its group if the fill is a hit.
        let unstored = UnstoredHits {
            are_hits: self.counts_gaps && x.is_fill_truthy() != self.is_all,
            extent: u32::try_from(extent).unwrap_or(u32::MAX),
        };
        let (pattern, values) = match &x.pattern.layout {
            Layout::Coo(axes) => self.of_coords(x, axes, unstored)?,
            Layout::Csr { offsets, .. } => self.of_lanes(x, offsets, unstored)?,
        };
        Ok(x.with(pattern, values, outline))
    }

    /// Computes the result of coordinates: a bit for each output element with an entry, and one for each with a hit.
    fn of_coords(
        &self,
        x: &DeviceValue,
        axes: &[Words],
        unstored: UnstoredHits,
    ) -> Result<(Arc<DevicePattern>, Words)> {
        let (context, nnz, shape) = (&x.gpu.0.context, x.pattern.nnz, &x.pattern.shape);
        let lengths: Vec<u32> = self.kept.iter().map(|&axis| shape[axis] as u32).collect();
        let cells = lengths.iter().map(|&length| u64::from(length)).product::<u64>();
        let strides: Vec<u32> = (0..lengths.len())
            .map(|axis| lengths[axis + 1..].iter().fold(1, |stride: u32, &length| stride.wrapping_mul(length)))
            .collect();
        let (stored, hits) = (context.zeros(words_of_bits(cells))?, context.zeros(words_of_bits(cells))?);
        let counts = context.zeros(if unstored.are_hits { cells } else { 1 })?;
        let mut arrays: Vec<&Words> = self.kept.iter().map(|&axis| &axes[axis]).collect();
        arrays.extend([&x.values, &stored, &hits, &counts]);
        let params = [&[nnz, unstored.are_hits.into()], &strides[..]].concat();
        context.run(&self.marks(x, lengths.len()), &arrays, &params, Size::Invocations(nnz.into()))?;
        let stored = Ranks::new(context, stored)?;
        let coords = lengths.iter().map(|_| context.zeros(stored.count.into())).collect::<Result<Vec<_>>>()?;
        let results = context.zeros(stored.count.div_ceil(4).into())?;
        let mut arrays = vec![&stored.bits, &stored.before, &hits, &counts, &results];
        arrays.extend(&coords);
        let words = cells.div_ceil(32);
        let params = [&[words as u32, unstored.are_hits.into(), unstored.extent], &strides[..], &lengths[..]].concat();
        context.run(&self.emits(lengths.len()), &arrays, &params, Size::Invocations(words))?;
        let shape = self.kept.iter().map(|&axis| shape[axis]).collect();
        Ok((DevicePattern::new(shape, stored.count, Layout::Coo(coords)), results))
    }

    /// Returns the kernel that marks the output element of each entry.
    fn marks(&self, x: &DeviceValue, rank: usize) -> Kernel {
        let terms: Vec<String> = (0..rank).map(|axis| format!("axis{axis}[e] * param({}u)", 2 + axis)).collect();
        let cell = if terms.is_empty() { "0u".to_string() } else { terms.join(" + ") };
        let mut kernel = Kernel::new("mark_cells");
        for axis in 0..rank {
            kernel = kernel.array(format!("axis{axis}"), Access::Read, Items::Words);
        }
        for name in ["stored", "hits", "counts"] {
            kernel = if name == "stored" { kernel.values("x", x.form()) } else { kernel };
            kernel = kernel.array(name, Access::Atomic, Items::Words);
        }
        // Most bits are set already. Reading a word is faster than an atomic write to it.
        let set = |name: &str| {
            format!("if ((atomicLoad(&{name}[cell / 32u]) & bit) == 0u) {{ atomicOr(&{name}[cell / 32u], bit); }}")
        };
        kernel.body(&format!(
            "let e = i;\nif (e >= param(0u)) {{ return; }}\nlet cell = {cell};\nlet bit = 1u << (cell % 32u);\n{}\n\
             if ({}) {{ {} }}\nif (param(1u) == 1u) {{ atomicAdd(&counts[cell], 1u); }}",
            set("stored"),
            self.hit(),
            set("hits")
        ))
    }

    /// Returns the kernel that writes the coordinates and the result of each marked output element. An invocation has
    /// one word of marks.
    fn emits(&self, rank: usize) -> Kernel {
        let mut kernel = Kernel::new("emit_cells");
        for name in ["stored", "stored_before", "hits", "counts"] {
            kernel = kernel.array(name, Access::Read, Items::Words);
        }
        kernel = kernel.array("results", Access::Atomic, Items::Words);
        for axis in 0..rank {
            kernel = kernel.array(format!("axis{axis}"), Access::Write, Items::Words);
        }
        let coords: String = (0..rank)
            .map(|axis| {
                let (stride, length) = (3 + axis, 3 + rank + axis);
                format!("axis{axis}[at] = (cell / param({stride}u)) % param({length}u);\n")
            })
            .collect();
        let decided = if self.is_all { "!is_hit" } else { "is_hit" };
        kernel.body(&format!(
            "if (i >= param(0u)) {{ return; }}\nvar word = stored[i];\nvar at = stored_before[i];\n\
             // Invariant: `word` has the marks that are left, and `at` is the number of marks before them.\n\
             while (word != 0u) {{\nlet cell = i * 32u + firstTrailingBit(word);\nword &= word - 1u;\n{coords}\
             var is_hit = ((hits[i] >> (cell % 32u)) & 1u) == 1u;\n\
             if (param(1u) == 1u && counts[cell] < param(2u)) {{ is_hit = true; }}\n\
             if ({decided}) {{ atomicOr(&results[at / 4u], 1u << (8u * (at % 4u))); }}\nat += 1u;\n}}"
        ))
    }

    /// Computes the result of lanes, over the last axis. The number of hits before each entry is known, so a lane of
    /// any length takes two lookups.
    fn of_lanes(
        &self,
        x: &DeviceValue,
        offsets: &Words,
        unstored: UnstoredHits,
    ) -> Result<(Arc<DevicePattern>, Words)> {
        let (context, nnz, lanes) = (&x.gpu.0.context, x.pattern.nnz, x.pattern.lanes());
        let bits = context.zeros(words_of_bits(nnz.into()))?;
        let holds = format!("fn holds(e: u32) -> bool {{ return {}; }}", self.hit());
        let kernel = marks_of(Kernel::new("hits").values("x", x.form()).function(&holds));
        let size = Size::Invocations(u64::from(nnz).div_ceil(BITS_EACH));
        context.run(&kernel, &[&x.values, &bits], &[nnz], size)?;
        let hits = Ranks::new(context, bits)?;
        let stored = x.pattern.stored_lanes(&x.gpu, offsets)?;
        let shape = Shape::from(x.pattern.shape.lane_axes());
        let (inner, outer) = (shape.columns() as u64, shape.lane_axes().iter().product::<usize>() as u64);
        let columns = context.zeros(stored.count.into())?;
        let results = context.zeros(stored.count.div_ceil(4).into())?;
        let arrays = [offsets, &hits.bits, &hits.before, &stored.bits, &stored.before, &columns, &results];
        let params = [lanes as u32, inner as u32, unstored.are_hits.into(), unstored.extent];
        context.run(&self.lanes(), &arrays, &params, Size::Invocations(lanes))?;
        let starts = context.zeros(outer + 1)?;
        let kernel = Kernel::new("starts")
            .ranks("stored")
            .array("starts", Access::Write, Items::Words)
            .body("if (i < param(0u)) { starts[i] = before_stored(i * param(1u)); }");
        let params = [outer as u32 + 1, inner as u32];
        context.run(&kernel, &[&stored.bits, &stored.before, &starts], &params, Size::Invocations(outer + 1))?;
        let layout = Layout::Csr { offsets: starts, columns };
        Ok((DevicePattern::new(shape, stored.count, layout), results))
    }

    /// Returns the kernel that writes the column and the result of each lane with an entry.
    fn lanes(&self) -> Kernel {
        let decided = if self.is_all { "!is_hit" } else { "is_hit" };
        Kernel::new("reduce_lanes")
            .array("offsets", Access::Read, Items::Words)
            .ranks("hits")
            .ranks("stored")
            .array("columns", Access::Write, Items::Words)
            .array("results", Access::Atomic, Items::Words)
            .body(&format!(
                "if (i >= param(0u) || !has_stored(i)) {{ return; }}\n\
                 let start = offsets[i];\nlet end = offsets[i + 1u];\nlet at = before_stored(i);\n\
                 columns[at] = i % param(1u);\n\
                 let is_hit = before_hits(end) > before_hits(start) || (param(2u) == 1u && end - start < param(3u));\n\
                 if ({decided}) {{ atomicOr(&results[at / 4u], 1u << (8u * (at % 4u))); }}"
            ))
    }
}

/// Hits at unstored positions. A group has an unstored position if it has fewer entries than positions.
#[derive(Clone, Copy)]
struct UnstoredHits {
    are_hits: bool,
    /// The number of positions of a group, at most `u32::MAX`.
    extent: u32,
}
