//! Record batches of Arrow: one row per entry, with the columns of a Parquet table.

use std::any::Any;
use std::sync::Arc;

use arrow_array::types as arrow;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Float32Array, Float64Array, PrimitiveArray};
use arrow_array::{RecordBatch, RecordBatchOptions, cast::AsArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bytemuck::NoUninit;

use super::columns::Columns;
use super::description::{Description, parsed, parts_of};
use super::entry_buffer::{ValueBuffer, ValueSink};
use super::layout::{self, VALUES, axis_name, part_names};
use super::write::widen;
use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Width};
use crate::element::{DType, Element};
use crate::io::element::FileElement;
use crate::io::options::{ReadOptions, parse_fill};
use crate::pattern::{AnyPattern, AxisCoords, IndexKind, Pattern, of_width};
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::erased::{Erased, SparseRef};
use crate::tensor::triplets::Unsorted;
#[allow(unused_imports)] // for links in the docs
use crate::{pattern::CooPattern, tensor::triplets::Triplets};

/// Shares the items with Arrow, until neither side needs them.
fn shared<T: NoUninit + Send + Sync>(items: &Buffer<T>) -> arrow_buffer::Buffer {
    struct Owner<T>(Buffer<T>);
    impl<T: NoUninit> AsRef<[u8]> for Owner<T> {
        fn as_ref(&self) -> &[u8] {
            bytemuck::cast_slice(&self.0)
        }
    }
    bytes::Bytes::from_owner(Owner(items.clone())).into()
}

/// Returns the items of an array, moved if the array is the only owner.
fn items_of<N: ArrowNativeType>(items: arrow_buffer::Buffer) -> Allocated<Vec<N>> {
    match items.into_vec::<N>() {
        Ok(items) => Ok(items),
        Err(shared) => alloc::collect(shared.typed_data::<N>().iter().copied()),
    }
}

/// Returns the items as a list of type `T`, if `T` is their type.
fn retyped<N: 'static, T: 'static>(items: Vec<N>) -> Option<Vec<T>> {
    let items: Box<dyn Any> = Box::new(items);
    items.downcast().ok().map(|items| *items)
}

/// Returns the type of Arrow whose arrays hold the same items; `None` for a type that Arrow stores in another form.
fn arrow_type(dtype: DType) -> Option<DataType> {
    Some(match dtype {
        DType::Int8 => DataType::Int8,
        DType::Int16 => DataType::Int16,
        DType::Int32 => DataType::Int32,
        DType::Int64 => DataType::Int64,
        DType::UInt8 => DataType::UInt8,
        DType::UInt16 => DataType::UInt16,
        DType::UInt32 => DataType::UInt32,
        DType::UInt64 => DataType::UInt64,
        DType::Float16 => DataType::Float16,
        DType::Float32 => DataType::Float32,
        DType::Float64 => DataType::Float64,
        DType::Bool | DType::BFloat16 | DType::Complex64 | DType::Complex128 => return None,
    })
}

/// Returns the values as an array that shares the values; `None` for a type that Arrow does not have.
fn shared_values<T: Element>(values: &Buffer<T>) -> Option<ArrayRef> {
    let empty = arrow_array::new_empty_array(&arrow_type(T::DTYPE)?).to_data();
    let data = empty.into_builder().len(values.len()).buffers(vec![shared(values)]).build();
    Some(arrow_array::make_array(data.expect("the array holds the items of its buffer")))
}

/// Returns the values of an array of exactly this type; `None` for another type.
fn own_values<T: Element>(array: ArrayRef) -> Allocated<Option<Vec<T>>> {
    if arrow_type(T::DTYPE).as_ref() != Some(array.data_type()) {
        return Ok(None);
    }
    let items = array.to_data().buffers()[0].clone();
    // The items can be moved only if the array is dropped first.
    drop(array);
    Ok(Some(T::from_raw(match size_of::<T>() {
        1 => items_of::<u8>(items)?.into(),
        2 => items_of::<u16>(items)?.into(),
        4 => items_of::<u32>(items)?.into(),
        _ => items_of::<u64>(items)?.into(),
    })))
}

/// Returns an array for a type that Arrow stores in another form, from the bits of values.
fn array_of(dtype: DType, mut bits: Vec<u64>) -> ArrayRef {
    widen(dtype, &mut bits);
    let bits = bits.into_iter();
    match dtype {
        DType::Bool => Arc::new(bits.map(|bits| Some(bits != 0)).collect::<BooleanArray>()),
        DType::Complex128 => Arc::new(Float64Array::from_iter_values(bits.map(f64::from_bits))),
        _ => Arc::new(Float32Array::from_iter_values(bits.map(|bits| f32::from_bits(bits as u32)))),
    }
}

