//! A ring of mapped buffers, through which arrays are copied to the device.

use std::collections::VecDeque;

use lacuna::Result;
use rayon::prelude::*;

use crate::context::failed;

/// The bytes of a buffer.
const PIECE: usize = 16 << 20;
/// The number of buffers.
const BUFFERS: usize = 4;
/// The bytes that a thread copies at a time.
const PART: usize = 1 << 20;

/// Buffers in memory that the device reads. While it reads one, threads fill the next one.
#[derive(Default)]
pub(crate) struct Ring(VecDeque<(wgpu::Buffer, Option<wgpu::SubmissionIndex>)>);

impl Ring {
    /// Copies bytes, a multiple of 4, to the start of an array.
    pub(crate) fn copy(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        bytes: &[u8],
        to: &wgpu::Buffer,
    ) -> Result<()> {
        for (at, piece) in bytes.chunks(PIECE).enumerate() {
            let buffer = self.next(device)?;
            let slice = buffer.slice(..piece.len() as u64);
            slice.map_async(wgpu::MapMode::Write, |_| ());
            waited(device.poll(wgpu::PollType::Poll))?;
            filled(&buffer, piece)?;
            buffer.unmap();
            let mut encoder = device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(&buffer, 0, to, (at * PIECE) as u64, piece.len() as u64);
            self.0.push_back((buffer, Some(queue.submit([encoder.finish()]))));
        }
        Ok(())
    }

    /// Returns a buffer that the device does not read any more.
    fn next(&mut self, device: &wgpu::Device) -> Result<wgpu::Buffer> {
        if self.0.len() < BUFFERS {
            let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
            let size = PIECE as u64;
            let asked = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
            return Ok(device.create_buffer(&asked));
        }
        let (buffer, submitted) = self.0.pop_front().ok_or_else(|| failed("the ring has no buffer"))?;
        if submitted.is_some() {
            waited(device.poll(wgpu::PollType::Wait { submission_index: submitted, timeout: None }))?;
        }
        Ok(buffer)
    }
}

fn waited<T>(found: std::result::Result<T, wgpu::PollError>) -> Result<()> {
    found.map(|_| ()).map_err(|error| failed(error.to_string()))
}

/// Copies bytes to a mapped buffer, by all threads.
fn filled(buffer: &wgpu::Buffer, piece: &[u8]) -> Result<()> {
    piece.par_chunks(PART).enumerate().try_for_each(|(at, part)| {
        let (start, length) = ((at * PART) as u64, part.len() as u64);
        let view = buffer.get_mapped_range_mut(start..start + length);
        view.map_err(|error| failed(error.to_string()))?.copy_from_slice(part);
        Ok(())
    })
}
