//! The device: adapters, arrays, kernels and their runs. Only this file names wgpu.

use std::any::Any;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lacuna::{Error, Result};

use crate::kernel::{Kernel, Params};
use crate::ring::Ring;

/// The bytes that are read at a time, because each piece is copied on its way.
const PIECE: usize = 16 << 20;
/// The bytes from which on an array is copied through the ring of mapped buffers.
const DIRECT: usize = 1 << 20;
/// The largest number of items that kernels number. The last workgroups number more, and must not reach 2^32.
pub(crate) const MAX_ITEMS: u64 = 1 << 31;
/// The largest number of workgroups on an axis of a dispatch.
const MAX_GROUPS: u64 = 65_535;

/// The number of workgroups that wait until the device gets them together.
const MAX_PENDING: u64 = 4096;

/// How a device is opened. Tests change it.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The invocations of a workgroup.
    pub(crate) group: u32,
    /// The bytes of the largest array.
    pub(crate) max_array_bytes: u64,
    /// The bytes of the largest part of an array that a kernel reads.
    pub(crate) max_bytes: u64,
    /// A text in all kernels, and the text that replaces it.
    pub(crate) altered: Option<(String, String)>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup { group: 256, max_array_bytes: u64::MAX, max_bytes: u64::MAX, altered: None }
    }
}

/// Results that are kept for later, and freed when memory is short.
pub(crate) trait Plans: Any + Send + Sync {
    fn free(&self);
}

/// An adapter with its compiled kernels.
pub(crate) struct Context {
    device: wgpu::Device,
    queue: wgpu::Queue,
    limits: wgpu::Limits,
    name: String,
    setup: Setup,
    /// The bytes of all arrays, and the largest number that they may have.
    live: Arc<AtomicU64>,
    budget: AtomicU64,
    plans: Mutex<Vec<Weak<dyn Plans>>>,
    ring: Mutex<Ring>,
    /// How often the device was read.
    reads: AtomicU64,
    /// The compiled kernels, by text.
    pipelines: Mutex<HashMap<String, wgpu::ComputePipeline>>,
    /// Kernels that are to run, in order, and the number of their workgroups.
    pending: Mutex<Option<(wgpu::CommandEncoder, u64)>>,
    /// The cause, if the device is lost or has reported an error.
    failure: Arc<Mutex<Option<String>>>,
}

/// An array of 32-bit words on the device.
#[derive(Clone)]
#[doc(hidden)]
pub struct Words {
    array: Arc<Array>,
    count: u64,
}

/// An array that counts as live until it is dropped.
struct Array {
    buffer: wgpu::Buffer,
    bytes: u64,
    live: Arc<AtomicU64>,
}

