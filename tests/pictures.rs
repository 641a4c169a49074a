//! The pictures of the book show what the library computes.
//!
//! `LACUNA_WRITE=1 cargo test --all-features --test library pictures` draws them again.

use lacuna::io::{ReadOptions, read_coo};
use lacuna::lazy::{Chunks, Lazy, compile};
use lacuna::ndarray::{Array2, ArrayD, arr1, s};
use lacuna::{Axes, CooTensor};

use crate::drawing::{
    AMBER, BLUE, CELL, Chart, Drawing, LIGHT_BLUE, LIGHT_GREEN, LIGHT_GREY, LIGHT_ORANGE, Place, RED, in_repository,
    is_drawn, page,
};

/// Draws the cells of one row; an unstored position has the color and the words given.
fn row(picture: &mut Drawing, x: &CooTensor<f64>, corner: Place, unstored: Option<&str>) {
    for column in 0..x.shape()[1] {
        let left = corner[0] + column as f64 * CELL;
        if x.coords(1).contains(&(column as u32)) {
            picture.cell([left, corner[1]], LIGHT_BLUE, &x.get(&[0, column]).unwrap().to_string());
        } else if let Some(fill) = unstored {
            picture.cell([left, corner[1]], LIGHT_GREY, fill);
        } else {
            picture.dashed([left, corner[1]], [CELL; 2]);
        }
    }
}

/// Draws a row with its mean and its minimum: of all positions, and of the stored entries.
fn one_row() -> String {
    let x = CooTensor::new([1, 4], vec![vec![0, 0], vec![0, 2]], vec![4.0, 6.0], 0.0).unwrap();
    let only = x.stored();
    let number = |y: lacuna::Result<CooTensor<f64>>| y.unwrap().get(&[0]).unwrap();
    let counted = [number(x.sum(1)), x.shape()[1] as f64, number(x.mean(1)), number(x.min(1))];
    let stored = [number(only.sum(1)), x.nnz() as f64, number(only.mean(1)), number(only.min(1))];
    let fill = x.fill().to_string();
    let mut picture = Drawing::new([720, 158]);
    let rows = [
        ("x", Some(fill.as_str()), counted, "Each position counts."),
        ("x.stored()", None, stored, "Only stored entries count."),
    ];
    for (top, (name, unstored, [sum, n, mean, min], words)) in [20.0, 75.0].into_iter().zip(rows) {
        picture.text([112.0, top + 20.0], "end", name);
        row(&mut picture, &x, [124.0, top], unstored);
        picture.text([268.0, top + 20.0], "start", &format!("mean = {sum} / {n} = {mean}"));
        picture.text([426.0, top + 20.0], "start", &format!("min = {min}"));
        picture.small([706.0, top + 19.0], "end", words);
    }
    picture.key([124.0, 130.0], LIGHT_BLUE, "stored entry");
    picture.key([230.0, 130.0], LIGHT_GREY, "unstored position: the fill");
    picture.dashed([416.0, 130.0], [12.0; 2]);
    picture.small([434.0, 140.5], "start", "unstored position: skipped");
    picture.finish()
}

#[test]
fn a_row_counts_its_fill_or_skips_it() {
    is_drawn("one-row", &one_row());
}

/// The weeks of the record as years, each with its reading, without gaps.
fn readings(x: &CooTensor<f64>) -> Vec<[f64; 2]> {
    let weeks = x.entries().into_iter().filter(|(_, reading)| !reading.is_nan());
    weeks.map(|(at, reading)| [1958.0 + at[0] as f64 + at[1] as f64 / 53.0, reading]).collect()
}

/// Draws the readings in order, with bands at weeks without a reading.
fn record(picture: &mut Drawing, readings: &[[f64; 2]], chart: &Chart) {
    // The last week of a year is 52 or 53.
    let is_next = |a: &[f64; 2], b: &[f64; 2]| {
        let weeks = 53.0 * (b[0] - a[0]);
        weeks < 1.5 || (a[0].floor() < b[0].floor() && weeks < 2.5)
    };
    let runs: Vec<_> = readings.chunk_by(is_next).collect();
    for gap in runs.windows(2) {
        let [from, to] = [gap[0].last().unwrap()[0], gap[1][0][0]].map(|year| chart.at([year, chart.y[1]]));
        picture.area(from, [(to[0] - from[0]).max(1.5), chart.size[1]], LIGHT_ORANGE);
    }
    for run in runs {
        picture.line(&chart.path(run), BLUE, 1.2);
    }
}

