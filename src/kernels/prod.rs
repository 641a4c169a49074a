//! Products of groups by a fixed binary tree, and the product of all other elements for each element.
//!
//! The tree is built over the positions of a group, stored or not. A block of 2^k positions starts at a multiple of 2^k
//! and is the product of its two halves. Halves past the end are skipped. The result therefore depends only on values
//! and positions, not on threads or formats. A block of unstored positions is the square of one half, so one product
//! per level is enough. Entries are combined from left to right. Two neighbours are combined in the smallest block that
//! contains both:
//!
//! ```text
//! level 3              *
//! level 2       *             *
//! level 1    *     *       *     *
//! position  0 1   2 3     4 5   6 (7: behind the end)
//! ```
//!
//! If multiplication by the fill is exact (0, 1, powers of two), the power of the fill is one additional factor.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::element::ProductFactor;

/// A block with an entry: its product or node index, the position of an entry inside, and its level.
struct TreeBlock<N> {
    node: N,
    position: u128,
    level: u32,
}

/// The operations that build a tree.
trait Grow {
    type Node: Copy;

    /// Returns the block at level `levels.end` that contains a block at level `levels.start`. All other positions of
    /// the result are unstored.
    fn lift(&mut self, node: Self::Node, position: u128, levels: Range<u32>) -> Self::Node;

    /// Returns the block of two halves.
    fn join(&mut self, left: Self::Node, right: Self::Node) -> Self::Node;
}

/// Returns the block at level `top` that contains all leaves, which are in order; `None` without leaves.
///
/// `pending` is working memory.
fn grow<G: Grow>(
    tree: &mut G,
    leaves: impl Iterator<Item = (u128, G::Node)>,
    top: u32,
    pending: &mut Vec<(TreeBlock<G::Node>, u32)>,
) -> Option<G::Node> {
    let mut join = |left: TreeBlock<G::Node>, right: TreeBlock<G::Node>, level: u32| {
        let mut half = |block: TreeBlock<G::Node>| tree.lift(block.node, block.position, block.level..level - 1);
        let (position, halves) = (left.position, (half(left), half(right)));
        TreeBlock { node: tree.join(halves.0, halves.1), position, level }
    };
    // Invariant: `pending` holds finished left parts from left to right, each with the level at which it is joined.
    let mut last: Option<TreeBlock<G::Node>> = None;
    pending.clear();
    for (position, node) in leaves {
        if let Some(mut block) = last.take() {
            // Levels decrease strictly from one pending block to the next, so there are at most 128.
            let level = u128::BITS - (block.position ^ position).leading_zeros();
            // Blocks that are joined below the new level are complete: later leaves are not in these blocks.
            while let Some((left, joint)) = pending.pop_if(|(_, joint)| *joint < level) {
                block = join(left, block, joint);
            }
            pending.push((block, level));
        }
        last = Some(TreeBlock { node, position, level: 0 });
    }
    let mut block = last?;
    while let Some((left, joint)) = pending.pop() {
        block = join(left, block, joint);
    }
    Some(tree.lift(block.node, block.position, block.level..top))
}

/// The unstored positions of a group: products of blocks by level, computed on demand, and the number of all positions.
struct Blocks<F> {
    squares: Vec<F>,
    extent: u128,
}

impl<F: ProductFactor> Blocks<F> {
    /// Returns the product of 2^`level` unstored positions.
    fn whole(&mut self, level: u32) -> F {
        // The list starts with the fill at level 0; each level is the square of the level before.
        while self.squares.len() <= level as usize {
            let half = self.squares[self.squares.len() - 1];
            self.squares.push(half.times(half));
        }
        self.squares[level as usize]
    }

    /// Returns the product of the first `count` unstored positions of a block, with `count` at least 1.
    fn first(&mut self, count: u128) -> F {
        // Each set bit of `count` is one full block. The largest block is the leftmost, and smaller blocks come first
        // here, so each next block is multiplied on the left.
        let levels = (count.trailing_zeros()..u128::BITS).filter(|level| count >> level & 1 == 1);
        let products = levels.map(|level| self.whole(level));
        products.reduce(|product, left| left.times(product)).unwrap_or(F::ONE)
    }

