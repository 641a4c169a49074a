//! Deserialisation is a constructor: what it takes is what a constructor would have taken.
#![no_main]

use lacuna::{CooTensor, CsrTensor, Triplets};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(x) = serde_json::from_slice::<CooTensor<i64>>(data) {
        let (pattern, values, fill) = x.clone().into_parts().unwrap();
        let (shape, coords) = pattern.into_parts().unwrap();
        assert_eq!(CooTensor::new(shape, coords, values, fill).unwrap(), x);
        assert_eq!(serde_json::from_str::<CooTensor<i64>>(&serde_json::to_string(&x).unwrap()).unwrap(), x);
    }
    if let Ok(x) = serde_json::from_slice::<CsrTensor<i64>>(data) {
        let (pattern, values, fill) = x.clone().into_parts().unwrap();
        let (shape, offsets, columns) = pattern.into_parts().unwrap();
        assert_eq!(CsrTensor::new(shape, offsets, columns, values, fill).unwrap(), x);
    }
    if let Ok(x) = serde_json::from_slice::<Triplets<i64>>(data) {
        let _ = x.coalesce(lacuna::Duplicates::Sum);
    }
});
