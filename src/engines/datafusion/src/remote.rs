//! A query on a worker: its description, the file that the worker opens, and the steps on the file.

use std::path::{Component, Path, PathBuf};

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use lacuna::dynamic::AnyTensor;
use lacuna::eval::Program;
use lacuna::io::{ReadOptions, scan};
use lacuna::lazy::engine_api::{
    ErasedValue, Folding, Partial, QueryText, RankSearch, Reader, Reducer, piece, side_name, value_bytes,
};
use lacuna::{CooTensor, DType, Number, dispatch, dispatch_dtype};

use crate::map::PlanQuery;

/// The beginning of the error message for a step before a reduction that no worker computes.
pub(crate) const STEP: &str = "lacuna refuses a step: ";

/// The version that an engine and its workers must share: the package version, and a number that changes with the
/// protocol.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/5");

/// The description of a query, as a worker receives it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct QueryMessage {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    #[prost(string, tag = "2")]
    dtype: String,
    #[prost(message, optional, tag = "3")]
    file: Option<FileMessage>,
    /// The element type and the fill after the steps. The textual form of the steps must result in the same on the
    /// worker.
    #[prost(string, tag = "4")]
    mapped: String,
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
    has_unstored: bool,
    #[prost(string, tag = "12")]
    version: String,
    /// The operands that are repeated for the entries of the file.
    #[prost(message, repeated, tag = "13")]
    sides: Vec<SideMessage>,
}

/// The description of a repeated operand; the elements are sent with the scan.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct SideMessage {
    #[prost(string, tag = "1")]
    dtype: String,
    /// The fill of chunks of the operand, as bytes.
    #[prost(bytes = "vec", tag = "2")]
    fill: Vec<u8>,
}

/// The facts of a file that a result depends on.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct FileMessage {
    #[prost(uint64, repeated, tag = "1")]
    shape: Vec<u64>,
    /// The element type in the file, which may differ from the type that is read.
    #[prost(string, tag = "2")]
    dtype: String,
    /// The fill, as it is read.
    #[prost(string, tag = "3")]
    fill: String,
    #[prost(fixed64, tag = "4")]
    entries: u64,
    /// The sum of the hashes of all entries.
    #[prost(fixed64, tag = "5")]
    hash: u64,
    /// The checksum of all facts that the file states about the tensor.
    #[prost(string, tag = "6")]
    checksum: String,
}

impl FileMessage {
    fn of(reader: &Reader) -> lacuna::Result<Self> {
        let fingerprint = reader.checks().zip(reader.fingerprint());
        let ((entries, hash), (dtype, checksum)) =
            fingerprint.ok_or_else(|| rejection("the file does not describe its contents"))?;
        let shape = reader.shape().iter().map(|&length| length as u64).collect();
        let fill = reader.fill()?.to_string();
        Ok(FileMessage { shape, dtype: dtype.name().into(), fill, entries, hash, checksum })
    }

    /// Describes the first difference from the requested file, if any.
    fn unlike(&self, expected: &FileMessage) -> Option<String> {
        let hash = |file: &FileMessage| format!("{:016x}", file.hash);
        let facts = [
            ("shape", format!("{:?}", self.shape), format!("{:?}", expected.shape)),
            ("element type", self.dtype.clone(), expected.dtype.clone()),
            ("fill", self.fill.clone(), expected.fill.clone()),
            ("number of entries", self.entries.to_string(), expected.entries.to_string()),
            ("sum of the hashes of all entries", hash(self), hash(expected)),
        ];
        let unlike = facts.into_iter().find(|(_, own, expected)| own != expected);
        let text = unlike.map(|(what, own, expected)| format!("its {what} is {own}, not {expected}"));
        text.or_else(|| (self != expected).then(|| "its description differs".into()))
    }
}

fn rejection(why: &str) -> lacuna::Error {
    lacuna::Error::Argument { operation: "on", why: why.into() }
}

/// Formats an element type and a fill.
fn in_words((dtype, fill): (DType, Number)) -> String {
    format!("{} {fill}", dtype.name())
}

