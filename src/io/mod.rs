//! Reading and writing files: `.mtx`, `.tns`, `.npy`, `.npz`, Parquet and `.csv`.
//!
//! [`read_coo`] and [`read_csr`] return a tensor of static types, and convert the types of the file. [`read`] returns
//! an [`AnyTensor`], with the format and the element type of the file, unless [`ReadOptions`] set another format or
//! type. [`dispatch!`](crate::dispatch!) runs generic code on an `AnyTensor`. [`write()`] accepts tensors of static
//! types, an `AnyTensor`, and arrays.
//!
//! | file | read | written |
//! | --- | --- | --- |
//! | `.mtx` | coordinate and array layout, all fields and symmetries, any rank | matrices and vectors, fill of zero |
//! | `.tns` | any rank; the shape from the options, a comment or the entries | any rank, fill of zero, real values |
//! | `.npy` | any rank, both byte orders, C and Fortran order | the dense array, below a limit |
//! | `.npz` | scipy csr, csc, coo; pydata/sparse COO, GCXS | scipy for a matrix with fill of zero, otherwise pydata/sparse |
//!
//! With the feature `parquet`, a `.parquet` file contains any tensor, as a table with one row per entry. To read a
//! table written by another program, set [`ReadOptions::shape`] and the names of the columns. In each format, a tensor
//! has at most 64 axes.
//!
//! [`read_csv`] and [`write_csv`] read and write tables of entries, `.csv`, with one column per axis and an optional
//! column of values. Each label in a column becomes a position on the axis of the column.
//!
//! Text and `.npy` files may be compressed with gzip: `.mtx.gz`, `.tns.gz`, `.npy.gz`, `.csv.gz`. A reader detects gzip
//! by the first bytes. A writer uses gzip if the extension or [`WriteOptions::compression`] selects it.
//!
//! A reader does not trust the sizes in a header: the memory of the reader grows with the bytes that arrive. For most
//! damaged files, the reader returns [`Error::Format`](crate::Error::Format), which names the line, or the member and
//! field. [`write()`] first writes to a temporary file, and renames this file at the end. After an error, no new file
//! exists, and an existing file is unchanged.
//!
//! # Examples
//!
//! ```
//! use lacuna::io::{FileFormat, ReadOptions, WriteOptions, read_from, write_to};
//!
//! let text = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0.5\n3 3 nan\n";
//! let x = read_from(text.as_bytes(), FileFormat::MatrixMarket, &ReadOptions::default())?;
//! assert_eq!((x.nnz(), *x.shape() == [3, 3]), (3, true));
//!
//! let mut archive = Vec::new();
//! write_to(&mut archive, FileFormat::Npz, &x, &WriteOptions::default())?;
//! let back = read_from(&archive[..], FileFormat::Npz, &ReadOptions::default())?;
//! assert!(back.same_as(&x));
//! # Ok::<(), lacuna::Error>(())
//! ```

mod atomic_write;
mod compression;
mod csv;
mod digits;
mod element;
mod entries;
mod fields;
mod file_format;
mod finish;
mod gzip;
mod labels;
mod limits;
mod line_numbers;
mod lines;
mod mtx;
mod npy;
mod npz;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(all(feature = "parquet", feature = "dynamic", feature = "lazy"))]
mod partition;
mod print;
mod progress;
mod read;
mod save;
#[cfg(all(feature = "parquet", feature = "dynamic", feature = "lazy"))]
mod scan;
#[cfg(all(feature = "parquet", feature = "dynamic", feature = "lazy"))]
mod scan_any;
mod seekable;
mod tns;
mod values;
mod write;

#[doc(no_inline)]
#[doc(hidden)]
pub use crate::base::temporary::remove_temporary;
pub use crate::dynamic::{AnyTensor, Format};
pub use compression::Compression;
pub use csv::{CsvColumns, Labelled, read_csv, read_csv_from, write_csv, write_csv_to};
pub use element::FileElement;
pub use file_format::FileFormat;
pub use labels::Labels;
pub use options::{ReadOptions, WriteOptions};
#[cfg(feature = "parquet")]
pub use parquet::{Dataset, DatasetWriter, Pieces};
pub use progress::Progress;
pub use read::{read, read_coo, read_csr, read_from, read_header, read_slice};
#[cfg(feature = "dynamic")]
pub use read::{read_operand, read_operand_from};
// Used by the command line for pictures and the manual; not part of the public API.
#[doc(hidden)]
pub use save::save;
#[cfg(all(feature = "parquet", feature = "dynamic", feature = "lazy"))]
pub use scan::scan;
#[cfg(all(feature = "parquet", feature = "dynamic", feature = "lazy"))]
pub use scan_any::scan_any;
pub use write::{FileTensor, write, write_to};
