//! An engine for lazy graphs of [`lacuna`] on a GPU, with bitwise identical results.
//!
//! [`Gpu`] is an engine, like [`Threads`](lacuna::lazy::Threads). The supported steps of a graph run on the GPU, and
//! all other steps run on threads. The GPU is called the device. [`Gpu::upload`] copies a tensor to the device once,
//! for many graphs.
//!
//! ```
//! use lacuna::CooTensor;
//! use lacuna_gpu::Gpu;
//!
//! let Ok(gpu) = Gpu::new() else { return Ok(()) }; // no adapter: `on(Threads)`, or no `on` at all
//! let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![f64::NAN, 1.0], 0.0)?;
//! let xd = gpu.upload(&x)?;
//! let rows = xd.lazy().isnan().any(1).on(&gpu).collect()?;
//! assert_eq!(rows, x.isnan()?.any(1)?);
//! # Ok::<(), lacuna::Error>(())
//! ```
//!
//! The device computes predicates, comparisons, some elementwise operations, exact sums, means, medians and other
//! reductions, indexing, shape operations, and conversions between formats. `docs/gpu.md` lists these steps. The device
//! supports tensors of `bool`, integers, `f32` and `f64`, with coordinates of 32 bits. Kernels compute only with
//! integers, so each result is bitwise identical to the result of `Threads`.

mod context;
mod element;
mod engine;
mod floats;
mod fold;
mod groups;
mod kernel;
mod layout;
mod map;
mod median;
mod moves;
mod outline;
mod plans;
mod ranks;
mod reduce;
mod ring;
mod selection;
mod self_test;
mod sort;
mod spread;
mod step;
mod sum;
mod take;
mod tensor;
mod verify;

use std::sync::Arc;

use lacuna::lazy::Lazy;
use lacuna::{Result, Tensor};

use context::{Context, Setup};
pub use element::DeviceElement;
pub use tensor::{DeviceFormat, DeviceTensor};

/// The engine that computes lazy graphs on a GPU.
///
/// Clones share the device and the compiled kernels.
#[derive(Clone)]
pub struct Gpu(Arc<Device>);

struct Device {
    context: Arc<Context>,
    /// Whether a step on threads is an error.
    is_strict: bool,
    /// Whether each step of the device is computed on threads, too.
    verifies: bool,
}

impl Gpu {
    /// Opens a GPU, or a software device if the machine does not have a GPU.
    ///
    /// If there are several adapters, the first name of [`list`](Gpu::list) is opened.
    ///
    /// # Errors
    ///
    /// - `Engine`: the machine does not have an adapter;
    /// - `Engine`: the adapter does not open;
    /// - `Engine`: the results of a short test on the adapter differ from the results of threads.
    pub fn new() -> Result<Self> {
        Gpu::named("")
    }

    /// Returns the names of all adapters.
    ///
    /// Discrete GPUs are first, then integrated GPUs, virtual GPUs, and other adapters. Software devices are last.
    pub fn list() -> Vec<String> {
        context::names()
    }

    /// Opens the first adapter whose name contains `name`.
    ///
    /// # Errors
    ///
    /// - `Engine`: no adapter has such a name;
    /// - `Engine`: the adapter does not open;
    /// - `Engine`: the results of a short test on the adapter differ from the results of threads.
    pub fn named(name: &str) -> Result<Self> {
        Gpu::opened(name, Setup::default(), false)
    }

    /// Opens the fastest adapter with the given limits.
    ///
    /// A workgroup has `group` invocations. No array has more than `max_array_bytes` bytes, and no kernel reads more
    /// than `max_bytes` bytes of an array.
    #[doc(hidden)]
    pub fn limited(group: u32, max_array_bytes: u64, max_bytes: u64) -> Result<Self> {
        Gpu::opened("", Setup { group, max_array_bytes, max_bytes, altered: None }, false)
    }

    /// Opens the fastest adapter, as if it computed wrongly: with a text in all kernels replaced.
    #[doc(hidden)]
    pub fn altered(from: &str, to: &str) -> Result<Self> {
        Gpu::opened("", Setup { altered: Some((from.into(), to.into())), ..Setup::default() }, true)
    }

