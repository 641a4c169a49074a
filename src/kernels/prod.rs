//! Products of groups by a fixed binary tree, and what each element is multiplied by in it.
//!
//! The tree stands over the positions of a group, stored or not: a block of 2^k positions that starts at a multiple of
//! 2^k is the product of its two halves, a half behind the end is left out. So the bits depend on what stands where,
//! and on nothing else. A whole block of gaps is the square of a half of it, and is found by its level; entries are
//! joined from left to right, each pair at the level of the first bit in which their positions differ:
//!
//! ```text
//! level 3              *
//! level 2       *             *
//! level 1    *     *       *     *
//! position  0 1   2 3     4 5   6 (7: behind the end)
//! ```
//!
//! Where multiplying by the fill rounds nothing, as 0, 1 and powers of two do not, its power is one more factor.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::element::Factor;

/// A block with an entry: its product, or what stands for it, where one of its entries stands, and its level.
struct Block<N> {
    node: N,
    position: u128,
    level: u32,
}

/// What grows with a tree.
trait Grow {
    type Node: Copy;

    /// The block at the end of these levels that holds this one at their start, and gaps else.
    fn lift(&mut self, node: Self::Node, position: u128, levels: Range<u32>) -> Self::Node;

    /// The block of two halves.
    fn join(&mut self, left: Self::Node, right: Self::Node) -> Self::Node;
}

/// The block at level `top` that holds all leaves, which come in order; none of no leaf. `pending` is working memory.
fn grow<G: Grow>(
    tree: &mut G,
    leaves: impl Iterator<Item = (u128, G::Node)>,
    top: u32,
    pending: &mut Vec<(Block<G::Node>, u32)>,
) -> Option<G::Node> {
    let mut join = |left: Block<G::Node>, right: Block<G::Node>, level: u32| {
        let mut half = |block: Block<G::Node>| tree.lift(block.node, block.position, block.level..level - 1);
        let (position, halves) = (left.position, (half(left), half(right)));
        Block { node: tree.join(halves.0, halves.1), position, level }
    };
    let mut last: Option<Block<G::Node>> = None;
    pending.clear();
    for (position, node) in leaves {
        if let Some(mut block) = last.take() {
            // Levels fall from one that is pending to the next: there are no more than 128.
            let level = u128::BITS - (block.position ^ position).leading_zeros();
            while let Some((left, joint)) = pending.pop_if(|(_, joint)| *joint < level) {
                block = join(left, block, joint);
            }
            pending.push((block, level));
        }
        last = Some(Block { node, position, level: 0 });
    }
    let mut block = last?;
    while let Some((left, joint)) = pending.pop() {
        block = join(left, block, joint);
    }
    Some(tree.lift(block.node, block.position, block.level..top))
}

/// The gaps of a group: whole blocks of them by level, as far as they were asked for, and the number of all positions.
struct Blocks<F> {
    squares: Vec<F>,
    extent: u128,
}

impl<F: Factor> Blocks<F> {
    /// A whole block.
    fn whole(&mut self, level: u32) -> F {
        while self.squares.len() <= level as usize {
            let half = self.squares[self.squares.len() - 1];
            self.squares.push(half.times(half));
        }
        self.squares[level as usize]
    }

    /// The first `count` gaps of a block, of which there is one.
    fn first(&mut self, count: u128) -> F {
        let levels = (count.trailing_zeros()..u128::BITS).filter(|level| count >> level & 1 == 1);
        let products = levels.map(|level| self.whole(level));
        products.reduce(|product, left| left.times(product)).unwrap_or(F::ONE)
    }

    /// The other halves on the way up from a block, without those behind the end.
    fn beside(&mut self, position: u128, levels: Range<u32>) -> impl DoubleEndedIterator<Item = F> {
        levels.filter_map(move |level| {
            let start = (position >> level ^ 1) << level;
            let count = self.extent.saturating_sub(start).min(1 << level);
            (count > 0).then(|| self.first(count))
        })
    }
}

/// The working memory of products.
pub(crate) struct Product<F> {
    pending: Vec<(Block<F>, u32)>,
    block: Vec<F>,
    /// The fill by levels, of which there is one in an operation; nothing while it is not asked for.
    squares: Vec<F>,
}

/// The gaps of a group: what each of them is, how many there are, and how many positions.
#[derive(Clone, Copy)]
pub(crate) struct Between<F> {
    pub(crate) fill: Option<F>,
    pub(crate) count: u128,
    pub(crate) extent: u128,
}

impl<F: Factor> Between<F> {
    /// The fill, if there is a gap.
    fn gap(&self) -> Option<F> {
        self.fill.filter(|_| self.count > 0)
    }

    /// The product of all gaps, where that is one more factor.
    fn factor(&self) -> Option<F> {
        self.gap()?.power(self.count)
    }

    /// The gaps in the tree, where they stand there.
    fn blocks(&self, squares: &mut Vec<F>) -> Option<Blocks<F>> {
        let fill = self.gap().filter(|fill| fill.power(self.count).is_none())?;
        if squares.is_empty() {
            squares.push(fill);
        }
        Some(Blocks { squares: std::mem::take(squares), extent: self.extent })
    }

