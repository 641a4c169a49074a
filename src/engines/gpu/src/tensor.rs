//! Tensors on the device.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use lacuna::lazy::Lazy;
use lacuna::lazy::engine_api::{ErasedValue, OnDevice, placed};
use lacuna::{CooPattern, CooTensor, CsrPattern, CsrTensor, DType, Element, Pattern, Result, Shape, Tensor};

use crate::Gpu;
use crate::context::{Context, MAX_ITEMS, Plans, Size, Windowed, Words, failed};
use crate::element::{DeviceElement, form_of, of_dtype};
use crate::groups::{Groups, coords_of_csr, row_major, size_of_axes};
use crate::kernel::{Access, Form, Items, Kernel};
use crate::outline::{Outline, bits_of};
use crate::plans::Kept;
use crate::reduce::{Cells, StoredLanes};
use crate::selection::{Choice, Selection};

/// The index arrays of a pattern.
#[derive(Clone)]
#[doc(hidden)]
pub enum Layout {
    /// One coordinate array per axis.
    Coo(Vec<Words>),
    Csr {
        offsets: Words,
        columns: Words,
    },
}

/// A pattern, and the plans that were computed of it.
pub(crate) struct DevicePattern {
    pub(crate) shape: Shape,
    pub(crate) nnz: u32,
    pub(crate) layout: Layout,
    /// A hash of some of the coordinates, if the pattern was uploaded.
    hash: Option<u64>,
    /// The coordinates of CSR.
    coords: Kept<(), Vec<Words>>,
    /// The row-major number of each entry.
    keys: Kept<(), Words>,
    /// The lanes of CSR that have an entry, and the pattern of a result with one element for each of them.
    lanes: Kept<(), Arc<StoredLanes>>,
    /// The groups of entries, and the output elements with entries, by the axes that are kept.
    groups: Kept<Vec<usize>, Arc<Groups>>,
    cells: Kept<Vec<usize>, Arc<Cells>>,
    /// The entries of results that choose and move entries.
    selections: Kept<Choice, Arc<Selection>>,
}

impl Plans for DevicePattern {
    fn free(&self) {
        self.coords.free();
        self.keys.free();
        self.lanes.free();
        self.groups.free();
        self.cells.free();
        self.selections.free();
    }
}

/// A tensor on the device, of any format and element type.
#[derive(Clone)]
pub(crate) struct DeviceValue {
    pub(crate) gpu: Gpu,
    pub(crate) pattern: Arc<DevicePattern>,
    pub(crate) dtype: DType,
    pub(crate) values: Words,
    /// The fill, of the element type.
    pub(crate) fill: ErasedValue,
    /// The second tensor of a pair: positions, on the same pattern.
    pub(crate) positions: Option<Words>,
}

impl DevicePattern {
    pub(crate) fn new(context: &Context, shape: Shape, nnz: u32, layout: Layout) -> Arc<Self> {
        DevicePattern::hashed(context, shape, nnz, layout, None)
    }

    fn hashed(context: &Context, shape: Shape, nnz: u32, layout: Layout, hash: Option<u64>) -> Arc<Self> {
        let (coords, keys, lanes) = Default::default();
        let (groups, cells, selections) = Default::default();
        let pattern = DevicePattern { shape, nnz, layout, hash, coords, keys, lanes, groups, cells, selections };
        let pattern = Arc::new(pattern);
        context.register(&pattern);
        pattern
    }

    /// Returns one coordinate array per axis. CSR computes them once.
    pub(crate) fn coords(&self, gpu: &Gpu) -> Result<Vec<Words>> {
        match &self.layout {
            Layout::Coo(coords) => Ok(coords.clone()),
            Layout::Csr { offsets, columns } => {
                self.coords.get_or((), |()| coords_of_csr(&gpu.0.context, &self.shape, offsets, columns, self.nnz))
            }
        }
    }

    /// Returns the row-major number of each entry. There are fewer than 2^64 positions.
    pub(crate) fn keys(&self, gpu: &Gpu) -> Result<Words> {
        self.keys.get_or((), |()| {
            let coords = self.coords(gpu)?;
            row_major(&gpu.0.context, &coords.iter().collect::<Vec<_>>(), &self.shape, self.nnz)
        })
    }

