//! The reductions of the library, for tests that go through all of them.

/// Passes all reductions to a macro: `every_fold! { (callback) arguments }` calls `callback! { [arguments] rows }`,
/// with a row `name(q,) result stream [gradient];` per reduction. Only quantiles have the argument `q`.
#[allow(unused_macros)]
macro_rules! every_fold {
    (($($callback:tt)*) $($arguments:tt)*) => {
        lacuna::__folds! { (every_fold) ($($callback)*) $($arguments)* }
    };
    ([($($callback:tt)*) $($arguments:tt)*] $(
        $name:ident($options:ident $(, $q:ident)?) [$bound:ident -> $out:ident] $route:tt [$stream:ident $($by:tt)*]
        [$($backward:ident($($given:ident)?) $back_bound:ident $back_route:ident $second:ident)?]
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        $($callback)*! {
            [$($arguments)*]
            $($name ($({ let $q = 0.3; $q },)?) $out $stream [$($backward)?];)*
        }
    };
}