    /// The level of the whole group.
    fn top(&self) -> u32 {
        u128::BITS - self.extent.saturating_sub(1).leading_zeros()
    }
}

/// The entries side by side that are multiplied by halves: a power of two, so that these are blocks of the tree.
const BLOCK: usize = 64;

/// Products on the way up.
struct Values<F> {
    blocks: Option<Blocks<F>>,
}

impl<F: Factor> Grow for Values<F> {
    type Node = F;

    fn lift(&mut self, node: F, position: u128, levels: Range<u32>) -> F {
        match &mut self.blocks {
            Some(blocks) => blocks.beside(position, levels).fold(node, F::times),
            None => node,
        }
    }

    fn join(&mut self, left: F, right: F) -> F {
        left.times(right)
    }
}

impl<F: Factor> Product<F> {
    pub(crate) fn new() -> Self {
        Product { pending: Vec::new(), block: Vec::new(), squares: Vec::new() }
    }

    /// The product of `count` entries, each of which has a position, in order, and of the gaps.
    pub(crate) fn of(
        &mut self,
        count: usize,
        position: impl Fn(usize) -> u128,
        factor: impl Fn(usize) -> F,
        gaps: Between<F>,
    ) -> F {
        if let Some(zero) = gaps.factor().filter(F::is_zero) {
            return (0..count).map(factor).fold(zero, F::times);
        }
        if gaps.gap().is_none() && count > 0 && position(count - 1) == count as u128 - 1 {
            return self.of_first(count, factor);
        }
        let entries = (0..count).map(|entry| (position(entry), factor(entry)));
        let mut values = Values { blocks: gaps.blocks(&mut self.squares) };
        let product = grow(&mut values, entries, gaps.top(), &mut self.pending);
        let Some(mut blocks) = values.blocks else {
            return product.into_iter().chain(gaps.factor()).reduce(F::times).unwrap_or(F::ONE);
        };
        let product = product.unwrap_or_else(|| blocks.first(gaps.extent));
        self.squares = blocks.squares;
        product
    }

    /// The product of entries at the first positions: blocks of them by halves, and all blocks by the tree.
    fn of_first(&mut self, count: usize, factor: impl Fn(usize) -> F) -> F {
        let blocks = (0..count).step_by(BLOCK).enumerate().map(|(number, start)| {
            self.block.clear();
            self.block.extend((start..count.min(start + BLOCK)).map(&factor));
            (number as u128, by_halves(&mut self.block))
        });
        grow(&mut Values { blocks: None }, blocks, 0, &mut self.pending).unwrap_or(F::ONE)
    }
}

/// The product of a block: of neighbours, until one is left.
fn by_halves<F: Factor>(block: &mut [F]) -> F {
    let mut count = block.len();
    while count > 1 {
        for pair in 0..count / 2 {
            block[pair] = block[2 * pair].times(block[2 * pair + 1]);
        }
        block[count / 2] = block[count - 1];
        count = count.div_ceil(2);
    }
    block.first().copied().unwrap_or(F::ONE)
}

/// Where a block comes from.
#[derive(Clone, Copy)]
enum Source {
    Leaf,
    Halves(usize, usize),
    /// A block below it, where that stands, and the levels between.
    Block(usize, u128, u32, u32),
}

/// All blocks of a tree, the leaves first, each with its product.
struct Tree<F> {
    nodes: Vec<(F, Source)>,
    blocks: Option<Blocks<F>>,
}

impl<F: Factor> Grow for Tree<F> {
    type Node = usize;

    fn lift(&mut self, node: usize, position: u128, levels: Range<u32>) -> usize {
        let Some(blocks) = self.blocks.as_mut().filter(|_| !levels.is_empty()) else { return node };
        let value = blocks.beside(position, levels.clone()).fold(self.nodes[node].0, F::times);
        self.nodes.push((value, Source::Block(node, position, levels.start, levels.end)));
        self.nodes.len() - 1
    }

    fn join(&mut self, left: usize, right: usize) -> usize {
        self.nodes.push((self.nodes[left].0.times(self.nodes[right].0), Source::Halves(left, right)));
        self.nodes.len() - 1
    }
}

/// The most entries whose tree is held at once.
const PART: usize = 1 << 12;

