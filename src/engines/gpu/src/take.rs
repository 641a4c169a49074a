//! The entries at positions, flattened or along an axis.

use lacuna::{Result, Shape};

use crate::Gpu;
use crate::context::{MAX_ITEMS, Size, Words};
use crate::element::DeviceElement;
use crate::groups::{gathered, unraveled};
use crate::kernel::{Access, BITS_EACH, Items, Kernel, marks_of};
use crate::ranks::{Ranks, sums_before, words_of_bits};
use crate::selection::{Chosen, Selection, lookup};
use crate::tensor::DevicePattern;

/// Returns the entries at positions of the flattened tensor, as a result of this shape.
pub(crate) fn flattened(gpu: &Gpu, of: &DevicePattern, positions: &[u64], shape: &Shape) -> Result<Selection> {
    let (context, count) = (&gpu.0.context, positions.len() as u32);
    let held = of.keys(gpu)?;
    let (wanted, places) = (context.upload(u64::bytes(positions))?, context.zeros(count.into())?);
    let size = Size::Invocations(count.into());
    context.run(&lookup(), &[&wanted, &held, &places], [count, of.nnz], size)?;
    let bits = context.zeros(words_of_bits(u64::from(count) + 1))?;
    let kernel = Kernel::new("found")
        .array("places", Access::Read, Items::Words)
        .function("fn holds(e: u32) -> bool { return places[e] > 0u; }");
    let size = Size::Invocations(u64::from(count).div_ceil(BITS_EACH));
    context.run(&marks_of(kernel), &[&places, &bits], [count], size)?;
    let ranks = Ranks::new(context, bits)?;
    let found = ranks.count(context)?;
    let results = ranks.numbers(context, found)?;
    let sources = context.zeros(found.into())?;
    let kernel = Kernel::new("sources_of_places")
        .array("results", Access::Read, Items::Words)
        .array("places", Access::Read, Items::Words)
        .array("sources", Access::Write, Items::Words)
        .body("if (i < param(0u)) { sources[i] = places[results[i]] - 1u; }");
    context.run(&kernel, &[&results, &places, &sources], [found], Size::Invocations(found.into()))?;
    let coords = unraveled(context, &results, shape, found)?;
    let chosen = Chosen { count: found, coords, sources: Some(sources), is_sorted: true };
    Ok(Selection { is_increasing: false, ..chosen.selection(gpu, of, shape)? })
}

/// The positions along an axis in increasing order, and the place of each in the list of positions.
struct Sorted {
    positions: Vec<u32>,
    places: Vec<u32>,
}

impl Sorted {
    fn new(positions: &[u64]) -> Self {
        let mut places: Vec<u32> = (0..positions.len() as u32).collect();
        places.sort_by_key(|&place| positions[place as usize]);
        Sorted { positions: places.iter().map(|&place| positions[place as usize] as u32).collect(), places }
    }
}

/// Returns whether the device numbers the entries that the positions of an axis may choose.
pub(crate) fn is_countable(nnz: u32, positions: &[u64]) -> bool {
    let sorted = Sorted::new(positions).positions;
    let most = sorted.chunk_by(|one, other| one == other).map(<[u32]>::len).max().unwrap_or(0);
    u64::from(nnz).checked_mul(most as u64).is_some_and(|count| count < MAX_ITEMS)
}

/// Returns the entries at positions of an axis, as a result of this shape.
pub(crate) fn along(gpu: &Gpu, of: &DevicePattern, axis: usize, positions: &[u64], shape: &Shape) -> Result<Selection> {
    let (context, nnz, axes) = (&gpu.0.context, of.nnz, of.coords(gpu)?);
    let sorted = Sorted::new(positions);
    let wanted = context.upload(u32::bytes(&sorted.positions))?;
    let places = context.upload(u32::bytes(&sorted.places))?;
    // An entry becomes as many entries as there are positions that are its own.
    let counts = context.zeros(u64::from(nnz) + 1)?;
    let length = positions.len() as u32;
    let with_search = |kernel: Kernel| {
        let kernel = kernel.array("own", Access::Read, Items::Words).array("wanted", Access::Read, Items::Words);
        kernel.search("first_of", "u32", "wanted[at] < key").search("end_of", "u32", "wanted[at] <= key")
    };
    let kernel = with_search(Kernel::new("counts_of_positions"))
        .array("counts", Access::Write, Items::Words)
        .body("if (i < param(0u)) { counts[i] = end_of(own[i], 0u, param(1u)) - first_of(own[i], 0u, param(1u)); }");
    let size = Size::Invocations(nnz.into());
    context.run(&kernel, &[&axes[axis], &wanted, &counts], [nnz, length], size)?;
    let starts = sums_before(context, &counts, false)?;
    let count = context.word(&starts, nnz.into())?;
    let (sources, items) = (context.zeros(count.into())?, context.zeros(count.into())?);
    let kernel = with_search(Kernel::new("entries_of_positions"))
        .array("places", Access::Read, Items::Words)
        .array("starts", Access::Read, Items::Words)
        .search("source_of", "u32", "starts[at + 1u] <= key")
        .array("sources", Access::Write, Items::Words)
        .array("items", Access::Write, Items::Words)
        .body(
            "if (i >= param(2u)) { return; }
let source = source_of(i, 0u, param(0u));
sources[i] = source;
items[i] = places[first_of(own[source], 0u, param(1u)) + i - starts[source]];",
        );
    let arrays = [&axes[axis], &wanted, &places, &starts, &sources, &items];
    context.run(&kernel, &arrays, [nnz, length, count], Size::Invocations(count.into()))?;
    let moved = |axis: &Words| gathered(context, axis, &sources, count);
    let mut coords = axes[..axis].iter().map(moved).collect::<Result<Vec<_>>>()?;
    let taken = &shape[axis..shape.rank() - (axes.len() - axis - 1)];
    coords.extend(unraveled(context, &items, taken, count)?);
    for axis in &axes[axis + 1..] {
        coords.push(moved(axis)?);
    }
    Chosen { count, coords, sources: Some(sources), is_sorted: false }.selection(gpu, of, shape)
}
