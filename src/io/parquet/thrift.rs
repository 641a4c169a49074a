//! Thrift's compact protocol, in which footers and page headers are written. The bytes are read in place, and memory is
//! not allocated for a number of elements that is only claimed.
//!
//! Functions return `None` for bytes that violate the protocol or end too early.

/// The maximum nesting depth of structures that are skipped.
const DEEPEST: usize = 16;

/// The kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    True,
    False,
    Byte,
    /// Integers of 16, 32 or 64 bits. All these integers are encoded in the same way.
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

impl Wire {
    fn of(nibble: u8) -> Option<Wire> {
        Some(match nibble {
            1 => Wire::True,
            2 => Wire::False,
            3 => Wire::Byte,
            4..=6 => Wire::Integer,
            7 => Wire::Double,
            8 => Wire::Binary,
            9 | 10 => Wire::List,
            11 => Wire::Map,
            12 => Wire::Struct,
            _ => return None,
        })
    }
}

/// Bytes, and the number of bytes that were read.
#[derive(Debug, Clone)]
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Thrift { bytes, at: 0 }
    }

    /// Returns the number of bytes read so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn varint(&mut self) -> Option<u64> {
        let (value, length) = varint(&self.bytes[self.at..])?;
        self.at += length;
        Some(value)
    }

    /// Reads an integer of 16, 32 or 64 bits.
    pub(super) fn integer(&mut self) -> Option<i64> {
        self.varint().map(zigzag)
    }

    /// Reads an integer that is a count.
    pub(super) fn count(&mut self) -> Option<u64> {
        u64::try_from(self.integer()?).ok()
    }

    pub(super) fn binary(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.varint()?).ok()?;
        self.take(count)
    }

    /// Reads the head of a list: the kind and the number of its elements. Each element takes at least one byte, so the
    /// remaining bytes limit the number.
    pub(super) fn list(&mut self) -> Option<(Wire, usize)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            few => usize::from(few),
        };
        // Some writers declare an invalid kind for an empty list.
        let wire = if count == 0 { Wire::Byte } else { Wire::of(head & 15)? };
        (count <= self.left()).then_some((wire, count))
    }

    /// Reads a list of structures, each with `read`.
    pub(super) fn structs(&mut self, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let (wire, count) = self.list()?;
        (count == 0 || wire == Wire::Struct).then_some(())?;
        (0..count).try_for_each(|_| read(self))
    }

    /// Reads a structure: `visit` receives the number and the kind of each field, and reads its value or leaves it
    /// unread.
    pub(super) fn fields(&mut self, mut visit: impl FnMut(&mut Self, i64, Wire) -> Option<()>) -> Option<()> {
        let mut number = 0;
        while let Some((next, wire)) = self.field(number)? {
            number = next;
            let before = self.at;
            visit(self, number, wire)?;
            // The kind of a bool field contains the value, so no bytes follow.
            if self.at == before {
                self.skip(wire, DEEPEST)?;
            }
        }
        Some(())
    }

    /// Reads the number and the kind of the next field, or `None` after the last field.
    #[allow(clippy::option_option)]
    fn field(&mut self, before: i64) -> Option<Option<(i64, Wire)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        let number = match head >> 4 {
            0 => self.integer()?,
            ahead => before.checked_add(i64::from(ahead))?,
        };
        Some(Some((number, Wire::of(head & 15)?)))
    }

    fn skip(&mut self, wire: Wire, depth: usize) -> Option<()> {
        match wire {
            Wire::True | Wire::False => Some(()),
            Wire::Byte => self.byte().map(|_| ()),
            Wire::Integer => self.varint().map(|_| ()),
            Wire::Double => self.take(8).map(|_| ()),
            Wire::Binary => self.binary().map(|_| ()),
            Wire::List => {
                let (wire, count) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(wire, depth.checked_sub(1)?))
            }
            Wire::Map => self.skip_map(depth.checked_sub(1)?),
            Wire::Struct => {
                let (mut number, depth) = (0, depth.checked_sub(1)?);
                while let Some((next, wire)) = self.field(number)? {
                    number = next;
                    self.skip(wire, depth)?;
                }
                Some(())
            }
        }
    }

    /// Skips an element of a list. In a list, a bool is one byte.
    fn skip_element(&mut self, wire: Wire, depth: usize) -> Option<()> {
        match wire {
            Wire::True | Wire::False => self.byte().map(|_| ()),
            wire => self.skip(wire, depth),
        }
    }

    fn skip_map(&mut self, depth: usize) -> Option<()> {
        let count = usize::try_from(self.varint()?).ok()?;
        if count == 0 {
            return Some(());
        }
        (count <= self.left()).then_some(())?;
        let kinds = self.byte()?;
        let (key, value) = (Wire::of(kinds >> 4)?, Wire::of(kinds & 15)?);
        (0..count).try_for_each(|_| {
            self.skip_element(key, depth)?;
            self.skip_element(value, depth)
        })
    }
}

