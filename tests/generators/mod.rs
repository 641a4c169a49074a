//! Random inputs for property tests: values, shapes, sparse arrays, axes, indices, triplets.
//!
//! Shrinking stays useful because nothing is drawn *after* something it depends on. What depends on
//! a shape is drawn as a **seed** that knows no shape (entries as fractions of the size, axes as
//! fractions of the rank) and is built for a shape afterwards: shape and content shrink each on
//! their own. To tie several things together, draw the seeds side by side and build them in one
//! `prop_map`, as [`reductions`] does.

// Every test includes this folder, and none uses all of it.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;

use num_complex::Complex;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::reference::dense::{Dense, Sparse, checked_size, ravel, reduced_shape, size, unravel};
use crate::reference::scalar::{GradScalar, Scalar};

#[cfg(feature = "half")]
use half::{bf16, f16};

/// The most positions that a dense shape has.
pub const MAX_SIZE: usize = 512;

/// An element type that values can be drawn of.
pub trait Drawn: Scalar {
    /// Values: many ties, zeros of both signs, the extremes, infinities, NaNs of many bits.
    fn values() -> BoxedStrategy<Self>;

    /// Fills: often zero, else any value.
    fn fills() -> BoxedStrategy<Self> {
        prop_oneof![Just(Self::zero()), Self::values()].boxed()
    }
}

/// A float type that upstream gradients can be drawn of.
pub trait DrawnGrad: Drawn + GradScalar {
    /// Gradients: mostly finite numbers that differ from each other and from one.
    fn gradients() -> BoxedStrategy<Self>;
}

impl Drawn for bool {
    fn values() -> BoxedStrategy<Self> {
        any::<bool>().boxed()
    }
}

/// Integers: small ones with many ties, the extremes, any.
macro_rules! drawn_integers {
    ($($type:ty: $small:expr),*) => {$(
        impl Drawn for $type {
            fn values() -> BoxedStrategy<Self> {
                let extremes = [<$type>::MIN, <$type>::MAX, <$type>::MAX - 1, <$type>::MAX / 2 + 2];
                prop_oneof![6 => $small, 2 => select(extremes.to_vec()), 1 => any::<$type>()].boxed()
            }
        }
    )*};
}

drawn_integers!(i8: -2..=2_i8, i16: -2..=2_i16, i32: -2..=2_i32, i64: -2..=2_i64);
drawn_integers!(u8: 0..=4_u8, u16: 0..=4_u16, u32: 0..=4_u32, u64: 0..=4_u64);

/// Floats, from their bits where those matter.
macro_rules! drawn_float {
    ($type:ty, $bits:ty, $small:expr, $nans:expr) => {
        impl Drawn for $type {
            fn values() -> BoxedStrategy<Self> {
                let zero = <$type>::zero();
                let finite = [zero, -zero, <$type>::MAX, <$type>::MIN, <$type>::MIN_POSITIVE];
                let tiny = [<$type>::from_bits(1), -<$type>::from_bits(1)];
                let infinite = [<$type>::INFINITY, <$type>::NEG_INFINITY];
                let nans: [$bits; 3] = $nans;
                prop_oneof![
                    12 => (-2..=2_i8).prop_map($small),
                    4 => select([&finite[..], &tiny].concat()),
                    3 => select(infinite.to_vec()),
                    3 => prop_oneof![Just(<$type>::NAN), select(nans.to_vec()).prop_map(<$type>::from_bits)],
                    2 => any::<$bits>().prop_map(<$type>::from_bits),
                ]
                .boxed()
            }
        }

        impl DrawnGrad for $type {
            fn gradients() -> BoxedStrategy<Self> {
                let numbers = (-40..=40_i8).prop_map($small);
                prop_oneof![8 => numbers, 1 => Self::values()].boxed()
            }
        }
    };
}

drawn_float!(f32, u32, f32::from, [0x7fc0_beef, 0xffc0_0000, 0x7f80_0001]);
drawn_float!(f64, u64, f64::from, [0x7ff8_0000_dead_beef, 0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0001,]);
#[cfg(feature = "half")]
drawn_float!(f16, u16, f16::from, [0x7ebe, 0xfe00, 0x7c01]);
#[cfg(feature = "half")]
drawn_float!(bf16, u16, bf16::from, [0x7fce, 0xffc0, 0x7f81]);

