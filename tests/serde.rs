//! Serialisation: every type there and back, and every broken invariant refused on the way in.
#![cfg(feature = "serde")]

use lacuna::{CooPattern, CooTensor, CsrPattern, CsrTensor, Element, Error, Shape, Triplets};
use num_complex::Complex;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, from_value, json, to_value};

/// The value after a journey through JSON text.
fn there_and_back<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// Returns the error of reading `json` as `T`.
fn refusal<T: DeserializeOwned>(json: Value) -> String {
    from_value::<T>(json).err().expect("an invalid value was read").to_string()
}

#[test]
fn every_type_comes_back() {
    let shape = Shape::from([2, 0, 5]);
    assert_eq!(there_and_back(&shape), shape);
    assert_eq!(serde_json::to_string(&shape).unwrap(), "[2,0,5]");
    let coo = CooTensor::new([2, 3, 2], vec![vec![0, 1], vec![2, 0], vec![1, 0]], vec![-0.0, 2.5], 1.0).unwrap();
    assert!(there_and_back(&coo).same_as(&coo));
    assert_eq!(there_and_back(coo.pattern()), *coo.pattern());
    let csr = coo.to_csr().unwrap().with_index::<u64>().unwrap();
    assert!(there_and_back(&csr).same_as(&csr));
    assert_eq!(there_and_back(csr.pattern()), *csr.pattern());
    let triplets = Triplets::from_arrays([9], vec![vec![8u32, 8, 0]], vec![1i8, 2, 3]).unwrap().with_fill(7);
    assert_eq!(there_and_back(&triplets), triplets);
    let scalar = CooTensor::new([], vec![], vec![3u8], 0).unwrap();
    assert_eq!(there_and_back(&scalar), scalar);
}

fn element_comes_back<T: Element + Serialize + DeserializeOwned>(value: T) {
    let x = CsrTensor::new([1, 4], vec![0, 2], vec![0, 3], vec![value, T::ZERO], T::ONE).unwrap();
    assert!(there_and_back(&x).same_as(&x));
}

#[test]
fn every_element_type_comes_back() {
    element_comes_back(true);
    element_comes_back(i8::MIN);
    element_comes_back(i16::MIN);
    element_comes_back(i32::MIN);
    element_comes_back(i64::MIN);
    element_comes_back(u8::MAX);
    element_comes_back(u16::MAX);
    element_comes_back(u32::MAX);
    element_comes_back(u64::MAX);
    element_comes_back(0.1f32);
    element_comes_back(f64::MIN_POSITIVE);
    element_comes_back(Complex::new(1.5f32, -0.0));
    element_comes_back(Complex::new(f64::MAX, 0.1));
    #[cfg(feature = "half")]
    element_comes_back(half::f16::from_f32(1.5));
    #[cfg(feature = "half")]
    element_comes_back(half::bf16::from_f32(1.5));
}

/// `json` with one field, given by a pointer, replaced.
fn with(json: &Value, pointer: &str, value: Value) -> Value {
    let mut json = json.clone();
    *json.pointer_mut(pointer).expect("there is such a field") = value;
    json
}

#[test]
fn every_broken_invariant_of_coordinates_is_refused() {
    let good = json!({"shape": [2, 3], "nnz": 2, "coords": [[0, 1], [1, 2]]});
    assert!(from_value::<CooPattern>(good.clone()).is_ok());
    let refused = |pointer: &str, value| refusal::<CooPattern>(with(&good, pointer, value));
    let length = |what, expected, found| Error::LengthMismatch { what, expected, found }.to_string();
    assert_eq!(refused("/shape", json!([2])), length("the list of coordinate arrays", 1, 2));
    assert_eq!(refused("/nnz", json!(3)), length("a coordinate array", 3, 2));
    assert_eq!(refused("/coords/1", json!([1])), length("a coordinate array", 2, 1));
    let outside = Error::IndexOutOfBounds { index: 3, axis: 1, length: 3, entry: Some(0) };
    assert_eq!(refused("/coords/1", json!([3, 0])), outside.to_string());
    let unsorted = Error::NotSorted { entry: 1, coords: vec![0, 1], previous: vec![0, 1] };
    assert_eq!(refused("/coords", json!([[0, 0], [1, 1]])), unsorted.to_string());
    assert!(refused("/shape/0", json!((1u64 << 32) + 1)).contains("does not fit index type u32"));
    assert!(refused("/shape/0", json!(-1)).contains("invalid value"));
    assert!(refused("/coords/0/0", json!(1u64 << 32)).contains("invalid value"));
    let scalar = json!({"shape": [], "nnz": 2, "coords": []});
    assert!(refusal::<CooPattern>(scalar).contains("does not increase"));
}

