//! What is measured.

use lacuna::io::{FileFormat, ReadOptions, WriteOptions, read_from, write_to};
use lacuna::{Axes, CooTensor, CsrTensor, Duplicates, grad};
use ndarray::Array1;

use crate::Meter;
use crate::support::{Numbers, matrix, side, triplets};

/// The parts of the picture.
pub(crate) const PANELS: [&str; 4] = ["elementwise", "reductions", "orders and formats", "files"];

/// An operation on a tensor from a file.
type OnTensor = fn(&CooTensor<f64>);

pub(crate) const OF_FILES: [(&str, OnTensor); 6] = [
    ("any, axis 0", |x| drop(x.any(0))),
    ("nanmedian, axis 0", |x| drop(x.nanmedian(0))),
    ("nanmedian, last axis", |x| drop(x.nanmedian(-1))),
    ("isin, 16", |x| drop(x.isin(&x.values()[..16.min(x.nnz())]))),
    ("permute_axes", |x| drop(x.permute_axes((0..x.rank() as isize).rev().collect::<Vec<_>>()))),
    ("write .mtx or .tns", |x| {
        let format = if x.rank() == 2 { FileFormat::MatrixMarket } else { FileFormat::Tns };
        drop(write_to(std::io::sink(), format, x, &WriteOptions::default()));
    }),
];

/// An operation, measured on an input of so many entries.
pub(crate) struct Case {
    pub(crate) panel: usize,
    pub(crate) name: &'static str,
    pub(crate) measure: Box<Measure>,
}

type Measure = dyn Fn(usize, &mut Meter);

/// All cases, panel by panel.
pub(crate) fn all() -> Vec<Case> {
    [elementwise(), reductions(), orders(), files()].into_iter().flatten().collect()
}

/// How positions, numbers and triplets come.
#[derive(Clone, Copy)]
enum Order {
    Random,
    Sorted,
    Reversed,
    Equal,
    /// Most of them in few places.
    Heaped,
    /// All but one agree in their upper bits, by which entries are partitioned into buckets.
    Alike,
}

fn case(panel: usize, name: &'static str, measure: impl Fn(usize, &mut Meter) + 'static) -> Case {
    Case { panel, name, measure: Box::new(measure) }
}

/// Positions of a list, in an order.
fn positions(count: usize, order: Order) -> Array1<i64> {
    let mut numbers = Numbers(46);
    let position = |at: i64| match order {
        Order::Random | Order::Heaped | Order::Alike => numbers.below(count as u64) as i64,
        Order::Sorted => at,
        Order::Reversed => -1 - at,
        Order::Equal => 0,
    };
    (0..count as i64).map(position).collect()
}

fn elementwise() -> Vec<Case> {
    let isin = |members: usize, name| {
        case(0, name, move |size, meter| {
            let (x, members) = (matrix(size), Numbers(47).values(members.min(size)));
            meter.run(|| x.isin(&members));
        })
    };
    let take = |order: Order, name| {
        case(0, name, move |size, meter| {
            let (x, positions) = (Array1::from(Numbers(48).values(size)), positions(size, order));
            meter.run(|| lacuna::take(&x, &positions).expect("all lie within"));
        })
    };
    vec![
        case(0, "isposinf", |size, meter| {
            let x = matrix(size);
            meter.run(|| x.isposinf());
        }),
        isin(16, "isin, 16"),
        isin(1_000, "isin, 1000"),
        isin(usize::MAX, "isin, as many"),
        case(0, "isin, alike", |size, meter| {
            // Numbers a power of two apart agree in the bits that a table or a hash takes first.
            let member = |at: usize| (at as i64) << 32;
            let (x, members) = (Array1::from_iter((0..size).map(member)), (0..size / 2).map(|at| member(2 * at)));
            let members: Vec<i64> = members.collect();
            meter.run(|| lacuna::isin(&x, &members));
        }),
        take(Order::Random, "take, random"),
        take(Order::Sorted, "take, sorted"),
        take(Order::Reversed, "take, reversed"),
        take(Order::Equal, "take, equal"),
        case(0, "take, from sparse", |size, meter| {
            let (x, mut numbers) = (matrix(size), Numbers(49));
            let places = (side(size) * side(size)) as u64;
            let positions: Vec<i64> = (0..size / 10).map(|_| numbers.below(places) as i64).collect();
            meter.run(|| x.take(&positions));
        }),
        case(0, "take_backward", |size, meter| {
            let (x, positions) = (Array1::from(Numbers(48).values(size)), positions(size, Order::Random));
            let upstream = Array1::from_elem(size, 0.5);
            meter.run(|| lacuna::grad::take(&x, &upstream, &positions).expect("all lie within"));
        }),
    ]
}