/// Reads an integer in groups of seven bits, lowest group first, and returns it with its number of bytes.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 127).checked_shl(7 * at as u32)?;
        if byte < 128 {
            return Some((value, at + 1));
        }
    }
    None
}

/// Decodes an integer whose sign is in the lowest bit.
pub(super) fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Encodes an integer with its sign in the lowest bit.
fn zagged(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Structures that are being written.
#[derive(Default)]
pub(super) struct ThriftWriter(pub(super) Vec<u8>);

impl ThriftWriter {
    fn varint(&mut self, mut value: u64) {
        while value >= 128 {
            self.0.push(value as u8 | 128);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Writes the next fields, each an integer of 32 bits.
    pub(super) fn integers(&mut self, values: &[i64]) {
        for &value in values {
            self.0.push(0x15);
            self.varint(zagged(value));
        }
    }

    /// Begins the next field, a structure.
    pub(super) fn begin_struct(&mut self) {
        self.0.push(0x1c);
    }

    /// Ends the structure that was begun last.
    pub(super) fn end(&mut self) {
        self.0.push(0);
    }

    /// Writes a field of bytes. The field may have any number.
    pub(super) fn binary(&mut self, number: i64, bytes: &[u8]) {
        self.0.push(0x08);
        self.varint(zagged(number));
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_length() {
        for value in [0, 1, -1, 63, -64, 64, i64::MAX, i64::MIN] {
            let mut output = ThriftWriter::default();
            output.varint(zagged(value));
            let bytes = output.0;
            assert_eq!(Thrift::new(&bytes).integer(), Some(value));
            assert_eq!(Thrift::new(&bytes[..bytes.len() - 1]).integer(), None);
        }
        assert_eq!(varint(&[255; 11]), None);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut output = ThriftWriter::default();
        output.integers(&[7, -1]);
        output.begin_struct();
        output.integers(&[1 << 40]);
        output.end();
        output.binary(32767, b"four");
        output.end();
        let (mut numbers, mut integers, mut binary) = (Vec::new(), Vec::new(), None);
        let mut thrift = Thrift::new(&output.0);
        thrift
            .fields(|thrift, number, wire| {
                numbers.push(number);
                match wire {
                    Wire::Integer => integers.push(thrift.integer()?),
                    Wire::Struct => thrift.fields(|thrift, _, _| thrift.integer().map(|value| integers.push(value)))?,
                    _ => binary = thrift.binary(),
                }
                Some(())
            })
            .unwrap();
        assert_eq!((numbers, integers), (vec![1, 2, 3, 32767], vec![7, -1, 1 << 40]));
        assert_eq!((binary, thrift.at()), (Some(&b"four"[..]), output.0.len()));
    }

    #[test]
    fn a_list_has_no_more_elements_than_there_are_bytes() {
        assert_eq!(Thrift::new(&[0x25, 2, 4]).list(), Some((Wire::Integer, 2)));
        assert_eq!(Thrift::new(&[0xf5, 0xff, 0xff, 0xff, 0xff, 7, 1]).list(), None);
        assert_eq!(Thrift::new(&[0]).list(), Some((Wire::Byte, 0)));
    }

    #[test]
    fn what_nobody_asks_for_is_left_out_as_deep_as_it_may_stand() {
        // Field 1 is a bool, 2 a list of two integers, 3 a structure with a map, 4 an integer.
        let bytes = [0x11, 0x19, 0x25, 2, 4, 0x1c, 0x1b, 1, 0x85, 1, b'k', 6, 0, 0x15, 14, 0];
        let mut seen = Vec::new();
        let mut thrift = Thrift::new(&bytes);
        thrift
            .fields(|thrift, number, wire| {
                seen.push((number, wire));
                if number == 4 { thrift.integer().map(|value| assert_eq!(value, 7)) } else { Some(()) }
            })
            .unwrap();
        assert_eq!(thrift.at(), bytes.len());
        assert_eq!(seen, [(1, Wire::True), (2, Wire::List), (3, Wire::Struct), (4, Wire::Integer)]);
        let deep = [0x1c].repeat(1000);
        assert_eq!(Thrift::new(&deep).fields(|_, _, _| Some(())), None);
        for end in 0..bytes.len() {
            assert_eq!(Thrift::new(&bytes[..end]).fields(|_, _, _| Some(())), None, "{end}");
        }
    }
}