#[test]
fn every_broken_invariant_of_lanes_is_refused() {
    let good = json!({"shape": [2, 3], "offsets": [0, 2, 3], "columns": [0, 2, 1]});
    assert!(from_value::<CsrPattern>(good.clone()).is_ok());
    let refused = |pointer: &str, value| refusal::<CsrPattern>(with(&good, pointer, value));
    let length = Error::LengthMismatch { what: "the offsets", expected: 4, found: 3 };
    assert_eq!(refused("/shape/0", json!(3)), length.to_string());
    let none = Error::LengthMismatch { what: "the offsets", expected: 3, found: 0 };
    assert_eq!(refused("/offsets", json!([])), none.to_string());
    assert_eq!(refused("/offsets/0", json!(1)), Error::OffsetsStart { found: 1 }.to_string());
    let decrease = Error::OffsetsDecrease { lane: 1, start: 4, end: 3 };
    assert_eq!(refused("/offsets/1", json!(4)), decrease.to_string());
    assert_eq!(refused("/offsets/2", json!(9)), Error::OffsetsEnd { expected: 3, found: 9 }.to_string());
    let outside = Error::IndexOutOfBounds { index: 7, axis: 1, length: 3, entry: Some(2) };
    assert_eq!(refused("/columns/2", json!(7)), outside.to_string());
    let unsorted = Error::NotSorted { entry: 1, coords: vec![0, 0], previous: vec![0, 0] };
    assert_eq!(refused("/columns/1", json!(0)), unsorted.to_string());
    assert!(refused("/shape/1", json!(1u64 << 33)).contains("does not fit index type u32"));
    assert!(refused("/shape", json!([u64::MAX, u64::MAX, 3])).contains("does not fit index type u32"));
}

#[test]
fn every_broken_invariant_of_tensors_and_triplets_is_refused() {
    let tensor = to_value(CooTensor::new([3], vec![vec![1]], vec![5], 0).unwrap()).unwrap();
    let values = Error::LengthMismatch { what: "the values", expected: 1, found: 2 }.to_string();
    assert_eq!(refusal::<CooTensor<i32>>(with(&tensor, "/values", json!([5, 6]))), values);
    assert_eq!(
        refusal::<CooTensor<u8>>(with(&tensor, "/fill", json!(256))),
        "invalid value: integer `256`, expected u8"
    );
    assert!(refusal::<CsrTensor<i32>>(tensor.clone()).contains("unknown field"));
    assert!(refusal::<CooTensor<i32>>(json!({"pattern": tensor["pattern"], "values": [5]})).contains("missing field"));
    let triplets = json!({"shape": [3], "coords": [[2, 2]], "values": [1, 2], "fill": 0});
    assert!(from_value::<Triplets<i32>>(triplets.clone()).is_ok());
    let outside = Error::IndexOutOfBounds { index: 3, axis: 0, length: 3, entry: Some(1) }.to_string();
    assert_eq!(refusal::<Triplets<i32>>(with(&triplets, "/coords/0/1", json!(3))), outside);
    let short = Error::LengthMismatch { what: "a coordinate array", expected: 3, found: 2 }.to_string();
    assert_eq!(refusal::<Triplets<i32>>(with(&triplets, "/values", json!([1, 2, 3]))), short);
    let arrays = Error::LengthMismatch { what: "the list of coordinate arrays", expected: 2, found: 1 }.to_string();
    assert_eq!(refusal::<Triplets<i32>>(with(&triplets, "/shape", json!([3, 3]))), arrays);
}