/// Complex numbers: two floats, or one and a zero of either sign.
macro_rules! drawn_complex {
    ($($part:ty),*) => {$(
        impl Drawn for Complex<$part> {
            fn values() -> BoxedStrategy<Self> {
                let both = (<$part>::values(), <$part>::values());
                let real = (<$part>::values(), select(&[0.0, -0.0][..]));
                prop_oneof![real, both].prop_map(|(re, im)| Complex::new(re, im)).boxed()
            }
        }
    )*};
}

drawn_complex!(f32, f64);

/// Cuts lengths so that the product stays within `MAX_SIZE`, a zero length left alone.
fn bounded(lengths: Vec<usize>) -> Vec<usize> {
    let mut product = 1;
    let cut = |length: usize| {
        let kept = length.min(MAX_SIZE / product);
        product *= kept.max(1);
        kept
    };
    lengths.into_iter().map(cut).collect()
}

/// Shapes of a rank between two bounds, with lengths of 1 to 7, and sometimes of 0.
pub fn shapes_of_rank(low: usize, high: usize) -> BoxedStrategy<Vec<usize>> {
    let common = high.min(4).max(low);
    let full = prop_oneof![4 => vec(1..=7_usize, low..=common), 1 => vec(1..=3_usize, low..=high)];
    let empty = vec(0..=3_usize, low..=high);
    prop_oneof![9 => full, 1 => empty].prop_map(bounded).boxed()
}

/// Shapes of rank 0 to 10, at most [`MAX_SIZE`] positions.
pub fn shapes() -> BoxedStrategy<Vec<usize>> {
    shapes_of_rank(0, 10)
}

/// A sparse array without its shape.
#[derive(Clone, Debug)]
pub struct SparseSeed<T> {
    /// Stored entries at fractions of the positions; of two at one position the last counts.
    pub entries: Vec<(Index, T)>,
    /// If there are any: every position is stored, with these values in turn, but for `holes`.
    pub background: Vec<T>,
    /// Positions that the background leaves out.
    pub holes: Vec<Index>,
    /// The fill.
    pub fill: T,
}

impl<T: Scalar> SparseSeed<T> {
    /// The sparse array of a shape that is small enough to be dense.
    pub fn build(&self, shape: &[usize]) -> Sparse<T> {
        let n = size(shape);
        let mut stored = BTreeMap::new();
        if n > 0 {
            for (position, &value) in (0..n).zip(self.background.iter().cycle()) {
                stored.insert(position, value);
            }
            for hole in &self.holes {
                stored.remove(&hole.index(n));
            }
            for (position, value) in &self.entries {
                stored.insert(position.index(n), *value);
            }
        }
        let entries = stored.into_iter();
        let entries = entries.map(|(position, value)| (unravel(position as u128, shape), value));
        Sparse::new(shape, entries.collect(), self.fill)
    }
}

/// Seeds of sparse arrays: nothing stored, some, nearly all, all; with values of one strategy.
fn seeds_of<T: Scalar>(values: BoxedStrategy<T>, fills: BoxedStrategy<T>) -> BoxedStrategy<SparseSeed<T>> {
    let index = any::<Index>;
    let some = prop_oneof![
        1 => Just(Vec::new()),
        5 => vec((index(), values.clone()), 0..=12),
        2 => vec((index(), values.clone()), 0..=100),
    ];
    let background = prop_oneof![7 => Just(Vec::new()), 3 => vec(values, 1..=9)];
    let holes = prop_oneof![Just(Vec::new()), vec(index(), 0..=6)];
    let parts = (some, background, holes, fills);
    let seed = |(entries, background, holes, fill)| SparseSeed { entries, background, holes, fill };
    parts.prop_map(seed).boxed()
}

/// Seeds of inputs: any values, any fill.
pub fn seeds<T: Drawn>() -> BoxedStrategy<SparseSeed<T>> {
    seeds_of(T::values(), T::fills())
}

/// Seeds of upstream gradients: not all ones, any fill, some of the entries and others besides.
pub fn upstream_seeds<G: DrawnGrad>() -> BoxedStrategy<SparseSeed<G>> {
    seeds_of(G::gradients(), G::gradients())
}

