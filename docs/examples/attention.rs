//! Attention over the ties of a social network: each member receives only features of its friends, with learned
//! weights.
//!
//! `cargo run --example attention`

use lacuna::io::{ReadOptions, read_coo};
use lacuna::ndarray::{Array2, Ix2};
use lacuna::{CooTensor, Result, grad, matmul};
use std::error::Error;

const CLUB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/karate.mtx");

/// Returns features without a visible pattern. Every run has the same features.
fn features(members: usize, width: usize, seed: usize) -> Array2<f64> {
    Array2::from_shape_fn((members, width), |(member, k)| ((member * 31 + k * 17 + seed) % 23) as f64 / 23.0 - 0.5)
}

/// The results of one layer: the scores of the ties, the weights of the ties, and the weighted features.
struct Layer {
    shares: CooTensor<f64>,
    scores: CooTensor<f64>,
    heard: Array2<f64>,
}

fn forward(ties: &CooTensor<f64>, [q, k, v]: [&Array2<f64>; 3]) -> Result<Layer> {
    let scores = ties.pattern().sddmm(q, k)?;
    let shares = scores.stored().softmax(1)?;
    let heard = matmul(&shares, v)?.into_dimensionality::<Ix2>().expect("a matrix");
    Ok(Layer { shares, scores, heard })
}

/// Returns half the squared distance between the weighted features and the target.
fn loss(layer: &Layer, wanted: &Array2<f64>) -> f64 {
    (&layer.heard - wanted).mapv(|error| error * error / 2.0).sum()
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let ties: CooTensor<f64> = read_coo(CLUB, &ReadOptions::default())?;
    let members = ties.shape()[0];
    let (mut q, k, v) = (features(members, 8, 1), features(members, 8, 5), features(members, 4, 9));
    let wanted = features(members, 4, 2);

    let layer = forward(&ties, [&q, &k, &v])?;
    // Every member has friends, so its weights sum to 1. The sum is exact, but each weight is rounded, so the sum may
    // differ from 1 by a unit in the last place.
    assert!(layer.shares.sum(1)?.values().iter().all(|sum| (sum - 1.0).abs() < 1e-15));
    // The same with dense arrays: scores of all pairs, and minus infinity for each pair without a tie.
    let scores = q.dot(&k.t());
    let masked = Array2::from_shape_fn((members, members), |(i, j)| {
        if ties.get(&[i, j]).is_ok_and(|tie| tie != 0.0) { scores[[i, j]] } else { f64::NEG_INFINITY }
    });
    let heard = matmul(&lacuna::softmax(&masked, 1)?, &v)?.into_dimensionality::<Ix2>()?;
    assert!((&heard - &layer.heard).iter().all(|difference| difference.abs() < 1e-14));
    println!("{} scores instead of {}", layer.shares.nnz(), members * members);

    // The backward passes run in reverse order. The gradients of the weights and of the scores have the pattern of the
    // ties.
    let gradient = |layer: &Layer, q: &Array2<f64>| -> Result<Array2<f64>> {
        let of_heard = &layer.heard - &wanted;
        let (of_shares, _of_v) = grad::matmul(&layer.shares, &v, &of_heard)?;
        let of_scores = grad::softmax(&layer.scores.stored(), &of_shares, 1)?;
        let (of_q, _of_k) = grad::pattern_sddmm(ties.pattern(), q, &k, &of_scores)?;
        Ok(of_q.into_dimensionality().expect("a matrix"))
    };
    let of_q = gradient(&layer, &q)?;

    // Check with finite differences: the loss changes by the gradient of a feature times the step of that feature.
    let step = 1e-6;
    for at in [[0, 0], [5, 3], [33, 7]] {
        let mut moved = q.clone();
        moved[at] += step;
        let slope = (loss(&forward(&ties, [&moved, &k, &v])?, &wanted) - loss(&layer, &wanted)) / step;
        assert!((slope - of_q[at]).abs() < 1e-5, "{slope} is not {}", of_q[at]);
    }

    let before = loss(&layer, &wanted);
    for _ in 0..50 {
        let layer = forward(&ties, [&q, &k, &v])?;
        q = &q - &(gradient(&layer, &q)? * 2.0);
    }
    let after = loss(&forward(&ties, [&q, &k, &v])?, &wanted);
    println!("loss {before:.4}, and {after:.4} after fifty steps");
    assert!(after < before);
    Ok(())
}

#[test]
fn it_runs() -> std::result::Result<(), Box<dyn Error>> {
    main()
}
