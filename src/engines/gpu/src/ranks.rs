//! Bits with the number of set bits before each word.

use lacuna::Result;

use crate::context::{Context, Size, Words};
use crate::kernel::{self, Access, Items, Kernel, WORDS_EACH};

/// Bits, and the number of set bits before each word.
#[derive(Clone)]
pub(crate) struct Ranks {
    pub(crate) bits: Words,
    pub(crate) before: Words,
}

/// Returns the words that hold `count` bits, and one more: its rank is the number of all set bits.
pub(crate) fn words_of_bits(count: u64) -> u64 {
    count.div_ceil(32) + 1
}

impl Ranks {
    /// Counts the set bits. The last word has none.
    pub(crate) fn new(context: &Context, bits: Words) -> Result<Self> {
        let before = sums_before(context, &bits, true)?;
        Ok(Ranks { bits, before })
    }

    /// Reads the number of all set bits.
    pub(crate) fn count(&self, context: &Context) -> Result<u32> {
        context.word(&self.before, self.bits.count() - 1)
    }

    /// Returns the numbers of the `count` set bits, in order.
    pub(crate) fn numbers(&self, context: &Context, count: u32) -> Result<Words> {
        let (numbers, words) = (context.zeros(count.into())?, self.bits.count());
        let kernel = Kernel::new("numbers_of_bits")
            .array("bits", Access::Read, Items::Words)
            .array("before", Access::Read, Items::Words)
            .array("numbers", Access::Write, Items::Words)
            .body(
                "if (i >= param(0u)) { return; }
var word = bits[i];
var at = before[i];
// Invariant: `word` has the bits that are left, and `at` is the number of bits before them.
while (word != 0u) {
    numbers[at] = i * 32u + firstTrailingBit(word);
    word &= word - 1u;
    at += 1u;
}",
            );
        context.run(&kernel, &[&self.bits, &self.before, &numbers], [words as u32], Size::Invocations(words))?;
        Ok(numbers)
    }
}

/// Returns the sum of all words before each word, or of their bits.
pub(crate) fn sums_before(context: &Context, words: &Words, of_bits: bool) -> Result<Words> {
    let block = context.group() * WORDS_EACH;
    let (count, blocks) = (words.count(), words.count().div_ceil(block));
    let before = context.zeros(count)?;
    let bases = match blocks {
        0 | 1 => context.zeros(1)?,
        _ => {
            let sums = context.zeros(blocks)?;
            context.run(&kernel::sums(of_bits), &[words, &sums], [count as u32], Size::Groups(blocks))?;
            sums_before(context, &sums, false)?
        }
    };
    context.run(&kernel::scan(of_bits), &[words, &bases, &before], [count as u32], Size::Groups(blocks))?;
    Ok(before)
}
