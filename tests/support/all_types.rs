/// Stamps a property for all element types.
macro_rules! for_all_types {
    ($($property:ident),*) => {$(
        stamp!($property:
            bool = bool, int8 = i8, int16 = i16, int32 = i32, int64 = i64, uint8 = u8, uint16 = u16, uint32 = u32,
            uint64 = u64, float32 = f32, float64 = f64, complex64 = num_complex::Complex<f32>,
            complex128 = num_complex::Complex<f64>; half);
    )*};
}

/// Stamps a property for the element types that have an order: all but the complex ones.
macro_rules! for_real_types {
    ($($property:ident),*) => {$(
        stamp!($property:
            bool = bool, int8 = i8, int16 = i16, int32 = i32, int64 = i64, uint8 = u8, uint16 = u16, uint32 = u32,
            uint64 = u64, float32 = f32, float64 = f64; half);
    )*};
}

/// Instantiates tests that need more than two types.
macro_rules! more {
    ($($item:item)*) => {$($item)*};
}
