//! Bits with the number of set bits before each word.

use lacuna::Result;

use crate::context::{Context, Size, Words};
use crate::kernel::{self, WORDS_EACH};

/// Bits, the number of set bits before each word, and the number of all.
#[derive(Clone)]
pub(crate) struct Ranks {
    pub(crate) bits: Words,
    pub(crate) before: Words,
    pub(crate) count: u32,
}

/// Returns the words that hold `count` bits, and one more: its rank is the number of all set bits.
pub(crate) fn words_of_bits(count: u64) -> u64 {
    count.div_ceil(32) + 1
}

impl Ranks {
    /// Counts the set bits. The last word has none.
    pub(crate) fn new(context: &Context, bits: Words) -> Result<Self> {
        let before = sums_before(context, &bits, true)?;
        let count = context.word(&before, bits.count() - 1)?;
        Ok(Ranks { bits, before, count })
    }
}

/// Returns the sum of all words before each word, or of their bits.
pub(crate) fn sums_before(context: &Context, words: &Words, of_bits: bool) -> Result<Words> {
    let block = u64::from(crate::context::GROUP) * WORDS_EACH;
    let (count, blocks) = (words.count(), words.count().div_ceil(block));
    let before = context.zeros(count)?;
    let bases = match blocks {
        0 | 1 => context.zeros(1)?,
        _ => {
            let sums = context.zeros(blocks)?;
            context.run(&kernel::sums(of_bits), &[words, &sums], &[count as u32], Size::Groups(blocks))?;
            sums_before(context, &sums, false)?
        }
    };
    context.run(&kernel::scan(of_bits), &[words, &bases, &before], &[count as u32], Size::Groups(blocks))?;
    Ok(before)
}
