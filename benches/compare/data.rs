//! The data sets: folders of `.npy` arrays, with a shape in `meta.json`.

use std::fs;
use std::path::PathBuf;

use lacuna::io::{FileElement, ReadOptions, read_coo};
use lacuna::{CooPattern, CooTensor, CsrTensor, Element, Tensor, Triplets};
use ndarray::ArrayD;

use crate::Result;

/// An array in the pages that `LACUNA_BENCH_PAGES` names: where the allocator puts it, or where results lie, in huge
/// ones as arrays of numpy do.
fn placed<T: Element>(array: ArrayD<T>) -> Result<ArrayD<T>> {
    match std::env::var("LACUNA_BENCH_PAGES").as_deref() {
        Ok("huge") => Ok(lacuna::roll(&array, 0, 0)?),
        _ => Ok(array),
    }
}

/// The arrays of one data set.
pub(crate) struct DataSet(pub(crate) PathBuf);

impl DataSet {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The elements of an array in C order, with its shape.
    pub(crate) fn array<T: FileElement>(&self, name: &str) -> Result<ArrayD<T>> {
        let path = self.path(name).with_extension("npy");
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let length = bytes.get(8..10).ok_or("no header")?;
        let (header, data) = bytes.split_at(10 + usize::from(u16::from_le_bytes([length[0], length[1]])));
        let header = String::from_utf8_lossy(header);
        let kind = T::NPY_KIND.ok_or("no such type in numpy")?;
        let descr = format!("{kind}{}'", size_of::<T>());
        if !header.contains(&descr) || !header.contains("'fortran_order': False") {
            return Err(format!("{}: not an array of {descr} in C order", path.display()).into());
        }
        let lengths = header.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')')).ok_or("no shape")?.0;
        let shape: Vec<usize> = lengths.split(',').filter_map(|word| word.trim().parse().ok()).collect();
        let elements = data.chunks_exact(size_of::<T>()).map(|bytes| T::from_bytes(bytes, false));
        placed(ArrayD::from_shape_vec(shape, elements.collect::<Option<Vec<T>>>().ok_or("odd bytes")?)?)
    }

    /// The elements of an array of any shape.
    pub(crate) fn list<T: FileElement>(&self, name: &str) -> Result<Vec<T>> {
        Ok(self.array(name)?.into_raw_vec_and_offset().0)
    }

    pub(crate) fn shape(&self) -> Result<Vec<usize>> {
        let meta: serde_json::Value = serde_json::from_str(&fs::read_to_string(self.path("meta.json"))?)?;
        Ok(serde_json::from_value(meta["shape"].clone())?)
    }

    /// One list of coordinates an axis.
    fn coords(&self, name: &str) -> Result<Vec<Vec<u32>>> {
        let coords = self.array::<i64>(name)?;
        let narrow = |axis: ndarray::ArrayViewD<'_, i64>| axis.iter().map(|&coord| u32::try_from(coord)).collect();
        Ok(coords.outer_iter().map(narrow).collect::<std::result::Result<_, _>>()?)
    }

    /// The tensor of sorted `coords` and `values`.
    pub(crate) fn coo<T: FileElement>(&self) -> Result<CooTensor<T>> {
        let values = self.list("values")?;
        Ok(Tensor::from_parts(CooPattern::new(self.shape()?, values.len(), self.coords("coords")?)?, values, T::ZERO)?)
    }

    /// One tensor of a pair, by its letter.
    pub(crate) fn one_of_pair(&self, letter: &str) -> Result<CooTensor<f64>> {
        let values: Vec<f64> = self.list(&format!("{letter}_values"))?;
        let pattern = CooPattern::new(self.shape()?, values.len(), self.coords(&format!("{letter}_coords"))?)?;
        Ok(Tensor::from_parts(pattern, values, 0.0)?)
    }

    /// Unsorted `coords` and `values`.
    pub(crate) fn triplets(&self) -> Result<Triplets<f64>> {
        Ok(Triplets::from_arrays(self.shape()?, self.coords("coords")?, self.list("values")?)?)
    }

    /// The tensor of `crows`, `cols` and `values`; batches have row offsets of their own.
    pub(crate) fn csr(&self) -> Result<CsrTensor<f64>> {
        let mut offsets = vec![0];
        let crows = self.array::<i64>("crows")?;
        let batches =
            crows.to_shape((crows.len() / crows.shape()[crows.ndim() - 1], crows.shape()[crows.ndim() - 1]))?;
        for batch in batches.outer_iter() {
            let before = offsets[offsets.len() - 1];
            offsets.extend(batch.iter().skip(1).map(|&offset| before + offset as usize));
        }
        let columns =
            self.list::<i64>("cols")?.into_iter().map(u32::try_from).collect::<std::result::Result<_, _>>()?;
        Ok(CsrTensor::new(self.shape()?, offsets, columns, self.list("values")?, 0.0)?)
    }

    /// The matrix of a text file.
    pub(crate) fn matrix(&self, name: &str) -> Result<CooTensor<f64>> {
        Ok(read_coo(self.path(name), &ReadOptions::default())?)
    }
}

/// The sum of what is not NaN.
pub(crate) fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.filter(|number| !number.is_nan()).sum()
}

/// How many are true.
pub(crate) fn trues<'a>(truths: impl IntoIterator<Item = &'a bool>) -> Vec<f64> {
    vec![truths.into_iter().filter(|&&truth| truth).count() as f64]
}

/// The sums of the row-major positions of the entries that `keep` chooses, and of their values.
pub(crate) fn key_sum<T: Element>(x: &CooTensor<T>, keep: impl Fn(T) -> bool) -> f64 {
    let key = |entry: usize| {
        (0..x.rank()).fold(0.0, |key, axis| key * x.shape()[axis] as f64 + f64::from(x.coords(axis)[entry]))
    };
    sum((0..x.nnz()).filter(|&entry| keep(x.values()[entry])).map(key))
}
