//! The entries of a tensor by groups: the entries that a reduction reduces to one element.

use std::sync::{Arc, OnceLock};

use lacuna::{Result, Shape};

use crate::Gpu;
use crate::context::{Context, MAX_ITEMS, Size, Windowed, Words};
use crate::kernel::{Access, BITS_EACH, Items, Kernel, Params, marks_of};
use crate::ranks::{Ranks, sums_before, words_of_bits};
use crate::sort::sorted;
use crate::tensor::{DevicePattern, Layout};

/// The entries of a piece: the entries that one invocation reduces.
pub(crate) const PIECE: u32 = 64;

/// The groups with entries, sorted by their coordinates.
pub(crate) struct Groups {
    pub(crate) count: u32,
    /// The first position of each group in the order of groups, and the number of all entries.
    pub(crate) starts: Words,
    /// The entries in the order of groups. `None` if this is the order in which they are stored.
    pub(crate) order: Option<Words>,
    /// The number of groups that begin before or at each position, as ranks of the first positions.
    firsts: Ranks,
    /// The coordinates of each group on the axes that are kept.
    coords: Vec<Words>,
    /// For each level the first piece of each group, and the number of all pieces.
    pub(crate) levels: Vec<(Words, u32)>,
    /// The patterns of results, without and with the axes that are reduced.
    results: [OnceLock<Arc<DevicePattern>>; 2],
}

impl Groups {
    /// Groups the entries of a pattern by their coordinates on the axes `kept`.
    pub(crate) fn new(gpu: &Gpu, pattern: &DevicePattern, kept: &[usize]) -> Result<Self> {
        let (context, nnz) = (&gpu.0.context, pattern.nnz);
        let coords = pattern.coords(gpu)?;
        let own: Vec<&Words> = kept.iter().map(|&axis| &coords[axis]).collect();
        let is_sorted = kept.iter().copied().eq(0..kept.len());
        let (heads, order) = match is_sorted {
            true => (heads_of_coords(context, &own, nnz)?, None),
            false => {
                let lengths: Vec<usize> = kept.iter().map(|&axis| pattern.shape[axis]).collect();
                let keys = row_major(context, &own, &lengths, nnz)?;
                let (keys, order) = sorted(context, &keys, None, nnz, bits_of_cells(&lengths))?;
                (heads_of_keys(context, &keys, nnz)?, Some(order))
            }
        };
        let firsts = Ranks::new(context, heads)?;
        let count = firsts.count(context)?;
        let starts = context.zeros(u64::from(count) + 1)?;
        let kernel = Kernel::new("starts").ranks("firsts").array("starts", Access::Write, Items::Words).body(
            "if (i < param(0u) && has_firsts(i)) { starts[before_firsts(i)] = i; }\n\
                 if (i == param(0u)) { starts[param(1u)] = param(0u); }",
        );
        let arrays = [&firsts.bits, &firsts.before, &starts];
        context.run(&kernel, &arrays, [nnz, count], Size::Invocations(u64::from(nnz) + 1))?;
        let first_entries = match &order {
            Some(order) => gathered(context, order, &starts, count)?,
            None => starts.clone(),
        };
        let coords = own.iter().map(|axis| gathered(context, axis, &first_entries, count)).collect::<Result<_>>()?;
        let levels = levels(context, &starts, count)?;
        Ok(Groups { count, starts, order, firsts, coords, levels, results: Default::default() })
    }

    /// Returns whether all entries are in one group, in the order in which they are stored.
    pub(crate) fn is_whole(&self) -> bool {
        self.count == 1 && self.order.is_none()
    }

    /// Returns whether each group has one piece.
    pub(crate) fn are_short(&self) -> bool {
        self.levels.first().is_some_and(|&(_, pieces)| pieces == self.count)
    }

    /// Returns the number of the group of each entry.
    pub(crate) fn of_entries(&self, context: &Context, nnz: u32) -> Result<Words> {
        let numbers = context.zeros(nnz.into())?;
        let kernel = Kernel::new("groups_of_entries").ranks("firsts").array("numbers", Access::Write, Items::Words);
        let (kernel, at) = with_order(kernel, self.order.as_ref());
        let kernel = kernel.body(&format!("if (i < param(0u)) {{ numbers[{at}] = before_firsts(i + 1u) - 1u; }}"));
        let mut arrays = vec![&self.firsts.bits, &self.firsts.before, &numbers];
        arrays.extend(&self.order);
        context.run(&kernel, &arrays, [nnz], Size::Invocations(nnz.into()))?;
        Ok(numbers)
    }

    /// Returns the pattern of a result with one element per group. It is computed once, so that results share it.
    pub(crate) fn pattern(
        &self,
        gpu: &Gpu,
        of: &DevicePattern,
        kept: &[usize],
        keeps_dims: bool,
    ) -> Result<Arc<DevicePattern>> {
        let known = &self.results[usize::from(keeps_dims)];
        match known.get() {
            Some(found) => Ok(Arc::clone(found)),
            None => {
                let found = self.new_pattern(gpu, of, kept, keeps_dims)?;
                Ok(Arc::clone(known.get_or_init(|| found)))
            }
        }
    }

