//! A social network as a matrix: the 34 members of a karate club and their 78 friendships.
//!
//! `cargo run --example graph`

use lacuna::io::{ReadOptions, read_coo};
use lacuna::ndarray::s;
use lacuna::{Axes, CooTensor};
use std::error::Error;

const CLUB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/karate.mtx");

fn main() -> Result<(), Box<dyn Error>> {
    // The file lists each pair once and has the keyword "symmetric". The tensor therefore stores both directions, each
    // with the value 1.
    let friends: CooTensor<f64> = read_coo(CLUB, &ReadOptions::default())?;
    let degrees = friends.sum(1)?;
    println!("{} members, {} friendships", friends.shape()[0], friends.nnz() / 2);

    // The members with the most friends. Positions in the tensor start at 0; the numbers in the paper start at 1.
    let (most, members) = degrees.stored().topk_index(5, 0)?;
    for (count, member) in most.values().iter().zip(members.values()) {
        println!("member {:2} has {count} friends", member + 1);
    }
    // numpy, with k = mmread("karate.mtx").toarray() and d = k.sum(1): i = np.argsort(-d, kind="stable")[:5], d[i]
    assert_eq!(members.values(), [33, 0, 32, 2, 1]);
    assert_eq!(most.values(), [17.0, 16.0, 12.0, 10.0, 9.0]);

    // The mean number of friends of the friends of each member: scale each column by the degree of its member, sum each
    // row, and divide by the degree.
    let feature = degrees.to_vec(&[])?;
    let of_friends = friends.scale(1, &feature)?.sum(1)?.div(&degrees)?;
    let popular = of_friends.greater(&degrees)?.count_nonzero(0)?.item()?;
    println!("{popular} of 34 have fewer friends than their friends on average");
    // numpy: m = k @ d / d, (m > d).sum(); sums of small integers and one division, so both libraries round alike
    assert_eq!(of_friends.take_axis([0, 11, 33], 0)?.values(), [4.3125, 16.0, 65.0 / 17.0]);
    assert_eq!(popular, 29);
    // The same by broadcasting: `mul` repeats the row of degrees along the rows of the matrix.
    assert_eq!(friends.mul(&degrees)?.mean(1)?, friends.scale(1, &feature)?.mean(1)?);

    // The normalised adjacency of spectral methods: each tie divided by the square roots of both degrees.
    let roots = degrees.sqrt()?.recip()?.to_vec(&[])?;
    let normal = friends.scale(0, &roots)?.scale(1, &roots)?;
    assert!(normal.shares_pattern_with(&friends));
    println!("sum of the normalised adjacency {:.6}", normal.sum(Axes::all())?.item()?);
    // numpy: s = 1 / np.sqrt(d); n = k * s[:, None] * s; n.sum(), np.linalg.norm(n)
    // The 156 terms are bitwise identical to the terms of numpy. numpy rounds after each addition, lacuna rounds the
    // sum once.
    assert!((normal.sum(Axes::all())?.item()? - 27.941649630021573).abs() < 1e-12);
    assert!((normal.norm(Axes::all())?.item()? - 2.394313456526646).abs() < 1e-13);

    // The core: the members with six friends or more, selected by a mask along both axes.
    let mask = degrees.greater_equal(6.0)?.to_vec(&[])?;
    let core = friends.take_axis(&mask, 0)?.take_axis(&mask, 1)?;
    println!("core of {} members:\n{core}", core.shape()[0]);
    // numpy: b = d >= 6; k[np.ix_(b, b)].shape, k[np.ix_(b, b)].sum() / 2
    assert_eq!((core.shape()[0], core.nnz() / 2), (7, 11));

    // The friends of the instructor, selected by positions. Each tie between two of these friends is a triangle with
    // the instructor.
    let circle = friends.slice(s![0, ..])?.nonzero()?.concat();
    let ties = friends.take_axis(&circle, 0)?.take_axis(&circle, 1)?;
    println!("{} friends of the instructor, {} ties between them", circle.len(), ties.nnz() / 2);
    // numpy: c = np.flatnonzero(k[0]); c.size, k[np.ix_(c, c)].sum() / 2
    assert_eq!((circle.len(), ties.nnz() / 2), (16, 18));
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