/// The mean difference from the mean of the year, per month.
fn season() -> Vec<f64> {
    let path = in_repository("tests/data/mauna_loa_co2_monthly.npz");
    let weeks: CooTensor<f64> = read_coo(path, &ReadOptions::default()).unwrap();
    let means = weeks.nanmean(Axes::from([1, 2]).keep_dims()).unwrap();
    weeks.sub(&means).unwrap().nanmean([0, 2]).unwrap().to_vec(&[]).unwrap()
}

/// Draws the record of CO2 with its gaps, and the curve of the season.
fn co2() -> String {
    let path = in_repository("tests/data/mauna_loa_co2.mtx");
    let x: CooTensor<f64> = read_coo(path, &ReadOptions::default()).unwrap();
    let mut picture = Drawing::new([720, 270]);
    picture.title([50.0, 24.0], "Weekly readings, ppm");
    let chart = Chart { x: [1958.0, 2002.0], y: [310.0, 380.0], corner: [50.0, 40.0], size: [380.0, 180.0] };
    picture.marks_y(&chart, [310, 330, 350, 370].map(|ppm| (f64::from(ppm), ppm)));
    record(&mut picture, &readings(&x), &chart);
    picture.marks_x(&chart, [1960, 1970, 1980, 1990, 2000].map(|year| (f64::from(year), year)));
    picture.key([50.0, 248.0], LIGHT_ORANGE, "weeks without a reading");
    picture.title([500.0, 24.0], "Season, ppm");
    let chart = Chart { x: [1.0, 12.0], y: [-3.0, 3.0], corner: [500.0, 40.0], size: [190.0, 180.0] };
    picture.marks_y(&chart, [-3, -2, -1, 0, 1, 2, 3].map(|ppm| (f64::from(ppm), ppm)));
    let months: Vec<_> = season().iter().enumerate().map(|(month, ppm)| [month as f64 + 1.0, *ppm]).collect();
    picture.line(&chart.path(&months), BLUE, 2.0);
    for month in &months {
        picture.dot(chart.at(*month), BLUE);
    }
    picture.marks_x(&chart, [1, 3, 5, 7, 9, 11].map(|month| (f64::from(month), month)));
    picture.small([500.0, 258.5], "start", "month");
    picture.finish()
}

#[test]
fn the_record_has_gaps_and_a_season() {
    is_drawn("co2-season", &co2());
}

/// Draws a bar per member of the karate club: the number of friends.
fn degrees() -> String {
    let x: CooTensor<f64> = read_coo(in_repository("tests/data/karate.mtx"), &ReadOptions::default()).unwrap();
    let degrees = x.count_nonzero(1).unwrap().to_vec(&[]).unwrap();
    let mut picture = Drawing::new([720, 220]);
    picture.title([40.0, 24.0], "Friends of each member");
    let chart = Chart { x: [0.0, degrees.len() as f64], y: [0.0, 18.0], corner: [40.0, 40.0], size: [660.0, 140.0] };
    picture.marks_y(&chart, [0, 5, 10, 15].map(|friends| (f64::from(friends), friends)));
    for (member, &friends) in degrees.iter().enumerate() {
        let [left, top] = chart.at([member as f64 + 0.15, friends as f64]);
        let bottom = chart.at([0.0, 0.0])[1];
        let color = if friends >= 10 { RED } else { BLUE };
        picture.area([left, top], [0.7 * chart.size[0] / chart.x[1], bottom - top], color);
        if friends >= 10 {
            picture.small([left + 7.0, top - 4.0], "middle", &friends.to_string());
        }
    }
    picture.marks_x(&chart, [0, 5, 10, 15, 20, 25, 30, 33].map(|member| (f64::from(member) + 0.5, member)));
    picture.small([700.0, 212.0], "end", "member");
    picture.finish()
}

#[test]
fn few_members_have_many_friends() {
    is_drawn("karate-degrees", &degrees());
}

