//! Answers the cases that `tests/differential.py` asks: one JSON line each on standard input and output. Run without
//! `--cases`, as `cargo test --test differential` does, it answers none.
//!
//! Elements travel as their bits. Every question is asked of COO, of CSR and of the dense array, as far as they have
//! the operation; their answers must be the same, and that one is told. Expressions are asked of both formats. With
//! `--functions` it tells the names of all operations.

use std::io::{BufRead, Write};

use lacuna::dynamic::{AnyTensor, Format};
use lacuna::eval::{self, Expression, Fault};
use lacuna::prelude::*;
use lacuna::{
    Axes, CooTensor, DType, Duplicates, Element, Error, Float, Isin, IsinKind, Matmul, Numeric, Pattern, Quantile,
    QuantileMethod, Real, Result, Ring, Semiring, Take, TakeMode, Tensor, Triplets, Var, mean, std, sum, var,
};
use ndarray::{ArrayD, SliceInfoElem};
use num_complex::Complex;
use serde_json::{Value, json};

/// An element as a number of 64 bits and back.
trait Bits: Element {
    fn from_word(word: u64) -> Self;
    fn word(self) -> u64;
}

macro_rules! bits {
    ($($type:ty: $from:expr, $to:expr;)*) => {$(
        impl Bits for $type {
            fn from_word(word: u64) -> Self {
                $from(word)
            }
            fn word(self) -> u64 {
                $to(self)
            }
        }
    )*};
}

bits! {
    f64: f64::from_bits, f64::to_bits;
    f32: |word| f32::from_bits(word as u32), |value: f32| value.to_bits().into();
    i64: |word| word as i64, |value| value as u64;
    u64: |word| word, |value| value;
    u8: |word| word as u8, u64::from;
    bool: |word| word != 0, u64::from;
    Complex<f32>: |word| Complex::new(f32::from_bits(word as u32), f32::from_bits((word >> 32) as u32)),
        |value: Complex<f32>| u64::from(value.re.to_bits()) | u64::from(value.im.to_bits()) << 32;
}

/// A list of numbers in a case.
fn list<N: TryFrom<i128>>(case: &Value, key: &str) -> Vec<N> {
    let number = |value: &Value| value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
    let numbers = case[key].as_array().expect(key).iter();
    numbers.map(|value| number(value).and_then(|number| N::try_from(number).ok()).expect(key)).collect()
}

fn elements<T: Bits>(case: &Value, key: &str) -> Vec<T> {
    list::<u64>(case, key).into_iter().map(T::from_word).collect()
}

fn told<T: Bits>(dense: &ArrayD<T>) -> Value {
    json!({ "shape": dense.shape(), "words": dense.iter().map(|value| value.word()).collect::<Vec<_>>() })
}

/// The tensor of a case, whose entries stand at row-major positions and may be repeated.
fn tensor<T: Bits>(case: &Value) -> Result<CooTensor<T>> {
    let shape: Vec<usize> = list(case, "shape");
    let mut triplets = Triplets::new(shape.clone())?.with_fill(T::from_word(list(case, "fill")[0]));
    for (mut position, value) in list::<usize>(case, "positions").into_iter().zip(elements(case, "values")) {
        let mut coords = vec![0; shape.len()];
        for (coord, length) in coords.iter_mut().zip(&shape).rev() {
            (*coord, position) = (position % length, position / length);
        }
        triplets.push(&coords, value)?;
    }
    triplets.coalesce(Duplicates::Sum)
}

