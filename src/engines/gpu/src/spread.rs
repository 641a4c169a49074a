//! Gradients of reductions: a value for each entry, from the upstream gradient of its group.

use std::sync::Arc;

use lacuna::Result;

use crate::context::{Size, Words};
use crate::fold::Reduced;
use crate::groups::Groups;
use crate::kernel::{Access, Items, Kernel, Params};
use crate::outline::Outline;
use crate::selection::places_of;
use crate::tensor::DeviceValue;

/// The upstream gradients of the groups of a tensor.
pub(crate) struct Upstream {
    /// The number of the group of each entry.
    pub(crate) numbers: Words,
    /// For each group one more than the entry of its gradient, or 0.
    pub(crate) places: Words,
}

impl Upstream {
    /// Finds the gradients of groups. `None` if they have another shape.
    pub(crate) fn new(
        x: &DeviceValue,
        upstream: &DeviceValue,
        groups: &Groups,
        over: &Reduced,
    ) -> Result<Option<Self>> {
        let gpu = &x.gpu;
        let cells = groups.pattern(gpu, &x.pattern, &over.kept, over.keeps_dims)?;
        if cells.shape != upstream.pattern.shape {
            return Ok(None);
        }
        let places = places_of(gpu, &cells, &upstream.pattern)?;
        Ok(Some(Upstream { numbers: groups.of_entries(&gpu.0.context, x.pattern.nnz)?, places }))
    }
}

/// Adds the gradients of groups to a kernel: the arrays `numbers` and `places`, the values `g`, and the function
/// `gradient_of(group)`.
pub(crate) fn with_gradients(kernel: Kernel, upstream: &DeviceValue) -> Kernel {
    kernel
        .array("numbers", Access::Read, Items::Words)
        .array("places", Access::Read, Items::Words)
        .values("g", upstream.form())
        .function(
            "fn gradient_of(group: u32) -> vec2<u32> {
    let place = places[group];
    if (place == 0u) { return given(); }
    return load_g(place - 1u);
}",
        )
}

/// Returns for each entry of `x` the gradient of its group. A zero loses its sign.
pub(crate) fn spread(
    x: &DeviceValue,
    upstream: &DeviceValue,
    over: &Reduced,
    outline: &Outline,
) -> Result<Option<DeviceValue>> {
    let (gpu, nnz, form) = (&x.gpu, x.pattern.nnz, upstream.form());
    let (context, groups) = (&gpu.0.context, x.pattern.groups(gpu, &over.kept)?);
    let Some(found) = Upstream::new(x, upstream, &groups, over)? else { return Ok(None) };
    let values = context.zeros(form.words(nnz.into()))?;
    let kernel = with_gradients(Kernel::new("spread"), upstream).output(
        form,
        "let value = gradient_of(numbers[e]);
    return select(vec2(0u, 0u), value, truthy_g(value));",
    );
    let params = Params::of(&[nnz]).value(form, upstream.fill_bits());
    let arrays = [&found.numbers, &found.places, &upstream.values, &values];
    context.run(&kernel, &arrays, params, Size::Invocations(form.invocations(nnz.into())))?;
    Ok(Some(x.with(Arc::clone(&x.pattern), values, outline)))
}
