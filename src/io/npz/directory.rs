//! The names of members, which an archive has twice: in the directory at its end, and before each member.
//!
//! The directory does not have a checksum. A damaged name in the directory would hide an optional member, such as the
//! fill.

use std::io::{Read, Seek, SeekFrom};

use hashbrown::HashSet;

use crate::base::error::{Error, Result};
use crate::io::fields::quote;

/// The bytes of a member's own header before the name, and the position of the name's length in the header.
const OWN: (usize, usize) = (30, 26);

/// The same numbers for the directory, where the lengths of the extra field and of the comment follow.
const LISTED: (usize, usize) = (46, 28);

/// Rejects a member whose own header has another name than the directory. `listed` has the names in the directory and
/// the positions of the headers.
pub(super) fn check_names(reader: &mut (impl Read + Seek), listed: Vec<(u64, Vec<u8>)>) -> Result<()> {
    for (start, name) in listed {
        reader.seek(SeekFrom::Start(start))?;
        let mut header = [0; OWN.0];
        reader.read_exact(&mut header)?;
        let own = read_bytes(reader, u16_at(&header, OWN.1))?;
        if own != name {
            let message = format!("has a different name in its local header, `{}`", quote(&own));
            return Err(Error::Format { place: format!("member {}", quote(&name)), message });
        }
    }
    Ok(())
}

/// Returns the first repeated name in the directory, which starts at `start`.
pub(super) fn repeated_name(reader: &mut (impl Read + Seek), start: u64) -> Result<Option<Vec<u8>>> {
    reader.seek(SeekFrom::Start(start))?;
    let mut names = HashSet::new();
    loop {
        let mut header = [0; LISTED.0];
        reader.read_exact(&mut header)?;
        if !header.starts_with(b"PK\x01\x02") {
            return Ok(None);
        }
        let [name, extra, comment] = [0, 2, 4].map(|behind| u16_at(&header, LISTED.1 + behind));
        let name = read_bytes(reader, name)?;
        if !names.insert(name.clone()) {
            return Ok(Some(name));
        }
        reader.seek(SeekFrom::Current(i64::from(extra) + i64::from(comment)))?;
    }
}

fn u16_at(header: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([header[at], header[at + 1]])
}

fn read_bytes(reader: &mut impl Read, count: u16) -> Result<Vec<u8>> {
    let mut bytes = vec![0; count.into()];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}
