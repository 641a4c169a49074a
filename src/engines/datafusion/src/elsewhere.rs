//! A query on a worker: what it was told of it, the file that it opens for that, and what it makes of both.

use std::path::{Component, Path, PathBuf};

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use lacuna::dynamic::AnyTensor;
use lacuna::eval::Program;
use lacuna::io::{ReadOptions, scan};
use lacuna::lazy::outside::{Folding, Held, How, Ordered, Partial, Reader, Told, value_bytes};
use lacuna::{CooTensor, DType, dispatch, dispatch_dtype};

use crate::map::Asks;

/// How the message of an error begins that a step before a fold is: no worker computes it.
pub(crate) const STEP: &str = "lacuna refuses a step: ";

/// What an engine and its workers must have in common: the package, and a number that changes with what is said between
/// them.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/3");

/// A query that a worker was told of.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Asked {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    #[prost(string, tag = "2")]
    dtype: String,
    #[prost(uint64, repeated, tag = "3")]
    shape: Vec<u64>,
    /// The number of entries, and the sum of their hashes.
    #[prost(fixed64, repeated, tag = "4")]
    checks: Vec<u64>,
    #[prost(uint32, repeated, tag = "5")]
    kept: Vec<u32>,
    #[prost(string, optional, tag = "6")]
    chain: Option<String>,
    #[prost(string, tag = "7")]
    fold: String,
    #[prost(bool, tag = "8")]
    is_stored: bool,
    #[prost(uint32, tag = "9")]
    order: u32,
    #[prost(bool, tag = "10")]
    has_gap: bool,
    #[prost(string, tag = "12")]
    version: String,
}

impl Asked {
    /// What is told of a query.
    pub(crate) fn of(query: &dyn Asks) -> lacuna::Result<Self> {
        let refused = |why: &str| lacuna::Error::Argument { operation: "on", why: why.into() };
        let Told { dtype, chain, fold: Folding { name, is_stored, order }, has_gap } = query.told()?;
        let reader = query.reader();
        let path = full(reader.path().ok_or_else(|| refused("what is read is no file"))?)?;
        // What is gone here is told before anybody is asked.
        path.metadata()?;
        let path = path.to_str().ok_or_else(|| refused("the name of the file is no UTF-8"))?.to_string();
        let (entries, hash) = reader.checks().ok_or_else(|| refused("the file does not tell what is in it"))?;
        Ok(Asked {
            path,
            dtype: dtype.name().into(),
            shape: reader.shape().iter().map(|&length| length as u64).collect(),
            checks: vec![entries, hash],
            kept: query.kept().iter().map(|&axis| axis as u32).collect(),
            chain,
            fold: name,
            is_stored,
            order: order.into(),
            has_gap,
            version: VERSION.into(),
        })
    }

    /// Whether this is the file that is meant.
    fn fits(&self, reader: &Reader) -> bool {
        let shape = reader.shape().iter().map(|&length| length as u64);
        let checks = reader.checks().map(|(entries, hash)| [entries, hash]);
        shape.eq(self.shape.iter().copied()) && checks.is_some_and(|checks| self.checks == checks)
    }
}

/// The whole name of a file, as it was given: where links in it lead is known to who opens it.
fn full(path: &Path) -> std::io::Result<PathBuf> {
    let mut full = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => drop(full.pop()),
            Component::CurDir => {}
            part => full.push(part),
        }
    }
    Ok(full)
}

/// The query itself.
pub(crate) struct Elsewhere {
    told: Told,
    reader: Reader,
    kept: Vec<usize>,
    program: Option<Program>,
    width: usize,
    how: How,
}

fn wrong(why: &str) -> DataFusionError {
    exec_datafusion_err!("lacuna: {why}")
}

fn step(error: impl std::fmt::Display) -> lacuna::Error {
    lacuna::Error::Argument { operation: "on", why: format!("{STEP}{error}") }
}

impl Elsewhere {
    /// Opens the file at `path`, which is the one that is meant.
    pub(crate) fn open(asked: &Asked, path: &Path) -> Result<Self> {
        if asked.version != VERSION {
            return Err(wrong("this worker is of another version; start the one of the engine"));
        }
        let dtype = DType::from_name(&asked.dtype).ok_or_else(|| wrong("there is no such element type"))?;
        let reader = reader(dtype, path).map_err(|error| wrong(&error.to_string()))?;
        if !asked.fits(&reader) {
            return Err(wrong("the file is not the one that was asked for, or has changed since"));
        }
        let kept: Vec<usize> = asked.kept.iter().map(|&axis| axis as usize).collect();
        if kept.iter().any(|&axis| axis >= asked.shape.len()) {
            return Err(wrong("there is no such axis"));
        }
        let order = u8::try_from(asked.order).map_err(|_| wrong("there is no such norm"))?;
        let fold = Folding { name: asked.fold.clone(), is_stored: asked.is_stored, order };
        let told = Told { dtype, chain: asked.chain.clone(), fold, has_gap: asked.has_gap };
        Elsewhere::new(told, reader, kept)
    }

