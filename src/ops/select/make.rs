//! Constructors of diagonal and random tensors.

use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Width, check_axes};
use crate::base::limit::{default_limit, guard};
use crate::base::shape::{Shape, saturating_product};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::random::{Permutation, bits};
use crate::pattern::{AnyPattern, AxisCoords, CooPattern, CsrPattern, Format, Pattern, of_width};
use crate::plan::row_major::row_major;
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;

impl<T: Element> Tensor<CooPattern<u32>, T> {
    /// Returns the identity matrix with `n` rows and a fill of zero.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: `n` is above 2<sup>32</sup>;
    /// - `TooLarge`: the matrix needs more than 1 GiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::<f64>::eye(3)?;
    /// assert_eq!(x.to_dense()?, lacuna::ndarray::Array2::<f64>::eye(3).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "identity")]
    #[doc(alias = "speye")]
    pub fn eye(n: usize) -> Result<Self> {
        Self::eye_with_index(n)
    }

    /// Returns a square matrix with the given values on a diagonal.
    ///
    /// All the values are stored. The fill is zero.
    ///
    #[doc = page!(diag)]
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::ndarray::arr2;
    ///
    /// let x = CooTensor::diag(vec![5, 6], 1)?;
    /// assert_eq!(x.to_dense()?, arr2(&[[0, 5, 0], [0, 0, 6], [0, 0, 0]]).into_dyn());
    /// assert_eq!(x.diagonal(1)?.values(), [5, 6]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "diagonal")]
    #[doc(alias = "from_diag")]
    pub fn diag(values: Vec<T>, offset: isize) -> Result<Self> {
        diagonal_matrix(values, offset)
    }
}

impl Tensor<CooPattern<u32>, f64> {
    /// Returns a tensor with `nnz` entries at random positions, and a fill of zero.
    ///
    /// The values are random numbers in [0, 1).
    ///
    #[doc = page!(random)]
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::random([100, 1000], 50, 7)?;
    /// assert_eq!(x.nnz(), 50);
    /// assert!(x.values().iter().all(|value| (0.0..1.0).contains(value)));
    /// assert_eq!(x, CooTensor::random([100, 1000], 50, 7)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "rand")]
    pub fn random(shape: impl Into<Shape>, nnz: usize, seed: u64) -> Result<Self> {
        random_tensor(shape.into(), nnz, seed)
    }
}

impl<T: Element, I: Index> Tensor<CooPattern<I>, T> {
    /// Returns the identity matrix with indices of type `I`: see [`eye`](Tensor::eye).
    ///
    /// # Errors
    ///
    /// The errors of [`eye`](Tensor::eye), for indices of type `I`.
    pub fn eye_with_index(n: usize) -> Result<Self> {
        identity_matrix(n)
    }

    /// Returns a matrix with indices of type `I`, with values on a diagonal: see [`diag`](Tensor::diag).
    ///
    /// # Errors
    ///
    /// The errors of [`diag`](Tensor::diag), for indices of type `I`.
    pub fn diag_with_index(values: Vec<T>, offset: isize) -> Result<Self> {
        diagonal_matrix(values, offset)
    }
}

impl<I: Index> Tensor<CooPattern<I>, f64> {
    /// Returns a random tensor with indices of type `I`: see [`random`](Tensor::random).
    ///
    /// The entries do not depend on the index type.
    ///
    /// # Errors
    ///
    /// The errors of [`random`](Tensor::random), for indices of type `I`.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::<f64, u64>::random_with_index([2, 1 << 40], 3, 0)?;
    /// assert_eq!(x.nnz(), 3);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn random_with_index(shape: impl Into<Shape>, nnz: usize, seed: u64) -> Result<Self> {
        random_tensor(shape.into(), nnz, seed)
    }
}

impl<T: Element> Tensor<CsrPattern<u32>, T> {
    /// Returns the identity matrix with `n` rows and a fill of zero.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: `n` is above 2<sup>32</sup>;
    /// - `TooLarge`: the matrix needs more than 1 GiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let x = CsrTensor::<f64>::eye(3)?;
    /// assert_eq!(x.to_dense()?, lacuna::ndarray::Array2::<f64>::eye(3).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "identity")]
    #[doc(alias = "speye")]
    pub fn eye(n: usize) -> Result<Self> {
        Self::eye_with_index(n)
    }

