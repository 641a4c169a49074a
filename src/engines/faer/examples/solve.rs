//! Solves a system of equations with a sparse matrix, using faer.
//!
//! Run `cargo run --features solvers --example solve` in this folder.

use faer::linalg::solvers::Solve;
use faer::mat;
use lacuna::{CooTensor, Duplicates, Triplets};
use lacuna_faer::{as_faer, from_faer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A rod of five points between two ends, which are held at 0 and 6. Each point is the mean of its neighbours.
    let mut triplets = Triplets::<f64, usize>::new_with_index([5, 5])?;
    for at in 0..5 {
        triplets.push(&[at, at], 2.0)?;
        if at > 0 {
            triplets.push(&[at, at - 1], -1.0)?;
            triplets.push(&[at - 1, at], -1.0)?;
        }
    }
    let a: CooTensor<f64, usize> = triplets.coalesce(Duplicates::Sum)?;
    let a = a.into_csr()?;
    let matrix = as_faer(&a)?;
    let heat = matrix.sp_cholesky(faer::Side::Lower)?.solve(mat![[0.0], [0.0], [0.0], [0.0], [6.0]]);
    for at in 0..5 {
        println!("{:.3}", heat[(at, 0)]);
        assert!((heat[(at, 0)] - (at + 1) as f64).abs() < 1e-12);
    }
    // A result of faer converts back: here the square of the matrix, computed by columns and converted to rows.
    let by_columns = matrix.to_col_major()?;
    let squared = from_faer((&by_columns * &by_columns).to_row_major()?)?;
    assert_eq!(squared.to_dense()?, a.matmul(&a)?.to_dense()?);
    Ok(())
}