/// Sparse arrays of one shape.
pub fn sparse_of_shape<T: Drawn>(shape: Vec<usize>) -> BoxedStrategy<Sparse<T>> {
    let build = move |seed: SparseSeed<T>| seed.build(&shape);
    seeds().prop_map(build).boxed()
}

/// Sparse arrays of any small shape.
pub fn sparse<T: Drawn>() -> BoxedStrategy<Sparse<T>> {
    sparse_of_rank(0, 10)
}

/// Sparse arrays of a rank between two bounds.
pub fn sparse_of_rank<T: Drawn>(low: usize, high: usize) -> BoxedStrategy<Sparse<T>> {
    let parts = (shapes_of_rank(low, high), seeds());
    parts.prop_map(|(shape, seed)| seed.build(&shape)).boxed()
}

/// Upstream gradients for an output shape.
pub fn upstream<G: DrawnGrad>(shape: Vec<usize>) -> BoxedStrategy<Sparse<G>> {
    let build = move |seed: SparseSeed<G>| seed.build(&shape);
    upstream_seeds().prop_map(build).boxed()
}

/// Axes as a caller gives them, valid for the rank that they were built for.
#[derive(Clone, Debug, PartialEq)]
pub enum AxesChoice {
    /// No axes: reduces nothing.
    None,
    /// All axes.
    All,
    /// One integer, maybe negative.
    One(isize),
    /// A list without repetitions, in any order, each maybe negative.
    List(Vec<isize>),
}

impl AxesChoice {
    /// The axes of this choice, sorted, none of them negative.
    pub fn normalised(&self, rank: usize) -> Vec<usize> {
        let from_start = |axis: isize| axis.rem_euclid(rank as isize) as usize;
        let mut axes = match self {
            AxesChoice::None => Vec::new(),
            AxesChoice::All => (0..rank).collect(),
            AxesChoice::One(axis) => vec![from_start(*axis)],
            AxesChoice::List(list) => list.iter().map(|&axis| from_start(axis)).collect(),
        };
        axes.sort_unstable();
        axes
    }
}

/// Axes without their rank.
#[derive(Clone, Debug)]
pub enum AxesSeed {
    /// No axes.
    None,
    /// All axes.
    All,
    /// One axis, and whether it is spelt negative.
    One(Index, bool),
    /// Axes as fractions of the rank, repetitions to be left out, and how each is spelt.
    List(Vec<(Index, bool)>),
    /// The last axis, and whether it is spelt negative.
    Last(bool),
}

impl AxesSeed {
    /// The axes for a rank; rank 0 has only none and all.
    pub fn build(&self, rank: usize) -> AxesChoice {
        let spell = |axis: usize, negative: bool| {
            if negative { axis as isize - rank as isize } else { axis as isize }
        };
        match self {
            AxesSeed::None => AxesChoice::None,
            AxesSeed::All => AxesChoice::All,
            _ if rank == 0 => AxesChoice::All,
            AxesSeed::One(axis, negative) => AxesChoice::One(spell(axis.index(rank), *negative)),
            AxesSeed::Last(negative) => AxesChoice::One(spell(rank - 1, *negative)),
            AxesSeed::List(list) => {
                let picked = list.iter().map(|(axis, negative)| (axis.index(rank), *negative));
                let mut axes: Vec<(usize, bool)> = Vec::new();
                for (axis, negative) in picked {
                    if axes.iter().all(|&(before, _)| before != axis) {
                        axes.push((axis, negative));
                    }
                }
                AxesChoice::List(axes.into_iter().map(|(a, n)| spell(a, n)).collect())
            }
        }
    }
}

/// Seeds of axes: one, some in any order, all, none.
pub fn axes_seeds() -> BoxedStrategy<AxesSeed> {
    let one = || (any::<Index>(), any::<bool>());
    prop_oneof![
        3 => one().prop_map(|(axis, negative)| AxesSeed::One(axis, negative)),
        3 => vec(one(), 0..=5).prop_map(AxesSeed::List),
        2 => Just(AxesSeed::All),
        1 => Just(AxesSeed::None),
    ]
    .boxed()
}

/// Axes that are valid for a rank.
pub fn axes(rank: usize) -> BoxedStrategy<AxesChoice> {
    axes_seeds().prop_map(move |seed| seed.build(rank)).boxed()
}