impl QueryMessage {
    /// Returns the description of a query.
    pub(crate) fn of(query: &dyn PlanQuery) -> lacuna::Result<Self> {
        let QueryText { dtype, chain, sides, fold: Folding { name, is_stored, order }, has_unstored } =
            query.to_text()?;
        let reader = query.reader();
        let path = full(reader.path().ok_or_else(|| rejection("the source is not a file"))?)?;
        // A missing file is reported before any worker is contacted.
        path.metadata()?;
        let path = path.to_str().ok_or_else(|| rejection("the name of the file is not UTF-8"))?.to_string();
        Ok(QueryMessage {
            path,
            dtype: dtype.name().into(),
            file: Some(FileMessage::of(reader)?),
            mapped: in_words(query.mapped()),
            kept: query.kept().iter().map(|&axis| axis as u32).collect(),
            chain,
            fold: name,
            is_stored,
            order: order.into(),
            has_unstored,
            version: VERSION.into(),
            sides: sides.into_iter().map(|(dtype, fill)| SideMessage { dtype: dtype.name().into(), fill }).collect(),
        })
    }

    /// Describes the first difference of a file from the requested file, if any.
    fn unlike(&self, reader: &Reader) -> lacuna::Result<Option<String>> {
        let expected = self.file.as_ref().ok_or_else(|| rejection("the contents of the file are not described"))?;
        Ok(FileMessage::of(reader)?.unlike(expected))
    }
}

/// Returns the absolute path of a file without `.` and `..`. Links are not resolved here: the worker that opens the
/// file resolves them.
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

/// A query on a worker, ready to run.
pub(crate) struct Remote {
    text: QueryText,
    reader: Reader,
    kept: Vec<usize>,
    program: Option<Program>,
    width: usize,
    mapped: (DType, Number),
    reducer: Reducer,
}

fn wrong(why: &str) -> DataFusionError {
    exec_datafusion_err!("lacuna: {why}")
}

fn step(error: impl std::fmt::Display) -> lacuna::Error {
    lacuna::Error::Argument { operation: "on", why: format!("{STEP}{error}") }
}

impl Remote {
    /// Opens the file at `path`. Another version, another file or another fill after the steps is an error.
    pub(crate) fn open(message: &QueryMessage, path: &Path) -> Result<Self> {
        if message.version != VERSION {
            return Err(wrong("this worker has another version; start the version of the engine"));
        }
        let dtype = DType::from_name(&message.dtype).ok_or_else(|| wrong("unknown element type"))?;
        let reader = reader(dtype, path).map_err(|error| wrong(&error.to_string()))?;
        if let Some(what) = message.unlike(&reader).map_err(|error| wrong(&error.to_string()))? {
            return Err(wrong(&format!("the file is not the requested file, or has changed: {what}")));
        }
        let kept: Vec<usize> = message.kept.iter().map(|&axis| axis as usize).collect();
        if kept.iter().any(|&axis| axis >= reader.shape().rank()) {
            return Err(wrong("unknown axis"));
        }
        let order = u8::try_from(message.order).map_err(|_| wrong("unknown norm"))?;
        let fold = Folding { name: message.fold.clone(), is_stored: message.is_stored, order };
        let side = |side: &SideMessage| Some((DType::from_name(&side.dtype)?, side.fill.clone()));
        let sides = message.sides.iter().map(side).collect::<Option<Vec<_>>>();
        let sides = sides.ok_or_else(|| wrong("unknown element type"))?;
        let text = QueryText { dtype, chain: message.chain.clone(), sides, fold, has_unstored: message.has_unstored };
        let query = Remote::new(text, reader, kept)?;
        let (own, message) = (in_words(query.mapped), &message.mapped);
        match own == *message {
            true => Ok(query),
            false => Err(wrong(&format!("the steps result in the fill {own} on this worker, not {message}"))),
        }
    }

    fn new(text: QueryText, reader: Reader, kept: Vec<usize>) -> Result<Self> {
        let external = |error: lacuna::Error| wrong(&error.to_string());
        let program = text.chain.as_deref().map(Program::parse).transpose();
        let program = program.map_err(|fault| wrong(&fault.to_string()))?;
        let none = any_of(text.dtype, &reader.piece(&[], text.has_unstored).map_err(external)?).map_err(external)?;
        let sides = pieces(&text, &vec![&[][..]; text.sides.len()]).map_err(external)?;
        let none = through(program.as_ref(), none, &sides).map_err(external)?;
        let width = dispatch_dtype!(none.dtype(), T => size_of::<T>(), else => 0);
        let reducer = reducer(&text.fold, &none).ok_or_else(|| wrong("this type does not support the reduction"))?;
        let mapped = (none.dtype(), none.fill());
        Ok(Remote { text, reader, kept, program, width, mapped, reducer })
    }
}