    /// Returns the entries by their coordinates on the axes that are kept. They are grouped once.
    pub(crate) fn groups(&self, gpu: &Gpu, kept: &[usize]) -> Result<Arc<Groups>> {
        self.groups.get_or(kept.to_vec(), |kept| Groups::new(gpu, self, kept).map(Arc::new))
    }

    /// Returns the output elements with entries, by a bitmap.
    pub(crate) fn cells(&self, gpu: &Gpu, kept: &[usize]) -> Result<Arc<Cells>> {
        self.cells.get_or(kept.to_vec(), |kept| Cells::new(gpu, self, kept).map(Arc::new))
    }

    /// Returns the number of lanes of CSR.
    pub(crate) fn lanes(&self) -> u64 {
        size_of_axes(self.shape.lane_axes())
    }

    /// Returns the lanes of CSR that have an entry.
    pub(crate) fn stored_lanes(&self, gpu: &Gpu, offsets: &Words) -> Result<Arc<StoredLanes>> {
        self.lanes.get_or((), |()| StoredLanes::new(gpu, self, offsets).map(Arc::new))
    }

    /// Returns the entries of a result that chooses and moves entries. They are computed once.
    pub(crate) fn selection(
        &self,
        choice: Choice,
        compute: impl FnOnce() -> Result<Selection>,
    ) -> Result<Arc<Selection>> {
        self.selections.get_or(choice, |_| compute().map(Arc::new))
    }
}

impl DeviceValue {
    /// Returns the bits of an element. The device holds no other types.
    pub(crate) fn form(&self) -> Form {
        form_of(self.dtype).expect("the device holds this type")
    }

    /// Returns a tensor on the same device.
    pub(crate) fn with(&self, pattern: Arc<DevicePattern>, values: Words, outline: &Outline) -> Self {
        let (dtype, fill) = (outline.dtype, Arc::clone(&outline.fill));
        DeviceValue { gpu: self.gpu.clone(), pattern, dtype, values, fill, positions: None }
    }

    /// Returns the bits of the fill.
    pub(crate) fn fill_bits(&self) -> u64 {
        bits_of(&self.fill, self.dtype)
    }

    /// Returns the fill. The type is that of the elements.
    pub(crate) fn fill<T: Element>(&self) -> T {
        *self.fill.downcast_ref().expect("the fill has the element type")
    }

    pub(crate) fn is_fill_truthy(&self) -> bool {
        of_dtype!(self.dtype, T => self.fill::<T>().is_truthy()).unwrap_or(false)
    }

    /// Returns the bytes of the largest array.
    pub(crate) fn largest_array(&self) -> u64 {
        let of_pattern = match &self.pattern.layout {
            Layout::Coo(axes) => axes.first().map_or(0, Words::count),
            Layout::Csr { offsets, columns } => offsets.count().max(columns.count()),
        };
        4 * of_pattern.max(self.values.count())
    }

    fn words(&self, words: &Words, count: usize) -> Result<Vec<u32>> {
        u32::from_bytes(&self.gpu.0.context.download(words, 4 * count)?)
    }

    fn values<T: DeviceElement>(&self, values: &Words) -> Result<Vec<T>> {
        T::from_bytes(&self.gpu.0.context.download(values, self.pattern.nnz as usize * size_of::<T>())?)
    }

    fn fetch_as<T: DeviceElement>(&self) -> Result<ErasedValue> {
        let (pattern, nnz) = (&self.pattern, self.pattern.nnz as usize);
        let shape = pattern.shape.clone();
        match &pattern.layout {
            Layout::Coo(axes) => {
                let coords = axes.iter().map(|axis| self.words(axis, nnz)).collect::<Result<_>>()?;
                self.fetch_on::<_, T>(CooPattern::new(shape, nnz, coords)?)
            }
            Layout::Csr { offsets, columns } => {
                let offsets = self.words(offsets, pattern.lanes() as usize + 1)?;
                let offsets = offsets.into_iter().map(|offset| offset as usize).collect();
                self.fetch_on::<_, T>(CsrPattern::new(shape, offsets, self.words(columns, nnz)?)?)
            }
        }
    }

    fn fetch_on<P: Pattern, T: DeviceElement>(&self, pattern: P) -> Result<ErasedValue> {
        let values = Tensor::from_parts(pattern.clone(), self.values::<T>(&self.values)?, self.fill())?;
        let Some(positions) = &self.positions else { return Ok(Arc::new(values)) };
        let fill = fill_of_positions(values.fill());
        let positions = Tensor::from_parts(pattern, self.values::<u64>(positions)?, fill)?;
        Ok(Arc::new((values, positions)))
    }