    /// Returns a square matrix with the given values on a diagonal.
    ///
    /// All the values are stored. The fill is zero.
    ///
    #[doc = page!(diag)]
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    /// use lacuna::ndarray::arr2;
    ///
    /// let x = CsrTensor::diag(vec![5, 6], 1)?;
    /// assert_eq!(x.to_dense()?, arr2(&[[0, 5, 0], [0, 0, 6], [0, 0, 0]]).into_dyn());
    /// assert_eq!(x.diagonal(1)?.values(), [5, 6]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "diagonal")]
    #[doc(alias = "from_diag")]
    pub fn diag(values: Vec<T>, offset: isize) -> Result<Self> {
        diagonal_matrix(values, offset)
    }
}

impl Tensor<CsrPattern<u32>, f64> {
    /// Returns a tensor with `nnz` entries at random positions, and a fill of zero.
    ///
    /// The values are random numbers in [0, 1).
    ///
    #[doc = page!(random)]
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let x = CsrTensor::random([100, 1000], 50, 7)?;
    /// assert_eq!(x.nnz(), 50);
    /// assert!(x.values().iter().all(|value| (0.0..1.0).contains(value)));
    /// assert_eq!(x, CsrTensor::random([100, 1000], 50, 7)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "rand")]
    pub fn random(shape: impl Into<Shape>, nnz: usize, seed: u64) -> Result<Self> {
        random_tensor(shape.into(), nnz, seed)
    }
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// Returns the identity matrix with indices of type `I`: see [`eye`](Tensor::eye).
    ///
    /// # Errors
    ///
    /// The errors of [`eye`](Tensor::eye), for indices of type `I`.
    pub fn eye_with_index(n: usize) -> Result<Self> {
        identity_matrix(n)
    }

    /// Returns a matrix with indices of type `I`, with values on a diagonal: see [`diag`](Tensor::diag).
    ///
    /// # Errors
    ///
    /// The errors of [`diag`](Tensor::diag), for indices of type `I`.
    pub fn diag_with_index(values: Vec<T>, offset: isize) -> Result<Self> {
        diagonal_matrix(values, offset)
    }
}

impl<I: Index> Tensor<CsrPattern<I>, f64> {
    /// Returns a random tensor with indices of type `I`: see [`random`](Tensor::random).
    ///
    /// The entries do not depend on the index type.
    ///
    /// # Errors
    ///
    /// The errors of [`random`](Tensor::random), for indices of type `I`.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let x = CsrTensor::<f64, u64>::random_with_index([2, 1 << 40], 3, 0)?;
    /// assert_eq!(x.nnz(), 3);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn random_with_index(shape: impl Into<Shape>, nnz: usize, seed: u64) -> Result<Self> {
        random_tensor(shape.into(), nnz, seed)
    }
}

fn identity_matrix<P: Pattern, T: Element>(n: usize) -> Result<Tensor<P, T>> {
    check_axes::<P::Index>(&Shape::from([n]))?;
    let bytes = n as u128 * (2 * size_of::<P::Index>() + size_of::<T>()) as u128;
    guard::<u8>("the identity matrix", bytes, default_limit(0), "use a smaller side")?;
    diagonal_matrix(alloc::copies(T::ONE, n)?, 0)
}

fn diagonal_matrix<P: Pattern, T: Element>(values: Vec<T>, offset: isize) -> Result<Tensor<P, T>> {
    let limit = default_limit(size_of_val(&values[..]));
    let side = values.len().checked_add(offset.unsigned_abs()).ok_or(Error::AxisOverflow { axis: 0 })?;
    check_axes::<P::Index>(&Shape::from([side, side]))?;
    let main = of_width!(P::Index::WIDTH, I => AxisCoords::from(alloc::collect((0..values.len()).map(I::from_usize))?));
    let pattern = P::from_any(on_diagonal(P::FORMAT, main, offset, side, limit)?)?;
    Ok(Tensor::from_valid(pattern, values, T::ZERO))
}

/// Returns the pattern of a matrix with entries on a diagonal.
///
/// The matrix has `side` rows. `main` has the coordinates of the entries along the diagonal.
fn on_diagonal(format: Format, main: AxisCoords, offset: isize, side: usize, limit: u64) -> Result<AnyPattern> {
    let shape = Shape::from([side, side]);
    let main = main.in_width(main.width().max(Width::of_lengths(&shape)))?;
    let (count, width, moved) = (main.len(), main.width(), offset.unsigned_abs());
    let after = match offset {
        0 => main.clone(),
        _ => of_width!(width, I => {
            AxisCoords::from(alloc::collect(main.view().iter().map(|at: &I| I::from_usize(at.to_usize() + moved)))?)
        }),
    };
    let coords = if offset < 0 { vec![after, main] } else { vec![main, after] };
    AnyPattern::from_coords(format, shape, count, width, coords, limit)
}