    /// Returns the sibling blocks on the path from a block to a higher level, without positions past the end.
    fn siblings(&mut self, position: u128, levels: Range<u32>) -> impl DoubleEndedIterator<Item = F> {
        levels.filter_map(move |level| {
            // The sibling differs from the block in the bit at `level`.
            let start = (position >> level ^ 1) << level;
            let count = self.extent.saturating_sub(start).min(1 << level);
            (count > 0).then(|| self.first(count))
        })
    }
}

/// The working memory of products.
pub(crate) struct ProductTree<F> {
    pending: Vec<(TreeBlock<F>, u32)>,
    block: Vec<F>,
    /// The powers of the fill by level; empty until they are needed. An operation has only one fill.
    squares: Vec<F>,
}

/// The unstored positions of a group: their value, their number, and the number of all positions of the group.
#[derive(Clone, Copy)]
pub(crate) struct Between<F> {
    pub(crate) fill: Option<F>,
    pub(crate) count: u128,
    pub(crate) extent: u128,
}

impl<F: ProductFactor> Between<F> {
    /// Returns the fill, if there is an unstored position.
    fn implicit(&self) -> Option<F> {
        self.fill.filter(|_| self.count > 0)
    }

    /// Returns the product of all unstored positions, if it is exact.
    fn factor(&self) -> Option<F> {
        self.implicit()?.power(self.count)
    }

    /// Returns the unstored positions as blocks of the tree, if their product is not exact.
    fn blocks(&self, squares: &mut Vec<F>) -> Option<Blocks<F>> {
        let fill = self.implicit().filter(|fill| fill.power(self.count).is_none())?;
        if squares.is_empty() {
            squares.push(fill);
        }
        Some(Blocks { squares: std::mem::take(squares), extent: self.extent })
    }

    /// Returns the level of the root.
    fn top(&self) -> u32 {
        u128::BITS - self.extent.saturating_sub(1).leading_zeros()
    }
}

/// The number of neighbouring entries that are multiplied by halves. The number is a power of two, so that these blocks
/// are blocks of the tree.
const BLOCK: usize = 64;

/// The builder that computes only products.
struct ProductBuilder<F> {
    blocks: Option<Blocks<F>>,
}

impl<F: ProductFactor> Grow for ProductBuilder<F> {
    type Node = F;

    fn lift(&mut self, node: F, position: u128, levels: Range<u32>) -> F {
        match &mut self.blocks {
            Some(blocks) => blocks.siblings(position, levels).fold(node, F::times),
            None => node,
        }
    }

    fn join(&mut self, left: F, right: F) -> F {
        left.times(right)
    }
}

impl<F: ProductFactor> ProductTree<F> {
    pub(crate) fn new() -> Self {
        ProductTree { pending: Vec::new(), block: Vec::new(), squares: Vec::new() }
    }

    /// Returns the product of `count` entries, which have increasing positions, and of the unstored positions.
    pub(crate) fn of(
        &mut self,
        count: usize,
        position: impl Fn(usize) -> u128,
        factor: impl Fn(usize) -> F,
        unstored: Between<F>,
    ) -> F {
        // If a factor is zero, products are exact, so the order does not matter.
        if let Some(zero) = unstored.factor().filter(F::is_zero) {
            return (0..count).map(factor).fold(zero, F::times);
        }
        // Positions increase, so if the last position is `count - 1`, the entries are exactly the first `count`
        // positions.
        if unstored.implicit().is_none() && count > 0 && position(count - 1) == count as u128 - 1 {
            return self.of_first(count, factor);
        }
        let entries = (0..count).map(|entry| (position(entry), factor(entry)));
        let mut values = ProductBuilder { blocks: unstored.blocks(&mut self.squares) };
        let product = grow(&mut values, entries, unstored.top(), &mut self.pending);
        // The product of unstored positions is exact, or the group does not have any, so it is one factor after the
        // tree.
        let Some(mut blocks) = values.blocks else {
            return product.into_iter().chain(unstored.factor()).reduce(F::times).unwrap_or(F::ONE);
        };
        // If there are no entries, all positions have the fill.
        let product = product.unwrap_or_else(|| blocks.first(unstored.extent));
        self.squares = blocks.squares;
        product
    }