/// One whole reduction with its gradient: input, axes, and an upstream gradient that fits.
#[derive(Clone, Debug)]
pub struct Reduction<T, G> {
    /// The input.
    pub x: Sparse<T>,
    /// The axes as the caller gives them.
    pub axes: AxesChoice,
    /// The axes, normalised and sorted.
    pub normalised: Vec<usize>,
    /// True if reduced axes are kept with length 1.
    pub keep_dims: bool,
    /// An upstream gradient of the result's shape.
    pub upstream: Sparse<G>,
}

/// Reductions with axes of one strategy.
fn reductions_over<T: Drawn, G: DrawnGrad>(axes: BoxedStrategy<AxesSeed>) -> BoxedStrategy<Reduction<T, G>> {
    let parts = (sparse::<T>(), axes, any::<bool>(), upstream_seeds::<G>());
    let build = |(x, axes, keep_dims, upstream): (Sparse<T>, AxesSeed, bool, SparseSeed<G>)| {
        let rank = x.shape.len();
        let axes = axes.build(rank);
        let normalised = axes.normalised(rank);
        let shape = reduced_shape(&x.shape, &normalised, keep_dims);
        Reduction { x, axes, normalised, keep_dims, upstream: upstream.build(&shape) }
    };
    parts.prop_map(build).boxed()
}

/// Reductions of any small array over any axes.
pub fn reductions<T: Drawn, G: DrawnGrad>() -> BoxedStrategy<Reduction<T, G>> {
    reductions_over(axes_seeds())
}

/// One index without the number of positions that it indexes.
#[derive(Clone, Debug)]
pub enum IndexSeed {
    /// In `0..n`.
    Inside(Index),
    /// In `-n..0`.
    Negative(Index),
    /// `n` and so many more.
    Above(u16),
    /// `-n - 1` and so many less.
    Below(u16),
}

impl IndexSeed {
    /// The index on `n` positions; on none, what is inside becomes 0 and -1.
    fn build(&self, n: usize) -> i128 {
        let inside = |fraction: &Index| fraction.index(n.max(1)) as i128;
        match self {
            IndexSeed::Inside(fraction) => inside(fraction),
            IndexSeed::Negative(fraction) => inside(fraction) - n.max(1) as i128,
            IndexSeed::Above(more) => n as i128 + i128::from(*more),
            IndexSeed::Below(less) => -(n as i128) - 1 - i128::from(*less),
        }
    }
}

/// An index array without the number of positions that it indexes.
#[derive(Clone, Debug)]
pub struct IndicesSeed {
    /// The shape of the index array.
    pub shape: Vec<usize>,
    /// Index after index, used in turn.
    pub entries: Vec<IndexSeed>,
}

impl IndicesSeed {
    /// The index array for `n` positions.
    pub fn build(&self, n: usize) -> Dense<i128> {
        let entries = self.entries.iter().cycle().take(size(&self.shape));
        Dense { shape: self.shape.clone(), data: entries.map(|entry| entry.build(n)).collect() }
    }
}

/// Index arrays of rank 0 to 3 with entries of one strategy.
fn indices_of(entry: BoxedStrategy<IndexSeed>) -> BoxedStrategy<IndicesSeed> {
    let shapes = prop_oneof![9 => vec(1..=4_usize, 0..=3), 1 => vec(0..=4_usize, 0..=3)];
    let parts = (shapes, vec(entry, 1..=64));
    let seed = |(shape, entries)| IndicesSeed { shape, entries };
    parts.prop_map(seed).boxed()
}

/// Seeds of index arrays that are in range under every mode, negative ones among them.
pub fn inside_indices() -> BoxedStrategy<IndicesSeed> {
    let inside = any::<Index>().prop_map(IndexSeed::Inside);
    let negative = any::<Index>().prop_map(IndexSeed::Negative);
    indices_of(prop_oneof![2 => inside, 1 => negative].boxed())
}

/// Seeds of index arrays, one index in six out of range, on either side, near and far.
pub fn any_indices() -> BoxedStrategy<IndicesSeed> {
    let far = || prop_oneof![0..=3_u16, any::<u16>()];
    let entry = prop_oneof![
        7 => any::<Index>().prop_map(IndexSeed::Inside),
        3 => any::<Index>().prop_map(IndexSeed::Negative),
        1 => far().prop_map(IndexSeed::Above),
        1 => far().prop_map(IndexSeed::Below),
    ];
    indices_of(entry.boxed())
}

