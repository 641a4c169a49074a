//! Random tensors, files of random tensors, and the comparison of results.

use std::path::PathBuf;
use std::{env, fs, process};

use half::{bf16, f16};
use lacuna::io::{FileElement, WriteOptions};
use lacuna::{CooTensor, Element, Ring, Triplets};
use num_complex::Complex;

/// A generator of pseudorandom numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end
    }
}

/// An element type with values to draw from.
pub trait Item: FileElement + Ring {
    /// Returns the values that are drawn often: the edges of the type.
    fn edges() -> Vec<Self>;

    fn any(random: &mut Random) -> Self;

    /// Returns the fills of tensors.
    fn fills() -> Vec<Self> {
        let mut fills = vec![Self::ZERO, Self::ONE];
        fills.extend(Self::edges().into_iter().take(4));
        fills
    }

    fn draw(random: &mut Random) -> Self {
        match random.below(3) {
            0 => Self::edges()[random.below(Self::edges().len())],
            _ => Self::any(random),
        }
    }
}

impl Item for bool {
    fn edges() -> Vec<Self> {
        vec![false, true]
    }

    fn any(random: &mut Random) -> Self {
        random.next() >> 20 & 1 == 1
    }
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Item for $type {
            fn edges() -> Vec<Self> {
                vec![$type::MIN, $type::MAX, 0, 1, 2, 100]
            }

            fn any(random: &mut Random) -> Self {
                (random.next() >> 17) as $type
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($type:ident, $of:expr;)*) => {$(
        impl Item for $type {
            fn edges() -> Vec<Self> {
                let edges = [-0.0, f64::NAN, f64::INFINITY, 1.5, f64::NEG_INFINITY, 0.1, 1e30, -1e30, 3.0];
                let greatest = [$type::MAX, $type::MIN, $type::MIN_POSITIVE];
                edges.into_iter().map($of).chain(greatest).chain([$type::from_bits(1)]).collect()
            }

            fn any(random: &mut Random) -> Self {
                // Sometimes any bits: NaNs with payloads, and subnormal numbers.
                match random.below(4) {
                    0 => $type::from_bits(random.next() as _),
                    _ => $of(random.below(2000) as f64 / 8.0 - 125.0),
                }
            }
        }
    )*};
}

floats! {
    f16, f16::from_f64;
    bf16, bf16::from_f64;
    f32, |wide| wide as f32;
    f64, |wide| wide;
}

macro_rules! complex {
    ($($part:ident)*) => {$(
        impl Item for Complex<$part> {
            fn edges() -> Vec<Self> {
                let parts = $part::edges();
                parts.iter().zip(parts.iter().rev()).map(|(&re, &im)| Complex { re, im }).collect()
            }

            fn any(random: &mut Random) -> Self {
                Complex { re: $part::any(random), im: $part::any(random) }
            }
        }
    )*};
}

complex! { f32 f64 }

/// Returns a tensor in which about `density` percent of the positions are stored.
pub fn tensor<T: Item>(random: &mut Random, shape: [usize; 3], density: usize, fill: T) -> CooTensor<T> {
    let mut triplets = Triplets::new(shape).unwrap();
    let [rows, columns, layers] = shape;
    for at in 0..rows * columns * layers {
        if random.below(100) < density {
            let place = [at / (columns * layers), at / layers % columns, at % layers];
            triplets.push(&place, T::draw(random)).unwrap();
        }
    }
    triplets.with_fill(fill).coalesce(lacuna::Duplicates::Error).unwrap()
}

/// Returns options for row groups of few entries, and files of few row groups.
pub fn small_groups() -> WriteOptions {
    WriteOptions::default().group_entries(11).part_entries(33)
}

/// Returns the shape, the coordinates, and the bits of the values and of the fill.
pub fn bits<T: FileElement>(x: &CooTensor<T>) -> (Vec<usize>, Vec<Vec<usize>>, Vec<u8>) {
    let mut bytes = Vec::new();
    x.values().iter().chain([&x.fill()]).for_each(|value| value.to_bytes(&mut bytes));
    (x.shape().to_vec(), x.iter().map(|(place, _)| place.to_vec()).collect(), bytes)
}

pub fn assert_bits<T: FileElement + Element>(found: &CooTensor<T>, expected: &CooTensor<T>, case: &str) {
    assert_eq!(bits(found), bits(expected), "{case}\n{found:?}\n{expected:?}");
}

/// A temporary folder, which is removed on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("lacuna-datafusion-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