    fn opened(name: &str, setup: Setup, is_altered: bool) -> Result<Self> {
        let has_limits = setup.max_array_bytes < u64::MAX;
        let context = Arc::new(Context::new(name, setup)?);
        let gpu = Gpu(Arc::new(Device { context, is_strict: false, verifies: false }));
        if !has_limits {
            self_test::check(&gpu, is_altered)?;
        }
        Ok(gpu)
    }

    /// Sets the largest number of bytes of all tensors and plans on the device.
    ///
    /// The device keeps plans, such as the groups of a reduction, for later steps on the same pattern. If a step would
    /// exceed the limit, lacuna first frees all plans.
    pub fn set_budget(&self, bytes: u64) {
        self.0.context.set_budget(bytes);
    }

    /// Returns the texts of the kernels that have run.
    #[doc(hidden)]
    pub fn kernels(&self) -> Vec<String> {
        self.0.context.texts()
    }

    /// Returns how often a value was read back from the device.
    #[doc(hidden)]
    pub fn reads(&self) -> u64 {
        self.0.context.reads()
    }

    /// Returns an engine on the same device that rejects graphs with steps on threads.
    pub fn strict(&self) -> Self {
        let Device { context, verifies, .. } = &*self.0;
        Gpu(Arc::new(Device { context: Arc::clone(context), is_strict: true, verifies: *verifies }))
    }

    /// Returns an engine on the same device that compares each step with threads.
    ///
    /// Each step of the device is also computed on threads. If the entries differ, the engine returns the error
    /// `Engine`, with the numbers of entries and the checksums of both results.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna_gpu::Gpu;
    ///
    /// let Ok(gpu) = Gpu::new() else { return Ok(()) }; // no adapter
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![f64::NAN, 1.0], 0.0)?;
    /// assert_eq!(x.lazy().nansum(1).on(gpu.verify()).collect()?, x.nansum(1)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn verify(&self) -> Self {
        let Device { context, is_strict, .. } = &*self.0;
        Gpu(Arc::new(Device { context: Arc::clone(context), is_strict: *is_strict, verifies: true }))
    }

    /// Returns the name of the adapter.
    pub fn name(&self) -> &str {
        self.0.context.name()
    }

    /// Copies a tensor to the device.
    ///
    /// # Errors
    ///
    /// - `TooLarge`: an array is larger than the device supports;
    /// - `TooLarge`: all arrays on the device exceed the limit of [`set_budget`](Gpu::set_budget);
    /// - `OutOfMemory`: the memory of the device is full;
    /// - `Engine`: the device was lost;
    /// - `Engine`: the tensor has 2<sup>31</sup> entries or more.
    pub fn upload<P: DeviceFormat, T: DeviceElement>(&self, x: &Tensor<P, T>) -> Result<DeviceTensor<P, T>> {
        tensor::uploaded(self, x).map(DeviceTensor::of)
    }

    /// Computes a graph, and keeps the result on the device.
    ///
    /// If the last step runs on threads, the result of this step is copied to the device.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna_gpu::Gpu;
    ///
    /// let Ok(gpu) = Gpu::new() else { return Ok(()) }; // no adapter
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![f64::NAN, 1.0], 0.0)?;
    /// let missing = gpu.keep(&gpu.upload(&x)?.lazy().isnan())?;
    /// assert_eq!(missing.nnz(), 2);
    /// assert_eq!(missing.lazy().any(1).on(&gpu).collect()?, x.isnan()?.any(1)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of the steps of the graph, and the errors of [`upload`](Gpu::upload).
    pub fn keep<P: DeviceFormat, T: DeviceElement>(&self, graph: &Lazy<Tensor<P, T>>) -> Result<DeviceTensor<P, T>> {
        let keeper = engine::Keeper::new(self);
        let found = graph.on(&keeper).collect()?;
        match keeper.kept() {
            Some(value) => Ok(DeviceTensor::of(value)),
            None => self.upload(&found),
        }
    }

    /// Waits until the device has computed all requested steps.
    #[doc(hidden)]
    pub fn wait(&self) -> Result<()> {
        self.0.context.wait()
    }

    /// Releases the device.
    ///
    /// Each later use of the device returns the error `Engine`.
    pub fn close(&self) {
        self.0.context.destroy();
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.context, &other.0.context)
    }
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Gpu").field(&self.name()).finish()
    }
}