    /// Returns one tensor of a pair.
    pub(crate) fn part(&self, number: usize) -> Self {
        let mut part = DeviceValue { positions: None, ..self.clone() };
        if let (1, Some(positions)) = (number, &self.positions) {
            let fill = of_dtype!(self.dtype, T => fill_of_positions(self.fill::<T>())).unwrap_or(0);
            (part.values, part.dtype, part.fill) = (positions.clone(), DType::UInt64, Arc::new(fill));
        }
        part
    }
}

/// Returns the fill of positions of medians, from the fill of the medians.
fn fill_of_positions<T: Element>(medians: T) -> u64 {
    if medians.isnan() { u64::MAX } else { 0 }
}

impl OnDevice for DeviceValue {
    fn description(&self) -> String {
        format!("on {}", self.gpu.name())
    }

    fn bytes(&self) -> u64 {
        let axes = match &self.pattern.layout {
            Layout::Coo(axes) => 4 * axes.iter().map(Words::count).sum::<u64>(),
            Layout::Csr { offsets, columns } => 4 * (offsets.count() + columns.count()),
        };
        axes + 4 * (self.values.count() + self.positions.as_ref().map_or(0, Words::count))
    }

    /// Copies the tensor to memory, and checks it like any input.
    fn fetch(&self) -> Result<ErasedValue> {
        of_dtype!(self.dtype, T => self.fetch_as::<T>()).expect("the device holds this type")
    }
}

/// A format that the device supports: COO or CSR, with coordinates of type `u32`.
///
/// The trait is sealed.
pub trait DeviceFormat: Pattern<Index = u32> + sealed::Sealed {
    #[doc(hidden)]
    fn layout(&self, gpu: &Gpu) -> Result<Layout>;

    /// Returns a hash of some of the coordinates.
    #[doc(hidden)]
    fn hash(&self) -> u64;
}

/// Hashes some hundred words of an array, from its start to its end.
fn hash_some(hasher: &mut DefaultHasher, words: &[u32]) {
    words.iter().step_by(words.len() / 256 + 1).for_each(|word| word.hash(hasher));
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for lacuna::CooPattern<u32> {}
    impl Sealed for lacuna::CsrPattern<u32> {}
}

impl DeviceFormat for CooPattern<u32> {
    fn layout(&self, gpu: &Gpu) -> Result<Layout> {
        let axes = (0..self.shape().rank()).map(|axis| gpu.0.context.upload(u32::bytes(self.coords(axis))));
        axes.collect::<Result<_>>().map(Layout::Coo)
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (0..self.shape().rank()).for_each(|axis| hash_some(&mut hasher, self.coords(axis)));
        hasher.finish()
    }
}

impl DeviceFormat for CsrPattern<u32> {
    fn layout(&self, gpu: &Gpu) -> Result<Layout> {
        // The number of entries fits 32 bits, and so does each offset.
        let offsets: Vec<u32> = self.offsets().iter().map(|&offset| offset as u32).collect();
        let context = &gpu.0.context;
        Ok(Layout::Csr {
            offsets: context.upload(u32::bytes(&offsets))?,
            columns: context.upload(u32::bytes(self.columns()))?,
        })
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        hash_some(&mut hasher, self.columns());
        self.offsets().iter().step_by(self.offsets().len() / 256 + 1).for_each(|offset| offset.hash(&mut hasher));
        hasher.finish()
    }
}

/// Copies a tensor to the device. A pattern that is there already is not kept twice.
pub(crate) fn uploaded<P: DeviceFormat, T: DeviceElement>(gpu: &Gpu, x: &Tensor<P, T>) -> Result<DeviceValue> {
    let nnz = u32::try_from(x.nnz()).ok().filter(|&nnz| u64::from(nnz) < MAX_ITEMS);
    let nnz = nnz.ok_or_else(|| failed("the device numbers fewer than 2^31 entries"))?;
    let (layout, hash) = (x.pattern().layout(gpu)?, x.pattern().hash());
    let pattern = match resident(gpu, x.shape(), nnz, &layout, hash)? {
        Some(pattern) => pattern,
        None => DevicePattern::hashed(&gpu.0.context, x.shape().clone(), nnz, layout, Some(hash)),
    };
    let values = gpu.0.context.upload(T::bytes(x.values()))?;
    let fill = Arc::new(x.fill());
    Ok(DeviceValue { gpu: gpu.clone(), pattern, dtype: T::DTYPE, values, fill, positions: None })
}