/// Index arrays for `n` positions, out of range here and there.
pub fn indices(n: usize) -> BoxedStrategy<Dense<i128>> {
    any_indices().prop_map(move |seed| seed.build(n)).boxed()
}

/// A shape, and triplets inside it: unsorted, and repeated more often than not.
#[derive(Clone, Debug)]
pub struct RawTriplets<T> {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Coordinates and values in the order in which they are pushed.
    pub entries: Vec<(Vec<usize>, T)>,
}

/// Triplets of any small shape, drawn to few places so that coordinates repeat.
pub fn triplets<T: Drawn>() -> BoxedStrategy<RawTriplets<T>> {
    let places = vec(any::<Index>(), 1..=12);
    let pushes = vec((any::<Index>(), T::values()), 0..=40);
    let build = |(shape, places, pushes): (Vec<usize>, Vec<Index>, Vec<(Index, T)>)| {
        let n = size(&shape);
        let pushes = if n == 0 { Vec::new() } else { pushes };
        let place = |pick: &Index| pick.get(&places).index(n) as u128;
        let push = |(pick, value): &(Index, T)| (unravel(place(pick), &shape), *value);
        let entries = pushes.iter().map(push).collect();
        RawTriplets { shape, entries }
    };
    (shapes(), places, pushes).prop_map(build).boxed()
}

/// Shapes that nothing may make dense, with lengths that fit a 32-bit index.
pub const HUGE_SHAPES: [&[usize]; 5] = [
    &[70_000, 70_000],
    &[65_536, 65_536],
    &[4_294_967_296, 4_294_967_296],
    &[4_294_967_296, 4_294_967_296, 4_294_967_296],
    &[3, 4_294_967_295, 2, 1_000_000],
];

/// Shapes that nothing may make dense, with an axis that needs a 64-bit index.
pub const HUGER_SHAPES: [&[usize]; 3] = [&[1 << 40, 3], &[4_294_967_297, 4_294_967_297], &[3, usize::MAX]];

/// A shape with more positions than 128 bits can count.
pub const ENDLESS_SHAPE: [usize; 32] = [1 << 20; 32];

/// One coordinate without the length of its axis.
#[derive(Clone, Debug)]
enum CoordSeed {
    /// A distance from the start.
    Near(u8),
    /// A distance from the end.
    FromEnd(u8),
    /// Any.
    Any(u64),
}

impl CoordSeed {
    /// The coordinate on an axis.
    fn build(&self, length: usize) -> usize {
        match self {
            CoordSeed::Near(from) => usize::from(*from) % length,
            CoordSeed::FromEnd(from) => length - 1 - usize::from(*from) % length,
            CoordSeed::Any(any) => *any as usize % length,
        }
    }
}

/// Coordinates of one entry without their shape, long enough for every huge shape.
fn coord_seeds() -> impl Strategy<Value = Vec<CoordSeed>> {
    let coord = prop_oneof![
        3 => (0..=3_u8).prop_map(CoordSeed::Near),
        2 => (0..=3_u8).prop_map(CoordSeed::FromEnd),
        3 => any::<u64>().prop_map(CoordSeed::Any),
    ];
    vec(coord, ENDLESS_SHAPE.len())
}

/// The place whose flattened position is the same but for a multiple of 2^32, where there is one:
/// what a key of 32 bits takes for the same place.
fn twin(coords: &[usize], shape: &[usize]) -> Option<Vec<usize>> {
    let positions = checked_size(shape)?;
    let position = ravel(coords, shape);
    let other = [position + (1 << 32), position + (1 << 64)];
    let inside = other.into_iter().find(|&position| position < positions)?;
    Some(unravel(inside, shape))
}

/// Entries of a huge array without its shape, and whether each brings its twin along.
type HugeSeeds<T> = Vec<(Vec<CoordSeed>, T, bool)>;