    /// Returns the product of entries at positions 0 to `count - 1`: blocks by halves, then all blocks by the tree.
    fn of_first(&mut self, count: usize, factor: impl Fn(usize) -> F) -> F {
        let blocks = (0..count).step_by(BLOCK).enumerate().map(|(number, start)| {
            self.block.clear();
            self.block.extend((start..count.min(start + BLOCK)).map(&factor));
            (number as u128, by_halves(&mut self.block))
        });
        grow(&mut ProductBuilder { blocks: None }, blocks, 0, &mut self.pending).unwrap_or(F::ONE)
    }
}

/// Returns the product of a block by multiplying neighbours until one factor is left.
fn by_halves<F: ProductFactor>(block: &mut [F]) -> F {
    let mut count = block.len();
    // Invariant: the first `count` items are the products of one level, from left to right.
    while count > 1 {
        for pair in 0..count / 2 {
            block[pair] = block[2 * pair].times(block[2 * pair + 1]);
        }
        // If the count is odd, the last item does not have a neighbour and moves up to the next level. If the count is
        // even, this slot is not read again.
        block[count / 2] = block[count - 1];
        count = count.div_ceil(2);
    }
    block.first().copied().unwrap_or(F::ONE)
}

/// The origin of a block.
#[derive(Clone, Copy)]
enum BlockOrigin {
    Leaf,
    Halves(usize, usize),
    /// The node below, the position of an entry inside, and the levels between.
    Block(usize, u128, u32, u32),
}

/// All blocks of a tree, the leaves first, each with its product.
struct Tree<F> {
    nodes: Vec<(F, BlockOrigin)>,
    blocks: Option<Blocks<F>>,
}

impl<F: ProductFactor> Grow for Tree<F> {
    type Node = usize;

    fn lift(&mut self, node: usize, position: u128, levels: Range<u32>) -> usize {
        // If there are no unstored blocks or no levels above, the product is unchanged and a new node is not needed.
        let Some(blocks) = self.blocks.as_mut().filter(|_| !levels.is_empty()) else { return node };
        let value = blocks.siblings(position, levels.clone()).fold(self.nodes[node].0, F::times);
        self.nodes.push((value, BlockOrigin::Block(node, position, levels.start, levels.end)));
        self.nodes.len() - 1
    }

    fn join(&mut self, left: usize, right: usize) -> usize {
        self.nodes.push((self.nodes[left].0.times(self.nodes[right].0), BlockOrigin::Halves(left, right)));
        self.nodes.len() - 1
    }
}

/// The largest number of entries whose tree is held in memory.
const PART: usize = 1 << 12;

/// Calls `emit` for each of `count` entries with its index and the product of all other entries and unstored positions.
///
/// The product is formed from the sibling blocks of the entry, from the root down. `at` returns the position and the
/// factor of an entry.
pub(crate) fn others<F: ProductFactor>(
    count: usize,
    at: impl Fn(usize) -> (u128, F) + Copy,
    unstored: Between<F>,
    mut emit: impl FnMut(usize, F),
) -> Allocated<()> {
    let mut values = ProductBuilder { blocks: unstored.blocks(&mut Vec::new()) };
    let mut pending = Vec::new();
    // The list grows by at most one part per level.
    let mut parts = vec![(0..count, unstored.top(), unstored.factor().unwrap_or(F::ONE))];
    // Invariant: `around` is the product of all positions outside the block at level `top` that contains `part`.
    while let Some((part, top, around)) = parts.pop() {
        if part.len() <= PART {
            let mut tree = Tree { nodes: alloc::with_capacity(4 * part.len())?, blocks: values.blocks.take() };
            tree.others(part, at, top, around, &mut emit)?;
            values.blocks = tree.blocks;
            continue;
        }
        let (first, last) = (at(part.start).0, at(part.end - 1).0);
        // `half` is the highest bit in which positions of the part differ, so both halves contain an entry.
        let half = u128::BITS - 1 - (first ^ last).leading_zeros();
        let around = values.siblings(first, half + 1..top).into_iter().rev().fold(around, F::times);
        let middle = part.start + count_while(part.len(), |entry| at(part.start + entry).0 >> half & 1 == 0);
        let (left, right) = (part.start..middle, middle..part.end);
        let mut product = |part: &Range<usize>| grow(&mut values, part.clone().map(at), half, &mut pending);
        if let (Some(of_left), Some(of_right)) = (product(&left), product(&right)) {
            parts.extend([(left, half, around.times(of_right)), (right, half, around.times(of_left))]);
        }
    }
    Ok(())
}

