//! Writing a tensor to Parquet chunk by chunk: one file, or a folder of parts with a manifest.

use std::fs::File;
use std::mem::take;
use std::path::{Path, PathBuf};

use super::columns::Columns;
use super::description::{Description, Extent};
use super::folder::Folder;
use super::manifest::TablePart;
use super::write::{Settings, TableWriter};
use crate::base::error::{Error, Result};
use crate::io::options::WriteOptions;
use crate::io::progress::Watched;
use crate::io::save::Saving;

/// The number of entries of a part, if the options do not set it.
const PART: usize = 16 << 20;

/// Writes a tensor to Parquet in chunks, in the memory of one row group.
///
/// [`Dataset`](crate::io::Dataset) reads the tensor in chunks.
///
/// Each chunk is a tensor of the full shape. Its entries follow the entries of the chunk before it, in row-major order.
/// Chunks may have any size, and either format.
///
/// The tensor cannot be read before [`finish`](DatasetWriter::finish). `finish` renames the temporary file to the
/// path of the writer. In a folder, `finish` renames the manifest after all parts are complete.
///
/// - A writer that is dropped removes its files, and leaves an existing tensor unchanged.
/// - The files of an interrupted process are removed when the next writer to the same path is created.
/// - If the folder already contains a tensor, the rename replaces this tensor, and the old parts are removed.
/// - If several writers write to one folder at the same time, the last writer to finish determines the tensor. The
///   parts of the other writers are removed.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::io::{DatasetWriter, ReadOptions, WriteOptions, read};
///
/// let path = std::env::temp_dir().join("lacuna-pieces-example.parquet");
/// let mut writer = DatasetWriter::create(&path, &WriteOptions::default())?;
/// for row in 0..4 {
///     writer.push(&CooTensor::new([4, 2], vec![vec![row], vec![1]], vec![0.5], 0.0)?)?;
/// }
/// writer.finish()?;
/// assert_eq!(read(&path, &ReadOptions::default())?.nnz(), 4);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug)]
pub struct DatasetWriter {
    // This field is declared before the folder, so that a file is closed before it is removed.
    open: Option<OpenTable>,
    target: WriteTarget,
    path: PathBuf,
    options: WriteOptions,
    /// The description of the tensor by the first chunk, except for the fill. The first chunk with an unstored position
    /// sets the fill.
    described: Option<Description>,
    is_settled: bool,
    /// Written parts that still lack the fill in their description.
    unsettled: Vec<(TableWriter, String)>,
    /// The maximum number of bytes for values, if limited.
    memory: Option<u64>,
    /// The facts about the entries in finished parts.
    extent: Extent,
    /// The coordinates of the last entry, which the next entries must follow.
    last: Option<Vec<u64>>,
    /// The number of bytes written, for the progress.
    bytes_written: u64,
    is_broken: bool,
}

/// The target of a writer.
#[derive(Debug)]
enum WriteTarget {
    /// One file; `None` while it is the open part.
    File(Option<Saving>),
    Folder(Folder),
}

/// The table that is being written.
#[derive(Debug)]
struct OpenTable {
    table: TableWriter,
    file: PartFile,
}

#[derive(Debug)]
enum PartFile {
    Single(Saving),
    Named(String, File),
}

impl PartFile {
    fn file(&mut self) -> &mut File {
        match self {
            PartFile::Single(saving) => saving.file(),
            PartFile::Named(_, file) => file,
        }
    }
}