/// Returns the pattern of a matrix with a vector on a diagonal.
pub(crate) fn diagonal_pattern(vector: &AnyPattern, offset: isize, limit: u64) -> Result<AnyPattern> {
    let side = diagonal_side(vector.shape(), offset)?;
    on_diagonal(vector.format(), vector.axis(0)?, offset, side, limit)
}

/// Returns the number of rows of a matrix with a vector on a diagonal.
pub(crate) fn diagonal_side(vector: &Shape, offset: isize) -> Result<usize> {
    let [length] = vector[..] else {
        return Err(Error::RankMismatch { what: "the vector for a diagonal", expected: 1, found: vector.rank() });
    };
    length.checked_add(offset.unsigned_abs()).ok_or(Error::AxisOverflow { axis: 0 })
}

/// Returns a matrix with the entries of a vector on a diagonal, and zeros elsewhere.
pub(crate) fn diagonal_of<P: Pattern, T: Element>(x: &Tensor<P, T>, offset: isize) -> Result<Tensor<P, T>> {
    let side = diagonal_side(x.shape(), offset)?;
    if x.nnz() < x.shape()[0] && x.fill().is_truthy() {
        let fill = x.fill().to_number().to_string();
        return Err(Error::FillNotZero { fill, target: "a diagonal" });
    }
    check_axes::<P::Index>(&Shape::from([side, side]))?;
    let pattern = P::from_any(diagonal_pattern(x.pattern().any(), offset, default_limit(x.stored_bytes()))?)?;
    Ok(Tensor::from_shared(pattern, x.shared_values().clone(), T::ZERO))
}

fn random_tensor<P: Pattern>(shape: Shape, nnz: usize, seed: u64) -> Result<Tensor<P, f64>> {
    check_axes::<P::Index>(&shape)?;
    Tensor::from_erased(random_entries(P::FORMAT, P::Index::WIDTH, shape, nnz, seed)?)
}

fn random_entries(format: Format, width: Width, shape: Shape, nnz: usize, seed: u64) -> Result<Erased<f64>> {
    // The permutation is limited to 2^126 numbers; larger shapes use only their first 2^126 positions.
    let size = shape.wide_size().min(1 << 126);
    if nnz as u128 > size {
        return Err(Error::TooManyEntries { count: nnz, size });
    }
    let limit = default_limit(0);
    let entry_bytes = size_of::<u128>() + shape.rank() * width.bytes() + size_of::<f64>();
    guard::<u8>("the random entries", nnz as u128 * entry_bytes as u128, limit, "use a smaller nnz")?;
    let permutation = Permutation::new(size.max(1), seed);
    let places = threads::filled(nnz, 20_000, |entries, places: &mut [u128]| {
        places.iter_mut().zip(entries).for_each(|(place, entry)| *place = permutation.at(entry as u128));
    })?;
    let values = random_values(nnz, seed)?;
    let coords = coords_of(&places, &shape, width)?;
    let (coords, values) = match row_major(&coords, 0, f64::raw(&values))? {
        Some((coords, values)) => (coords, f64::from_raw(values)),
        None => (coords, values),
    };
    let pattern = AnyPattern::from_coords(format, shape, nnz, width, coords, limit)?;
    Ok(Tensor::from_valid(pattern, values, 0.0))
}

/// Returns random values in [0, 1).
fn random_values(count: usize, seed: u64) -> Allocated<Vec<f64>> {
    threads::filled(count, 2000, |entries, values: &mut [f64]| {
        // The values use a different seed than the positions.
        let value = |entry: usize| (bits(!seed, entry as u64) >> 11) as f64 * 2f64.powi(-53);
        values.iter_mut().zip(entries).for_each(|(slot, entry)| *slot = value(entry));
    })
}

/// Returns the coordinates of flat positions on each axis.
fn coords_of(places: &[u128], shape: &Shape, width: Width) -> Allocated<Vec<AxisCoords>> {
    let on_axis = |axis: usize| {
        let inner = saturating_product(&shape[axis + 1..]);
        of_width!(width, I => {
            threads::map(places, 10_000, |place| I::from_usize(coord(place, inner, shape[axis]))).map(AxisCoords::from)
        })
    };
    (0..shape.rank()).map(on_axis).collect()
}

/// Returns the coordinate of a flat position on an axis of this length.
///
/// The later axes have `inner` positions.
fn coord(place: u128, inner: u128, length: usize) -> usize {
    match (u64::try_from(place), u64::try_from(inner)) {
        // A division of 64 bits is faster than a division of 128 bits.
        (Ok(place), Ok(inner)) => (place / inner % length as u64) as usize,
        _ => (place / inner % length as u128) as usize,
    }
}