/// Gives for each of `count` entries, by its number, the product of all others and of the gaps: of the blocks beside
/// those that it is in, from the top down. `at` tells of an entry where it stands and what it is.
pub(crate) fn others<F: Factor>(
    count: usize,
    at: impl Fn(usize) -> (u128, F) + Copy,
    gaps: Between<F>,
    mut give: impl FnMut(usize, F),
) -> Allocated<()> {
    let mut values = Values { blocks: gaps.blocks(&mut Vec::new()) };
    let mut pending = Vec::new();
    // No deeper than there are levels.
    let mut parts = vec![(0..count, gaps.top(), gaps.factor().unwrap_or(F::ONE))];
    while let Some((part, top, around)) = parts.pop() {
        if part.len() <= PART {
            let mut tree = Tree { nodes: alloc::with_capacity(4 * part.len())?, blocks: values.blocks.take() };
            tree.others(part, at, top, around, &mut give)?;
            values.blocks = tree.blocks;
            continue;
        }
        let (first, last) = (at(part.start).0, at(part.end - 1).0);
        let half = u128::BITS - 1 - (first ^ last).leading_zeros();
        let around = values.beside(first, half + 1..top).into_iter().rev().fold(around, F::times);
        let middle = part.start + count_while(part.len(), |entry| at(part.start + entry).0 >> half & 1 == 0);
        let (left, right) = (part.start..middle, middle..part.end);
        let mut product = |part: &Range<usize>| grow(&mut values, part.clone().map(at), half, &mut pending);
        if let (Some(of_left), Some(of_right)) = (product(&left), product(&right)) {
            parts.extend([(left, half, around.times(of_right)), (right, half, around.times(of_left))]);
        }
    }
    Ok(())
}

/// How many of the numbers below `count` there are until `is` does not hold any more.
fn count_while(count: usize, is: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

impl<F: Factor> Values<F> {
    /// The gaps beside a block on its way up.
    fn beside(&mut self, position: u128, levels: Range<u32>) -> Vec<F> {
        self.blocks.iter_mut().flat_map(|blocks| blocks.beside(position, levels.clone())).collect()
    }
}

impl<F: Factor> Tree<F> {
    /// [`others`] within a block of level `top`, around which there is more.
    fn others(
        &mut self,
        part: Range<usize>,
        at: impl Fn(usize) -> (u128, F) + Copy,
        top: u32,
        around: F,
        give: &mut impl FnMut(usize, F),
    ) -> Allocated<()> {
        self.nodes.extend(part.clone().map(|entry| (at(entry).1, Source::Leaf)));
        let leaves = part.clone().enumerate().map(|(node, entry)| (at(entry).0, node));
        let Some(root) = grow(self, leaves, top, &mut Vec::new()) else { return Ok(()) };
        let mut outside = alloc::collect(std::iter::repeat_n(around, root + 1))?;
        for node in (part.len()..=root).rev() {
            let around = outside[node];
            match self.nodes[node].1 {
                Source::Leaf => {}
                Source::Halves(left, right) => {
                    outside[left] = around.times(self.nodes[right].0);
                    outside[right] = around.times(self.nodes[left].0);
                }
                Source::Block(below, position, from, to) => {
                    let beside = self.blocks.iter_mut().flat_map(|blocks| blocks.beside(position, from..to).rev());
                    outside[below] = beside.fold(around, F::times);
                }
            }
        }
        part.zip(outside).for_each(|(entry, around)| give(entry, around));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Ring;

    /// A long group is cut into parts, of each of which the others are those of the whole: powers of two, so that
    /// nothing is rounded.
    #[test]
    fn the_others_of_a_long_group_leave_out_one_entry() {
        let count = 3 * PART + 5;
        let value = |entry: usize| 2f64.powi((entry * 7 % 11) as i32 - 5);
        for (stride, fill) in [(1, None), (3, None), (3, Some(0.25f64.factor())), (1 << 90, Some(1f64.factor()))] {
            let at = |entry: usize| (entry as u128 * stride, value(entry).factor());
            let extent = (count as u128 - 1) * stride + 2;
            let gaps = Between { fill, count: extent - count as u128, extent };
            let (all, mut seen) =
                (Product::new().of(count, |entry| at(entry).0, |entry| at(entry).1, gaps), vec![false; count]);
            others(count, at, gaps, |entry, others| {
                seen[entry] = true;
                let bits = |factor| f64::product_of(factor).map(f64::to_bits);
                assert_eq!(bits(others.times(value(entry).factor())), bits(all), "{entry}");
            })
            .unwrap();
            assert!(seen.iter().all(|&seen| seen));
        }
    }

    /// Entries at the first positions are multiplied by halves, others by the tree: here with one gap, a factor of 1,
    /// behind them. The exponents of neighbours are opposite ones, up to the greatest: they are taken out on the way.
    #[test]
    fn halves_are_those_of_the_tree() {
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        for count in 0..300usize {
            let mut value = |entry: usize| {
                bits = bits.wrapping_mul(0xd129_0d3b_3c4f_1b5d).wrapping_add(1);
                let power = [0, 300, 700, 1020][count % 4] * [1, -1][entry % 2];
                f64::from_bits(bits >> 12 | 1023 << 52) * 2f64.powi(power)
            };
            let values: Vec<f64> = (0..count).map(&mut value).collect();
            let product = |fill: Option<f64>| {
                let gaps = Between { fill: fill.map(f64::factor), count: 1, extent: count as u128 + 1 };
                let found = Product::new().of(count, |entry| entry as u128, |entry| values[entry].factor(), gaps);
                f64::product_of(found).filter(|product| product.is_normal()).map(f64::to_bits)
            };
            assert!(product(None).is_some() || count % 2 == 1);
            assert_eq!(product(None), product(Some(1.0)), "{count}");
        }
    }
}