impl DatasetWriter {
    /// Creates a writer to `path`: a file, or a folder of parts.
    ///
    /// The target is a folder if the path is an existing folder or ends in a separator. Otherwise the target is a file,
    /// with any extension. A new folder is created, but its parent must exist.
    ///
    /// # Errors
    ///
    /// `Io`: the path cannot be written, or the folder contains other files but not a tensor.
    pub fn create(path: impl AsRef<Path>, options: &WriteOptions) -> Result<DatasetWriter> {
        let path = path.as_ref();
        let target = match names_folder(path) {
            true => Folder::at(path).map(WriteTarget::Folder),
            false => Saving::begin(path).map(|saving| WriteTarget::File(Some(saving))),
        };
        Ok(DatasetWriter {
            open: None,
            target: target.map_err(|error| error.in_file(path))?,
            path: path.into(),
            options: options.clone(),
            described: None,
            is_settled: false,
            unsettled: Vec::new(),
            memory: None,
            extent: Extent::default(),
            last: None,
            bytes_written: 0,
            is_broken: false,
        })
    }

    /// Sets the memory limit for row groups; `None` for no limit.
    pub(crate) fn within(self, memory: Option<u64>) -> DatasetWriter {
        DatasetWriter { memory, ..self }
    }

    /// Completes the tensor, so that it can be read.
    ///
    /// # Errors
    ///
    /// - `Argument`: no chunk was pushed, so shape, element type and fill are unknown;
    /// - `Argument`: an earlier push failed while it was writing;
    /// - `Io`: the file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        let rejection = |why: &str| Err(Error::Argument { operation: "DatasetWriter::finish", why: why.into() });
        let described = match self.described.clone() {
            _ if self.is_broken => return rejection("a push failed"),
            None => return rejection("no tensor was pushed, so the shape is unknown; push a tensor without entries"),
            Some(described) => described,
        };
        let finished = self.commit(described);
        finished.map_err(|error| error.in_file(&self.path))
    }

    fn commit(&mut self, described: Description) -> Result<()> {
        self.end_group()?;
        // A tensor without entries also has a part, so that other programs find the columns.
        if self.extent.entries == 0 {
            self.open()?;
        }
        self.settle(described.fill.clone())?;
        self.close()?;
        let described = Description { extent: Some(self.extent.clone()), ..described };
        match &mut self.target {
            WriteTarget::File(saving) => saving.take().map_or(Ok(()), Saving::commit),
            WriteTarget::Folder(folder) => folder.commit(described),
        }
    }

    /// Writes columns, as [`push`](DatasetWriter::push) does for a tensor.
    pub(crate) fn push_columns(&mut self, columns: &Columns<'_>) -> Result<()> {
        if self.is_broken {
            let why = "an earlier push failed".into();
            return Err(Error::Argument { operation: "DatasetWriter::push", why });
        }
        let ends = columns.ends()?;
        self.accept(columns, &ends)?;
        let settled = if columns.has_fill { self.settle(columns.described.fill.clone()) } else { Ok(()) };
        let written = settled.and_then(|()| self.write(columns));
        self.is_broken = written.is_err();
        self.last = ends.map(|(_, last)| last).or(self.last.take());
        written.map_err(|error| error.in_file(&self.path))
    }

    /// Rejects a chunk that does not follow the earlier chunks.
    fn accept(&mut self, columns: &Columns<'_>, ends: &Option<(Vec<u64>, Vec<u64>)>) -> Result<()> {
        let new = &columns.described;
        let recorded = self.described.get_or_insert_with(|| Description { extent: None, ..new.clone() });
        if recorded.shape != new.shape {
            let (expected, found) = (recorded.shape.clone(), new.shape.clone());
            return Err(Error::ShapeMismatch { what: "a chunk", expected, found });
        }
        if let (Some(left), Some(right)) = (recorded.dtype, new.dtype)
            && left != right
        {
            return Err(Error::TypesDiffer { operation: "pieces", left: left.name(), right: right.name() });
        }
        if self.is_settled && columns.has_fill && recorded.fill != new.fill {
            let [expected, found] = [&*recorded, new].map(Description::fill_text);
            return Err(Error::FillsDiffer { tensor: 1, expected, found });
        }
        match (&self.last, ends) {
            (Some(last), Some((first, _))) if last >= first => {
                let [coords, previous] = [first, last].map(|coords| coords.iter().map(|&at| at as usize).collect());
                Err(Error::NotSorted { entry: 0, coords, previous })
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, columns: &Columns<'_>) -> Result<()> {
        let (group, mut from) = (self.options.rows_of_group_within(self.memory, columns.columns.len()), 0);
        while from < columns.rows {
            self.open()?;
            let Some(OpenTable { table, .. }) = &mut self.open else { return Ok(()) };
            let rows = from..columns.rows.min(from + group - table.waiting());
            from = rows.end;
            table.put(columns, rows)?;
            if table.waiting() == group {
                self.end_group()?;
            }
        }
        Ok(())
    }

    /// Writes the incomplete row group, and ends the part if the part is full.
    fn end_group(&mut self) -> Result<()> {
        let Some(OpenTable { table, file }) = &mut self.open else { return Ok(()) };
        let mut target = Watched::new(file.file(), &self.options.progress);
        target.start_at(self.bytes_written);
        table.end_group(&mut target)?;
        self.bytes_written = target.bytes();
        let is_full = table.entries() >= self.options.part_entries.unwrap_or(PART).max(1) as u64;
        if is_full && matches!(self.target, WriteTarget::Folder(_)) { self.close() } else { Ok(()) }
    }

    /// Begins a part, unless a part is open.
    fn open(&mut self) -> Result<()> {
        let (None, Some(described)) = (&self.open, &self.described) else { return Ok(()) };
        let settings = Settings::of(described, &self.options);
        let table = TableWriter::new(described.clone(), settings)?;
        let file = match &mut self.target {
            WriteTarget::File(saving) => saving.take().map(PartFile::Single),
            WriteTarget::Folder(folder) => {
                let (name, file) = folder.new_part()?;
                Some(PartFile::Named(name, file))
            }
        };
        self.open = file.map(|file| OpenTable { table, file });
        Ok(())
    }

    /// Sets the fill of the tensor if it is not known yet, and ends the parts that waited for the fill.
    fn settle(&mut self, fill: Option<Vec<u8>>) -> Result<()> {
        if std::mem::replace(&mut self.is_settled, true) {
            return Ok(());
        }
        self.described.iter_mut().for_each(|described| described.fill = fill.clone());
        for (table, name) in take(&mut self.unsettled) {
            let WriteTarget::Folder(folder) = &self.target else { continue };
            let file = File::options().append(true).open(folder.root.join(&name))?;
            self.end(OpenTable { table, file: PartFile::Named(name, file) })?;
        }
        Ok(())
    }

    /// Ends the open part, or keeps it until the fill is known.
    fn close(&mut self) -> Result<()> {
        match self.open.take() {
            None => Ok(()),
            Some(OpenTable { table, file: PartFile::Named(name, _) }) if !self.is_settled => {
                self.unsettled.push((table, name));
                Ok(())
            }
            Some(open) => self.end(open),
        }
    }

    fn end(&mut self, OpenTable { mut table, mut file }: OpenTable) -> Result<()> {
        table.set_fill(self.described.as_ref().and_then(|described| described.fill.clone()));
        let mut target = Watched::new(file.file(), &self.options.progress);
        target.start_at(self.bytes_written);
        let extent = table.finish(&mut target)?;
        self.bytes_written = target.bytes();
        let _ = self.extent.append(&extent);
        match (&mut self.target, file) {
            (WriteTarget::Folder(folder), PartFile::Named(name, file)) => {
                file.sync_all()?;
                folder.parts.push(TablePart { file: name, bytes: file.metadata()?.len(), extent });
            }
            (WriteTarget::File(target), PartFile::Single(saving)) => *target = Some(saving),
            _ => {}
        }
        Ok(())
    }
}

/// Returns whether a path names a folder of tables: an existing folder, or a path that ends in a separator.
pub(crate) fn names_folder(path: &Path) -> bool {
    path.to_string_lossy().ends_with(std::path::is_separator) || path.is_dir()
}