impl PlanQuery for Remote {
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

    fn mapped(&self) -> (DType, Number) {
        self.mapped
    }

    fn side_widths(&self) -> Vec<usize> {
        self.text.sides.iter().map(|(dtype, _)| dispatch_dtype!(*dtype, T => size_of::<T>(), else => 0)).collect()
    }

    fn map(&self, values: &[u8], sides: &[&[u8]]) -> lacuna::Result<Vec<u8>> {
        let piece = any_of(self.text.dtype, &self.reader.piece(values, self.text.has_unstored)?)?;
        let mapped = through(self.program.as_ref(), piece, &pieces(&self.text, sides)?)?;
        dispatch_dtype!(mapped.dtype(), T => Ok(value_bytes(&mapped.into_coo::<T, u64>()?)), else => Ok(Vec::new()))
    }

    fn partial(&self) -> Option<Box<dyn Partial>> {
        self.reducer.partial()
    }

    fn order(&self) -> Option<&dyn RankSearch> {
        self.reducer.order()
    }

    fn to_text(&self) -> lacuna::Result<QueryText> {
        Ok(self.text.clone())
    }
}

/// Returns a reader of a file, with elements of type `dtype`.
fn reader(dtype: DType, path: &Path) -> lacuna::Result<Reader> {
    let none =
        || lacuna::Error::Argument { operation: "scan", why: format!("files of type {dtype} are not supported") };
    dispatch_dtype!(dtype, T => Reader::of(&scan::<T, u64>(path, &ReadOptions::default())?), else => None)
        .ok_or_else(none)
}

/// Returns a tensor with elements of type `dtype` as an [`AnyTensor`].
fn any_of(dtype: DType, piece: &ErasedValue) -> lacuna::Result<AnyTensor> {
    let any = dispatch_dtype!(dtype, T => piece.downcast_ref::<CooTensor<T, u64>>().cloned().map(AnyTensor::from),
        else => None);
    any.ok_or_else(|| step("the source has another type"))
}

/// Returns the elements of the repeated operands as tensors; `sides` has the bytes of each operand.
fn pieces(text: &QueryText, sides: &[&[u8]]) -> lacuna::Result<Vec<AnyTensor>> {
    let side = |((dtype, fill), values): (&(DType, Vec<u8>), &&[u8])| {
        let piece = dispatch_dtype!(*dtype, T => piece::<T>(fill, values, text.has_unstored)?,
            else => return Err(step("an operand combined with the file has another type")));
        any_of(*dtype, &piece)
    };
    text.sides.iter().zip(sides).map(side).collect()
}

/// Runs the steps on a tensor and the repeated operands.
fn through(program: Option<&Program>, x: AnyTensor, sides: &[AnyTensor]) -> lacuna::Result<AnyTensor> {
    let Some(program) = program else { return Ok(x) };
    let side = |name: &str| (0..sides.len()).find(|&at| side_name(at) == name).map(|at| sides[at].clone());
    let found = program.run(|name| side(name).or_else(|| Some(x.clone()))).map_err(step)?;
    found.into_iter().next().ok_or_else(|| step("there is no result"))?.into_tensor()
}

/// Constructs the streaming reduction for the element type of `$none`, a tensor without entries.
macro_rules! how_of {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*] $fold:ident, $none:ident) => {
        match $none.dtype() {
            $(DType::$Real => {
                let fill = fill_of::<$real>($none)?;
                $fold.of_real::<$real>(fill).or_else(|| $fold.of_any::<$real>(fill))
            })*
            $(DType::$Complex => {
                let fill = fill_of::<$complex>($none)?;
                $fold.of_inexact::<$complex>(fill).or_else(|| $fold.of_any::<$complex>(fill))
            })*
            #[allow(unreachable_patterns)] // all element types may be enabled
            _ => None,
        }
    };
}