/// The error of the model in `docs/tutorial-model.md` after each round, in ppm.
fn errors_of_model() -> Vec<f64> {
    let path = in_repository("tests/data/mauna_loa_co2.mtx");
    let weekly: CooTensor<f64> = read_coo(path, &ReadOptions::default()).unwrap();
    let weekly = weekly.filter_entries(|_, reading| !reading.is_nan()).unwrap();
    let mean = weekly.stored().mean(Axes::all()).unwrap().item().unwrap();
    let table = weekly.map_values(|reading| (reading - mean) / 10.0).unwrap().with_fill(0.0).lazy();
    let by_year = Lazy::<ArrayD<f64>>::input("by_year", [44, 2]);
    let by_week = Lazy::<ArrayD<f64>>::input("by_week", [53, 2]);
    let loss = (table.pattern().sddmm(&by_year, &by_week) - &table).square().sum(Axes::all());
    let one = CooTensor::full([0; 0], 1.0).unwrap().lazy();
    let [d_year, d_week] = loss.gradients([&by_year, &by_week], &one);
    let step = compile((&loss, &d_year, &d_week)).unwrap();
    let rising = |(i, k): (usize, usize)| if k == 0 { i as f64 / 44.0 - 0.5 } else { 0.5 };
    let mut year = Array2::from_shape_fn((44, 2), rising).into_dyn();
    let wave = |(i, k): (usize, usize)| if k == 0 { 0.5 } else { (i as f64 / 8.3).cos() };
    let mut week = Array2::from_shape_fn((53, 2), wave).into_dyn();
    let (mut year_move, mut week_move) = (&year * 0.0, &week * 0.0);
    let round = |_| {
        let (loss, d_year, d_week) = step.run([by_year.is(&year), by_week.is(&week)]).unwrap();
        year_move = &year_move * 0.9 - d_year * 0.002;
        week_move = &week_move * 0.9 - d_week * 0.002;
        year += &year_move;
        week += &week_move;
        10.0 * (loss.item().unwrap() / weekly.nnz() as f64).sqrt()
    };
    (0..=200).map(round).collect()
}

fn loss() -> String {
    let errors = errors_of_model();
    let printed = [0, 10, 20, 40, 80, 200].map(|round| format!("{:.3}", errors[round]));
    let page = page("docs/tutorial-model.md");
    assert!(printed.iter().all(|error| page.contains(&format!(": {error} ppm"))), "the model of the page: {printed:?}");
    let mut picture = Drawing::new([720, 240]);
    picture.title([50.0, 24.0], "Error of the model, ppm");
    let chart = Chart { x: [0.0, 200.0], y: [-0.7, 1.4], corner: [50.0, 40.0], size: [640.0, 150.0] };
    let marks = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
    picture.marks_y(&chart, marks.map(|ppm: f64| (ppm.log10(), ppm)));
    let points: Vec<_> = errors.iter().enumerate().map(|(round, error)| [round as f64, error.log10()]).collect();
    picture.line(&chart.path(&points), BLUE, 2.0);
    picture.marks_x(&chart, [0, 50, 100, 150, 200].map(|round| (f64::from(round), round)));
    picture.small([690.0, 230.0], "end", "round");
    picture.finish()
}

#[test]
fn the_loss_of_the_tutorial_falls() {
    is_drawn("loss", &loss());
}

/// The steps of a graph, as `explain` prints them.
fn steps_of(explained: &str) -> Vec<String> {
    let step = |line: &str| line.split_once(" = ").unwrap().1.split_once(": ").unwrap().0.to_string();
    explained.lines().map(step).collect()
}

/// Draws the graph of `docs/lazy.md`: each step by itself, and the steps in one pass.
fn fusion() -> String {
    let x = Lazy::<CooTensor<f64>>::input("x", [20, 30]);
    let explained = (x.abs() + 1.0).sqrt().sum(1).explain().unwrap();
    assert_eq!(explained.matches("[fused: pass 1]").count(), 4);
    let printed = explained.replace('"', "\\\"");
    assert!(page("docs/lazy.md").contains(&printed), "the graph of the page: {explained}");
    let steps = steps_of(&explained);
    let mut picture = Drawing::new([720, 330]);
    picture.title([60.0, 24.0], "Step by step");
    picture.small([60.0, 42.0], "start", "reads and writes a tensor per step");
    picture.title([420.0, 24.0], "Fused");
    picture.small([420.0, 42.0], "start", "reads x once, writes only the result");
    picture.area([406.0, 108.0], [228.0, 202.0], LIGHT_GREY);
    picture.small([646.0, 212.0], "start", "pass 1");
    for (place, step) in steps.iter().enumerate() {
        let top = 56.0 + 52.0 * place as f64;
        for left in [60.0, 420.0] {
            let color = if place == 0 { LIGHT_BLUE } else { LIGHT_GREEN };
            picture.rect([left, top], [200.0, 32.0], color);
            picture.text([left + 100.0, top + 21.0], "middle", step);
            if place > 0 {
                picture.arrow([left + 100.0, top - 20.0], [left + 100.0, top]);
            }
        }
        if (1..steps.len() - 1).contains(&place) {
            picture.small([270.0, top + 47.0], "start", "writes a tensor");
        }
    }
    picture.finish()
}

#[test]
fn elementwise_steps_are_one_pass() {
    is_drawn("fusion", &fusion());
}

