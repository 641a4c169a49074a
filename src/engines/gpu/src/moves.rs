//! Changes of the format, elements at positions, and values that are spread over the entries of a group.

use std::sync::Arc;

use lacuna::{Result, Shape};

use crate::context::{Size, Words};
use crate::element::DeviceElement;
use crate::fold::Reduced;
use crate::groups::{csr_of_coords, row_major, unraveled};
use crate::kernel::{Access, BITS_EACH, Items, Kernel, marks_of, with_value};
use crate::outline::Outline;
use crate::ranks::{Ranks, words_of_bits};
use crate::tensor::{DevicePattern, DeviceValue, Layout};

/// Returns the same tensor in a format.
pub(crate) fn converted(x: &DeviceValue, format: &str) -> Result<DeviceValue> {
    let (gpu, pattern) = (&x.gpu, &x.pattern);
    let coords = pattern.coords(gpu)?;
    let layout = match format {
        "csr" => csr_of_coords(&gpu.0.context, &pattern.shape, coords, pattern.nnz)?,
        _ => Layout::Coo(coords.to_vec()),
    };
    let pattern = DevicePattern::new(pattern.shape.clone(), pattern.nnz, layout);
    Ok(DeviceValue { pattern, ..x.clone() })
}

/// Returns for each entry of `x` the element of `upstream` at the coordinates of its group. A zero loses its sign.
pub(crate) fn spread(
    x: &DeviceValue,
    upstream: &DeviceValue,
    over: &Reduced,
    outline: &Outline,
) -> Result<Option<DeviceValue>> {
    let (gpu, nnz, form) = (&x.gpu, x.pattern.nnz, upstream.form());
    let (context, groups) = (&gpu.0.context, x.pattern.groups(gpu, &over.kept)?);
    let cells = groups.pattern(gpu, &x.pattern, &over.kept, over.keeps_dims)?;
    if cells.shape != upstream.pattern.shape {
        return Ok(None);
    }
    let keys_of = |pattern: &DevicePattern| {
        let coords = pattern.coords(gpu)?;
        row_major(context, &coords.iter().collect::<Vec<_>>(), &pattern.shape, pattern.nnz)
    };
    let (wanted, held) = (keys_of(&cells)?, keys_of(&upstream.pattern)?);
    let places = context.zeros(groups.count.into())?;
    let params = [groups.count, upstream.pattern.nnz];
    context.run(&lookup(), &[&wanted, &held, &places], &params, Size::Invocations(groups.count.into()))?;
    let (numbers, values) = (groups.of_entries(context, nnz)?, context.zeros(form.words(nnz.into()))?);
    let kernel = Kernel::new("spread")
        .array("numbers", Access::Read, Items::Words)
        .array("places", Access::Read, Items::Words)
        .values("x", form)
        .output(
            form,
            "let place = places[numbers[e]];
    var value = given();
    if (place > 0u) { value = load_x(place - 1u); }
    return select(vec2(0u, 0u), value, truthy_x(value));",
        );
    let arrays: [&Words; 4] = [&numbers, &places, &upstream.values, &values];
    context.run(
        &kernel,
        &arrays,
        &with_value(&[nnz], form, upstream.fill_bits()),
        Size::Invocations(form.invocations(nnz.into())),
    )?;
    Ok(Some(x.with(Arc::clone(&x.pattern), values, outline)))
}

/// Returns the elements at positions of the flattened tensor, as a tensor of this shape.
pub(crate) fn taken(x: &DeviceValue, positions: &[u64], shape: &Shape) -> Result<DeviceValue> {
    let (gpu, form, count) = (&x.gpu, x.form(), positions.len() as u32);
    let context = &gpu.0.context;
    let coords = x.pattern.coords(gpu)?;
    let held = row_major(context, &coords.iter().collect::<Vec<_>>(), &x.pattern.shape, x.pattern.nnz)?;
    let (wanted, places) = (context.upload(u64::bytes(positions))?, context.zeros(count.into())?);
    let size = Size::Invocations(count.into());
    context.run(&lookup(), &[&wanted, &held, &places], &[count, x.pattern.nnz], size)?;
    let bits = context.zeros(words_of_bits(u64::from(count) + 1))?;
    let kernel = Kernel::new("found")
        .array("places", Access::Read, Items::Words)
        .function("fn holds(e: u32) -> bool { return places[e] > 0u; }");
    let size = Size::Invocations(u64::from(count).div_ceil(BITS_EACH));
    context.run(&marks_of(kernel), &[&places, &bits], &[count], size)?;
    let found = Ranks::new(context, bits)?;
    // The place and the entry of each result.
    let (results, entries) = (context.zeros(found.count.into())?, context.zeros(found.count.into())?);
    let kernel = Kernel::new("taken")
        .ranks("found")
        .array("places", Access::Read, Items::Words)
        .array("results", Access::Write, Items::Words)
        .array("entries", Access::Write, Items::Words)
        .body(
            "if (i >= param(0u) || !has_found(i)) { return; }
let at = before_found(i);
results[at] = i;
entries[at] = places[i] - 1u;",
        );
    let arrays = [&found.bits, &found.before, &places, &results, &entries];
    context.run(&kernel, &arrays, &[count], Size::Invocations(count.into()))?;
    let values = context.zeros(form.words(found.count.into()))?;
    let kernel = Kernel::new("values")
        .array("entries", Access::Read, Items::Words)
        .values("x", form)
        .output(form, "return load_x(entries[e]);");
    let size = Size::Invocations(form.invocations(found.count.into()));
    context.run(&kernel, &[&entries, &x.values, &values], &[found.count], size)?;
    let coords = unraveled(context, &results, shape, found.count)?;
    let layout = match x.pattern.layout {
        Layout::Coo(_) => Layout::Coo(coords),
        Layout::Csr { .. } => csr_of_coords(context, shape, &coords, found.count)?,
    };
    let pattern = DevicePattern::new(shape.clone(), found.count, layout);
    Ok(DeviceValue { pattern, values, ..x.clone() })
}

/// Returns the kernel that finds keys among sorted keys: one more than the position, or 0.
fn lookup() -> Kernel {
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