/// Returns the bits of an array of the form of [`array_of`]; `None` for another form.
fn bits_of(dtype: DType, array: &ArrayRef) -> Option<Allocated<Vec<u64>>> {
    Some(match dtype {
        DType::Bool => {
            let values = array.as_boolean_opt()?.values();
            alloc::collect((0..values.len()).map(|at| u64::from(values.value(at))))
        }
        DType::Complex128 => {
            let values = array.as_primitive_opt::<arrow::Float64Type>()?.values();
            alloc::collect(values.iter().map(|value| value.to_bits()))
        }
        _ => {
            let values = array.as_primitive_opt::<arrow::Float32Type>()?.values();
            alloc::collect(values.iter().map(|value| u64::from(value.to_bits())))
        }
    })
}

fn coords_array(coords: &AxisCoords) -> ArrayRef {
    match coords {
        AxisCoords::U32(coords) => Arc::new(PrimitiveArray::<arrow::UInt32Type>::new(shared(coords).into(), None)),
        AxisCoords::U64(coords) => Arc::new(PrimitiveArray::<arrow::UInt64Type>::new(shared(coords).into(), None)),
    }
}

/// Returns the coordinates of an axis, moved if they have the requested width.
fn coords_of(array: ArrayRef, axis: usize, length: usize, width: Width) -> Result<Option<AxisCoords>> {
    match array.data_type() {
        DataType::UInt32 => coords_from::<arrow::UInt32Type>(array, axis, length, width),
        DataType::UInt64 => coords_from::<arrow::UInt64Type>(array, axis, length, width),
        DataType::Int32 => coords_from::<arrow::Int32Type>(array, axis, length, width),
        DataType::Int64 => coords_from::<arrow::Int64Type>(array, axis, length, width),
        _ => Ok(None),
    }
}

/// Returns the coordinates of [`coords_of`], from an array of a known type.
fn coords_from<A>(array: ArrayRef, axis: usize, length: usize, width: Width) -> Result<Option<AxisCoords>>
where
    A: ArrowPrimitiveType<Native: Into<i128>>,
{
    let items = array.as_primitive::<A>().values().inner().clone();
    drop(array);
    let items = items_of::<A::Native>(items)?;
    let any: &dyn Any = &items;
    match width {
        Width::U32 if any.is::<Vec<u32>>() => Ok(retyped::<_, u32>(items).map(AxisCoords::from)),
        Width::U64 if any.is::<Vec<u64>>() => Ok(retyped::<_, u64>(items).map(AxisCoords::from)),
        _ => converted(items.iter().map(|&coord| coord.into()), axis, length, width).map(Some),
    }
}

fn converted(
    coords: impl ExactSizeIterator<Item = i128>,
    axis: usize,
    length: usize,
    width: Width,
) -> Result<AxisCoords> {
    let checked = |(entry, coord)| match coord {
        ..0 => Err(Error::NegativeIndex { index: coord as i64, axis, entry }),
        _ if coord < length as i128 => Ok(coord as usize),
        _ => Err(Error::IndexOutOfBounds { index: coord as u64, axis, length, entry: Some(entry) }),
    };
    let coords = coords.enumerate().map(checked);
    of_width!(width, I => {
        let coords: Vec<I> = alloc::try_collect(coords.map(|coord| coord.map(<I as Index>::from_usize)))?;
        Ok(AxisCoords::from(coords))
    })
}

impl<P: Pattern, T: FileElement> Tensor<P, T> {
    /// Returns the entries as an Arrow record batch, with one row per entry.
    ///
    /// The columns have the names of a Parquet table: `indices_0`, ..., `values`. Complex values are in the columns
    /// `values.re` and `values.im`. The metadata of the schema contains shape, element type and fill.
    ///
    /// Values and coordinates are shared with Arrow, except in two cases:
    ///
    /// - values of `bool`, `bf16` or a complex type are copied, because Arrow stores these types in another form;
    /// - the coordinates of a tensor in compressed format are computed, except the columns.
    ///
    /// # Errors
    ///
    /// - `NotRepresentable`: the rank is above 64;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::io::ReadOptions;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![1.5, -1.0], 0.0)?;
    /// let batch = x.to_record_batch()?;
    /// assert_eq!((batch.num_rows(), batch.num_columns()), (2, 3));
    /// let back: CooTensor<f64> = CooTensor::from_record_batch(batch, &ReadOptions::default())?;
    /// assert!(back.same_as(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn to_record_batch(&self) -> Result<RecordBatch> {
        batch_of(self.sparse())
    }
}

/// Returns the entries as a record batch.
fn batch_of<T: FileElement>(x: SparseRef<'_, T>) -> Result<RecordBatch> {
    let Columns { described, columns, rows, .. } = Columns::of(x)?;
    let mut arrays = Vec::new();
    for axis in 0..x.rank() {
        arrays.push((axis_name(axis), coords_array(&x.pattern().axis(axis)?)));
    }
    let names = part_names(T::DTYPE, VALUES);
    match shared_values(x.shared_values()) {
        Some(values) => arrays.push((VALUES.into(), values)),
        None => {
            for (name, part) in names.into_iter().zip(&columns[x.rank()..]) {
                arrays.push((name, array_of(T::DTYPE, part.bits(0..rows)?)));
            }
        }
    }
    let fields = arrays.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), false));
    let described = Description { extent: None, ..described };
    let metadata = std::collections::HashMap::from([("lacuna".to_string(), described.to_lacuna())]);
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata);
    let arrays = arrays.into_iter().map(|(_, array)| array).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options).map_err(rejection)
}

