//! A long record in chunks: each year is computed separately, and the combined results equal those of the full record.
//!
//! `cargo run --example pieces`

use lacuna::io::{ReadOptions, WriteOptions, read_coo, write};
use lacuna::ndarray::s;
use lacuna::{Axes, CooTensor, Result, concat, stack};
use std::error::Error;

const MONTHLY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mauna_loa_co2_monthly.npz");

/// Returns the sum, the count and the maximum of the readings of a chunk, ignoring NaN.
fn figures(piece: &CooTensor<f64>) -> Result<(CooTensor<f64>, CooTensor<u64>, CooTensor<f64>)> {
    let sum = piece.nansum(Axes::all())?;
    let count = piece.isfinite()?.count_nonzero(Axes::all())?;
    Ok((sum, count, piece.nanmax(Axes::all())?))
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    // Year x month x week of the month. The fill in the file is NaN: the month does not have this week, or the week
    // does not have a reading.
    let whole: CooTensor<f64> = read_coo(MONTHLY, &ReadOptions::default())?;
    let years = whole.shape()[0];

    // A slice along the first axis does not copy values. Each chunk could be computed on a separate thread.
    let pieces: Vec<CooTensor<f64>> = (0..years).map(|year| whole.slice(s![year, .., ..])).collect::<Result<_>>()?;
    let figures: Vec<_> = pieces.iter().map(figures).collect::<Result<_>>()?;
    for year in [0, 6, 43] {
        let (sum, count, max) = &figures[year];
        println!("{} {:9.1} ppm in {} readings, at most {}", 1958 + year, sum.item()?, count.item()?, max.item()?);
    }

    // One tensor per statistic: `stack` joins results of rank 0 along a new axis. Each sum is rounded once, so the sums
    // of the chunks are bitwise identical to the sums of the full record.
    let sums = stack(0, &figures.iter().map(|(sum, _, _)| sum).collect::<Vec<_>>())?;
    let counts = stack(0, &figures.iter().map(|(_, count, _)| count).collect::<Vec<_>>())?;
    let maxima = stack(0, &figures.iter().map(|(_, _, max)| max).collect::<Vec<_>>())?;
    assert_eq!(sums.to_vec(&[])?, whole.nansum([1, 2])?.to_vec(&[])?);
    assert_eq!(counts.to_vec(&[])?, whole.isfinite()?.count_nonzero([1, 2])?.to_vec(&[])?);
    assert_eq!(maxima.to_vec(&[])?, whole.nanmax([1, 2])?.to_vec(&[])?);
    // python, with c = sparse.load_npz(...).todense(): math.fsum(c[i][~np.isnan(c[i])]), which is also rounded once;
    // (~np.isnan(c[i])).sum(); np.nanmax(c[i]), for i = 0, 6, 43
    assert_eq!(sums.take_axis([0, 6, 43], 0)?.values(), [7885.5, 9875.7, 19285.0]);
    assert_eq!(counts.take_axis([0, 6, 43], 0)?.values(), [25, 31, 52]);
    assert_eq!(maxima.take_axis([0, 6, 43], 0)?.values(), [317.9, 322.0, 373.9]);
    // python: math.fsum(c[~np.isnan(c)]), (~np.isnan(c)).sum(), np.nanmax(c)
    println!("in all {} ppm in {} readings", whole.nansum(Axes::all())?.item()?, counts.sum(0)?.item()?);
    assert_eq!(whole.nansum(Axes::all())?.item()?, 756816.5);
    assert_eq!((counts.sum(0)?.item()?, maxima.max(0)?.item()?), (2225, 373.9));

    // Stacked years and concatenated decades equal the full record. NaNs are not equal with `==`. `same_as` compares
    // the bits of values, including NaNs, and the fill.
    assert!(stack(0, &pieces.iter().collect::<Vec<_>>())?.same_as(&whole));
    let decades: Vec<CooTensor<f64>> = (0..years)
        .step_by(10)
        .map(|from| whole.slice(s![from..years.min(from + 10), .., ..]))
        .collect::<Result<_>>()?;
    let joined = concat(0, &decades.iter().collect::<Vec<_>>())?;
    assert!(joined.same_as(&whole));

    // Write the record to a file that pydata's `sparse.load_npz` can read, then read the file again.
    let path = std::env::temp_dir().join(format!("lacuna-pieces-{}.npz", std::process::id()));
    write(&path, &joined, &WriteOptions::default())?;
    let back: CooTensor<f64> = read_coo(&path, &ReadOptions::default())?;
    println!("{} decades joined, written in {} bytes and read back", decades.len(), std::fs::metadata(&path)?.len());
    std::fs::remove_file(&path)?;
    assert!(back.same_as(&whole));
    Ok(())
}

#[test]
fn it_runs() -> std::result::Result<(), Box<dyn Error>> {
    main()
}
