/// Stamps a property for one element type of each kind: see `all_types.rs`.
macro_rules! for_all_types {
    ($($property:ident),*) => {$(
        stamp!($property: bool = bool, int8 = i8, float64 = f64, complex64 = num_complex::Complex<f32>; half);
    )*};
}

/// The same for the kinds that have an order.
macro_rules! for_real_types {
    ($($property:ident),*) => {$(
        stamp!($property: bool = bool, int8 = i8, float64 = f64; half);
    )*};
}