impl<T: FileElement, I: Index> CooTensor<T, I> {
    /// Constructs a tensor whose entries are the rows of a record batch.
    ///
    /// A batch from [`to_record_batch`](Tensor::to_record_batch) does not need options. For any other batch, name the
    /// columns with [`ReadOptions::columns`](crate::io::ReadOptions::columns), and set
    /// [`ReadOptions::shape`](crate::io::ReadOptions::shape).
    ///
    /// A column is moved instead of copied if it is not shared, was created from a `Vec`, and has the requested type.
    /// The values must have the type `T`. If the batch does not describe a tensor, the rows may be in any order, and
    /// positions may be repeated.
    ///
    /// # Errors
    ///
    /// - `Format`: a column is missing, has another type, or has nulls;
    /// - `Format`: neither the batch nor the options state a shape;
    /// - `ShapeMismatch`: the shape of the batch differs from the shape in the options;
    /// - `AxisTooLong`: an axis is too long for `I`;
    /// - the errors of [`CooPattern::new`] and of [`Triplets::coalesce`].
    pub fn from_record_batch(batch: RecordBatch, options: &ReadOptions) -> Result<Self> {
        Tensor::from_erased(read_batch(batch, IndexKind::of::<I>(), options)?)
    }
}

/// Returns the tensor of a record batch, with coordinates of the requested type.
fn read_batch<T: FileElement>(batch: RecordBatch, of: IndexKind, options: &ReadOptions) -> Result<Erased<T>> {
    let recorded = batch.schema_ref().metadata().get("lacuna");
    let recorded = recorded.map(|text| Description::of_header(&parsed(text, "lacuna")?, "lacuna")).transpose()?;
    let shape = match (&recorded, &options.shape) {
        (Some(recorded), _) => recorded.shape.clone(),
        (None, Some(shape)) => shape.clone(),
        (None, None) => return Err(at("it does not describe a tensor; name the shape and the columns")),
    };
    options.check_shape(&shape)?;
    (of.check)(&shape)?;
    let (axes, name) = layout::names(shape.rank(), options)?;
    let axes = axes.iter().map(|name| column(&batch, name)).collect::<Result<Vec<_>>>()?;
    let parts = part_names(T::DTYPE, &name);
    let parts = parts.iter().map(|name| column(&batch, name)).collect::<Result<Vec<_>>>()?;
    // Columns that are not shared can be moved from here on.
    drop(batch);
    let mut coords = Vec::new();
    for (axis, array) in axes.into_iter().enumerate() {
        let found = coords_of(array, axis, shape[axis], of.width)?;
        coords.push(found.ok_or_else(|| at(&format!("the column of axis {axis} does not hold coordinates")))?);
    }
    let values = values_of::<T>(parts)?;
    let Some(recorded) = recorded else {
        let fill = options.fill.as_deref().map_or(Ok(T::ZERO), parse_fill)?;
        return Unsorted::new(shape, coords, values, fill)?.coalesce(options.duplicates);
    };
    recorded.reject_fill(options)?;
    let fill = recorded.fill()?.unwrap_or(T::ZERO);
    Tensor::from_parts(AnyPattern::coo(shape, values.len(), of.width, coords)?, values, fill)
}

/// Returns a column without nulls.
fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef> {
    let column = batch.column_by_name(name).ok_or_else(|| at(&format!("the column {name} is missing")))?;
    match column.null_count() {
        0 => Ok(Arc::clone(column)),
        count => Err(at(&format!("{count} values of the column {name} are missing (null)"))),
    }
}

fn values_of<T: FileElement>(mut parts: Vec<ArrayRef>) -> Result<Vec<T>> {
    let other = || at(&format!("the values are not {}", T::DTYPE));
    if !matches!(T::DTYPE, DType::Bool | DType::BFloat16) && parts_of(T::DTYPE) == 1 {
        let values = parts.pop().map_or(Ok(None), own_values)?;
        return values.ok_or_else(other);
    }
    let mut values = ValueBuffer::<T>::default();
    for (part, array) in parts.iter().enumerate() {
        let mut bits = bits_of(T::DTYPE, array).ok_or_else(other)??;
        layout::narrow(T::DTYPE, &mut bits).map_err(|_| other())?;
        values.put(part, 0, &bits, array.len())?;
    }
    Ok(values.0)
}

fn at(message: &str) -> Error {
    Error::Format { place: "the record batch".into(), message: message.into() }
}

fn rejection(error: ArrowError) -> Error {
    at(&error.to_string())
}
