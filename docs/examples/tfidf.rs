//! The words that are typical of each section of a text: term frequency times inverse document frequency.
//!
//! `cargo run --example tfidf`

use lacuna::{Axes, Duplicates, Norm, Triplets};
use std::collections::HashMap;
use std::error::Error;

const TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/README.md");

fn main() -> Result<(), Box<dyn Error>> {
    // The documents are the sections of the note on the test data. The terms are the words of four letters or more.
    let text = std::fs::read_to_string(TEXT)?.to_lowercase();
    let sections: Vec<&str> = text.split("\n## ").skip(1).collect();
    let mut terms: Vec<&str> = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut places = Vec::new();
    for (section, content) in sections.iter().enumerate() {
        for word in content.split(|c: char| !c.is_ascii_lowercase()).filter(|word| word.len() > 3) {
            let number = *numbers.entry(word).or_insert_with(|| {
                terms.push(word);
                terms.len() - 1
            });
            places.push([section, number]);
        }
    }

    // One entry with the value 1 per word. `coalesce` adds the entries at the same position.
    let mut words = Triplets::new([sections.len(), terms.len()])?;
    words.try_extend(places.iter().map(|place| (place, 1_u32)))?;
    let counts = words.coalesce(Duplicates::Sum)?;
    println!(
        "{} sections, {} terms, {} of {} cells",
        sections.len(),
        terms.len(),
        counts.nnz(),
        sections.len() * terms.len()
    );
    // python: [w for w in re.split("[^a-z]+", s.lower()) if len(w) > 3] of each s in text.split("\n## ")[1:]; terms in
    // the order of their first places; n = the counts of section x term. n.shape, n.sum(), np.count_nonzero(n)
    // (of the current text: if you edit it, update these numbers)
    assert_eq!(*counts.shape(), [5, 260]);
    assert_eq!((counts.sum(Axes::all())?.item()?, counts.count_nonzero(Axes::all())?.item()?), (506, 339));

    // The rarity of a term depends on the number of sections with that term. `map_values` also maps the fill, which
    // stays 0.
    let rarity: Vec<f64> =
        counts.count_nonzero(0)?.to_vec(&[])?.iter().map(|&n| (sections.len() as f64 / n as f64).ln()).collect();
    let frequency = counts.map_values(|n| if n == 0 { 0.0 } else { 1.0 + f64::from(n).ln() })?;
    let weights = frequency.scale(1, &rarity)?;
    // A term that occurs in all sections has the weight 0, and its entries stay stored: the pattern does not depend on
    // values.
    assert!(weights.shares_pattern_with(&counts));
    let everywhere = weights.nnz() as u64 - weights.count_nonzero(Axes::all())?.item()?;
    println!("{everywhere} entries weigh nothing: their terms are in every section");
    assert_eq!(everywhere, 10); // numpy: 5 * (np.count_nonzero(n, 0) == 5).sum()

    // Divide each row by its norm, so that long and short sections have equal weight.
    let norms = weights.norm(Norm::over(1))?.to_vec(&[])?;
    let lengths: Vec<f64> = norms.iter().map(|norm| norm.recip()).collect();
    let weights = weights.scale(0, &lengths)?;
    // numpy: x = np.where(n > 0, 1 + np.log(np.maximum(n, 1)), 0) * np.log(5 / np.count_nonzero(n, 0));
    //   np.linalg.norm(x, axis=1)
    // The logarithms of the two libraries may differ in the last place, and numpy rounds its sums more than once.
    let expected = [21.103442461604214, 12.846752301163306, 18.966781664785707, 8.148696649245734, 9.64619829155026];
    assert!(norms.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-13 * b));

    // The three terms with the highest weights in each section. Among equal weights, the first term is selected.
    let (best, places) = weights.stored().topk_index(3, 1)?;
    for (section, content) in sections.iter().enumerate() {
        let top: Vec<&str> = places.to_vec(&[section])?.iter().map(|&place| terms[place as usize]).collect();
        println!("{:30.30} {} ({:.3})", content.lines().next().unwrap_or(""), top.join(", "), best.get(&[section, 0])?);
    }
    // numpy: np.argsort(-x / norms[:, None], kind="stable")[:, 0]
    let first: Vec<&str> = places.take_axis(0, 1)?.values().iter().map(|&place| terms[place as usize]).collect();
    assert_eq!(first, ["week", "karate", "titanic", "spin", "mean"]);
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