/// Draws a sum over rows of a file: chunks, accumulators, the result.
fn chunks() -> String {
    let coords = vec![vec![0, 1, 2, 3, 4, 5], vec![1, 3, 0, 2, 3, 1]];
    let x = CooTensor::new([6, 4], coords, vec![2.0, 5.0, 1.0, 4.0, 3.0, 6.0], 0.0).unwrap();
    let total = x.lazy().sum(Axes::all()).on(&Chunks::memory(1 << 20)).collect().unwrap().item().unwrap();
    let mut picture = Drawing::new([720, 250]);
    for (left, title) in [(20.0, "file"), (190.0, "chunks"), (395.0, "accumulators"), (590.0, "result")] {
        picture.title([left, 24.0], title);
    }
    picture.rect([20.0, 44.0], [90.0, 186.0], LIGHT_BLUE);
    picture.text([65.0, 142.0], "middle", "Parquet");
    for chunk in 0..3 {
        let (first, middle) = (2 * chunk, 74.0 + 62.0 * chunk as f64);
        let rows = x.slice(s![first..first + 2, ..]).unwrap();
        let sum = rows.sum(Axes::all()).unwrap().item().unwrap();
        picture.arrow([110.0, middle], [190.0, middle]);
        picture.rect([190.0, middle - 24.0], [130.0, 48.0], LIGHT_GREEN);
        picture.text([255.0, middle - 3.0], "middle", &format!("rows {first} to {}", first + 1));
        picture.small([255.0, middle + 15.0], "middle", &format!("thread {chunk}"));
        picture.arrow([320.0, middle], [395.0, middle]);
        picture.rect([395.0, middle - 24.0], [110.0, 48.0], LIGHT_ORANGE);
        picture.text([450.0, middle + 5.0], "middle", &format!("sum {sum}"));
        picture.arrow([505.0, middle], [590.0, 136.0 + 6.0 * (chunk as f64 - 1.0)]);
    }
    picture.rect([590.0, 112.0], [110.0, 48.0], LIGHT_GREY);
    picture.text([645.0, 141.0], "middle", &format!("sum {total}"));
    picture.finish()
}

#[test]
fn chunks_have_accumulators() {
    is_drawn("chunks", &chunks());
}

/// Numbers from 0 to 1, each a multiple of 2^-53, of a generator with a fixed seed.
fn terms(count: usize) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(next).collect()
}

fn pairwise(terms: &[f64]) -> f64 {
    let (left, right) = terms.split_at(terms.len() / 2);
    if terms.len() == 1 { terms[0] } else { pairwise(left) + pairwise(right) }
}

/// The difference of a sum from the sum in integers, in units in the last place of the sum.
fn ulps(sum: f64, terms: &[f64]) -> f64 {
    let whole = |number: f64| (number * (1_u64 << 53) as f64) as i128;
    let exact: i128 = terms.iter().map(|&term| whole(term)).sum();
    let ulp = whole(sum.next_up()) - whole(sum);
    (whole(sum) - exact).abs() as f64 / ulp as f64
}

type Sum = fn(&[f64]) -> f64;

/// Draws the errors of three sums over the number of terms.
fn sums() -> String {
    let mut picture = Drawing::new([720, 270]);
    picture.title([60.0, 24.0], "Error of a sum of random numbers from 0 to 1, in units in the last place");
    let chart = Chart { x: [2.0, 6.0], y: [-1.5, 3.0], corner: [60.0, 40.0], size: [470.0, 180.0] };
    picture.marks_y(&chart, [0.1, 1.0, 10.0, 100.0, 1000.0].map(|error: f64| (error.log10(), error)));
    let powers: Vec<f64> = (0..=16).map(|step| 2.0 + f64::from(step) / 4.0).collect();
    let ways: [(&str, &str, Sum); 3] = [
        ("one by one", RED, |terms| terms.iter().sum()),
        ("pairwise", AMBER, pairwise),
        ("lacuna: at most 0.5", BLUE, |terms| lacuna::sum(&arr1(terms), 0).unwrap()[[]]),
    ];
    for (place, (name, color, sum)) in ways.into_iter().enumerate() {
        let error = |power: f64| {
            let terms = terms(10_f64.powf(power).round() as usize);
            [power, ulps(sum(&terms), &terms).max(0.04).log10()]
        };
        let points: Vec<_> = powers.iter().map(|&power| error(power)).collect();
        assert!(color != BLUE || points.iter().all(|[_, error]| *error <= 0.5_f64.log10()), "{points:?}");
        picture.line(&chart.path(&points), color, 2.0);
        picture.area([548.0, 60.0 + 26.0 * place as f64], [14.0, 4.0], color);
        picture.small([568.0, 66.0 + 26.0 * place as f64], "start", name);
    }
    picture.marks_x(&chart, [2, 3, 4, 5, 6].map(|power| (f64::from(power), 10_u32.pow(power as u32))));
    picture.small([530.0, 258.0], "end", "terms");
    picture.finish()
}

#[test]
fn exact_sums_have_no_error_that_grows() {
    is_drawn("sums", &sums());
}
