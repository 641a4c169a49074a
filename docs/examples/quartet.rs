//! Anscombe's quartet: four sets of pairs with equal means, variances and correlations, and statistics that differ.
//!
//! `cargo run --example quartet`

use lacuna::io::{ReadOptions, read_coo};
use lacuna::ndarray::{arr1, arr2, s};
use lacuna::{CooTensor, Tolerance, Var, stack};
use std::error::Error;

const QUARTET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/anscombe.mtx");

fn main() -> Result<(), Box<dyn Error>> {
    // Eleven rows, and the columns x1 y1 x2 y2 x3 y3 x4 y4. The file lists all values, so all are stored.
    let pairs: CooTensor<f64> = read_coo(QUARTET, &ReadOptions::default())?;
    let means = pairs.mean(0)?;
    let variances = pairs.var(Var::over(0).ddof(1))?;
    println!("means     {:.3?}\nvariances {:.3?}", means.to_vec(&[])?, variances.to_vec(&[])?);

    // The published values of the quartet: means of 9 and 7.50, variances of 11 and about 4.125.
    assert!(means.reshape([4, 2])?.allclose(&arr1(&[9.0, 7.5]), (0.0, 0.005))?);
    assert!(variances.reshape([4, 2])?.allclose(&arr1(&[11.0, 4.125]), (0.0, 0.005))?);
    // numpy, with a = mmread("anscombe.mtx"): a.mean(0), a.var(0, ddof=1), which round at every step
    let by_numpy =
        arr1(&[9.0, 7.500909090909093, 9.0, 7.500909090909091, 9.0, 7.500000000000001, 9.0, 7.50090909090909]);
    let last_places = Tolerance::within(1e-14, 0.0);
    assert!(means.allclose(&by_numpy, last_places)?);
    let by_numpy = arr1(&[11.0, 4.127269090909091, 11.0, 4.127629090909091, 11.0, 4.12262, 11.0, 4.12324909090909]);
    assert!(variances.allclose(&by_numpy, last_places)?);

    // Standardised columns: the row of means and the row of standard deviations are broadcast along the rows of the
    // matrix.
    let standard = pairs.sub(&means)?.div(&pairs.std(Var::over(0).ddof(1))?)?;
    let (x, y) = (standard.slice(s![.., 0..;2])?, standard.slice(s![.., 1..;2])?);
    let correlations = x.mul(&y)?.sum(0)?.div(10.0)?; // n - 1
    println!("correlations {:.4?}", correlations.to_vec(&[])?);
    // numpy: z = (a - a.mean(0)) / a.std(0, ddof=1); (z[:, ::2] * z[:, 1::2]).sum(0) / 10
    let by_numpy = arr1(&[0.8164205163448399, 0.8162365060002428, 0.8162867394895981, 0.8165214368885028]);
    assert!(correlations.allclose(&by_numpy, last_places)?);
    // Each standardised value was rounded, so mean and variance differ from 0 and 1 by a few units in the last place.
    assert!(standard.mean(0)?.allclose(0.0, (0.0, 1e-15))?);
    assert!(standard.var(Var::over(0).ddof(1))?.allclose(1.0, (1e-15, 0.0))?);

    // The four sets differ in the quartiles of y and in the row with the largest y.
    let ys = pairs.slice(s![.., 1..;2])?;
    let quartiles = stack(0, &[&ys.quantile(0.25, 0)?, &ys.quantile(0.5, 0)?, &ys.quantile(0.75, 0)?])?;
    println!("quartiles of y\n{quartiles}");
    // numpy: np.quantile(a[:, 1::2], [.25, .5, .75], axis=0), which rounds more than once
    let by_numpy = arr2(&[[6.315, 6.695, 6.25, 6.17], [7.58, 8.14, 7.11, 7.04], [8.57, 8.95, 7.98, 8.19]]);
    assert!(quartiles.allclose(&by_numpy, last_places)?);
    let greatest = ys.argmax(0)?;
    println!("greatest y in row {:?}", greatest.to_vec(&[])?);
    assert_eq!(greatest.to_vec(&[])?, [8, 4, 2, 7]); // numpy: a[:, 1::2].argmax(0)

    // The outlier of the third set, and the single point that determines the line of the fourth set: the maxima of the
    // standardised columns.
    let extremes = standard.max(0)?;
    // numpy: z.max(0)[[5, 6]]
    assert!(extremes.take_axis([5, 6], 0)?.allclose(&arr1(&[2.5807422633878487, 3.015113445777636]), (1e-14, 0.0))?);
    println!("y3 has a point at {:.2} deviations, x4 one at {:.2}", extremes.get(&[5])?, extremes.get(&[6])?);
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
