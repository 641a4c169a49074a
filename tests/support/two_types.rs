/// Stamps a property for two element types, for what depends on the type nowhere: see `all_types.rs`.
macro_rules! for_all_types {
    ($($property:ident),*) => {$(
        stamp!($property: int8 = i8, float64 = f64; half);
    )*};
}

/// Instantiates properties for the element types with an order, which both of the two types have.
macro_rules! for_real_types {
    ($($property:ident),*) => {$(
        stamp!($property: int8 = i8, float64 = f64; half);
    )*};
}

/// Leaves out tests of more types, and with them those of 16 bits above: with both the compiler took a third longer.
macro_rules! more {
    ($($item:item)*) => {};
}
