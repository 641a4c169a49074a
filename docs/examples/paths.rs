//! Four queries on a graph, the friendships in a karate club: triangles, distances, shortest paths and PageRank.
//!
//! `cargo run --example paths`

use lacuna::io::{ReadOptions, read_csr};
use lacuna::ndarray::Array1;
use lacuna::{CooTensor, CsrTensor, Matmul};
use sprs::CsVec;
use sprs::linalg::bicgstab::BiCGSTAB;
use std::error::Error;

const CLUB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/karate.mtx");

fn main() -> Result<(), Box<dyn Error>> {
    let ties: CsrTensor<f64> = read_csr(CLUB, &ReadOptions::default())?;
    triangles(&ties)?;
    search(&ties)?;
    shortest_paths(&ties)?;
    rank(&ties)?;
    Ok(())
}

/// Counts the triples of friends.
fn triangles(ties: &CsrTensor<f64>) -> lacuna::Result<()> {
    // For friends i > j, count the members k with i > k > j that are friends of both. This counts each triangle once.
    let below = ties.tril(-1)?;
    let between = below.matmul_with(&below, Matmul::plus_pair().mask(below.pattern()))?;
    let triangles = between.sum([0, 1])?.item()?;
    println!("{triangles} triangles");
    // scipy, with k = mmread("karate.mtx").tocsr(): (k @ k).multiply(k).sum() / 6
    assert_eq!(triangles, 45.0);
    Ok(())
}

/// Counts the members at each distance from member 17, with a breadth-first search.
fn search(ties: &CsrTensor<f64>) -> lacuna::Result<()> {
    let mut frontier = CooTensor::new([34], vec![vec![16]], vec![1.0], 0.0)?;
    let (mut seen, mut sizes) = (frontier.clone(), vec![1]);
    while frontier.nnz() > 0 {
        // The friends of the members on the frontier, except members that the search has already seen.
        frontier = frontier.matmul_with(ties, Matmul::any_pair().without(seen.pattern()))?;
        seen = seen.add(&frontier)?;
        sizes.push(frontier.nnz());
    }
    println!("{sizes:?} members are 0, 1, 2, … steps away from member 17");
    // scipy: d = shortest_path(k, unweighted=True)[16]; np.bincount(d.astype(int))
    assert_eq!(sizes, [1, 2, 3, 12, 8, 8, 0]);
    assert_eq!(seen.nnz(), 34);
    Ok(())
}

/// Computes the lengths of the shortest paths from member 17. The length of a tie is the sum of the degrees of both
/// members.
fn shortest_paths(ties: &CsrTensor<f64>) -> lacuna::Result<()> {
    let degrees = ties.sum(1)?.to_vec(&[])?;
    let lengths = ties.map_entries(|at, _| degrees[at[0]] + degrees[at[1]])?;
    let mut from = Array1::from_elem(34, f64::INFINITY).into_dyn();
    from[[16]] = 0.0;
    // Bellman-Ford: each round extends the paths by one step, until no path becomes shorter.
    loop {
        let longer = lacuna::matmul_with(&from, &lengths, Matmul::min_plus())?;
        let next = lacuna::minimum(&from, &longer)?;
        if next == from {
            break;
        }
        from = next;
    }
    println!("the paths from member 17 to 34 and to 27 are {} and {} long", from[[33]], from[[26]]);
    // scipy, with w = k and each entry (i, j) replaced by d[i] + d[j]: p = dijkstra(w, indices=16); p[[33, 26]],
    // p.sum()
    assert_eq!((from[[33]], from[[26]]), (65.0, 80.0));
    assert_eq!(from.sum(), 1716.0);
    Ok(())
}

/// Ranks the members by PageRank: friends of highly ranked members rank higher.
fn rank(ties: &CsrTensor<f64>) -> Result<(), Box<dyn Error>> {
    let shares = ties.scale(0, &ties.sum(1)?.recip()?.to_vec(&[])?)?;
    let mut ranks = Array1::from_elem(34, 1.0 / 34.0).into_dyn();
    for _ in 0..100 {
        ranks = lacuna::matmul(&ranks, &shares)? * 0.85 + 0.15 / 34.0;
    }
    println!("member 34 has the rank {:.4}, member 1 {:.4}", ranks[[33]], ranks[[0]]);
    // scipy: s = k.T / k.sum(1), r = 1 / 34; 100 times r = 0.85 * (s @ r) + 0.15 / 34
    assert!((ranks[[33]] - 0.10091918233262565).abs() < 1e-13 && (ranks[[0]] - 0.09699728538829486).abs() < 1e-13);
    assert!((ranks.sum() - 1.0).abs() < 1e-12);

    // The same as a linear system, r - 0.85 * shares.T @ r = 0.15 / 34, solved by sprs.
    let system = CsrTensor::eye(34)?.sub(&shares.transpose()?.mul(0.85)?)?;
    let dense = |value: f64| CsVec::new(34, (0..34).collect(), vec![value; 34]);
    let (start, right) = (dense(1.0 / 34.0), dense(0.15 / 34.0));
    let system = system.as_sprs()?.to_other_types::<usize, f64, usize>();
    let solved = BiCGSTAB::<f64, usize, usize>::solve(system.view(), start.view(), right.view(), 1e-14, 100)
        .map_err(|_| "the solver came to no end")?;
    for (member, rank) in solved.x().iter() {
        assert!((rank - ranks[[member]]).abs() < 1e-12, "member {}: {rank}", member + 1);
    }
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
