//! Time and peak memory of each operation as tensors grow: `cargo bench --bench figures [-- SIZE ... --only CASES
//! --picture FILE.svg | --once]`; of tensors in files: `cargo bench --bench figures -- FILE ...`.
//!
//! Sizes are numbers of entries (elements, test elements, positions; without any, 10^5 to 10^7). Shows that nothing
//! grows faster than its input, also where keys come sorted, reversed, all equal or heaped, and that nothing builds the
//! dense array. Peak memory is that of the process beyond the input (Linux only), the result included.

#[path = "figures/cases.rs"]
mod cases;
mod memory;
#[path = "figures/picture.rs"]
mod picture;
mod support;

use std::time::Instant;

use lacuna::io::{ReadOptions, read_coo};
use memory::peak_of;

/// What a case took at one size.
#[derive(Clone, Copy)]
struct Figure {
    size: usize,
    seconds: f64,
    peak: f64,
}

impl Figure {
    fn nanoseconds_each(&self) -> f64 {
        self.seconds * 1e9 / self.size as f64
    }
}

/// Takes the time and memory of a case.
struct Meter {
    once: bool,
    figure: Option<(f64, f64)>,
}

/// What is measured; a function of its own, so that what looks on from outside can tell it from what it is given.
#[inline(never)]
fn counted<X, R>(run: impl Fn(X) -> R, input: X) -> R {
    std::hint::black_box(run(input))
}

impl Meter {
    /// The least time of several runs, a second in all, and the memory of the first one beyond what was there before.
    fn run<R>(&mut self, run: impl Fn() -> R) {
        self.run_on(|| (), |()| run());
    }

    /// [`run`](Self::run) of what consumes its input, which is made before the clock starts.
    fn run_on<X, R>(&mut self, make: impl Fn() -> X, run: impl Fn(X) -> R) {
        let timed = |input: X| {
            let start = Instant::now();
            let result = counted(&run, input);
            let seconds = start.elapsed().as_secs_f64();
            drop(result);
            seconds
        };
        let input = make();
        let (mut least, peak) = peak_of(|| timed(input));
        let mut spent = least;
        for _ in 0..20 {
            if self.once || spent > 1.0 {
                break;
            }
            let seconds = timed(make());
            (least, spent) = (least.min(seconds), spent + seconds);
        }
        self.figure = Some((least, peak));
    }
}

/// What the command line asks for.
#[derive(Default)]
struct Arguments {
    sizes: Vec<usize>,
    files: Vec<String>,
    only: String,
    picture: Option<String>,
    /// Each case runs a single time, without threads, for programs that count what it does.
    once: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut arguments = Arguments::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--only" => arguments.only = words.next()?,
                "--picture" => arguments.picture = Some(words.next()?),
                "--once" => arguments.once = true,
                "--bench" => {} // what cargo bench adds
                option if option.starts_with('-') => return None,
                word => match word.parse() {
                    Ok(size) => arguments.sizes.push(size),
                    Err(_) => arguments.files.push(word.to_string()),
                },
            }
        }
        if arguments.sizes.is_empty() {
            arguments.sizes = vec![100_000, 1_000_000, 10_000_000];
        }
        Some(arguments)
    }
}

fn figures_of(case: &cases::Case, sizes: &[usize], once: bool) -> Vec<Figure> {
    let figure = |&size: &usize| {
        let mut meter = Meter { once, figure: None };
        (case.measure)(size, &mut meter);
        meter.figure.map(|(seconds, peak)| Figure { size, seconds, peak })
    };
    sizes.iter().filter_map(figure).collect()
}

/// What is no linear growth any more, from a size to one ten times as large: more than twelve times the time.
const MOST_GROWTH: f64 = 1.2;

/// How much longer an entry takes at the next size, at most.
fn growth(figures: &[Figure]) -> f64 {
    figures.windows(2).map(|pair| pair[1].nanoseconds_each() / pair[0].nanoseconds_each()).fold(0.0, f64::max)
}

fn print_row(name: &str, figures: &[Figure]) {
    let each: Vec<String> = figures.iter().map(|figure| format!("{:.2}", figure.nanoseconds_each())).collect();
    let last = figures.last().map_or((0.0, 0.0), |last| (last.seconds * 1e3, last.peak));
    println!("| {name} | {} | {:.1} | {:.1} | {:.0} |", each.join(" | "), growth(figures), last.0, last.1);
}

/// Prints the milliseconds that a file's tensor takes: to be read, and in each of the operations on it.
fn print_file(path: &str) -> lacuna::Result<()> {
    let milliseconds = |run: &dyn Fn()| {
        let mut meter = Meter { once: false, figure: None };
        meter.run(run);
        format!("{:.2}", meter.figure.map_or(f64::NAN, |(seconds, _)| seconds * 1e3))
    };
    let read = || read_coo::<f64, u32>(path, &ReadOptions::default());
    let x = read()?;
    let operations = cases::OF_FILES.iter().map(|(_, run)| milliseconds(&|| run(&x)));
    let cells: Vec<String> = std::iter::once(milliseconds(&|| drop(read()))).chain(operations).collect();
    let name = path.rsplit('/').next().unwrap_or(path);
    println!("| {name} | {} | {} | {} |", x.shape(), x.nnz(), cells.join(" | "));
    Ok(())
}

fn print_files(paths: &[String]) {
    let names: Vec<&str> = cases::OF_FILES.iter().map(|(name, _)| *name).collect();
    println!("| file | shape | entries | read, ms | {} |", names.join(" | "));
    println!("| --- |{}", " --- |".repeat(names.len() + 3));
    for path in paths {
        if let Err(error) = print_file(path) {
            eprintln!("{path}: {error}");
        }
    }
}

fn main() {
    let Some(arguments) = Arguments::parse(std::env::args().skip(1)) else {
        println!(
            "usage: cargo bench --bench figures -- [SIZE ... | FILE ...] [--only CASES] [--picture FILE.svg] [--once]"
        );
        return;
    };
    if !arguments.files.is_empty() {
        return print_files(&arguments.files);
    }
    match arguments.once {
        true => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("no thread can be started");
            pool.install(|| print_cases(arguments));
        }
        false => print_cases(arguments),
    }
}

fn print_cases(arguments: Arguments) {
    let sizes: Vec<String> = arguments.sizes.iter().map(|size| format!("{size}, ns each")).collect();
    println!("| case | {} | most growth | last ms | last peak MiB |", sizes.join(" | "));
    println!("| --- |{}", " --- |".repeat(sizes.len() + 3));
    let (mut lines, mut steep) = (Vec::new(), Vec::new());
    let (all, only) = (cases::all(), arguments.only.as_str());
    let is_one = all.iter().any(|case| case.name == only);
    for case in all.iter().filter(|case| case.name == only || !is_one && case.name.starts_with(only)) {
        let figures = figures_of(case, &arguments.sizes, arguments.once);
        print_row(case.name, &figures);
        if growth(&figures) > MOST_GROWTH {
            steep.push(case.name);
        }
        lines.push((case.panel, case.name, figures));
    }
    if let Some(path) = arguments.picture {
        std::fs::write(path, picture::draw(&cases::PANELS, &lines)).expect("the picture cannot be written");
    }
    println!("\nmore than {MOST_GROWTH} times as long for each entry at the next size: {steep:?}");
}
