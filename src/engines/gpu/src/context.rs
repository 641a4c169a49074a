//! The device: adapters, arrays, kernels and their runs. Only this file names wgpu.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lacuna::{Error, Result};

use crate::kernel::{Kernel, PARAMS};

/// The invocations of a workgroup.
pub(crate) const GROUP: u32 = 256;
/// The bytes that are written or read at a time, because each piece is copied on its way.
const PIECE: usize = 16 << 20;
/// The largest number of items that kernels number. The last workgroups number more, and must not reach 2^32.
pub(crate) const MOST_ITEMS: u64 = 1 << 31;
/// The largest number of workgroups on an axis of a dispatch.
const MOST_GROUPS: u64 = 65_535;

/// The number of workgroups that wait until the device gets them together.
const MOST_PENDING: u64 = 4096;

/// An adapter with its compiled kernels.
pub(crate) struct Context {
    device: wgpu::Device,
    queue: wgpu::Queue,
    limits: wgpu::Limits,
    name: String,
    /// The bytes of the largest array that a kernel reads.
    most_bytes: u64,
    /// A text in all kernels, and the text that replaces it.
    altered: Option<(String, String)>,
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
    buffer: wgpu::Buffer,
    count: u64,
}

impl Words {
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

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
    /// Opens the first adapter whose name contains `name`. No array may be larger than `most_bytes`.
    pub(crate) fn new(name: &str, most_bytes: u64, altered: Option<(String, String)>) -> Result<Self> {
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
        let most_bytes = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(most_bytes);
        let (name, pipelines, pending) = (adapter.get_info().name, Mutex::default(), Mutex::default());
        Ok(Context { device, queue, limits, name, most_bytes, altered, pipelines, pending, failure })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bytes of the largest array that a kernel reads.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Returns the error of an array that is too large.
    pub(crate) fn too_large(&self, bytes: u64) -> Error {
        let (what, limit) = ("an array on the device", self.most_bytes);
        Error::TooLarge { what, bytes: bytes.into(), limit, instead: "use Threads" }
    }

    /// Returns the largest number of arrays that a kernel reads and writes.
    pub(crate) fn most_arrays(&self) -> usize {
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

    /// Returns an array of zeros.
    pub(crate) fn zeros(&self, count: u64) -> Result<Words> {
        // A kernel needs one item, of two words at most.
        let size = 4 * count.max(2);
        if size > self.most_bytes() {
            return Err(self.too_large(size));
        }
        self.check()?;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let asked = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&asked);
        match pollster::block_on(scope.pop()) {
            Some(_) => Err(Error::OutOfMemory { bytes: size.into() }),
            None => Ok(Words { buffer, count }),
        }
    }

    /// Copies bytes to the device, padded with zeros to words.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Words> {
        let words = self.zeros(bytes.len().div_ceil(4) as u64)?;
        for (at, piece) in bytes.chunks(PIECE).enumerate() {
            let offset = (at * PIECE) as u64;
            let (even, rest) = piece.split_at(piece.len() / 4 * 4);
            self.queue.write_buffer(&words.buffer, offset, even);
            if !rest.is_empty() {
                let mut last = [0; 4];
                last[..rest.len()].copy_from_slice(rest);
                self.queue.write_buffer(&words.buffer, offset + even.len() as u64, &last);
            }
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
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let asked = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let staging = self.device.create_buffer(&asked);
        let mut pending = locked(&self.pending);
        let (mut encoder, _) = self.encoder(&mut pending);
        encoder.copy_buffer_to_buffer(&words.buffer, offset, &staging, 0, size);
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
    pub(crate) fn run(&self, kernel: &Kernel, arrays: &[&Words], params: &[u32], size: Size) -> Result<()> {
        let groups = match size {
            Size::Invocations(count) => count.div_ceil(u64::from(GROUP)),
            Size::Groups(count) => count,
        };
        if groups == 0 {
            return Ok(());
        }
        self.check()?;
        let pipeline = self.pipeline(kernel)?;
        let mut words = [0; PARAMS];
        words[..params.len()].copy_from_slice(params);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let asked = wgpu::BufferDescriptor { label: None, size: 4 * PARAMS as u64, usage, mapped_at_creation: false };
        let uniform = self.device.create_buffer(&asked);
        self.queue.write_buffer(&uniform, 0, bytemuck::cast_slice(&words));
        let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: uniform.as_entire_binding() }];
        entries.extend(arrays.iter().zip(1..).map(|(words, binding)| {
            let size = NonZeroU64::new(4 * words.count.max(2));
            let bound = wgpu::BufferBinding { buffer: &words.buffer, offset: 0, size };
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
        let wide = groups.min(MOST_GROUPS);
        pass.dispatch_workgroups(wide as u32, groups.div_ceil(wide) as u32, 1);
        drop(pass);
        // Large work is handed over at once, so that its arrays do not wait for each other.
        match before + groups {
            all if all < MOST_PENDING => *pending = Some((encoder, all)),
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
        let mut text = kernel.text(GROUP);
        if let Some((from, to)) = &self.altered {
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