/// Formats that write the names of structures refused what they had written: other names were expected.
#[test]
fn structures_are_read_by_the_names_that_they_are_written_under() {
    use serde::de::{Error, Visitor, value};

    struct Expects;

    impl<'de> serde::Deserializer<'de> for Expects {
        type Error = value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, value::Error> {
            Err(value::Error::custom("no structure"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            name: &'static str,
            _: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, value::Error> {
            Err(value::Error::custom(name))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    fn name<T: DeserializeOwned>() -> String {
        T::deserialize(Expects).err().unwrap().to_string()
    }
    assert_eq!(name::<CooPattern>(), "CooPattern");
    assert_eq!(name::<CsrPattern>(), "CsrPattern");
    assert_eq!((name::<CooTensor<f64>>(), name::<CsrTensor<u8>>()), ("Tensor".into(), "Tensor".into()));
    assert_eq!(name::<Triplets<f64>>(), "Triplets");
}

/// JSON has no NaN and no infinity: what was written as `null` could not be read.
#[test]
fn floats_that_are_not_finite_are_texts_in_json() {
    fn comes_back<T: Element + Serialize + DeserializeOwned>(value: T, text: Value) {
        let x = CsrTensor::new([1, 4], vec![0, 2], vec![0, 3], vec![value, T::ONE], value).unwrap();
        assert!(there_and_back(&x).same_as(&x));
        let json = to_value(&x).unwrap();
        assert_eq!((&json["values"][0], &json["fill"]), (&text, &text));
        assert!(from_value::<CsrTensor<T>>(json).unwrap().same_as(&x));
        let triplets = Triplets::from_arrays([4], vec![vec![1u32]], vec![value]).unwrap().with_fill(value);
        assert!(there_and_back(&triplets).values()[0].same(value) && there_and_back(&triplets).fill().same(value));
    }
    comes_back(f64::NAN, json!("nan"));
    comes_back(f64::INFINITY, json!("inf"));
    comes_back(f32::NEG_INFINITY, json!("-inf"));
    comes_back(Complex::new(1.5f32, f32::NAN), json!([1.5, "nan"]));
    comes_back(Complex::new(f64::NEG_INFINITY, -0.0), json!(["-inf", -0.0]));
    #[cfg(feature = "half")]
    {
        comes_back(half::f16::NAN, json!("nan"));
        comes_back(half::bf16::NEG_INFINITY, json!("-inf"));
        comes_back(half::f16::from_f32(1.5), json!(1.5));
    }
}

#[test]
fn only_numbers_and_the_names_of_those_that_are_not_finite_are_floats_in_json() {
    let json = to_value(CooTensor::new([3], vec![vec![1]], vec![5.0f32], 0.0).unwrap()).unwrap();
    let fill = |value| from_value::<CooTensor<f32>>(with(&json, "/fill", value));
    assert_eq!(fill(json!(7)).unwrap().fill(), 7.0);
    assert_eq!(fill(json!(-7)).unwrap().fill(), -7.0);
    for (text, value) in [("NaN", f32::NAN), ("Infinity", f32::INFINITY), ("-Infinity", f32::NEG_INFINITY)] {
        assert!(fill(json!(text)).unwrap().fill().same(value));
    }
    for (wrong, message) in [
        (json!(null), "invalid type: null, expected a number, or one of nan, inf, -inf"),
        (json!("1.5"), "invalid value: string \"1.5\", expected a number, or one of nan, inf, -inf"),
        (json!(1e300), "invalid value: floating point `1e+300`, expected a value of type float32"),
        (json!([1.0]), "invalid type: sequence, expected a number, or one of nan, inf, -inf"),
    ] {
        assert_eq!(fill(wrong).unwrap_err().to_string(), message);
    }
    let integers = to_value(CooTensor::new([3], vec![vec![1]], vec![5i8], 0).unwrap()).unwrap();
    assert!(from_value::<CooTensor<i8>>(with(&integers, "/fill", json!("nan"))).is_err());
}
