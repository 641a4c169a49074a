//! The constructor of compressed tensors: what it takes is canonical, what it refuses is not.
#![no_main]

use lacuna::CsrTensor;
use libfuzzer_sys::fuzz_target;

/// Whether the parts are a canonical compressed tensor, judged the slow way.
fn is_canonical(shape: &[usize], offsets: &[usize], columns: &[u32], values: usize) -> bool {
    let (lane_axes, width) = match shape.split_last() {
        Some((&last, rest)) => (rest, last),
        None => (shape, 1),
    };
    let lanes = if lane_axes.contains(&0) { 0 } else { lane_axes.iter().map(|&length| length as u128).product() };
    offsets.len() as u128 == lanes + 1
        && offsets[0] == 0
        && offsets.windows(2).all(|pair| pair[0] <= pair[1])
        && offsets[offsets.len() - 1] == columns.len()
        && values == columns.len()
        && columns.iter().all(|&column| (column as usize) < width)
        && offsets.windows(2).all(|pair| columns[pair[0]..pair[1]].windows(2).all(|two| two[0] < two[1]))
}

fuzz_target!(|input: (Vec<u8>, Vec<u8>, Vec<u8>, Vec<i8>)| {
    let (lengths, offsets, columns, values) = input;
    if lengths.len() > 8 {
        return;
    }
    let shape: Vec<usize> = lengths.iter().map(|&length| length.into()).collect();
    let offsets: Vec<usize> = offsets.iter().map(|&offset| offset.into()).collect();
    let columns: Vec<u32> = columns.iter().map(|&column| column.into()).collect();
    let expected = is_canonical(&shape, &offsets, &columns, values.len());
    match CsrTensor::new(shape, offsets, columns, values, 0) {
        Ok(tensor) => {
            assert!(expected);
            let coo = tensor.to_coo().unwrap();
            assert_eq!(coo.entries(), tensor.entries());
            assert_eq!(coo.into_csr().unwrap(), tensor);
        }
        Err(error) => assert!(!expected, "refused a canonical tensor: {error}"),
    }
});
