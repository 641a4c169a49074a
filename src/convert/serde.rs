//! Serialisation of shapes, patterns, tensors and triplets with serde.
//!
//! Deserialization calls the checking constructors, so input data cannot break an invariant. In human-readable formats,
//! finite floats of all types are numbers. Floats that are not finite are the strings `nan`, `inf` and `-inf`, because
//! JSON does not have such numbers. A complex number is a pair.

mod element;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use self::element::{SerialElement, SerialElements, items};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::tensor::Tensor;
use crate::tensor::triplets::Triplets;

/// Serializes the fields of a structure under their Rust names.
macro_rules! serialize_fields {
    ($serializer:expr, $name:literal, $($field:literal: $value:expr),* $(,)?) => {{
        let mut fields = $serializer.serialize_struct($name, [$($field),*].len())?;
        $(fields.serialize_field($field, $value)?;)*
        fields.end()
    }};
}

/// Writes a sequence of lengths.
impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<usize>::deserialize(deserializer).map(Shape::from)
    }
}

#[derive(serde::Deserialize)]
#[serde(rename = "CooPattern", deny_unknown_fields)]
struct CooFields<I> {
    shape: Shape,
    nnz: usize,
    coords: Vec<Vec<I>>,
}

/// Writes `shape`, `nnz` and `coords`, with one array per axis.
impl<I: Index + Serialize> Serialize for CooPattern<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let coords: Vec<&[I]> = (0..self.shape().rank()).map(|axis| self.coords(axis)).collect();
        serialize_fields!(serializer, "CooPattern", "shape": self.shape(), "nnz": &self.nnz(), "coords": &coords)
    }
}

/// Runs the checks of [`CooPattern::new`].
impl<'de, I: Index + Deserialize<'de>> Deserialize<'de> for CooPattern<I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let CooFields { shape, nnz, coords } = CooFields::deserialize(deserializer)?;
        CooPattern::new(shape, nnz, coords).map_err(D::Error::custom)
    }
}

#[derive(serde::Deserialize)]
#[serde(rename = "CsrPattern", deny_unknown_fields)]
struct CsrFields<I> {
    shape: Shape,
    offsets: Vec<usize>,
    columns: Vec<I>,
}

/// Writes `shape`, `offsets` and `columns`.
impl<I: Index + Serialize> Serialize for CsrPattern<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (shape, offsets, columns) = (self.shape(), self.offsets(), self.columns());
        serialize_fields!(serializer, "CsrPattern", "shape": shape, "offsets": offsets, "columns": columns)
    }
}

/// Runs the checks of [`CsrPattern::new`].
impl<'de, I: Index + Deserialize<'de>> Deserialize<'de> for CsrPattern<I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let CsrFields { shape, offsets, columns } = CsrFields::deserialize(deserializer)?;
        CsrPattern::new(shape, offsets, columns).map_err(D::Error::custom)
    }
}

#[derive(serde::Deserialize)]
#[serde(rename = "Tensor", deny_unknown_fields)]
#[serde(bound(deserialize = "P: Deserialize<'de>, SerialElement<T>: Deserialize<'de>"))]
struct TensorFields<P, T> {
    pattern: P,
    values: Vec<SerialElement<T>>,
    fill: SerialElement<T>,
}

/// Writes `pattern`, `values` and `fill`.
///
/// ```
/// use lacuna::CooTensor;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![2.5, -1.0], 0.0)?;
/// let json = serde_json::to_string(&x).unwrap();
/// assert_eq!(
///     json,
///     r#"{"pattern":{"shape":[2,3],"nnz":2,"coords":[[0,1],[1,2]]},"values":[2.5,-1.0],"fill":0.0}"#
/// );
/// assert_eq!(serde_json::from_str::<CooTensor<f64>>(&json).unwrap(), x);
///
/// let broken = serde_json::from_str::<CooTensor<f64>>(&json.replace("[1,2]", "[1,3]"));
/// assert!(broken.unwrap_err().to_string().contains("index 3 on axis 1 is out of bounds for length 3, entry 1"));
/// # Ok::<(), lacuna::Error>(())
/// ```
impl<P: Pattern + Serialize, T: Element + Serialize> Serialize for Tensor<P, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (pattern, values, fill) = (self.pattern(), &SerialElements(self.values()), &SerialElement(self.fill()));
        serialize_fields!(serializer, "Tensor", "pattern": pattern, "values": values, "fill": fill)
    }
}

/// Checks the pattern, and that the number of values is the number of entries.
impl<'de, P: Pattern + Deserialize<'de>, T: Element + Deserialize<'de>> Deserialize<'de> for Tensor<P, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let TensorFields { pattern, values, fill } = TensorFields::deserialize(deserializer)?;
        Tensor::from_parts(pattern, items(values), fill.0).map_err(D::Error::custom)
    }
}

#[derive(serde::Deserialize)]
#[serde(rename = "Triplets", deny_unknown_fields)]
#[serde(bound(deserialize = "I: Deserialize<'de>, SerialElement<T>: Deserialize<'de>"))]
struct TripletsFields<T, I> {
    shape: Shape,
    coords: Vec<Vec<I>>,
    values: Vec<SerialElement<T>>,
    fill: SerialElement<T>,
}

/// Writes `shape`, `coords` (one array per axis), `values` and `fill`, in input order.
impl<T: Element + Serialize, I: Index + Serialize> Serialize for Triplets<T, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let coords: Vec<&[I]> = (0..self.shape().rank()).map(|axis| self.coords(axis)).collect();
        let (shape, values, fill) = (self.shape(), &SerialElements(self.values()), &SerialElement(self.fill()));
        serialize_fields!(serializer, "Triplets", "shape": shape, "coords": &coords, "values": values, "fill": fill)
    }
}

/// Runs the checks of [`Triplets::from_arrays`].
impl<'de, T: Element + Deserialize<'de>, I: Index + Deserialize<'de>> Deserialize<'de> for Triplets<T, I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let TripletsFields { shape, coords, values, fill } = TripletsFields::deserialize(deserializer)?;
        let triplets = Triplets::from_arrays_with_index(shape, coords, items(values)).map_err(D::Error::custom)?;
        Ok(triplets.with_fill(fill.0))
    }
}
