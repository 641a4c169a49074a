//! Tensors on the device.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock};

use lacuna::lazy::Lazy;
use lacuna::lazy::engine_api::{Held, OnDevice, placed};
use lacuna::{CooPattern, CooTensor, CsrPattern, CsrTensor, DType, Element, Pattern, Result, Shape, Tensor};

use crate::Gpu;
use crate::context::{MOST_ITEMS, Size, Words, failed, locked};
use crate::element::{DeviceElement, form_of, of_dtype};
use crate::groups::{Groups, coords_of_csr, size_of_axes};
use crate::kernel::{Access, BITS_EACH, Form, Items, Kernel, marks_of};
use crate::outline::{Outline, bits_of};
use crate::ranks::{Ranks, words_of_bits};

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

/// A pattern, and what was computed of it.
pub(crate) struct DevicePattern {
    pub(crate) shape: Shape,
    pub(crate) nnz: u32,
    pub(crate) layout: Layout,
    /// The lanes of CSR that have an entry.
    stored_lanes: OnceLock<Ranks>,
    /// The coordinates of CSR.
    coords: OnceLock<Vec<Words>>,
    /// The groups of entries, by the axes that are kept.
    groups: Mutex<Vec<(Vec<usize>, Arc<Groups>)>>,
}

/// A tensor on the device, of any format and element type.
#[derive(Clone)]
pub(crate) struct DeviceValue {
    pub(crate) gpu: Gpu,
    pub(crate) pattern: Arc<DevicePattern>,
    pub(crate) dtype: DType,
    pub(crate) values: Words,
    /// The fill, of the element type.
    pub(crate) fill: Held,
}

impl DevicePattern {
    pub(crate) fn new(shape: Shape, nnz: u32, layout: Layout) -> Arc<Self> {
        let (stored_lanes, coords, groups) = Default::default();
        Arc::new(DevicePattern { shape, nnz, layout, stored_lanes, coords, groups })
    }

    /// Returns one coordinate array per axis. CSR computes them once.
    pub(crate) fn coords(&self, gpu: &Gpu) -> Result<&[Words]> {
        match (&self.layout, self.coords.get()) {
            (Layout::Coo(coords), _) | (_, Some(coords)) => Ok(coords),
            (Layout::Csr { offsets, columns }, None) => {
                let found = coords_of_csr(&gpu.0.context, &self.shape, offsets, columns, self.nnz)?;
                Ok(self.coords.get_or_init(|| found))
            }
        }
    }

    /// Returns the entries by their coordinates on the axes that are kept. They are grouped once.
    pub(crate) fn groups(&self, gpu: &Gpu, kept: &[usize]) -> Result<Arc<Groups>> {
        let mut known = locked(&self.groups);
        if let Some((_, groups)) = known.iter().find(|(axes, _)| axes == kept) {
            return Ok(Arc::clone(groups));
        }
        let groups = Arc::new(Groups::new(gpu, self, kept)?);
        known.push((kept.to_vec(), Arc::clone(&groups)));
        Ok(groups)
    }

    /// Returns the number of lanes of CSR.
    pub(crate) fn lanes(&self) -> u64 {
        size_of_axes(self.shape.lane_axes())
    }

    /// Returns the lanes of CSR that have an entry. They are computed once.
    pub(crate) fn stored_lanes(&self, gpu: &Gpu, offsets: &Words) -> Result<&Ranks> {
        if let Some(found) = self.stored_lanes.get() {
            return Ok(found);
        }
        let (context, lanes) = (&gpu.0.context, self.lanes());
        let bits = context.zeros(words_of_bits(lanes))?;
        let kernel = Kernel::new("stored_lanes")
            .array("offsets", Access::Read, Items::Words)
            .function("fn holds(e: u32) -> bool { return offsets[e + 1u] > offsets[e]; }");
        let size = Size::Invocations(lanes.div_ceil(BITS_EACH));
        context.run(&marks_of(kernel), &[offsets, &bits], &[lanes as u32], size)?;
        let found = Ranks::new(context, bits)?;
        Ok(self.stored_lanes.get_or_init(|| found))
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
        DeviceValue { gpu: self.gpu.clone(), pattern, dtype, values, fill }
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

    fn fetch_as<T: DeviceElement>(&self) -> Result<Held> {
        let (context, pattern) = (&self.gpu.0.context, &self.pattern);
        let nnz = pattern.nnz as usize;
        let words =
            |words: &Words, count: usize| -> Result<Vec<u32>> { u32::from_bytes(&context.download(words, 4 * count)?) };
        let values = T::from_bytes(&context.download(&self.values, nnz * size_of::<T>())?)?;
        let (shape, fill) = (pattern.shape.clone(), self.fill::<T>());
        Ok(match &pattern.layout {
            Layout::Coo(axes) => {
                let coords = axes.iter().map(|axis| words(axis, nnz)).collect::<Result<_>>()?;
                Arc::new(Tensor::from_parts(CooPattern::new(shape, nnz, coords)?, values, fill)?)
            }
            Layout::Csr { offsets, columns } => {
                let offsets = words(offsets, pattern.lanes() as usize + 1)?;
                let offsets = offsets.into_iter().map(|offset| offset as usize).collect();
                let pattern = CsrPattern::new(shape, offsets, words(columns, nnz)?)?;
                Arc::new(Tensor::from_parts(pattern, values, fill)?)
            }
        })
    }
}

impl OnDevice for DeviceValue {
    fn told(&self) -> String {
        format!("on {}", self.gpu.name())
    }