/// Sparse arrays of the shapes given, some entries beside the ones that short keys take them for.
fn huge_of<T: Drawn>(shapes: Vec<Vec<usize>>) -> BoxedStrategy<Sparse<T>> {
    let entries = vec((coord_seeds(), T::values(), any::<bool>()), 0..=12);
    let build = |(shape, seeds, fill): (Vec<usize>, HugeSeeds<T>, T)| {
        let mut entries = BTreeMap::new();
        for (coords, value, with_twin) in seeds {
            let pairs = coords.iter().zip(&shape);
            let coords: Vec<usize> = pairs.map(|(seed, &length)| seed.build(length)).collect();
            let twin = twin(&coords, &shape).filter(|_| with_twin);
            entries.extend(twin.map(|twin| (twin, value)));
            entries.insert(coords, value);
        }
        Sparse::new(&shape, entries, fill)
    };
    (select(shapes), entries, T::fills()).prop_map(build).boxed()
}

/// Owned copies of shapes.
fn owned(shapes: &[&[usize]]) -> Vec<Vec<usize>> {
    shapes.iter().map(|shape| shape.to_vec()).collect()
}

/// Sparse arrays of [`HUGE_SHAPES`], for tests that never make them dense.
pub fn huge<T: Drawn>() -> BoxedStrategy<Sparse<T>> {
    huge_of(owned(&HUGE_SHAPES))
}

/// Sparse arrays of [`HUGER_SHAPES`], whose axes need a 64-bit index.
pub fn huger<T: Drawn>() -> BoxedStrategy<Sparse<T>> {
    huge_of(owned(&HUGER_SHAPES))
}

/// Sparse arrays of [`ENDLESS_SHAPE`].
pub fn endless<T: Drawn>() -> BoxedStrategy<Sparse<T>> {
    huge_of(owned(&[&ENDLESS_SHAPE]))
}

/// Huge arrays, and index arrays of rank 1 that read what is stored and its neighbours, spelt from
/// the start or from the end, in range and within `i64`. Nothing is indexed of an endless shape.
pub fn huge_takes<T: Drawn>() -> BoxedStrategy<(Sparse<T>, Dense<i128>)> {
    let picks = vec((any::<Index>(), -1..=1_i8, any::<bool>()), 0..=20);
    let build = |(x, picks): (Sparse<T>, Vec<(Index, i8, bool)>)| {
        let n = checked_size(&x.shape).expect("not endless") as i128;
        let flat = |at: &Vec<usize>| ravel(at, &x.shape) as i128;
        let mut places: Vec<i128> = x.entries.keys().map(flat).collect();
        places.extend([0, n - 1]);
        let index = |(pick, step, negative): &(Index, i8, bool)| {
            let place = (pick.get(&places) + i128::from(*step)).clamp(0, n - 1);
            let spelt = if *negative { place - n } else { place };
            i64::try_from(spelt).map_or(place % 1_000, i128::from)
        };
        let data: Vec<i128> = picks.iter().map(index).collect();
        let indices = Dense::new(&[data.len()], data);
        (x, indices)
    };
    (huge::<T>(), picks).prop_map(build).boxed()
}

/// Shapes of batches of matrices whose strides other libraries got wrong, and one right by accident.
pub const BATCHED_SHAPES: [&[usize]; 7] =
    [&[6, 2, 3], &[2, 3, 3], &[2, 3, 5], &[2, 2, 4], &[3, 4, 4], &[2, 3, 4, 5], &[4, 0, 3]];

/// Batches of matrices that hold different numbers of entries: some batches keep what was drawn,
/// some only their first columns, some nothing. Their offsets, over all rows and batch by batch:
/// `structure::csr_parts` and `structure::batch_offsets`.
pub fn batched<T: Drawn>() -> BoxedStrategy<Sparse<T>> {
    let shape = prop_oneof![select(owned(&BATCHED_SHAPES)), shapes_of_rank(3, 5)];
    let parts = (shape, seeds::<T>(), vec(0..=4_usize, 1..=6));
    let build = |(shape, seed, keep): (Vec<usize>, SparseSeed<T>, Vec<usize>)| {
        let mut x = seed.build(&shape);
        let batch_rank = shape.len() - 2;
        let batch = |at: &[usize]| batch_number(&at[..batch_rank], &shape[..batch_rank]);
        x.entries.retain(|at, _| match keep[batch(at) % keep.len()] {
            0 => false,
            4 => true,
            last => at[shape.len() - 1] <= last,
        });
        x
    };
    parts.prop_map(build).boxed()
}

/// The number of a batch.
fn batch_number(coords: &[usize], shape: &[usize]) -> usize {
    ravel(coords, shape) as usize
}
