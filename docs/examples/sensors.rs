//! A sensor with missing readings: 44 years of weekly carbon dioxide at Mauna Loa, some weeks without a reading.
//!
//! `cargo run --example sensors`

use lacuna::io::{ReadOptions, read_coo};
use lacuna::ndarray::{Axis, arr0, arr1};
use lacuna::{Axes, CooTensor, grad};
use std::error::Error;

const CO2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mauna_loa_co2.mtx");

fn main() -> Result<(), Box<dyn Error>> {
    // Year x week. Weeks outside the record are not stored. Weeks without a reading are stored as NaN. With a fill of
    // NaN, both kinds of weeks are unknown.
    let readings: CooTensor<f64> = read_coo(CO2, &ReadOptions::default())?;
    let readings = readings.with_fill(f64::NAN);
    let silent = readings.stored().isnan()?.count_nonzero(1)?;
    let most = silent.argmax(0)?.item()?;
    println!("{} weeks without a reading, most of them in {}", silent.sum(0)?.item()?, 1958 + most);
    // numpy, with m = mmread(...).tocoo(): np.bincount(m.row[np.isnan(m.data)]), its sum and its argmax
    assert_eq!((silent.sum(0)?.item()?, most), (59, 6));

    // A mean, a median and a quantile of each year. Functions whose names begin with `nan` skip unknown values.
    let means = readings.nanmean(1)?;
    let medians = readings.nanmedian(1)?;
    let high = readings.nanquantile(0.9, 1)?;
    for year in [0, 43] {
        println!(
            "{} {:8.3} {:8.3} {:8.3}",
            1958 + year,
            means.get(&[year])?,
            medians.get(&[year])?,
            high.get(&[year])?
        );
    }
    // numpy, with d = np.full(m.shape, np.nan); d[m.row, m.col] = m.data:
    //   np.nanmean(d, 1), np.nanmedian(d, 1), np.nanquantile(d, 0.9, axis=1)
    // numpy rounds each step of a sum and of a quantile, lacuna rounds once. The results agree to a few units in the
    // last place.
    let close = (1e-14, 0.0);
    assert!(means.take_axis([0, 43], 0)?.allclose(&arr1(&[315.42, 370.86538461538464]), close)?);
    assert_eq!(medians.take_axis([0, 43], 0)?.values(), [315.4, 371.2]);
    assert!(high.take_axis([0, 43], 0)?.allclose(&arr1(&[317.5, 373.09]), close)?);

    // The season: subtract the mean of its year from each reading, then take the mean of each week. The column of means
    // is broadcast along the weeks.
    let anomaly = readings.sub(&means.expand_dims(1)?)?;
    let season = anomaly.nanmean(0)?;
    let (top, low) = (season.nanargmax(0)?.item()?, season.nanargmin(0)?.item()?);
    println!("highest in week {}, lowest in week {}", top + 1, low + 1);
    // numpy: s = np.nanmean(d - np.nanmean(d, 1)[:, None], 0); s.argmax(), s.max(), s.argmin(), s.min()
    // The anomalies are differences of numbers near 350. The tolerance is less than 200 units in the last place of 350.
    assert_eq!((top, low), (21, 38));
    let extremes = season.take_axis([21, 38], 0)?;
    assert!(extremes.allclose(&arr1(&[2.8393912145795506, -3.1314376508757853]), (0.0, 1e-11))?);

    // The weight of a reading in the mean of all years: the gradient of the mean of the yearly means by each reading.
    let upstream = grad::nanmean(&means, &arr0(1.0_f64), 0)?;
    let weight = grad::nanmean(&readings, &upstream, 1)?;
    assert!(weight.shares_pattern_with(&readings));
    println!(
        "a reading of 1964 counts {:.2} times one of 2001",
        weight.nanmax(1)?.get(&[6])? / weight.nanmax(1)?.get(&[43])?
    );
    // numpy: 1 / 44 / (~np.isnan(d)).sum(1)[[6, 43]]: 31 readings in 1964, 52 in 2001. lacuna and numpy round each step
    // once. A reading that is NaN has the weight 0. The weights of each year therefore sum to 1/44.
    assert_eq!(weight.max(1)?.take_axis([6, 43], 0)?.values(), [1.0 / 44.0 / 31.0, 1.0 / 44.0 / 52.0]);
    assert!((weight.sum(Axes::all())?.item()? - 1.0).abs() < 1e-14);
    let dense = weight.to_dense()?;
    assert_eq!(dense.index_axis(Axis(0), 6).iter().filter(|&&w| w > 0.0).count(), 31);
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