    fn bytes(&self) -> u64 {
        let axes = match &self.pattern.layout {
            Layout::Coo(axes) => 4 * axes.iter().map(Words::count).sum::<u64>(),
            Layout::Csr { offsets, columns } => 4 * (offsets.count() + columns.count()),
        };
        axes + 4 * self.values.count()
    }

    /// Copies the tensor to memory, and checks it like any input.
    fn fetch(&self) -> Result<Held> {
        of_dtype!(self.dtype, T => self.fetch_as::<T>()).expect("the device holds this type")
    }
}

/// A format that the device holds.
///
/// The trait is sealed.
pub trait DeviceFormat: Pattern<Index = u32> + sealed::Sealed {
    #[doc(hidden)]
    fn layout(&self, gpu: &Gpu) -> Result<Layout>;
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
}

/// Copies a tensor to the device.
pub(crate) fn uploaded<P: DeviceFormat, T: DeviceElement>(gpu: &Gpu, x: &Tensor<P, T>) -> Result<DeviceValue> {
    let nnz = u32::try_from(x.nnz()).ok().filter(|&nnz| u64::from(nnz) < MOST_ITEMS);
    let nnz = nnz.ok_or_else(|| failed("the device numbers fewer than 2^31 entries"))?;
    let pattern = DevicePattern::new(x.shape().clone(), nnz, x.pattern().layout(gpu)?);
    let values = gpu.0.context.upload(T::bytes(x.values()))?;
    Ok(DeviceValue { gpu: gpu.clone(), pattern, dtype: T::DTYPE, values, fill: Arc::new(x.fill()) })
}

/// The bytes that a value takes on the device.
pub(crate) struct Bytes {
    pub(crate) all: usize,
    /// The bytes of the largest array.
    pub(crate) largest: usize,
}

impl Bytes {
    /// Returns the bytes of a value; `None` if the device does not hold its type.
    pub(crate) fn of(value: &Held, dtype: DType) -> Option<Self> {
        let of_arrays = |offsets: usize, axes: usize, nnz: usize, width: usize| Bytes {
            all: 4 * offsets + nnz * (4 * axes + width),
            largest: (4 * offsets).max(nnz * width.max(4)),
        };
        of_dtype!(dtype, T => match (value.downcast_ref::<CooTensor<T>>(), value.downcast_ref::<CsrTensor<T>>()) {
            (Some(x), _) => Some(of_arrays(0, x.rank(), x.nnz(), size_of::<T>())),
            (_, Some(x)) => Some(of_arrays(x.offsets().len(), 1, x.nnz(), size_of::<T>())),
            _ => None,
        })
        .flatten()
    }
}

/// Copies a value to the device, if the device holds its type.
pub(crate) fn uploaded_of(gpu: &Gpu, value: &Held, dtype: DType) -> Option<Result<DeviceValue>> {
    of_dtype!(dtype, T => match (value.downcast_ref::<CooTensor<T>>(), value.downcast_ref::<CsrTensor<T>>()) {
        (Some(x), _) => Some(uploaded(gpu, x)),
        (_, Some(x)) => Some(uploaded(gpu, x)),
        _ => None,
    })
    .flatten()
}

/// A tensor on a device.
///
/// The device holds one copy, whatever graphs begin with it. The type is that of the tensor in memory.
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

    /// Returns the bytes that the tensor takes on the device.
    pub fn bytes(&self) -> u64 {
        self.value.bytes()
    }
}

impl<P: DeviceFormat, T: DeviceElement> DeviceTensor<P, T> {
    /// Starts a lazy graph with this tensor. On another engine the graph copies the tensor to memory first.
    #[track_caller]
    pub fn lazy(&self) -> Lazy<Tensor<P, T>> {
        placed(self.shape(), Arc::new(self.value.clone()))
    }

    /// Copies the tensor to memory, and checks it like any input.
    ///
    /// # Errors
    ///
    /// `Engine`: the device was lost; `OutOfMemory`; the errors of `from_parts`, if the device returned other entries.
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