/// The answers of the formats, if all are the same. If the second field is true, zeros have no sign.
struct Answers(Vec<(&'static str, Result<Value>)>, bool);

impl Answers {
    fn of(case: &Value) -> Self {
        Answers(Vec::new(), case["unsigned"] == true)
    }

    fn add<P: Pattern, T: Bits>(&mut self, format: &'static str, answer: Result<Tensor<P, T>>) {
        self.add_array(format, answer.and_then(|tensor| tensor.to_dense()));
    }

    fn add_dense<T: Bits>(&mut self, answer: Result<ArrayD<T>>) {
        self.add_array("dense", answer);
    }

    fn add_array<T: Bits>(&mut self, name: &'static str, answer: Result<ArrayD<T>>) {
        let seen = |dense: ArrayD<T>| if self.1 { dense.mapv(Element::as_implicit) } else { dense };
        self.0.push((name, answer.map(|dense| told(&seen(dense)))));
    }

    fn told(self) -> Value {
        let values: Vec<Value> = self.0.iter().map(|(_, answer)| answer.clone().unwrap_or(json!("error"))).collect();
        match &self.0[0].1 {
            _ if values.iter().any(|value| *value != values[0]) => json!({ "differ": format!("{:?}", self.0) }),
            Ok(value) => value.clone(),
            Err(error) => json!({ "error": error.to_string() }),
        }
    }
}

/// Asks COO, the dense array and CSR.
macro_rules! ask {
    ($case:expr, $type:ty, |$x:ident| $ask:expr) => {{
        let x = tensor::<$type>($case)?;
        let mut answers = Answers::of($case);
        answers.add("COO", {
            let $x = &x;
            $ask
        });
        answers.add_dense({
            let dense = x.to_dense()?;
            let $x = &dense;
            $ask
        });
        if x.rank() > 0 {
            answers.add("CSR", {
                let csr = x.to_csr()?;
                let $x = &csr;
                $ask
            });
        }
        Ok(answers.told())
    }};
}

fn axes(case: &Value) -> Axes {
    if case["axes"].is_null() { Axes::all() } else { Axes::from(list::<isize>(case, "axes")) }
}

fn mode(case: &Value) -> TakeMode {
    match case["mode"].as_str() {
        Some("wrap") => TakeMode::Wrap,
        Some("clip") => TakeMode::Clip,
        _ => TakeMode::Raise,
    }
}

/// The operations of every element type.
fn any_type<T: Bits + Ring<Sum: Bits, Mean: Bits, Deviation: Bits>>(case: &Value) -> Result<Value> {
    let items = || list::<i64>(case, "items");
    let axis = || list::<isize>(case, "axes")[0];
    match case["op"].as_str().expect("op") {
        "any" => ask!(case, T, |x| x.any(axes(case))),
        "count_nonzero" => ask!(case, T, |x| x.count_nonzero(axes(case))),
        "all" => ask!(case, T, |x| x.all(axes(case))),
        "sum" => ask!(case, T, |x| sum(x, axes(case))),
        "prod" => ask!(case, T, |x| x.prod(axes(case))),
        "mean" => ask!(case, T, |x| mean(x, axes(case))),
        "isin" => {
            let kind = [IsinKind::Auto, IsinKind::Sort, IsinKind::Table][list::<usize>(case, "kind")[0]];
            let invert = case["invert"] == true;
            ask!(case, T, |x| {
                let asked = Isin::of(elements::<T>(case, "test")).kind(kind);
                x.isin(if invert { asked.invert() } else { asked })
            })
        }
        "take" => ask!(case, T, |x| x.take(Take::at(items()).mode(mode(case)))),
        "take_axis" => ask!(case, T, |x| x.take_axis(Take::at(items()).mode(mode(case)), axis())),
        "isnan" => ask!(case, T, |x| x.isnan()),
        "isinf" => ask!(case, T, |x| x.isinf()),
        "isfinite" => ask!(case, T, |x| x.isfinite()),
        "isreal" => ask!(case, T, |x| x.isreal()),
        "permute" | "reshape" | "coalesce" => arranged(tensor::<T>(case)?, case),
        _ => moved::<T>(case),
    }
}

/// Elements whose zeros have no sign and whose NaNs are one: a computed implicit zero has none.
fn implicit<P: Pattern, T: Bits>(x: Result<Tensor<P, T>>) -> Result<Tensor<P, T>> {
    x?.map_values(Element::as_implicit)
}

/// Asks two operands in each format, and a sparse one beside an array.
macro_rules! ask_two {
    ($case:expr, $type:ty, |$x:ident, $y:ident| $ask:expr) => {{
        let (a, b) = (tensor::<$type>($case)?, tensor::<$type>(&$case["other"])?);
        let mut answers = Answers::of($case);
        let ($x, $y) = (&a, &b);
        answers.add("COO", implicit($ask));
        let (csr_a, csr_b) = (a.to_csr()?, b.to_csr()?);
        let ($x, $y) = (&csr_a, &csr_b);
        answers.add("CSR", implicit($ask));
        let (dense_a, dense_b) = (a.to_dense()?, b.to_dense()?);
        let ($x, $y) = (&dense_a, &dense_b);
        answers.add_dense($ask.map(|z| z.mapv(Element::as_implicit)));
        let $x = &a;
        let beside = implicit($ask);
        if !matches!(beside, Err(Error::FillVaries { .. } | Error::Overflow { coords: None, .. })) {
            answers.add("COO beside an array", beside);
        }
        Ok(answers.told())
    }};
}

/// Asks two operands in each format.
macro_rules! ask_pair {
    ($case:expr, $type:ty, |$x:ident, $y:ident| $ask:expr) => {{
        let (a, b) = (tensor::<$type>($case)?, tensor::<$type>(&$case["other"])?);
        let mut answers = Answers::of($case);
        let ($x, $y) = (&a, &b);
        answers.add("COO", $ask);
        let (csr_a, csr_b) = (a.to_csr()?, b.to_csr()?);
        let ($x, $y) = (&csr_a, &csr_b);
        answers.add("CSR", $ask);
        let (dense_a, dense_b) = (a.to_dense()?, b.to_dense()?);
        let ($x, $y) = (&dense_a, &dense_b);
        answers.add_dense($ask);
        Ok(answers.told())
    }};
}

/// Products on the mask of a case, which is taken as it says.
fn products<T: Bits>(case: &Value, options: Matmul<'static, impl Semiring<T>>, zero: T) -> Result<Value> {
    let (x, y) = (tensor::<T>(case)?, tensor::<T>(&case["other"])?);
    let mask = tensor::<f64>(&case["mask"])?;
    let options = match case["how"].as_u64().expect("how") {
        0 => options,
        1 => options.mask(mask.pattern()),
        _ => options.without(mask.pattern()),
    };
    let mut answers = Answers::of(case);
    let found = x.matmul_with(&y, options);
    assert!(found.as_ref().map_or(true, |found| found.fill().same(zero)));
    answers.add("COO", implicit(found));
    answers.add("CSR", implicit(x.to_csr()?.matmul_with(&y.to_csr()?, options)));
    Ok(answers.told())
}

/// Operations of two operands of any type.
fn of_two<T: Bits + Numeric + Real<Median: Bits> + Ring<Sum: Bits, Mean: Bits, Deviation: Bits>>(
    case: &Value,
) -> Result<Value> {
    match case["op"].as_str().expect("op") {
        "add" => ask_two!(case, T, |x, y| lacuna::add(x, y)),
        "subtract" => ask_two!(case, T, |x, y| lacuna::sub(x, y)),
        "multiply" => ask_two!(case, T, |x, y| lacuna::mul(x, y)),
        "divide" => ask_two!(case, T, |x, y| lacuna::div(x, y)),
        "minimum" => ask_two!(case, T, |x, y| lacuna::minimum(x, y)),
        "maximum" => ask_two!(case, T, |x, y| lacuna::maximum(x, y)),
        "equal" => ask_two!(case, T, |x, y| lacuna::equal(x, y)),
        "not_equal" => ask_two!(case, T, |x, y| lacuna::not_equal(x, y)),
        "less" => ask_two!(case, T, |x, y| lacuna::less(x, y)),
        "greater_equal" => ask_two!(case, T, |x, y| lacuna::greater_equal(x, y)),
        "where" => {
            let c = tensor::<bool>(&case["condition"])?;
            let (a, b) = (tensor::<T>(case)?, tensor::<T>(&case["other"])?);
            let mut answers = Answers::of(case);
            answers.add("COO", lacuna::where_(&c, &a, &b));
            answers.add("CSR", lacuna::where_(&c.to_csr()?, &a.to_csr()?, &b.to_csr()?));
            answers.add_dense(lacuna::where_(&c.to_dense()?, &a.to_dense()?, &b.to_dense()?));
            Ok(answers.told())
        }
        "outer" => ask_pair!(case, T, |x, y| lacuna::outer(x, y)),
        "kron" => ask_pair!(case, T, |x, y| lacuna::kron(x, y)),
        "einsum" => ask_pair!(case, T, |x, y| lacuna::einsum(case["spec"].as_str().expect("spec"), &[x, y])),
        "matmul" => ask_pair!(case, T, |x, y| lacuna::matmul(x, y)),
        "matmul_with" => match case["semiring"].as_str().expect("semiring") {
            "plus_times" => products(case, Matmul::plus_times(), T::ZERO),
            "min_plus" => products(case, Matmul::min_plus(), T::HIGHEST),
            "max_plus" => products(case, Matmul::max_plus(), T::LOWEST),
            "max_times" => products(case, Matmul::max_times(), T::LOWEST),
            "max_min" => products(case, Matmul::max_min(), T::LOWEST),
            "plus_first" => products(case, Matmul::plus_first(), T::ZERO),
            _ => products(case, Matmul::plus_pair(), T::ZERO),
        },
        "sddmm" => {
            let x = tensor::<T>(case)?;
            let [l, r] = ["l", "r"].map(|side| tensor::<T>(&case[side]).and_then(|factor| factor.to_dense()));
            let (l, r) = (l?, r?);
            let mut answers = Answers::of(case);
            answers.add("COO", x.pattern().sddmm(&l, &r));
            answers.add("CSR", x.to_csr()?.pattern().sddmm(&l, &r));
            Ok(answers.told())
        }
        _ => real_type::<T>(case),
    }
}

/// Functions of one float.
fn functions<T: Bits + Float + Numeric>(case: &Value) -> Result<Value> {
    macro_rules! functions {
        ($($name:literal $function:ident),*) => {
            match case["op"].as_str().expect("op") {
                $($name => {
                    let x = tensor::<T>(case)?;
                    let mut answers = Answers::of(case);
                    answers.add("COO", implicit(lacuna::$function(&x)));
                    answers.add("CSR", implicit(lacuna::$function(&x.to_csr()?)));
                    let dense = lacuna::$function(&x.to_dense()?);
                    answers.add_dense(dense.map(|z| z.mapv(Element::as_implicit)));
                    Ok(answers.told())
                })*
                "power" => ask_two!(case, T, |x, y| lacuna::pow(x, y)),
                _ => of_two::<T>(case),
            }
        };
    }
    functions!("absolute" abs, "negative" neg, "sign" sign, "square" square, "sqrt" sqrt, "rint" round, "floor" floor,
        "ceil" ceil, "trunc" trunc, "reciprocal" recip, "exp" exp, "expm1" exp_m1, "log" ln, "log1p" ln_1p, "sin" sin,
        "cos" cos, "tanh" tanh, "cbrt" cbrt, "log2" log2)
}

/// Runs the operations that move elements.
fn moved<T: Bits>(case: &Value) -> Result<Value> {
    let (by, axis) = (|| list::<isize>(case, "by"), || list::<isize>(case, "axes")[0]);
    match case["op"].as_str().expect("op") {
        "flip" => ask!(case, T, |x| lacuna::flip(x, axes(case))),
        "roll" => ask!(case, T, |x| lacuna::roll(x, by()[0], axis())),
        "repeat" => ask!(case, T, |x| lacuna::repeat(x, by()[0] as usize, axis())),
        "tile" => ask!(case, T, |x| lacuna::tile(x, list::<usize>(case, "by"))),
        "pad" => ask!(case, T, |x| lacuna::pad(
            x,
            list::<usize>(case, "by").chunks(2).map(|w| (w[0], w[1])).collect::<Vec<_>>()
        )),
        "tril" => ask!(case, T, |x| lacuna::tril(x, by()[0])),
        "triu" => ask!(case, T, |x| lacuna::triu(x, by()[0])),
        "diagonal" => ask!(case, T, |x| lacuna::diagonal(x, by()[0])),
        "transpose" => ask!(case, T, |x| lacuna::transpose(x)),
        "moveaxis" => ask!(case, T, |x| lacuna::move_axis(x, by()[0], by()[1])),
        "slice" => {
            let slice = |by: &[isize]| SliceInfoElem::Slice { start: by[0], end: Some(by[1]), step: by[2] };
            ask!(case, T, |x| lacuna::slice(x, by().chunks(3).map(slice).collect::<Vec<_>>()))
        }
        "concatenate" => {
            let (a, b) = (tensor::<T>(case)?, tensor::<T>(&case["other"])?);
            let mut answers = Answers::of(case);
            answers.add("COO", lacuna::concat(axis(), &[&a, &b]));
            answers.add("CSR", lacuna::concat(axis(), &[&a.to_csr()?, &b.to_csr()?]));
            Ok(answers.told())
        }
        op => panic!("no operation {op}"),
    }
}

/// Runs the operations that have other names in `ndarray`, on the formats only.
fn arranged<T: Bits>(x: CooTensor<T>, case: &Value) -> Result<Value> {
    let (axes, into) = (|| list::<isize>(case, "axes"), || list::<usize>(case, "into"));
    let csr = if x.rank() > 0 { Some(x.to_csr()?) } else { None };
    let mut answers = Answers::of(case);
    let (of_coo, of_csr) = match case["op"].as_str() {
        Some("permute") => (x.permute_axes(axes()), csr.map(|csr| csr.permute_axes(axes()))),
        Some("reshape") => (x.reshape(into()), csr.map(|csr| csr.reshape(into()))),
        _ => (Ok(x), csr.map(Ok)),
    };
    answers.add("COO", of_coo);
    if let Some(of_csr) = of_csr {
        answers.add("CSR", of_csr);
    }
    Ok(answers.told())
}

/// Runs the operations of real numbers.
fn real_type<T: Bits + Real<Median: Bits> + Ring<Sum: Bits, Mean: Bits, Deviation: Bits>>(
    case: &Value,
) -> Result<Value> {
    match case["op"].as_str().expect("op") {
        "nanmedian" => ask!(case, T, |x| x.nanmedian(axes(case))),
        "min" => ask!(case, T, |x| x.min(axes(case))),
        "max" => ask!(case, T, |x| x.max(axes(case))),
        "median" => ask!(case, T, |x| x.median(axes(case))),
        "quantile" => {
            let method = match case["method"].as_str() {
                Some("lower") => QuantileMethod::Lower,
                Some("higher") => QuantileMethod::Higher,
                Some("midpoint") => QuantileMethod::Midpoint,
                Some("nearest") => QuantileMethod::Nearest,
                _ => QuantileMethod::Linear,
            };
            let q = f64::from_bits(list(case, "q")[0]);
            ask!(case, T, |x| x.quantile(q, Quantile::over(axes(case)).method(method)))
        }
        "var" => ask!(case, T, |x| var(x, Var::over(axes(case)).ddof(list(case, "ddof")[0]))),
        "std" => ask!(case, T, |x| std(x, Var::over(axes(case)).ddof(list(case, "ddof")[0]))),
        "argmin" => ask!(case, T, |x| x.argmin(axes(case))),
        "argmax" => ask!(case, T, |x| x.argmax(axes(case))),
        "topk" => ask!(case, T, |x| x.topk(list::<usize>(case, "by")[0], list::<isize>(case, "axes")[0])),
        "group_sum" => {
            let (axis, labels) = (list::<usize>(case, "axes")[0], list::<usize>(case, "by"));
            ask!(case, T, |x| sum(x, Axes::by(axis, &labels)))
        }
        "isposinf" => ask!(case, T, |x| x.isposinf()),
        "isneginf" => ask!(case, T, |x| x.isneginf()),
        _ => any_type::<T>(case),
    }
}

/// Runs code for the type of a case.
macro_rules! by_type {
    ($dtype:expr, $type:ident => $body:expr) => {{
        macro_rules! of {
            ($own:ty) => {{
                type $type = $own;
                $body
            }};
        }
        match $dtype {
            "f8" => of!(f64),
            "f4" => of!(f32),
            "i8" => of!(i64),
            "u8" => of!(u64),
            "u1" => of!(u8),
            "b1" => of!(bool),
            "c8" => of!(Complex<f32>),
            other => panic!("no type {other}"),
        }
    }};
}

/// An expression on the tensors that a case names: all of them in coordinates, and all in rows if all have some.
fn expression(case: &Value) -> Result<Value> {
    let text = case["eval"].as_str().expect("eval");
    let parsed = Expression::parse(text).unwrap_or_else(|fault| panic!("{fault}"));
    let named = case["names"].as_object().expect("names");
    let tensor = |name: &str| {
        let given = &named[name];
        by_type!(given["dtype"].as_str().expect("dtype"), T => {
            tensor::<T>(given)?.with_index::<u64>().map(AnyTensor::from)
        })
    };
    let all = named.keys().map(|name| Ok((name.as_str(), tensor(name)?))).collect::<Result<Vec<_>>>()?;
    let mut answers = Answers(Vec::new(), false);
    for (format, is_requested) in
        [(Format::Coo, true), (Format::Csr, all.iter().all(|(_, tensor)| tensor.shape().rank() > 0))]
    {
        if is_requested {
            let tensors = all.iter().map(|(name, tensor)| Ok((*name, tensor.clone().into_format(format)?)));
            let tensors = tensors.collect::<Result<Vec<_>>>()?;
            let bound = |name: &str| tensors.iter().find(|(known, _)| *known == name).map(|(_, tensor)| tensor.clone());
            answers.0.push((format.name(), evaluated(&parsed, bound)));
        }
    }
    Ok(answers.told())
}

fn evaluated(parsed: &Expression, bound: impl Fn(&str) -> Option<AnyTensor>) -> Result<Value> {
    let found = parsed.evaluate(bound).map_err(|fault| match fault {
        Fault::Run(error) => error,
        Fault::Wrong(wrong) => panic!("{wrong}"),
    })?;
    let bits = match found.dtype() {
        DType::Float64 => "f8",
        DType::Float32 => "f4",
        DType::Int64 => "i8",
        DType::UInt64 => "u8",
        DType::UInt8 => "u1",
        DType::Bool => "b1",
        DType::Complex64 => "c8",
        other => panic!("no type {}", other.name()),
    };
    by_type!(bits, T => Ok(told(&found.into_tensor()?.into_coo::<T, u64>()?.to_dense()?)))
}

fn answer(case: &Value) -> Result<Value> {
    if case.get("eval").is_some() {
        return expression(case);
    }
    match case["dtype"].as_str() {
        Some("f8") => functions::<f64>(case),
        Some("f4") => functions::<f32>(case),
        Some("i8") => of_two::<i64>(case),
        Some("u8") => of_two::<u64>(case),
        Some("u1") => of_two::<u8>(case),
        Some("b1") => any_type::<bool>(case),
        Some("c8") => any_type::<Complex<f32>>(case),
        other => panic!("no type {other:?}"),
    }
}

fn main() {
    if std::env::args().any(|word| word == "--functions") {
        eval::functions().for_each(|name| println!("{name}"));
        return;
    }
    if !std::env::args().any(|word| word == "--cases") {
        println!("no cases: tests/differential.py asks them");
        return;
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        let told = answer(&case).unwrap_or_else(|error| json!({ "error": error.to_string() }));
        writeln!(out, "{told}").expect("somebody reads");
    }
}