/// Returns an uploaded pattern in use with the same arrays.
fn resident(gpu: &Gpu, shape: &Shape, nnz: u32, layout: &Layout, hash: u64) -> Result<Option<Arc<DevicePattern>>> {
    let context = &gpu.0.context;
    for plans in context.plans() {
        let plans: Arc<dyn Any + Send + Sync> = plans;
        let Ok(pattern) = plans.downcast::<DevicePattern>() else { continue };
        if pattern.shape != *shape || pattern.nnz != nnz || pattern.hash != Some(hash) {
            continue;
        }
        let pairs: Vec<(&Words, &Words)> = match (layout, &pattern.layout) {
            (Layout::Coo(axes), Layout::Coo(others)) => axes.iter().zip(others).collect(),
            (Layout::Csr { offsets, columns }, Layout::Csr { offsets: starts, columns: others }) => {
                vec![(offsets, starts), (columns, others)]
            }
            _ => continue,
        };
        if are_equal(context, &pairs)? {
            return Ok(Some(pattern));
        }
    }
    Ok(None)
}

/// Returns whether the arrays of each pair are equal.
fn are_equal(context: &Context, pairs: &[(&Words, &Words)]) -> Result<bool> {
    let found = context.zeros(1)?;
    let kernel = Kernel::new("differ")
        .array("x", Access::Read, Items::Words)
        .array("y", Access::Read, Items::Words)
        .array("found", Access::Atomic, Items::Words)
        .body("if (i < param(0u) && x[i] != y[i]) { atomicOr(&found[0], 1u); }");
    for &(x, y) in pairs {
        let arrays = [Windowed::Items(x, 32), Windowed::Items(y, 32), Windowed::Whole(&found)];
        context.run_in_windows(&kernel, &arrays, [0], x.count().min(y.count()), Size::Invocations)?;
    }
    Ok(context.word(&found, 0)? == 0)
}

/// The bytes that a value takes on the device.
#[derive(Clone, Copy)]
pub(crate) struct Bytes {
    /// The bytes of the coordinates.
    pub(crate) of_pattern: u64,
    pub(crate) of_values: u64,
    pub(crate) nnz: u64,
    /// The bytes of the largest array.
    pub(crate) largest: u64,
}

impl Bytes {
    /// Returns the bytes of a value; `None` if the device does not hold its type.
    pub(crate) fn of(value: &ErasedValue, dtype: DType) -> Option<Self> {
        let of_arrays = |offsets: usize, axes: usize, nnz: usize, width: usize| {
            let [offsets, axes, nnz, width] = [offsets, axes, nnz, width].map(|number| number as u64);
            let (of_pattern, of_values) = (4 * (offsets + nnz * axes), nnz * width);
            Bytes { of_pattern, of_values, nnz, largest: (4 * offsets).max(nnz * width.max(4)) }
        };
        of_dtype!(dtype, T => match (value.downcast_ref::<CooTensor<T>>(), value.downcast_ref::<CsrTensor<T>>()) {
            (Some(x), _) => Some(of_arrays(0, x.rank(), x.nnz(), size_of::<T>())),
            (_, Some(x)) => Some(of_arrays(x.offsets().len(), 1, x.nnz(), size_of::<T>())),
            _ => None,
        })
        .flatten()
    }

    /// Returns the bytes of a value on the device.
    pub(crate) fn of_device(value: &DeviceValue) -> Self {
        let (nnz, of_values) = (value.pattern.nnz.into(), 4 * value.values.count());
        let of_positions = value.positions.as_ref().map_or(0, Words::count);
        let of_pattern = value.bytes() - of_values - 4 * of_positions;
        Bytes { of_pattern, of_values, nnz, largest: value.largest_array() }
    }

    /// Returns the bytes of a tensor of another type on the same pattern.
    pub(crate) fn with_type(self, dtype: DType) -> Self {
        let width = of_dtype!(dtype, T => size_of::<T>() as u64).unwrap_or(0);
        Bytes { of_values: width * self.nnz, ..self }
    }

    pub(crate) fn all(self) -> u64 {
        self.of_pattern + self.of_values
    }
}

