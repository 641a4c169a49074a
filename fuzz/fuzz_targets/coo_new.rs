//! The constructor of coordinate tensors: what it takes is canonical, what it refuses is not.
#![no_main]

use lacuna::{CooTensor, Error};
use libfuzzer_sys::fuzz_target;

/// Whether the parts are a canonical coordinate tensor, judged the slow way.
fn is_canonical(shape: &[usize], coords: &[Vec<u32>], count: usize) -> bool {
    if coords.len() != shape.len() || coords.iter().any(|axis| axis.len() != count) {
        return false;
    }
    let entries: Vec<Vec<usize>> =
        (0..count).map(|entry| coords.iter().map(|axis| axis[entry] as usize).collect()).collect();
    let inside = entries.iter().all(|entry| entry.iter().zip(shape).all(|(coord, length)| coord < length));
    inside && entries.windows(2).all(|pair| pair[0] < pair[1])
}

fuzz_target!(|input: (Vec<u16>, Vec<Vec<u8>>, Vec<i8>)| {
    let (lengths, coords, values) = input;
    let shape: Vec<usize> = lengths.iter().map(|&length| length as usize).collect();
    let coords: Vec<Vec<u32>> = coords.iter().map(|axis| axis.iter().map(|&coord| coord.into()).collect()).collect();
    let expected = is_canonical(&shape, &coords, values.len());
    match CooTensor::new(shape, coords, values.clone(), 0) {
        Ok(tensor) => {
            assert!(expected);
            assert_eq!(tensor.values(), values);
            for (coords, value) in tensor.entries() {
                assert_eq!(tensor.get(&coords).unwrap(), value);
            }
        }
        Err(error) => {
            assert!(!expected, "refused a canonical tensor: {error}");
            assert!(!matches!(error, Error::TooLarge { .. }));
        }
    }
});