    fn new_pattern(
        &self,
        gpu: &Gpu,
        of: &DevicePattern,
        kept: &[usize],
        keeps_dims: bool,
    ) -> Result<Arc<DevicePattern>> {
        let context = &gpu.0.context;
        let (mut shape, mut coords) = (Vec::new(), Vec::new());
        for (axis, &length) in of.shape.iter().enumerate() {
            match kept.iter().position(|&kept| kept == axis) {
                Some(at) => {
                    shape.push(length);
                    coords.push(self.coords[at].clone());
                }
                None if keeps_dims => {
                    shape.push(1);
                    coords.push(context.zeros(self.count.into())?);
                }
                None => {}
            }
        }
        let layout = match of.layout {
            Layout::Coo(_) => Layout::Coo(coords),
            Layout::Csr { .. } => csr_of_coords(context, &shape, &coords, self.count)?,
        };
        Ok(DevicePattern::new(context, Shape::from(shape), self.count, layout))
    }
}

/// Adds the array `order` to a kernel, if there is an order. Returns the entry at the position `i`, as an expression.
fn with_order(kernel: Kernel, order: Option<&Words>) -> (Kernel, &'static str) {
    match order {
        Some(_) => (kernel.array("order", Access::Read, Items::Words), "order[i]"),
        None => (kernel, "i"),
    }
}

/// Returns the number of positions of axes with these lengths, at most `u64::MAX`.
pub(crate) fn size_of_axes(lengths: &[usize]) -> u64 {
    // A length of 0 may stand behind others that overflow.
    lengths.iter().fold(1, |size: u64, &length| size.saturating_mul(length as u64))
}

/// Returns the bits of the largest number of a cell.
pub(crate) fn bits_of_cells(lengths: &[usize]) -> u32 {
    u64::BITS - size_of_axes(lengths).saturating_sub(1).leading_zeros()
}

/// Returns the row-major number of each entry among cells with these lengths. There are fewer than 2^64 cells.
pub(crate) fn row_major(context: &Context, coords: &[&Words], lengths: &[usize], count: u32) -> Result<Words> {
    let keys = context.zeros(2 * u64::from(count))?;
    let mut kernel = Kernel::new("row_major");
    let (mut params, mut text) = (vec![count], String::from("var key = vec2(0u, 0u);\n"));
    for (axis, _) in coords.iter().enumerate() {
        kernel = kernel.array(format!("axis{axis}"), Access::Read, Items::Words);
        let stride: u64 = lengths[axis + 1..].iter().fold(1, |stride: u64, &length| stride.wrapping_mul(length as u64));
        params.extend([stride as u32, (stride >> 32) as u32]);
        let (low, high) = (1 + 2 * axis, 2 + 2 * axis);
        text +=
            &format!("key = add(key, mul(axis{axis}[i], param({low}u)));\nkey.y += axis{axis}[i] * param({high}u);\n");
    }
    let kernel = kernel
        .array("keys", Access::Write, Items::Pairs)
        .body(&format!("if (i >= param(0u)) {{ return; }}\n{text}keys[i] = key;"));
    let axes = coords.iter().map(|axis| Windowed::Items(axis, 32));
    let arrays: Vec<_> = axes.chain([Windowed::Items(&keys, 64)]).collect();
    context.run_in_windows(&kernel, &arrays, Params::of(&params), count.into(), Size::Invocations)?;
    Ok(keys)
}

/// Marks each entry that has other coordinates than the entry before.
fn heads_of_coords(context: &Context, coords: &[&Words], count: u32) -> Result<Words> {
    let mut kernel = Kernel::new("heads");
    let mut text = String::from("e == 0u");
    for (axis, _) in coords.iter().enumerate() {
        kernel = kernel.array(format!("axis{axis}"), Access::Read, Items::Words);
        text += &format!(" || axis{axis}[e] != axis{axis}[max(e, 1u) - 1u]");
    }
    heads(context, kernel, &text, coords, count)
}

/// Marks each key that is another than the key before.
fn heads_of_keys(context: &Context, keys: &Words, count: u32) -> Result<Words> {
    let kernel = Kernel::new("heads").array("keys", Access::Read, Items::Pairs);
    heads(context, kernel, "e == 0u || !is_same(keys[e], keys[max(e, 1u) - 1u])", &[keys], count)
}

fn heads(context: &Context, kernel: Kernel, test: &str, arrays: &[&Words], count: u32) -> Result<Words> {
    let bits = context.zeros(words_of_bits(u64::from(count) + 1))?;
    let kernel = marks_of(kernel.function(&format!("fn holds(e: u32) -> bool {{ return {test}; }}")));
    let arrays: Vec<&Words> = arrays.iter().copied().chain([&bits]).collect();
    context.run(&kernel, &arrays, [count], Size::Invocations(u64::from(count).div_ceil(BITS_EACH)))?;
    Ok(bits)
}

