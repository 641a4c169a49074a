//! Results that choose entries and move them: which entry of the operand each entry of the result is.

use std::sync::{Arc, Weak};

use lacuna::lazy::engine_api::MoveStep;
use lacuna::{Result, Shape};

use crate::Gpu;
use crate::context::{Context, Size, Words};
use crate::element::zero_of;
use crate::floats::{WORDS_OF_TWO, added, rounding};
use crate::groups::{bits_of_cells, csr_of_coords, gathered, row_major};
use crate::kernel::{Access, Items, Kernel, Params};
use crate::outline::Flag;
use crate::sort::sorted;
use crate::tensor::{DevicePattern, DeviceValue, Layout};

/// The choice of entries for a result. Equal choices of one pattern have one selection.
pub(crate) enum Choice {
    /// Moves of elements, each with the shape before it, and the shape of the result.
    Moves(Vec<(MoveStep, Shape)>, Shape),
    /// The elements at flattened positions.
    Flattened(Vec<u64>, Shape),
    /// The elements at positions of an axis.
    Along(usize, Vec<u64>, Shape),
    /// The entries that another pattern stores, or does not store.
    Overlap(Weak<DevicePattern>, bool),
    /// All entries, in a format.
    Format(&'static str),
}

impl PartialEq for Choice {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Choice::Moves(one, shape), Choice::Moves(other, of)) => one == other && shape == of,
            (Choice::Flattened(one, shape), Choice::Flattened(other, of)) => one == other && shape == of,
            (Choice::Along(axis, one, shape), Choice::Along(along, other, of)) => {
                axis == along && one == other && shape == of
            }
            (Choice::Overlap(one, are_common), Choice::Overlap(other, common)) => {
                Weak::ptr_eq(one, other) && are_common == common
            }
            (Choice::Format(one), Choice::Format(other)) => one == other,
            _ => false,
        }
    }
}

/// The gradients that an invocation adds up at most. Drivers end an invocation that runs for too long.
const LONGEST_SUM: u32 = 16_384;

/// The entries of a result.
pub(crate) struct Selection {
    pub(crate) pattern: Arc<DevicePattern>,
    /// The entry of the operand that each entry is. `None` for the same entries in the same order.
    pub(crate) sources: Option<Words>,
    /// Whether the entries are in the order of the operand, each of them once.
    pub(crate) is_increasing: bool,
}

/// Entries on their way to a selection: coordinates in an order that may not be row-major.
pub(crate) struct Chosen {
    pub(crate) count: u32,
    pub(crate) coords: Vec<Words>,
    pub(crate) sources: Option<Words>,
    pub(crate) is_sorted: bool,
}

impl Chosen {
    /// Sorts the entries, and returns them in the format of the operand.
    pub(crate) fn selection(self, gpu: &Gpu, of: &DevicePattern, shape: &Shape) -> Result<Selection> {
        let (context, count, is_increasing) = (&gpu.0.context, self.count, self.is_sorted);
        let Chosen { coords, sources, .. } = if self.is_sorted { self } else { self.sorted(context, shape)? };
        let layout = match of.layout {
            Layout::Coo(_) => Layout::Coo(coords),
            Layout::Csr { .. } => csr_of_coords(context, shape, &coords, count)?,
        };
        let pattern = DevicePattern::new(context, shape.clone(), count, layout);
        Ok(Selection { pattern, sources, is_increasing })
    }

    fn sorted(self, context: &Context, shape: &Shape) -> Result<Self> {
        let count = self.count;
        let keys = row_major(context, &self.coords.iter().collect::<Vec<_>>(), shape, count)?;
        let (_, order) = sorted(context, &keys, None, count, bits_of_cells(shape))?;
        let moved = |words: &Words| gathered(context, words, &order, count);
        let coords = self.coords.iter().map(moved).collect::<Result<_>>()?;
        let sources = match &self.sources {
            Some(sources) => moved(sources)?,
            None => order,
        };
        Ok(Chosen { count, coords, sources: Some(sources), is_sorted: true })
    }
}

impl Selection {
    /// Returns the result for a tensor.
    pub(crate) fn of(&self, x: &DeviceValue) -> Result<DeviceValue> {
        let (context, form, count) = (&x.gpu.0.context, x.form(), self.pattern.nnz);
        let values = match &self.sources {
            None => x.values.clone(),
            Some(sources) => {
                let values = context.zeros(form.words(count.into()))?;
                let kernel = Kernel::new("chosen")
                    .array("sources", Access::Read, Items::Words)
                    .values("x", form)
                    .output(form, "return load_x(sources[e]);");
                let size = Size::Invocations(form.invocations(count.into()));
                context.run(&kernel, &[sources, &x.values, &values], [count], size)?;
                values
            }
        };
        Ok(DeviceValue { pattern: Arc::clone(&self.pattern), values, ..x.clone() })
    }