/// Returns the number of leading indices below `count` for which `is` is true.
fn count_while(count: usize, is: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    // Invariant: `is` is true below `low`, and false from `high` on.
    while low < high {
        let middle = low + (high - low) / 2;
        if is(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

impl<F: ProductFactor> ProductBuilder<F> {
    /// Returns the unstored sibling blocks on the path of a block.
    fn siblings(&mut self, position: u128, levels: Range<u32>) -> Vec<F> {
        self.blocks.iter_mut().flat_map(|blocks| blocks.siblings(position, levels.clone())).collect()
    }
}

impl<F: ProductFactor> Tree<F> {
    /// [`others`] within a block at level `top`, where `around` is the product of all positions outside the block.
    fn others(
        &mut self,
        part: Range<usize>,
        at: impl Fn(usize) -> (u128, F) + Copy,
        top: u32,
        around: F,
        emit: &mut impl FnMut(usize, F),
    ) -> Allocated<()> {
        self.nodes.extend(part.clone().map(|entry| (at(entry).1, BlockOrigin::Leaf)));
        let leaves = part.clone().enumerate().map(|(node, entry)| (at(entry).0, node));
        let Some(root) = grow(self, leaves, top, &mut Vec::new()) else { return Ok(()) };
        let mut outside = alloc::collect(std::iter::repeat_n(around, root + 1))?;
        // Parents have larger indices than children, so `outside` of a node is final before its children are computed.
        for node in (part.len()..=root).rev() {
            let around = outside[node];
            match self.nodes[node].1 {
                BlockOrigin::Leaf => {}
                BlockOrigin::Halves(left, right) => {
                    outside[left] = around.times(self.nodes[right].0);
                    outside[right] = around.times(self.nodes[left].0);
                }
                BlockOrigin::Block(below, position, from, to) => {
                    let siblings = self.blocks.iter_mut().flat_map(|blocks| blocks.siblings(position, from..to).rev());
                    outside[below] = siblings.fold(around, F::times);
                }
            }
        }
        part.zip(outside).for_each(|(entry, around)| emit(entry, around));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Ring;

    /// Tests a long group that is split into parts. Products of powers of two are not rounded, so every result equals
    /// the product without one entry.
    #[test]
    fn the_others_of_a_long_group_leave_out_one_entry() {
        let count = 3 * PART + 5;
        let value = |entry: usize| 2f64.powi((entry * 7 % 11) as i32 - 5);
        for (stride, fill) in [(1, None), (3, None), (3, Some(0.25f64.factor())), (1 << 90, Some(1f64.factor()))] {
            let at = |entry: usize| (entry as u128 * stride, value(entry).factor());
            let extent = (count as u128 - 1) * stride + 2;
            let unstored = Between { fill, count: extent - count as u128, extent };
            let (all, mut seen) =
                (ProductTree::new().of(count, |entry| at(entry).0, |entry| at(entry).1, unstored), vec![false; count]);
            others(count, at, unstored, |entry, others| {
                seen[entry] = true;
                let bits = |factor| f64::product_of(factor).map(f64::to_bits);
                assert_eq!(bits(others.times(value(entry).factor())), bits(all), "{entry}");
            })
            .unwrap();
            assert!(seen.iter().all(|&seen| seen));
        }
    }

    /// Entries at the first positions are multiplied by halves, other entries by the tree. One unstored position with
    /// value 1 follows, which selects the tree. Neighbours have opposite exponents up to the maximum, so exponents must
    /// be tracked.
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
                let unstored = Between { fill: fill.map(f64::factor), count: 1, extent: count as u128 + 1 };
                let found =
                    ProductTree::new().of(count, |entry| entry as u128, |entry| values[entry].factor(), unstored);
                f64::product_of(found).filter(|product| product.is_normal()).map(f64::to_bits)
            };
            assert!(product(None).is_some() || count % 2 == 1);
            assert_eq!(product(None), product(Some(1.0)), "{count}");
        }
    }
}
