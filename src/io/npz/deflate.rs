//! Members deflated on several threads, in independent blocks. The bytes are therefore identical for any number of
//! threads.

use std::io::{Cursor, Write};
use std::mem::take;

use flate2::{Compress, Compression, Crc, FlushCompress};
use zip::ZipArchive;

use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::threads::pipeline::pipeline;

/// The bytes of a block. At the start of a block the compression is worse; with this size, the file grows by about 0.1
/// %.
const BLOCK: usize = 1 << 20;

/// The number of blocks that are deflated at once.
const AT_ONCE: usize = 16;

/// The end of deflated data: an empty block that is marked as the last block.
const LAST: [u8; 2] = [3, 0];

/// The bytes of a member's own header before the name.
const HEADER: usize = 30;

/// The maximum bytes of a member that is deflated on several threads. The member is in memory until it is deflated,
/// because its length precedes it in the file. Longer members are deflated by one thread, and written block by block.
pub(super) const MAX_DEFLATED: usize = 128 << 20;

/// A member being deflated: a separate archive, from which the member is copied unchanged.
pub(super) struct DeflatedMember {
    name: String,
    /// The room for the header, and the deflated bytes so far.
    archive: Vec<u8>,
    full: Vec<Vec<u8>>,
    block: Vec<u8>,
    crc: Crc,
}

impl DeflatedMember {
    pub(super) fn new(name: String) -> Self {
        let archive = vec![0; HEADER + name.len()];
        DeflatedMember { name, archive, full: Vec::new(), block: Vec::new(), crc: Crc::new() }
    }

    /// Returns an archive with only this member.
    pub(super) fn finish(mut self) -> Result<ZipArchive<Cursor<Vec<u8>>>> {
        if !self.block.is_empty() {
            self.full.push(take(&mut self.block));
        }
        self.deflate()?;
        alloc::extend(&mut self.archive, &LAST)?;
        let start = HEADER + self.name.len();
        let [packed, whole] = [self.archive.len() - start, self.crc.amount() as usize].map(|bytes| bytes as u32);
        let same =
            [&fields(&[20, 0, 8, 0, DATE])[..], &words(&[self.crc.sum(), packed, whole]), &self.lengths()].concat();
        let header = [b"PK\x03\x04", &same[..], self.name.as_bytes()].concat();
        self.archive[..start].copy_from_slice(&header);
        let attributes = [&fields(&[0, 0, 0])[..], &words(&[MODE << 16, 0])].concat();
        let listed = [b"PK\x01\x02", &fields(&[UNIX])[..], &same, &attributes, self.name.as_bytes()].concat();
        let at = words(&[listed.len() as u32, self.archive.len() as u32]);
        let end = [b"PK\x05\x06", &fields(&[0, 0, 1, 1])[..], &at, &fields(&[0])].concat();
        alloc::extend(&mut self.archive, &[listed, end].concat())?;
        ZipArchive::new(Cursor::new(self.archive)).map_err(|error| std::io::Error::from(error).into())
    }

    /// Returns the lengths of the name and of the extra field.
    fn lengths(&self) -> Vec<u8> {
        fields(&[self.name.len() as u16, 0])
    }

    /// Deflates the full blocks.
    fn deflate(&mut self) -> Result<()> {
        let DeflatedMember { archive, full, crc, .. } = self;
        let mut blocks = take(full).into_iter();
        pipeline(
            || Ok::<_, Error>(blocks.next()),
            |block: Vec<u8>| deflated(&block),
            |block: Allocated<(Vec<u8>, Crc)>| {
                let (bytes, sum) = block?;
                crc.combine(&sum);
                Ok(alloc::extend(archive, &bytes)?)
            },
        )
    }
}

impl Write for DeflatedMember {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.block.capacity() == 0 {
            self.block = alloc::with_capacity(BLOCK).map_err(Error::from)?;
        }
        let taken = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..taken]);
        if self.block.len() == BLOCK {
            self.full.push(take(&mut self.block));
        }
        if self.full.len() == AT_ONCE {
            self.deflate()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The first date of a zip archive, 1 January 1980, as `zip` writes it.
const DATE: u16 = 0x21;

/// The origin of a member: Unix, version 2.0.
const UNIX: u16 = 3 << 8 | 20;

/// The mode of a file that its owner may write and everyone may read.
const MODE: u32 = 0o100_644;

fn fields(fields: &[u16]) -> Vec<u8> {
    fields.iter().flat_map(|field| field.to_le_bytes()).collect()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns a block deflated up to a byte boundary, and its checksum.
fn deflated(block: &[u8]) -> Allocated<(Vec<u8>, Crc)> {
    let mut packer = Compress::new(Compression::default(), false);
    // Incompressible data are stored, with five more bytes per 16 KiB.
    let mut packed = alloc::with_capacity(block.len() + block.len() / 1000 + 100)?;
    // `DeflateEncoder` is not used: if its buffer is full, its `flush` omits the end of the block.
    while packer.total_in() < block.len() as u64 || packed.len() == packed.capacity() {
        alloc::reserve(&mut packed, 100)?;
        let left = &block[packer.total_in() as usize..];
        packer.compress_vec(left, &mut packed, FlushCompress::Sync).expect("bytes in order are deflated");
    }
    let mut crc = Crc::new();
    crc.update(block);
    Ok((packed, crc))
}