    fn new(told: Told, reader: Reader, kept: Vec<usize>) -> Result<Self> {
        let external = |error: lacuna::Error| wrong(&error.to_string());
        let program = told.chain.as_deref().map(Program::parse).transpose();
        let program = program.map_err(|fault| wrong(&fault.to_string()))?;
        let none = any_of(told.dtype, &reader.piece(&[], told.has_gap).map_err(external)?).map_err(external)?;
        let none = through(program.as_ref(), none).map_err(external)?;
        let width = dispatch_dtype!(none.dtype(), T => size_of::<T>(), else => 0);
        let how = how(&told.fold, &none).ok_or_else(|| wrong("this type has no such fold"))?;
        Ok(Elsewhere { told, reader, kept, program, width, how })
    }
}

impl Asks for Elsewhere {
    fn reader(&self) -> &Reader {
        &self.reader
    }

    fn kept(&self) -> &[usize] {
        &self.kept
    }

    fn is_mapped(&self) -> bool {
        self.program.is_some()
    }

    fn width(&self) -> usize {
        self.width
    }

    fn map(&self, values: &[u8]) -> lacuna::Result<Vec<u8>> {
        let piece = any_of(self.told.dtype, &self.reader.piece(values, self.told.has_gap)?)?;
        let mapped = through(self.program.as_ref(), piece)?;
        dispatch_dtype!(mapped.dtype(), T => Ok(value_bytes(&mapped.into_coo::<T, u64>()?)), else => Ok(Vec::new()))
    }

    fn partial(&self) -> Option<Box<dyn Partial>> {
        self.how.partial()
    }

    fn order(&self) -> Option<&dyn Ordered> {
        self.how.order()
    }

    fn told(&self) -> lacuna::Result<Told> {
        Ok(self.told.clone())
    }
}

/// What reads a file of that type.
fn reader(dtype: DType, path: &Path) -> lacuna::Result<Reader> {
    let none = || lacuna::Error::Argument { operation: "scan", why: format!("there are no files of {dtype}") };
    dispatch_dtype!(dtype, T => Reader::of(&scan::<T, u64>(path, &ReadOptions::default())?), else => None)
        .ok_or_else(none)
}

/// A tensor of that type.
fn any_of(dtype: DType, piece: &Held) -> lacuna::Result<AnyTensor> {
    let any = dispatch_dtype!(dtype, T => piece.downcast_ref::<CooTensor<T, u64>>().cloned().map(AnyTensor::from),
        else => None);
    any.ok_or_else(|| step("what is read has another type"))
}

/// What the steps make of a tensor.
fn through(program: Option<&Program>, x: AnyTensor) -> lacuna::Result<AnyTensor> {
    let Some(program) = program else { return Ok(x) };
    let found = program.run(|_| Some(x.clone())).map_err(step)?;
    found.into_iter().next().ok_or_else(|| step("there is no result"))
}

/// The fold of elements of the type that a tensor without entries has.
macro_rules! how_of {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*] $fold:ident, $none:ident) => {
        match $none.dtype() {
            $(DType::$Real => {
                let fill = fill_of::<$real>($none)?;
                $fold.of_real::<$real>(fill).or_else(|| $fold.of_any::<$real>(fill))
            })*
            $(DType::$Complex => $fold.of_any::<$complex>(fill_of::<$complex>($none)?),)*
            #[allow(unreachable_patterns)] // all types may be there
            _ => None,
        }
    };
}

fn how(fold: &Folding, none: &AnyTensor) -> Option<How> {
    let float = match none.dtype() {
        DType::Float16 => fold.of_float(fill_of::<lacuna::dynamic::types::f16>(none)?),
        DType::BFloat16 => fold.of_float(fill_of::<lacuna::dynamic::types::bf16>(none)?),
        DType::Float32 => fold.of_float(fill_of::<f32>(none)?),
        DType::Float64 => fold.of_float(fill_of::<f64>(none)?),
        _ => None,
    };
    float.or_else(|| lacuna::__with_dtypes! { (how_of) fold, none })
}

fn fill_of<T: lacuna::Element>(none: &AnyTensor) -> Option<T> {
    dispatch!(none, x => (&x.fill() as &dyn std::any::Any).downcast_ref::<T>().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_told_in_full() -> std::io::Result<()> {
        let here = std::env::current_dir()?;
        for (name, told) in [("x/./y", here.join("x/y")), ("/a/b/../c//d", "/a/c/d".into()), ("/../a/", "/a".into())] {
            assert_eq!(full(Path::new(name))?, told, "{name}");
        }
        Ok(())
    }
}
