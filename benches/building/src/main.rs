//! Six operations on a COO tensor: what a first program needs.

use lacuna::prelude::*;

fn main() -> lacuna::Result<()> {
    let mut triplets = Triplets::new([4, 5])?;
    for (row, column, value) in [(0usize, 1usize, 2.0f64), (1, 3, f64::NAN), (2, 0, -1.5), (3, 4, 7.0)] {
        triplets.push(&[row, column], value)?;
    }
    let x: CooTensor<f64> = triplets.coalesce(Duplicates::Sum)?;
    let doubled = &x + &x;
    let product = doubled.matmul(&x.transpose()?)?;
    println!("{:?}", x.sum(0)?.values());
    println!("{:?}", x.nanmedian(1)?.values());
    println!("{:?}", product.values());
    println!("{:?}", x.take_axis(&[0u8, 2], 0)?.values());
    println!("{:?}", x.any(1)?.values());
    Ok(())
}