fn reducer(fold: &Folding, none: &AnyTensor) -> Option<Reducer> {
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
    use std::sync::Mutex;

    use lacuna::io::{WriteOptions, write};
    use lacuna::lazy::engine_api::{Plan, Sealed};
    use lacuna::lazy::{Engine, Lazy};

    use super::*;
    use crate::region::region;

    /// An engine that records the description of a query for workers.
    struct Overhears(Mutex<Option<QueryMessage>>);

    impl Sealed for &Overhears {}

    impl Engine for &Overhears {
        fn values(&self, plan: &Plan, mut slots: Vec<Option<ErasedValue>>) -> lacuna::Result<Vec<ErasedValue>> {
            let region = region(plan, plan.results()[0], &slots).unwrap_or_else(|why| panic!("{why:?}"));
            *self.0.lock().expect("a lock") = Some(QueryMessage::of(&region.into_query(plan, &mut slots)?)?);
            Err(rejection("it is only listened to"))
        }

        fn for_each_chunk(
            &self,
            _: &Plan,
            _: Vec<Option<ErasedValue>>,
            _: &mut dyn FnMut(&ErasedValue) -> lacuna::Result<()>,
        ) -> lacuna::Result<()> {
            Ok(())
        }

        fn explain(&self, plan: &Plan, _: &[Option<ErasedValue>]) -> String {
            plan.to_text()
        }
    }

    /// A query with another file, other steps or another version computes nothing.
    #[test]
    fn a_query_of_something_else_is_refused() -> lacuna::Result<()> {
        let path = std::env::temp_dir().join(format!("lacuna-datafusion-remote-{}.parquet", std::process::id()));
        let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, -5.0], 0.0)?;
        write(&path, &x, &WriteOptions::default())?;
        let lazy: Lazy<CooTensor<f64>> = scan(&path, &ReadOptions::default())?;
        let overhears = Overhears(Mutex::new(None));
        let _ = (lazy + 1.0).sum(0).on(&overhears).collect();
        let message = overhears.0.into_inner().expect("a lock").expect("a query");
        assert!(Remote::open(&message, &path).is_ok());
        type Change = fn(&mut QueryMessage);
        let of_file: [(Change, &str); 6] = [
            (|message| message.file = None, "the contents of the file are not described"),
            (|message| message.file.iter_mut().for_each(|file| file.shape[1] = 4), "its shape is [2, 3], not [2, 4]"),
            (|message| message.file.iter_mut().for_each(|file| file.fill = "7.0".into()), "its fill is 0.0, not 7.0"),
            (|message| message.file.iter_mut().for_each(|file| file.entries = 3), "its number of entries is 2, not 3"),
            (
                |message| message.file.iter_mut().for_each(|file| file.hash ^= 1),
                "its sum of the hashes of all entries is",
            ),
            (|message| message.file.iter_mut().for_each(|file| file.checksum.clear()), "its description differs"),
        ];
        let of_query: [(Change, &str); 5] = [
            (|message| message.version.push('1'), "this worker has another version"),
            (|message| message.chain = message.chain.take().map(|text| text.replace('1', "2")), "lacuna"),
            (
                |message| message.mapped = "float64 2.0".into(),
                "the steps result in the fill float64 1.0 on this worker, not",
            ),
            (|message| message.dtype = "float32".into(), "input \"x\" must be float64"),
            (|message| message.kept = vec![2], "unknown axis"),
        ];
        for (change, text) in of_file.into_iter().chain(of_query) {
            let mut other = message.clone();
            change(&mut other);
            let found = Remote::open(&other, &path).map(|_| ()).map_err(|error| error.to_string());
            assert!(found.as_ref().is_err_and(|why| why.contains(text)), "{text}: {found:?}");
        }
        std::fs::remove_file(&path)?;
        Ok(())
    }

    #[test]
    fn a_name_is_told_in_full() -> std::io::Result<()> {
        let here = std::env::current_dir()?;
        for (name, text) in [("x/./y", here.join("x/y")), ("/a/b/../c//d", "/a/c/d".into()), ("/../a/", "/a".into())] {
            assert_eq!(full(Path::new(name))?, text, "{name}");
        }
        Ok(())
    }
}
