//! The description of a folder of tables in `_lacuna.json`: the tensor, and the entries in each table.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::description::{DAMAGED, Description, Extent, at_key, checksum, parsed};
use super::json::Json;
use crate::base::error::{Error, Result};
use crate::base::limit::guard;

/// The name of the manifest in its folder.
pub(super) const MANIFEST: &str = "_lacuna.json";

/// The maximum bytes of a manifest, for about twenty thousand parts. A parsed manifest takes several times as many
/// bytes.
const MAX_BYTES: u64 = 4 << 20;

/// A table of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TablePart {
    /// The name of the file in the folder.
    pub(super) file: String,
    pub(super) bytes: u64,
    pub(super) extent: Extent,
}

/// A folder of tables: the entries of each table follow the entries of the previous table.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    /// The description of the tensor, with the facts about all entries.
    pub(super) described: Description,
    /// True if all bytes of the parts have checksums.
    pub(super) are_checked: bool,
    pub(super) parts: Vec<TablePart>,
}

impl Manifest {
    /// Reads the manifest of a folder.
    pub(super) fn read(folder: &Path) -> Result<Manifest> {
        let file = match File::open(folder.join(MANIFEST)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing()),
            file => file?,
        };
        let (length, mut text) = (file.metadata()?.len(), Vec::new());
        file.take(MAX_BYTES + 1).read_to_end(&mut text)?;
        check_length(length.max(text.len() as u64))?;
        Manifest::parse(&String::from_utf8_lossy(&text))
    }

    pub(super) fn parse(text: &str) -> Result<Manifest> {
        check_length(text.len() as u64)?;
        let json = parsed(text, MANIFEST)?;
        let parts = json.get("parts").and_then(Json::list);
        let parts = parts.ok_or_else(|| at_key("parts", "it is not a list"))?;
        // The checksum of the entire manifest is compared below.
        let described = Description::of_members(&json, MANIFEST)?;
        let part = |(number, part)| TablePart::of(part, described.shape.rank(), &format!("parts, number {number}"));
        let parts = parts.iter().enumerate().map(part).collect::<Result<_>>()?;
        let are_checked = json.get("checked") == Some(&Json::Truth(true));
        let manifest = Manifest { described, are_checked, parts };
        if json.get("checksum").and_then(Json::text) != Some(&checksum(&manifest.members())) {
            return Err(at_key("checksum", DAMAGED));
        }
        manifest.check()?;
        Ok(manifest)
    }

    /// Compares the parts with each other, and all parts together with the description.
    fn check(&self) -> Result<()> {
        let (mut all, mut names) = (Extent::default(), BTreeSet::new());
        for (number, part) in self.parts.iter().enumerate() {
            let wrong = |message: &str| Err(at_key(&format!("parts, number {number}"), message));
            if !names.insert(part.file.as_str()) {
                return wrong("its file is also the file of another part");
            }
            if !all.is_before(&part.extent) {
                return wrong("its entries are not sorted after the entries of the previous part");
            }
            if all.append(&part.extent).is_none() {
                return wrong("the number of entries exceeds the largest count");
            }
        }
        match self.described.extent.as_ref() == Some(&all) {
            true => Ok(()),
            false => Err(at_key("entries", "their total does not match the parts")),
        }
    }

    /// Returns the text of the manifest.
    pub(super) fn to_text(&self) -> String {
        let members = self.members();
        format!("{{\"version\":1{members},\n\"checksum\":\"{}\"}}\n", checksum(&members))
    }

    /// Returns the text of all members except the first member and the checksum, which covers this text.
    fn members(&self) -> String {
        let mut text = String::new();
        self.described.write_members(&mut text);
        text.push_str(if self.are_checked { ",\"checked\":true" } else { "" });
        text.push_str(",\n\"parts\":[");
        for (number, part) in self.parts.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(text, "{comma}\n{{\"file\":\"{}\",\"bytes\":{}", part.file, part.bytes);
            part.extent.write_members(&mut text);
            text.push('}');
        }
        text + "]"
    }
}

impl TablePart {
    fn of(json: &Json, rank: usize, place: &str) -> Result<TablePart> {
        let file = json.get("file").and_then(Json::text).filter(|name| is_plain(name));
        let file = file.ok_or_else(|| at_key(place, "its file is not the name of a file in the folder"))?;
        let bytes = json.get("bytes").and_then(Json::number);
        let bytes = bytes.ok_or_else(|| at_key(place, "its bytes are not a number"))?;
        Ok(TablePart { file: file.into(), bytes, extent: Extent::of(json, rank, place)? })
    }
}

fn check_length(bytes: u64) -> Result<()> {
    let instead = "write fewer and larger parts";
    guard::<u8>("the manifest", bytes.into(), MAX_BYTES, instead)
}

/// Returns whether a name is the name of a file directly in the folder, on any system, and does not need escapes in
/// JSON.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.len() <= 255 && name.bytes().all(is_plain) && !name.starts_with(['.', '_']) && !name.is_empty()
}

fn missing() -> Error {
    let message = format!(
        "the folder has no {MANIFEST}: it is not a tensor, or writing was interrupted; read tables from other \
         programs file by file"
    );
    Error::Format { place: "the folder".into(), message }
}
