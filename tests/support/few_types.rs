/// Stamps a property for one element type of each kind and width that code asks about: see `all_types.rs`.
macro_rules! for_all_types {
    ($($property:ident),*) => {$(
        stamp!($property:
            bool = bool, int8 = i8, uint64 = u64, float32 = f32, float64 = f64, complex64 = num_complex::Complex<f32>;
            half);
    )*};
}

/// Instantiates properties for the element types with an order.
macro_rules! for_real_types {
    ($($property:ident),*) => {$(
        stamp!($property:
            bool = bool, int8 = i8, uint64 = u64, float32 = f32, float64 = f64; half);
    )*};
}

/// Instantiates tests that need more than two types.
macro_rules! more {
    ($($item:item)*) => {$($item)*};
}