/// Returns the words of an array at these positions.
pub(crate) fn gathered(context: &Context, words: &Words, positions: &Words, count: u32) -> Result<Words> {
    let found = context.zeros(count.into())?;
    let kernel = Kernel::new("gather")
        .array("words", Access::Read, Items::Words)
        .array("positions", Access::Read, Items::Words)
        .array("found", Access::Write, Items::Words)
        .body("if (i < param(0u)) { found[i] = words[positions[i]]; }");
    context.run(&kernel, &[words, positions, &found], [count], Size::Invocations(count.into()))?;
    Ok(found)
}

/// Cuts groups into pieces, and the pieces of a group into pieces again, until each group has one.
fn levels(context: &Context, starts: &Words, count: u32) -> Result<Vec<(Words, u32)>> {
    let mut levels: Vec<(Words, u32)> = Vec::new();
    while levels.last().is_none_or(|&(_, pieces)| pieces > count) {
        let starts = levels.last().map_or(starts, |(pieces, _)| pieces);
        let counts = context.zeros(u64::from(count) + 1)?;
        let kernel = Kernel::new("count_pieces")
            .array("starts", Access::Read, Items::Words)
            .array("counts", Access::Write, Items::Words)
            .body(&format!(
                "if (i < param(0u)) {{ counts[i] = (starts[i + 1u] - starts[i] + {}u) / {PIECE}u; }}",
                PIECE - 1
            ));
        context.run(&kernel, &[starts, &counts], [count], Size::Invocations(count.into()))?;
        let pieces = sums_before(context, &counts, false)?;
        let total = context.word(&pieces, count.into())?;
        levels.push((pieces, total));
    }
    Ok(levels)
}

/// Returns CSR arrays of sorted coordinates.
pub(crate) fn csr_of_coords(context: &Context, shape: &[usize], coords: &[Words], count: u32) -> Result<Layout> {
    let (lane_lengths, lane_coords) =
        (&shape[..shape.len().saturating_sub(1)], &coords[..coords.len().saturating_sub(1)]);
    let lanes = size_of_axes(lane_lengths);
    if lanes >= MAX_ITEMS {
        return Err(context.too_large(lanes.saturating_mul(4)));
    }
    let numbers = row_major(context, &lane_coords.iter().collect::<Vec<_>>(), lane_lengths, count)?;
    let offsets = context.zeros(lanes + 1)?;
    let kernel = Kernel::new("offsets")
        .array("lanes", Access::Read, Items::Pairs)
        .array("offsets", Access::Write, Items::Words)
        .search("first_entry", "u32", "lanes[at].x < key")
        .body("if (i <= param(1u)) { offsets[i] = first_entry(i, 0u, param(0u)); }");
    context.run(&kernel, &[&numbers, &offsets], [count, lanes as u32], Size::Invocations(lanes + 1))?;
    let columns = match coords.last() {
        Some(columns) => columns.clone(),
        None => context.zeros(count.into())?,
    };
    Ok(Layout::Csr { offsets, columns })
}

/// Returns one coordinate array per axis of CSR.
pub(crate) fn coords_of_csr(
    context: &Context,
    shape: &[usize],
    offsets: &Words,
    columns: &Words,
    count: u32,
) -> Result<Vec<Words>> {
    let Some((_, lane_lengths)) = shape.split_last() else { return Ok(Vec::new()) };
    let lanes = size_of_axes(lane_lengths);
    let numbers = context.zeros(count.into())?;
    let kernel = Kernel::new("lanes")
        .array("offsets", Access::Read, Items::Words)
        .array("numbers", Access::Write, Items::Words)
        .search("lane_of", "u32", "offsets[at + 1u] <= key")
        .body("if (i < param(0u)) { numbers[i] = lane_of(i, 0u, param(1u)); }");
    context.run(&kernel, &[offsets, &numbers], [count, lanes as u32], Size::Invocations(count.into()))?;
    let mut coords = unraveled(context, &numbers, lane_lengths, count)?;
    coords.push(columns.clone());
    Ok(coords)
}

/// Returns the coordinates of row-major numbers, one array per axis.
pub(crate) fn unraveled(context: &Context, numbers: &Words, lengths: &[usize], count: u32) -> Result<Vec<Words>> {
    let coordinates = |(axis, &length): (usize, &usize)| {
        let stride = size_of_axes(&lengths[axis + 1..]);
        let found = context.zeros(count.into())?;
        let kernel = Kernel::new("coordinates")
            .array("numbers", Access::Read, Items::Words)
            .array("found", Access::Write, Items::Words)
            .body("if (i < param(0u)) { found[i] = (numbers[i] / param(1u)) % param(2u); }");
        let params = [count, stride as u32, length as u32];
        context.run(&kernel, &[numbers, &found], params, Size::Invocations(count.into()))?;
        Ok(found)
    };
    lengths.iter().enumerate().map(coordinates).collect()
}