/// Returns the lengths and the addresses of the arrays of a pattern in memory. If they are those of another tensor,
/// both are on one pattern.
pub(crate) fn addresses(value: &ErasedValue, dtype: DType) -> Option<Vec<usize>> {
    fn of<P: Pattern, T: Element>(x: &Tensor<P, T>, arrays: impl Iterator<Item = usize>) -> Vec<usize> {
        [&x.shape()[..], &[x.nnz()]].concat().into_iter().chain(arrays).collect()
    }
    of_dtype!(dtype, T => match (value.downcast_ref::<CooTensor<T>>(), value.downcast_ref::<CsrTensor<T>>()) {
        (Some(x), _) => Some(of(x, (0..x.rank()).map(|axis| x.coords(axis).as_ptr() as usize))),
        (_, Some(x)) => Some(of(x, [x.offsets().as_ptr() as usize, x.columns().as_ptr() as usize].into_iter())),
        _ => None,
    })
    .flatten()
}

/// Copies a value to the device, if the device holds its type.
pub(crate) fn uploaded_of(gpu: &Gpu, value: &ErasedValue, dtype: DType) -> Option<Result<DeviceValue>> {
    of_dtype!(dtype, T => match (value.downcast_ref::<CooTensor<T>>(), value.downcast_ref::<CsrTensor<T>>()) {
        (Some(x), _) => Some(uploaded(gpu, x)),
        (_, Some(x)) => Some(uploaded(gpu, x)),
        _ => None,
    })
    .flatten()
}

/// A tensor on a device.
///
/// All graphs that start with this tensor read the same copy on the device. `P` and `T` are the types of the tensor in
/// memory.
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna_gpu::Gpu;
///
/// let Ok(gpu) = Gpu::new() else { return Ok(()) }; // no adapter
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![f64::NAN, 1.0], 0.0)?;
/// let xd = gpu.upload(&x)?;
/// assert_eq!((xd.shape().clone(), xd.nnz(), xd.bytes()), (x.shape().clone(), 2, 32));
/// assert!(xd.download()?.same_as(&x));
/// assert_eq!(xd.lazy().isnan().any(1).on(&gpu).collect()?, x.isnan()?.any(1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
pub struct DeviceTensor<P, T> {
    value: DeviceValue,
    of: PhantomData<fn() -> (P, T)>,
}

impl<P, T> DeviceTensor<P, T> {
    pub(crate) fn of(value: DeviceValue) -> Self {
        DeviceTensor { value, of: PhantomData }
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &Shape {
        &self.value.pattern.shape
    }

    /// Returns the number of entries.
    pub fn nnz(&self) -> usize {
        self.value.pattern.nnz as usize
    }

    /// Returns the number of bytes of the tensor on the device.
    pub fn bytes(&self) -> u64 {
        self.value.bytes()
    }
}

impl<P: DeviceFormat, T: DeviceElement> DeviceTensor<P, T> {
    /// Starts a lazy graph with this tensor.
    ///
    /// An engine without access to the device first copies the tensor to memory.
    #[track_caller]
    pub fn lazy(&self) -> Lazy<Tensor<P, T>> {
        placed(self.shape(), Arc::new(self.value.clone()))
    }

    /// Copies the tensor to memory, and checks it like any input.
    ///
    /// # Errors
    ///
    /// - `Engine`: the device was lost;
    /// - `OutOfMemory`: the allocation of the copy fails;
    /// - the errors of [`CooPattern::new`] or [`CsrPattern::new`]: the device returned an invalid pattern.
    pub fn download(&self) -> Result<Tensor<P, T>> {
        let value: Arc<dyn Any + Send + Sync> = self.value.fetch()?;
        let tensor = value.downcast::<Tensor<P, T>>().map_err(|_| failed("the value has another type"))?;
        Ok(Arc::unwrap_or_clone(tensor))
    }
}

impl<P, T> Clone for DeviceTensor<P, T> {
    fn clone(&self) -> Self {
        DeviceTensor::of(self.value.clone())
    }
}

impl<P: Pattern, T: Element> std::fmt::Debug for DeviceTensor<P, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (shape, nnz, place) = (self.shape(), self.nnz(), self.value.gpu.name());
        write!(f, "{} tensor {shape} of {}, {nnz} stored, on {place}", P::FORMAT, T::DTYPE)
    }
}
