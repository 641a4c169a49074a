//! Fills in missing weeks of a table: gradient descent finds two thin tables whose product is close to the readings.
//!
//! `cargo run --release --features lazy --example factors`

use lacuna::lazy::{Lazy, compile};
use lacuna::ndarray::{Array2, ArrayD};
use lacuna::{Axes, CooPattern, CooTensor, io};
use std::error::Error;
use std::f64::consts::TAU;

const READINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mauna_loa_co2.mtx");

/// The unit of the factorised values is 10 ppm. The values are differences from the mean.
const TEN: f64 = 10.0;

fn main() -> Result<(), Box<dyn Error>> {
    // Weekly carbon dioxide: one row per year, one column per week. In the file, weeks without a reading are NaN. The
    // filter removes these entries.
    let weekly = io::read(READINGS, &io::ReadOptions::default())?.into_coo::<f64, u32>()?;
    let weekly = weekly.filter_entries(|_, reading| !reading.is_nan())?;
    let [years, weeks] = [weekly.shape()[0], weekly.shape()[1]];
    let mean = weekly.stored().mean(Axes::all())?.item()?;
    println!("{} readings of {years} years, {mean:.2} ppm on average", weekly.nnz());

    // The graph is compiled once. It computes the sum of squared errors at the readings, and its gradients by both
    // factors.
    let table = weekly.map_values(|reading| (reading - mean) / TEN)?.with_fill(0.0).lazy();
    let by_year = Lazy::<ArrayD<f64>>::input("by_year", [years, 2]);
    let by_week = Lazy::<ArrayD<f64>>::input("by_week", [weeks, 2]);
    let wrong = table.pattern().sddmm(&by_year, &by_week) - &table;
    let loss = wrong.square().sum(Axes::all());
    let one = CooTensor::from_parts(CooPattern::empty([0; 0])?, vec![], 1.0)?.lazy();
    let [of_year, of_week] = loss.gradients([&by_year, &by_week], &one);
    let step = compile((&loss, &of_year, &of_week))?;

    // The initial values: for each year, a rise and an amplitude; for each week, a constant and a season.
    let start = |rows, first: &dyn Fn(f64) -> f64, second: &dyn Fn(f64) -> f64| {
        let at = |(row, column): (usize, usize)| if column == 0 { first(row as f64) } else { second(row as f64) };
        Array2::from_shape_fn((rows, 2), at).into_dyn()
    };
    let mut factors = [
        start(years, &|year| year / years as f64 - 0.5, &|_| 0.5),
        start(weeks, &|_| 0.5, &|week| (week * TAU / 52.0).cos()),
    ];
    let mut moves = [ArrayD::zeros(factors[0].raw_dim()), ArrayD::zeros(factors[1].raw_dim())];

    for number in 0..=400 {
        let (loss, of_year, of_week) = step.run([by_year.is(&factors[0]), by_week.is(&factors[1])])?;
        if number % 100 == 0 {
            println!("step {number}: off by {:.3} ppm", TEN * (loss.item()? / weekly.nnz() as f64).sqrt());
        }
        for (at, gradient) in [of_year, of_week].into_iter().enumerate() {
            moves[at] = &moves[at] * 0.9 - gradient * 0.002;
            factors[at] += &moves[at];
        }
    }

    // numpy: alternating least squares over the same readings (np.linalg.lstsq, row by row, until nothing changes)
    // results in a sum of squares of 3.0268747827373126. This is an error of 0.369 ppm per reading.
    let (left, _, _) = step.run([by_year.is(&factors[0]), by_week.is(&factors[1])])?;
    assert!((left.item()? - 3.026_874_782_737_312_6).abs() < 1e-9);

    // Week 24 of 1964 has no reading; weeks 23 and 26 have 322.0 and 321.5.
    let (year, week) = (1964 - 1958, 24 - 1);
    assert_eq!(weekly.get(&[year, week])?, 0.0); // not stored
    let reading = mean + TEN * (0..2).map(|k| factors[0][[year, k]] * factors[1][[week, k]]).sum::<f64>();
    println!("week 24 of 1964: {reading:.1} ppm");
    assert!((321.5..322.5).contains(&reading));
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