    /// Returns the gradient: for each entry of `x` the sum of the gradients of the entries that it became, in the order
    /// of the result. A longer sum than [`LONGEST_SUM`] is left to the threads.
    pub(crate) fn gradient(&self, x: &DeviceValue, upstream: &DeviceValue, flag: &Flag) -> Result<DeviceValue> {
        let (gpu, form, nnz, count) = (&x.gpu, upstream.form(), x.pattern.nnz, self.pattern.nnz);
        let context = &gpu.0.context;
        let places = places_of(gpu, &self.pattern, &upstream.pattern)?;
        let (sources, order) = self.by_source(context, nnz)?;
        let values = context.zeros(form.words(nnz.into()))?;
        let sum = format!("{}{}", rounding(form, WORDS_OF_TWO), added(form));
        let kernel = Kernel::new("gradient_of_selection")
            .array("sources", Access::Read, Items::Pairs)
            .array("order", Access::Read, Items::Words)
            .array("places", Access::Read, Items::Words)
            .values("g", form)
            .fails()
            .search("first_of", "u32", "sources[at].x < key")
            .function(&format!(
                "{sum}
fn gradient_at(at: u32) -> vec2<u32> {{
    let place = places[order[at]];
    if (place == 0u) {{ return given(); }}
    return load_g(place - 1u);
}}"
            ))
            .output(
                form,
                &format!(
                    "var at = first_of(e, 0u, param(1u));
    if (at >= param(1u) || sources[at].x != e) {{ return vec2(0u, 0u); }}
    // One invocation adds up the gradients of an entry.
    let last = at + {LONGEST_SUM}u;
    if (last < param(1u) && sources[last].x == e) {{ fail(); return vec2(0u, 0u); }}
    // Invariant: `sum` is the sum of the gradients before `at`.
    var sum = gradient_at(at);
    if (!truthy_g(sum)) {{ sum = vec2(0u, 0u); }}
    at += 1u;
    while (at < param(1u) && sources[at].x == e) {{
        sum = added(sum, gradient_at(at));
        at += 1u;
    }}
    return sum;"
                ),
            );
        let params = Params::of(&[nnz, count]).value(form, upstream.fill_bits()).flag(flag.at);
        let arrays = [&sources, &order, &places, &upstream.values, &flag.words, &values];
        context.run(&kernel, &arrays, params, Size::Invocations(form.invocations(nnz.into())))?;
        let (pattern, dtype) = (Arc::clone(&x.pattern), upstream.dtype);
        let fill = zero_of(dtype);
        Ok(DeviceValue { gpu: gpu.clone(), pattern, dtype, values, fill, positions: None })
    }

    /// Returns the sorted sources as keys, and the entry of each.
    fn by_source(&self, context: &Context, nnz: u32) -> Result<(Words, Words)> {
        let count = self.pattern.nnz;
        let keys = context.zeros(2 * u64::from(count))?;
        let (kernel, source, arrays) = match &self.sources {
            Some(sources) => {
                let kernel = Kernel::new("sources").array("sources", Access::Read, Items::Words);
                (kernel, "sources[i]", vec![sources, &keys])
            }
            None => (Kernel::new("sources"), "i", vec![&keys]),
        };
        let kernel = kernel
            .array("keys", Access::Write, Items::Pairs)
            .body(&format!("if (i < param(0u)) {{ keys[i] = vec2({source}, 0u); }}"));
        context.run(&kernel, &arrays, [count], Size::Invocations(count.into()))?;
        let bits = if self.is_increasing { 0 } else { u32::BITS - nnz.saturating_sub(1).leading_zeros() };
        sorted(context, &keys, None, count, bits)
    }
}

/// Returns for each entry of `of` one more than the entry of `among` at the same coordinates, or 0.
pub(crate) fn places_of(gpu: &Gpu, of: &DevicePattern, among: &DevicePattern) -> Result<Words> {
    let (context, count) = (&gpu.0.context, of.nnz);
    let (wanted, held, places) = (of.keys(gpu)?, among.keys(gpu)?, context.zeros(count.into())?);
    context.run(&lookup(), &[&wanted, &held, &places], [count, among.nnz], Size::Invocations(count.into()))?;
    Ok(places)
}

/// Returns the kernel that finds keys among sorted keys: one more than the position, or 0.
pub(crate) fn lookup() -> Kernel {
    Kernel::new("lookup")
        .array("wanted", Access::Read, Items::Pairs)
        .array("held", Access::Read, Items::Pairs)
        .array("places", Access::Write, Items::Words)
        .search("place_of", "vec2<u32>", "is_less(held[at], key)")
        .body(
            "if (i >= param(0u)) { return; }
let place = place_of(wanted[i], 0u, param(1u));
if (place < param(1u) && is_same(held[place], wanted[i])) { places[i] = place + 1u; }",
        )
}
