//! The descriptors of the operations, one per row of the table.

use crate::kernels::op::Op;
use crate::ops::op;

/// Defines the descriptors. Each has the name of its row.
macro_rules! descriptors {
    ($($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*) => {$(
        #[doc = concat!("The operation [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[derive(Clone, Copy, Default)]
        pub(crate) struct $op;

        impl Op for $op {
            fn name(&self) -> &'static str {
                op::$name.name
            }
        }
    )*};
}

crate::__binary! { descriptors }
