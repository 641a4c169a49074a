//! The command `isin`: the set is values on the command line, or a file.

use lacuna::io::{AnyTensor, FileElement};
#[cfg(feature = "parquet")]
use lacuna::{CooTensor, Error};
use lacuna::{Element, Number, Pattern, Tensor, dispatch, dispatch_dtype};
#[cfg(feature = "parquet")]
use ndarray::Array1;
use num_complex::Complex;

use crate::args::IsinArgs;
#[cfg(feature = "parquet")]
use crate::called::CallWork;
use crate::failure::{Failure, warn};

type Outcome = Result<(), Failure>;

/// Returns which elements are members of the set.
pub(crate) fn isin(args: &IsinArgs) -> Outcome {
    #[cfg(feature = "parquet")]
    if args.running.is_in_chunks() {
        return isin_in_chunks(args);
    }
    let set = set(args)?;
    let x = args.input.read()?;
    let members: Vec<Number> = dispatch_dtype!(x.dtype(), T => {
        set.members::<T>().into_iter().map(Element::to_number).collect()
    }, else => Vec::new());
    let result = x.isin(members, args.invert).map_err(|error| Failure::of_file(&args.input.file, error))?;
    args.output.emit(result, args.input.reading.max_memory)
}

/// Runs `isin` in chunks, with the values of the set as a second operand.
#[cfg(feature = "parquet")]
fn isin_in_chunks(args: &IsinArgs) -> Outcome {
    let (set, header) = (set(args)?, args.input.header()?);
    let members = dispatch_dtype!(header.dtype(), T => {
        let members = set.members::<T>();
        CooTensor::from_dense(&Array1::from(members), T::ZERO).and_then(|set| Ok(set.with_index::<u64>()?.into()))
    }, else => Err(Error::NoTensor));
    let members = members.map_err(|error| Failure::of_file(&args.input.file, error))?;
    let work = CallWork::on_tensor(&args.input, members, &args.running, &args.output);
    work.emit(&format!("isin(x0, x1, invert={})", args.invert))
}

fn set(args: &IsinArgs) -> Result<Set<'_>, Failure> {
    Ok(match (&args.values, &args.values_from) {
        (Some(words), _) => Set::Words(&words.0),
        (None, Some(path)) => Set::Numbers(numbers(&args.input.read_beside(path, None)?)),
        (None, None) => Set::Words(&[]),
    })
}

/// The values that `--values` or `--values-from` name.
enum Set<'a> {
    /// Numbers in textual form.
    Words(&'a [String]),
    /// The numbers of a file, whatever their type.
    Numbers(Vec<Number>),
}

impl Set<'_> {
    /// Returns the values in type `T`; prints a message about values that the type cannot hold.
    fn members<T: FileElement>(&self) -> Vec<T> {
        match self {
            Set::Words(words) => words.iter().filter_map(|word| member_of_word(word)).collect(),
            Set::Numbers(numbers) => members_of_numbers(numbers),
        }
    }
}

/// Parses a value: rounded to the type, as a literal is, but a finite number never becomes an infinity.
fn member_of_word<T: FileElement>(word: &str) -> Option<T> {
    let finite = word.parse::<Number>().is_ok_and(|number| !is_nonfinite(word, number));
    let parsed = T::parse(word).or_else(|| T::from_number(exact_number::<T>(word)?));
    let member = parsed.filter(|member| !(finite && member.isinf()));
    if member.is_none() {
        warn(format_args!("{word} is not a value of type {}; it is never a member", T::DTYPE));
    }
    member
}

/// Returns the number that a word denotes. For an integer type the number is exact: the `f64` nearest to
/// `9007199254740993.5` is an integer.
fn exact_number<T: Element>(word: &str) -> Option<Number> {
    match word.parse::<Number>().ok()? {
        Number::Real(_) if T::ZERO.to_integer().is_some() => exact_integer(word).map(Number::Integer),
        number => Some(number),
    }
}

/// Returns the integer that a decimal number equals, if any: `1.5e3` is 1500, `1.5` is not an integer.
fn exact_integer(word: &str) -> Option<i128> {
    let (mantissa, exponent) = word.split_once(['e', 'E']).unwrap_or((word, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    // The extra zero is for `.0`, which does not have a digit before its point.
    let digits: i128 = format!("{whole}{fraction}0").parse().ok()?;
    let shift = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()? + 1)?;
    let unit = || 10i128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?);
    match shift {
        _ if digits == 0 => Some(0),
        0.. => digits.checked_mul(unit()?),
        _ => unit().filter(|unit| digits % unit == 0).map(|unit| digits / unit),
    }
}

/// Returns whether the word itself denotes an infinity or NaN.
fn is_nonfinite(word: &str, number: Number) -> bool {
    let lower = word.to_ascii_lowercase();
    let named = lower.contains("inf") || lower.contains("nan");
    named && !matches!(number, Number::Integer(_))
}

/// Returns the numbers that the type holds exactly.
fn members_of_numbers<T: Element>(numbers: &[Number]) -> Vec<T> {
    let exactly = |&number: &Number| T::from_number(number).filter(|member| member.to_number() == number);
    let members: Vec<T> = numbers.iter().filter_map(exactly).collect();
    // A NaN equals nothing and is never a member, in any type.
    let is_nan = |&&number: &&Number| Complex::<f64>::from_number(number).is_some_and(Element::isnan);
    let comparable = numbers.len() - numbers.iter().filter(is_nan).count();
    if members.len() < comparable {
        let left_out = comparable - members.len();
        warn(format_args!("{left_out} of the values are not values of type {}; they are never members", T::DTYPE));
    }
    members
}

/// Returns the elements of a tensor as numbers: the stored values, and the fill if some positions are unstored.
fn numbers(x: &AnyTensor) -> Vec<Number> {
    fn of<P: Pattern, T: Element>(x: &Tensor<P, T>) -> Vec<Number> {
        let fill = (x.shape().saturating_size() > x.nnz() as u64).then(|| x.fill());
        x.values().iter().copied().chain(fill).map(Element::to_number).collect()
    }
    dispatch!(x, x => of(x))
}
