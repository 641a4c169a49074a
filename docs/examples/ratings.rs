//! Survival rates on the Titanic: a labelled table of counts, summed, divided and ranked.
//!
//! `cargo run --example ratings`

use lacuna::io::{CsvColumns, Labelled, ReadOptions, read_csv};
use lacuna::ndarray::{arr1, s};
use lacuna::{Axes, Tolerance};
use std::error::Error;

const TITANIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/titanic.csv");

fn main() -> Result<(), Box<dyn Error>> {
    // One record for each group: four columns of labels, which become four axes, and the number of people.
    let columns = CsvColumns::new(["class", "sex", "age", "survived"]).value("people");
    let Labelled { tensor: people, labels, .. } = read_csv::<i64, u32>(TITANIC, &columns, &ReadOptions::default())?;
    println!("{} groups, {} people", people.nnz(), people.sum(Axes::all())?.item()?);
    let [classes, sexes, _, survived] = &labels[..] else { return Err("four axes were asked for".into()) };
    let yes = survived.number("yes").ok_or("nobody survived")?;

    // The rate of a group is the number of survivors divided by the number of people. Integer division truncates, so
    // `cast` the counts first.
    let saved = people.slice(s![.., .., .., yes])?.cast::<f64>()?;
    let all = people.sum(3)?.cast::<f64>()?;
    let of_class = saved.sum([1, 2])?.div(&all.sum([1, 2])?)?;
    for (name, rate) in classes.iter().zip(of_class.to_vec(&[])?) {
        println!("{name:>8} {:5.1} %", 100.0 * rate);
    }
    // numpy, with t = sparse.load_npz("titanic.npz").todense():
    //   t[..., 1].sum((1, 2)) / t.sum((1, 2, 3)), each a quotient of two integers
    assert_eq!(of_class.to_vec(&[])?, [203.0 / 325.0, 118.0 / 285.0, 178.0 / 706.0, 212.0 / 885.0]);

    // The same by sex: multiply each row by the reciprocal of its sum.
    let by_sex = people.sum([0, 2])?.cast::<f64>()?;
    let per_person: Vec<f64> = by_sex.sum(1)?.to_vec(&[])?.into_iter().map(f64::recip).collect();
    let shares = by_sex.scale(0, &per_person)?;
    let of_sex = shares.slice(s![.., yes])?;
    for (name, rate) in sexes.iter().zip(of_sex.to_vec(&[])?) {
        println!("{name:>8} {:5.1} %", 100.0 * rate);
    }
    // numpy: t[..., 1].sum((0, 2)) / t.sum((0, 2, 3)), rounded once. The product with a rounded reciprocal is rounded
    // twice.
    let expected = arr1(&[367.0 / 1731.0, 344.0 / 470.0]);
    assert!(of_sex.allclose(&expected, Tolerance::within(2.0 * f64::EPSILON, 0.0))?);

    // Passengers and crew: each class has a group label, and classes with the same label are added.
    let works: Vec<usize> = classes.iter().map(|class| usize::from(class == "crew")).collect();
    let aboard = people.sum(Axes::by(0, &works).and([1, 2]))?;
    println!("died, survived: passengers {:?}, crew {:?}", aboard.to_vec(&[0])?, aboard.to_vec(&[1])?);
    // numpy: t[:3].sum((0, 1, 2)), t[3].sum((0, 1))
    assert_eq!((aboard.to_vec(&[0])?, aboard.to_vec(&[1])?), (vec![817, 499], vec![673, 212]));

    // The three groups of one class and one sex with the highest rates. `topk_index` on a stored view returns positions
    // of stored entries.
    let of_group = saved.sum(2)?.div(&all.sum(2)?)?;
    let (rates, places) = of_group.reshape([8])?.stored().topk_index(3, 0)?;
    for (rate, &place) in rates.values().iter().zip(places.values()) {
        let (class, sex) = (place as usize / sexes.len(), place as usize % sexes.len());
        println!(
            "{:>8} {} {:5.1} %",
            classes.label(class).unwrap_or("?"),
            sexes.label(sex).unwrap_or("?"),
            100.0 * rate
        );
    }
    // numpy: c = t.sum(2); np.sort((c[..., 1] / c.sum(-1)).ravel())[:-4:-1]
    assert_eq!(rates.values(), [141.0 / 145.0, 93.0 / 106.0, 20.0 / 23.0]);
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