/// A matrix of four rows, of which only one holds anything, but is full.
fn row(values: Vec<f64>) -> CsrTensor<f64> {
    let width = values.len();
    let offsets = vec![0, 0, width, width, width];
    CsrTensor::new([4, width], offsets, (0..width as u32).collect(), values, 0.0).expect("the columns increase")
}

fn reductions() -> Vec<Case> {
    let medians = |order: Order, name| {
        case(1, name, move |size, meter| {
            let mut values = Numbers(50).values(size);
            match order {
                Order::Sorted => values.sort_by(f64::total_cmp),
                Order::Reversed => values.sort_by(|a, b| b.total_cmp(a)),
                Order::Equal => values.fill(1.5),
                Order::Random | Order::Heaped | Order::Alike => {}
            }
            let x = Array1::from(values);
            meter.run(|| lacuna::nanmedian(&x, Axes::all()));
        })
    };
    let of_matrix =
        |name, run: fn(&CooTensor<f64>, &mut Meter)| case(1, name, move |size, meter| run(&matrix(size), meter));
    vec![
        of_matrix("any, axis 0", |x, meter| meter.run(|| x.any(0))),
        of_matrix("any, axis 1", |x, meter| meter.run(|| x.any(1))),
        of_matrix("any, axis 1, CSR", |x, meter| {
            let x = x.to_csr().expect("few rows");
            meter.run(|| x.any(1));
        }),
        of_matrix("any_backward, axis 0", |x, meter| {
            let upstream = x.any(0).and_then(|any| any.map_values(|any| if any { 0.5 } else { 0.0 })).expect("there");
            meter.run(|| grad::any(x, &upstream, 0));
        }),
        of_matrix("any_backward, axis 1", |x, meter| {
            let upstream = x.any(1).and_then(|any| any.map_values(|any| if any { 0.5 } else { 0.0 })).expect("there");
            meter.run(|| grad::any(x, &upstream, 1));
        }),
        of_matrix("nanmedian, axis 0", |x, meter| meter.run(|| x.nanmedian(0))),
        of_matrix("nanmedian, axis 1", |x, meter| meter.run(|| x.nanmedian(1))),
        of_matrix("nanmedian_backward, axis 0", |x, meter| {
            let upstream = x.nanmedian(0).and_then(|median| median.map_values(|_| 0.5)).expect("there");
            meter.run(|| grad::nanmedian(x, &upstream, 0));
        }),
        of_matrix("nanmedian, stored, axis 1", |x, meter| meter.run(|| x.stored().nanmedian(1))),
        medians(Order::Random, "nanmedian, dense"),
        medians(Order::Sorted, "nanmedian, dense, sorted"),
        medians(Order::Reversed, "nanmedian, dense, reversed"),
        medians(Order::Equal, "nanmedian, dense, equal"),
        case(1, "nanmedian, dense, all NaN", |size, meter| {
            let x = Array1::from_elem(size, f64::NAN);
            meter.run(|| lacuna::nanmedian(&x, Axes::all()));
        }),
        case(1, "any, one row of zeros", |size, meter| {
            let x = row(vec![0.0; size]);
            meter.run(|| x.any(1));
        }),
        case(1, "nanmedian, one row", |size, meter| {
            let x = row(Numbers(51).values(size));
            meter.run(|| x.nanmedian(1));
        }),
    ]
}