impl Drop for Array {
    fn drop(&mut self) {
        self.live.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Words {
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the bytes, at least those of one item.
    fn bytes(&self) -> u64 {
        self.array.bytes
    }
}

/// An array of a kernel that runs in windows.
#[derive(Clone, Copy)]
pub(crate) enum Windowed<'a> {
    /// An array with this number of bits for each item.
    Items(&'a Words, u32),
    /// An array that each window reads as a whole.
    Whole(&'a Words),
}

/// The items of a window start at a multiple of this number, so that its first bit is at a multiple of 256 bytes.
const WINDOW: u64 = 2048;

/// The number of invocations of a kernel, or of its workgroups.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    Invocations(u64),
    Groups(u64),
}

/// Returns an error of this engine.
pub(crate) fn failed(cause: impl Into<String>) -> Error {
    Error::Engine { engine: "gpu", attempts: 1, cause: cause.into(), seen: None, expected: None }
}

/// Returns an empty vector with this capacity.
pub(crate) fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let (mut items, bytes) = (Vec::new(), count as u128 * size_of::<T>() as u128);
    items.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(items)
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns all adapters, the fastest kind first.
fn adapters() -> Vec<wgpu::Adapter> {
    let instance = wgpu::Instance::default();
    let mut adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    adapters.sort_by_key(|adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    adapters
}

/// Returns the names of all adapters, the fastest kind first.
pub(crate) fn names() -> Vec<String> {
    adapters().iter().map(|adapter| adapter.get_info().name).collect()
}

impl Context {
    /// Opens the first adapter whose name contains `name`.
    pub(crate) fn new(name: &str, setup: Setup) -> Result<Self> {
        let found = adapters().into_iter().find(|adapter| adapter.get_info().name.contains(name));
        let adapter = found.ok_or_else(|| {
            let names = names();
            match names.is_empty() {
                true => failed("no adapter of Vulkan, Metal or DirectX 12 was found; install a driver, or use Threads"),
                false => failed(format!("no adapter is named {name:?}; there are {names:?}")),
            }
        })?;
        let limits = adapter.limits();
        let asked = wgpu::DeviceDescriptor { required_limits: limits.clone(), ..Default::default() };
        let opened = pollster::block_on(adapter.request_device(&asked));
        let (device, queue) = opened.map_err(|error| failed(format!("the adapter does not open: {error}")))?;
        let failure = Arc::new(Mutex::new(None));
        let (lost, wrong) = (Arc::clone(&failure), Arc::clone(&failure));
        device.set_device_lost_callback(move |reason, why| *locked(&lost) = Some(format!("{reason:?}: {why}")));
        device.on_uncaptured_error(Arc::new(move |error| *locked(&wrong) = Some(error.to_string())));
        let max_array_bytes = limits.max_buffer_size.min(setup.max_array_bytes);
        let max_bytes = limits.max_storage_buffer_binding_size.min(max_array_bytes).min(setup.max_bytes);
        let setup = Setup { max_array_bytes, max_bytes, ..setup };
        let (name, budget) = (adapter.get_info().name, AtomicU64::new(u64::MAX));
        let (live, plans, ring, reads, pipelines, pending) = Default::default();
        Ok(Context {
            device,
            queue,
            limits,
            name,
            setup,
            live,
            budget,
            plans,
            ring,
            reads,
            pipelines,
            pending,
            failure,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the invocations of a workgroup.
    pub(crate) fn group(&self) -> u64 {
        self.setup.group.into()
    }

    /// Returns the bytes of the largest part of an array that a kernel reads.
    pub(crate) fn max_bytes(&self) -> u64 {
        self.setup.max_bytes
    }

    /// Returns the bytes of the largest array.
    pub(crate) fn max_array_bytes(&self) -> u64 {
        self.setup.max_array_bytes
    }

    /// Returns the texts of the kernels that have run.
    pub(crate) fn texts(&self) -> Vec<String> {
        locked(&self.pipelines).keys().cloned().collect()
    }

    /// Returns how often the device was read.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Sets the largest number of bytes of all arrays.
    pub(crate) fn set_budget(&self, bytes: u64) {
        self.budget.store(bytes, Ordering::Relaxed);
    }

    /// Adds plans that are freed when memory is short.
    pub(crate) fn register(&self, plans: &Arc<impl Plans>) {
        let mut known = locked(&self.plans);
        known.retain(|plans| plans.strong_count() > 0);
        let plans: Weak<dyn Plans> = Arc::downgrade(plans) as _;
        known.push(plans);
    }

    /// Returns the plans that are in use.
    pub(crate) fn plans(&self) -> Vec<Arc<dyn Plans>> {
        locked(&self.plans).iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the error of an array that is too large for a kernel.
    pub(crate) fn too_large(&self, bytes: u64) -> Error {
        let (what, limit) = ("an array on the device", self.max_bytes());
        Error::TooLarge { what, bytes: bytes.into(), limit, instead: "use Threads" }
    }

    /// Returns the largest number of arrays that a kernel reads and writes.
    pub(crate) fn max_arrays(&self) -> usize {
        self.limits.max_storage_buffers_per_shader_stage as usize
    }

    /// Submits the kernels that are pending, and waits for them.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut pending = locked(&self.pending);
        let (encoder, _) = self.encoder(&mut pending);
        self.queue.submit([encoder.finish()]);
        drop(pending);
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        waited.map_err(|error| failed(error.to_string()))?;
        self.check()
    }

    /// Gives the device up, as if it were lost.
    pub(crate) fn destroy(&self) {
        self.device.destroy();
    }

    fn check(&self) -> Result<()> {
        match &*locked(&self.failure) {
            Some(cause) => Err(failed(format!("the device {} failed: {cause}", self.name))),
            None => Ok(()),
        }
    }

    /// Returns an array of zeros. If memory is short, plans are freed first.
    pub(crate) fn zeros(&self, count: u64) -> Result<Words> {
        // A kernel needs one item, of two words at most.
        let bytes = 4 * count.max(2);
        if bytes > self.max_array_bytes() {
            return Err(self.too_large(bytes));
        }
        match self.allocated(count, bytes) {
            Err(Error::OutOfMemory { .. } | Error::TooLarge { .. }) if !self.plans().is_empty() => {
                self.plans().iter().for_each(|plans| plans.free());
                // Arrays live until the kernels that use them have run.
                self.wait()?;
                self.allocated(count, bytes)
            }
            found => found,
        }
    }

    fn allocated(&self, count: u64, bytes: u64) -> Result<Words> {
        self.check()?;
        let (budget, all) =
            (self.budget.load(Ordering::Relaxed), self.live.fetch_add(bytes, Ordering::Relaxed) + bytes);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let asked = wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false };
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let live = Arc::clone(&self.live);
        if all > budget {
            self.live.fetch_sub(bytes, Ordering::Relaxed);
            let (what, instead) = ("all arrays on the device", "set a larger budget, or use Threads");
            return Err(Error::TooLarge { what, bytes: all.into(), limit: budget, instead });
        }
        let array = Arc::new(Array { buffer: self.device.create_buffer(&asked), bytes, live });
        match pollster::block_on(scope.pop()) {
            Some(_) => Err(Error::OutOfMemory { bytes: bytes.into() }),
            None => Ok(Words { array, count }),
        }
    }

    /// Copies bytes to the device, padded with zeros to words.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Words> {
        let words = self.zeros(bytes.len().div_ceil(4) as u64)?;
        let (even, rest) = bytes.split_at(bytes.len() / 4 * 4);
        match even.len() {
            0 => {}
            count if count < DIRECT => self.queue.write_buffer(&words.array.buffer, 0, even),
            _ => locked(&self.ring).copy(&self.device, &self.queue, even, &words.array.buffer)?,
        }
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            self.queue.write_buffer(&words.array.buffer, even.len() as u64, &last);
        }
        self.check()?;
        Ok(words)
    }

    /// Copies the first `bytes` of an array to memory.
    pub(crate) fn download(&self, words: &Words, bytes: usize) -> Result<Vec<u8>> {
        let mut found = with_capacity(bytes)?;
        while found.len() < bytes {
            let count = (bytes - found.len()).min(PIECE);
            let piece = self.piece(words, found.len() as u64, count.next_multiple_of(4) as u64)?;
            found.extend_from_slice(&piece[..count]);
        }
        Ok(found)
    }

    /// Copies bytes at an offset to memory; both are multiples of 4.
    fn piece(&self, words: &Words, offset: u64, size: u64) -> Result<Vec<u8>> {
        self.check()?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let asked = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let staging = self.device.create_buffer(&asked);
        let mut pending = locked(&self.pending);
        let (mut encoder, _) = self.encoder(&mut pending);
        encoder.copy_buffer_to_buffer(&words.array.buffer, offset, &staging, 0, size);
        self.queue.submit([encoder.finish()]);
        drop(pending);
        staging.slice(..).map_async(wgpu::MapMode::Read, |_| ());
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        waited.map_err(|error| failed(error.to_string()))?;
        self.check()?;
        let view = staging.slice(..).get_mapped_range().map_err(|error| failed(error.to_string()))?;
        Ok(view.to_vec())
    }

    /// Returns one word of an array.
    pub(crate) fn word(&self, words: &Words, at: u64) -> Result<u32> {
        let bytes = self.piece(words, 4 * at, 4)?;
        Ok(bytemuck::pod_read_unaligned(&bytes))
    }

    /// Runs a kernel after the kernels that ran before. `arrays` are its arrays, in order.
    pub(crate) fn run(&self, kernel: &Kernel, arrays: &[&Words], params: impl Into<Params>, size: Size) -> Result<()> {
        let parts = arrays.iter().map(|words| (*words, 0, words.bytes())).collect::<Vec<_>>();
        self.dispatch(kernel, &parts, &params.into(), size)
    }

    /// Runs a kernel on `count` items, as often as it takes if an array is larger than a kernel reads. Parameter 0 is
    /// the number of items of a run, and `size` the size of a run with this number.
    pub(crate) fn run_in_windows(
        &self,
        kernel: &Kernel,
        arrays: &[Windowed<'_>],
        params: impl Into<Params>,
        count: u64,
        size: impl Fn(u64) -> Size,
    ) -> Result<()> {
        let widest = arrays.iter().map(|array| if let Windowed::Items(_, bits) = array { *bits } else { 0 }).max();
        let most = 8 * self.max_bytes() / u64::from(widest.unwrap_or(1).max(1));
        let most = if count <= most { count.max(1) } else { most / WINDOW * WINDOW };
        if most == 0 {
            return Err(self.too_large(WINDOW * 8));
        }
        let mut params = params.into();
        for start in (0..count).step_by(most as usize) {
            let length = most.min(count - start);
            let parts: Vec<_> = arrays
                .iter()
                .map(|array| match *array {
                    Windowed::Whole(words) => (words, 0, words.bytes()),
                    Windowed::Items(words, bits) => {
                        let bits = u64::from(bits);
                        (words, start * bits / 8, (length * bits).div_ceil(8).next_multiple_of(4))
                    }
                })
                .collect();
            params.set_window(start as u32, length as u32);
            self.dispatch(kernel, &parts, &params, size(length))?;
        }
        Ok(())
    }

    /// Runs a kernel on parts of arrays: each from an offset on, with this number of bytes.
    fn dispatch(&self, kernel: &Kernel, parts: &[(&Words, u64, u64)], params: &Params, size: Size) -> Result<()> {
        let groups = match size {
            Size::Invocations(count) => count.div_ceil(self.group()),
            Size::Groups(count) => count,
        };
        if groups == 0 {
            return Ok(());
        }
        if let Some(&(_, _, bytes)) = parts.iter().find(|&&(_, _, bytes)| bytes > self.max_bytes()) {
            return Err(self.too_large(bytes));
        }
        self.check()?;
        let pipeline = self.pipeline(kernel)?;
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let words: &[u8] = bytemuck::cast_slice(params.words());
        let asked = wgpu::BufferDescriptor { label: None, size: words.len() as u64, usage, mapped_at_creation: false };
        let uniform = self.device.create_buffer(&asked);
        self.queue.write_buffer(&uniform, 0, words);
        let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: uniform.as_entire_binding() }];
        entries.extend(parts.iter().zip(1..).map(|(&(words, offset, bytes), binding)| {
            let bound = wgpu::BufferBinding { buffer: &words.array.buffer, offset, size: NonZeroU64::new(bytes) };
            wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::Buffer(bound) }
        }));
        let layout = pipeline.get_bind_group_layout(0);
        let asked = wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries };
        let bound = self.device.create_bind_group(&asked);
        let mut pending = locked(&self.pending);
        let (mut encoder, before) = self.encoder(&mut pending);
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bound, &[]);
        let wide = groups.min(MAX_GROUPS);
        pass.dispatch_workgroups(wide as u32, groups.div_ceil(wide) as u32, 1);
        drop(pass);
        // Large work is handed over at once, so that its arrays do not wait for each other.
        match before + groups {
            all if all < MAX_PENDING => *pending = Some((encoder, all)),
            _ => drop(self.queue.submit([encoder.finish()])),
        }
        self.check()
    }

    /// Returns the encoder of the kernels that are to run, and the number of their workgroups. No other thread may hand
    /// anything over before this encoder, so the lock is held until then.
    fn encoder(&self, pending: &mut Option<(wgpu::CommandEncoder, u64)>) -> (wgpu::CommandEncoder, u64) {
        pending.take().unwrap_or_else(|| (self.device.create_command_encoder(&Default::default()), 0))
    }

    /// Returns a kernel as the device runs it. A text is compiled once.
    fn pipeline(&self, kernel: &Kernel) -> Result<wgpu::ComputePipeline> {
        let mut text = kernel.text(self.setup.group);
        if let Some((from, to)) = &self.setup.altered {
            text = text.replace(from, to);
        }
        if let Some(found) = locked(&self.pipelines).get(&text) {
            return Ok(found.clone());
        }
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let source = wgpu::ShaderSource::Wgsl(text.as_str().into());
        let module =
            self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(kernel.name), source });
        let entries: Vec<_> = std::iter::once(wgpu::BufferBindingType::Uniform)
            .chain(kernel.are_read_only().map(|read_only| wgpu::BufferBindingType::Storage { read_only }))
            .zip(0..)
            .map(|(ty, binding)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            })
            .collect();
        // A layout that wgpu derives leaves out the arrays that a kernel does not use.
        let asked = wgpu::BindGroupLayoutDescriptor { label: Some(kernel.name), entries: &entries };
        let arrays = self.device.create_bind_group_layout(&asked);
        let asked = wgpu::PipelineLayoutDescriptor {
            label: Some(kernel.name),
            bind_group_layouts: &[Some(&arrays)],
            ..Default::default()
        };
        let layout = self.device.create_pipeline_layout(&asked);
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(kernel.name),
            layout: Some(&layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        if let Some(error) = pollster::block_on(scope.pop()) {
            return Err(failed(format!("the kernel {} does not compile: {error}", kernel.name)));
        }
        locked(&self.pipelines).insert(text, pipeline.clone());
        Ok(pipeline)
    }
}
