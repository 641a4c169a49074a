//! Predicts the author of a line, Austen or Melville: logistic regression on counts of words, by gradient descent.
//!
//! `cargo run --release --features lazy --example logistic`

use lacuna::lazy::{Lazy, compile};
use lacuna::{Axes, CooTensor, Duplicates, Triplets};
use ndarray::{ArrayD, arr0, arr1};
use std::error::Error;

/// Lines of "Pride and Prejudice" (1813) and of "Moby-Dick" (1851), both in the public domain.
const LINES: [(&str, f64); 12] = [
    ("it is a truth universally acknowledged that a single man in possession of", 1.0),
    ("a good fortune must be in want of a wife", 1.0),
    ("however little known the feelings or views of such a man may be on his", 1.0),
    ("first entering a neighbourhood this truth is so well fixed in the minds", 1.0),
    ("of the surrounding families that he is considered as the rightful", 1.0),
    ("property of some one or other of their daughters", 1.0),
    ("call me ishmael some years ago never mind how long precisely having", -1.0),
    ("little or no money in my purse and nothing particular to interest me on", -1.0),
    ("shore i thought i would sail about a little and see the watery part of", -1.0),
    ("the world it is a way i have of driving off the spleen and regulating the", -1.0),
    ("circulation whenever i find myself growing grim about the mouth", -1.0),
    ("whenever it is a damp drizzly november in my soul whenever i find", -1.0),
];

fn main() -> Result<(), Box<dyn Error>> {
    // One row per line, one column per word, in alphabetical order.
    let mut words: Vec<&str> = LINES.iter().flat_map(|(line, _)| line.split(' ')).collect();
    words.sort_unstable();
    words.dedup();
    let mut counts = Triplets::new([LINES.len(), words.len()])?;
    for (row, (line, _)) in LINES.iter().enumerate() {
        for word in line.split(' ') {
            counts.push(&[row, words.binary_search(&word).unwrap_or(0)], 1.0)?;
        }
    }
    let counts: CooTensor<f64> = counts.coalesce(Duplicates::Sum)?;
    println!("{} lines, {} words, {} entries", LINES.len(), words.len(), counts.nnz());

    // The graph is compiled once. The loss is the mean of ln(1 + exp(-author * score)) plus a penalty of 0.01 times the
    // sum of the squared weights. The graph computes the loss and its gradient.
    let against = Lazy::from(arr1(&LINES.map(|(_, author)| -author)).into_dyn());
    let weights = Lazy::<ArrayD<f64>>::input("weights", [words.len()]);
    let misfit = (counts.lazy().matmul(&weights) * &against).exp().ln_1p().mean(Axes::all());
    let loss = misfit + &(weights.square().sum(Axes::all()) * 0.01);
    let one = Lazy::from(arr0(1.0).into_dyn());
    let step = compile((&loss, &loss.gradient(&weights, &one)))?;

    let mut at = ArrayD::zeros(vec![words.len()]);
    for number in 0..=2000 {
        let (loss, gradient) = step.run([weights.is(&at)])?;
        if number % 500 == 0 {
            println!("step {number}: a loss of {:.12}", loss[[]]);
        }
        at -= &(gradient * 0.5);
    }

    // numpy, from the same lines: x the counts (len(lines) by len(words)), y the authors, w = np.zeros(len(words));
    //   for _ in range(2001): w -= 0.5 * (x.T @ (-y / (1 + np.exp(y * (x @ w)))) / len(y) + 0.02 * w)
    //   np.mean(np.log1p(np.exp(-y * (x @ w)))) + 0.01 * (w @ w), w[words.index("i")]
    // The gradient at these weights is below 1e-16, so more steps do not change them.
    let (loss, _) = step.run([weights.is(&at)])?;
    let of_i = at[words.binary_search(&"i").unwrap_or(0)];
    println!("a loss of {:?}, a weight of {of_i:?} for \"i\"", loss[[]]);
    assert!((loss[[]] - 0.122_769_997_943_404_18).abs() < 1e-12 && (of_i + 0.947_800_564_253_657_6).abs() < 1e-12);

    // The model predicts the correct author for each line of the training data.
    let scores = counts.matmul(&at)?;
    assert!(scores.iter().zip(LINES).all(|(score, (_, author))| score * author > 0.0));
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