/// Row-major keys of a square matrix, about ten a row.
fn keys(count: u64, order: Order) -> Vec<u64> {
    let (places, mut numbers) = ((side(count as usize) as u64).pow(2), Numbers(44));
    let key = |entry: u64| match order {
        Order::Random => numbers.below(places),
        Order::Sorted => entry * (places / count).max(1),
        Order::Reversed => (count - 1 - entry) * (places / count).max(1),
        Order::Equal => 7,
        Order::Heaped => numbers.below(places) >> numbers.below(40),
        Order::Alike if entry == 0 => places - 1,
        Order::Alike => numbers.below(2 * count),
    };
    (0..count).map(key).collect()
}

fn orders() -> Vec<Case> {
    let coalesce = |order: Order, name| {
        case(2, name, move |size, meter| {
            let triplets = triplets(side(size), &keys(size as u64, order));
            meter.run_on(|| triplets.clone(), |triplets| triplets.coalesce(Duplicates::Sum));
        })
    };
    vec![
        coalesce(Order::Random, "coalesce, random"),
        coalesce(Order::Sorted, "coalesce, sorted"),
        coalesce(Order::Reversed, "coalesce, reversed"),
        coalesce(Order::Equal, "coalesce, equal"),
        coalesce(Order::Heaped, "coalesce, heaped"),
        coalesce(Order::Alike, "coalesce, alike"),
        case(2, "permute_axes", |size, meter| {
            let x = matrix(size);
            meter.run(|| x.permute_axes([1, 0]));
        }),
        case(2, "to_csr", |size, meter| {
            let x = matrix(size);
            meter.run(|| x.to_csr());
        }),
        case(2, "to_coo", |size, meter| {
            let x = matrix(size).into_csr().expect("few rows");
            meter.run(|| x.to_coo());
        }),
    ]
}

fn files() -> Vec<Case> {
    let read = |format: FileFormat, name| {
        case(3, name, move |size, meter| {
            let mut file = Vec::new();
            write_to(&mut file, format, &matrix(size), &WriteOptions::default()).expect("it can be written");
            meter.run(|| read_from(&file[..], format, &ReadOptions::default()).expect("it can be read"));
        })
    };
    let write = |format: FileFormat, name| {
        case(3, name, move |size, meter| {
            let x = matrix(size);
            meter.run(|| write_to(std::io::sink(), format, &x, &WriteOptions::default()));
        })
    };
    vec![
        read(FileFormat::MatrixMarket, "read .mtx"),
        read(FileFormat::Tns, "read .tns"),
        read(FileFormat::Npz, "read .npz"),
        case(3, "read .mtx, backwards", |size, meter| {
            let lines = (1..=size).rev().map(|at| format!("{at} {} 0.5\n", at * 7919 % size + 1));
            let body = lines.collect::<String>();
            let text = format!("%%MatrixMarket matrix coordinate real general\n{size} {size} {size}\n{body}");
            meter.run(|| read_from(text.as_bytes(), None, &ReadOptions::default()).expect("it can be read"));
        }),
        case(3, "read .npy", |size, meter| {
            let mut file = Vec::new();
            let x = CooTensor::from_dense(&Array1::from(Numbers(48).values(size)), 0.0).expect("it is small");
            write_to(&mut file, FileFormat::Npy, &x, &WriteOptions::default()).expect("it can be written");
            meter.run(|| read_from(&file[..], None, &ReadOptions::default()).expect("it can be read"));
        }),
        write(FileFormat::MatrixMarket, "write .mtx"),
        write(FileFormat::Tns, "write .tns"),
    ]
}
