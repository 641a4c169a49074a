//! The steps of lazy graphs beside the operations that they stand for, by one list: what random graphs are made of.

// The fuzz target and the property each use a part.
#![allow(dead_code, unreachable_pub)]

use lacuna::lazy::{self, Lazy, Value};
use lacuna::{Axes, Matmul, Nanmedian, Norm, Operand, Pattern, Quantile, QuantileMethod, Result, Take, Tensor, Var};
use ndarray::{ArrayD, s};
use num_complex::Complex;

/// The arguments of a step: an axis, which need not be there, and a number.
#[derive(Clone, Copy)]
pub struct With {
    pub axis: isize,
    pub number: usize,
}

impl With {
    fn kept(self) -> Axes {
        Axes::from(self.axis).keep_dims()
    }
}

type Later<X> = Box<dyn Fn(&Lazy<X>, &Lazy<X>, With) -> Lazy<X>>;
type Now<X> = Box<dyn Fn(&X, &X, With) -> Result<X>>;

/// A step of one value or of two, and the operation at once.
pub struct Step<X> {
    pub name: &'static str,
    later: Later<X>,
    now: Now<X>,
    /// True if the step stores a product of the entries of both operands.
    is_growing: bool,
}

/// The largest number of pairs of entries that may be multiplied.
const PAIRS: usize = 1 << 12;

/// A step of a graph, and what the operations give.
pub type Pair<X> = (Lazy<X>, Result<X>);

impl<X: Value + Operand> Step<X> {
    /// The step of two that are there, unless what it stores would be vast.
    pub fn next(&self, x: &Pair<X>, y: &Pair<X>, with: With) -> Option<Pair<X>> {
        let eager = match (&x.1, &y.1) {
            (Ok(x), Ok(y)) => {
                let size = |x: &X| x.lengths().iter().product::<usize>().max(1);
                if self.is_growing && size(x).saturating_mul(size(y)) > PAIRS {
                    return None;
                }
                (self.now)(x, y, with)
            }
            // The step may read the second operand or not.
            (Ok(_), Err(_)) => return None,
            (Err(error), _) => Err(error.clone()),
        };
        Some(((self.later)(&x.0, &y.0, with), eager))
    }
}

/// Each row is a step. `name(x, …)` is the method of lazy values and the function of the library. `stored` reads only
/// stored entries, `cast` casts results of another type back, and `either` states both forms.
macro_rules! steps {
    ($X:ty, |$x:ident, $y:ident, $w:ident| $($kind:ident $name:ident $(($($argument:expr),*))? $(: $later:expr, $now:expr)?;)*) => {
        vec![$(Step::<$X> {
            name: concat!(stringify!($kind), " ", stringify!($name)),
            later: Box::new(|$x: &Lazy<$X>, $y: &Lazy<$X>, $w: With| {
                let _ = ($y, $w);
                steps!(@later $kind $x $name $(($($argument),*))? $(: $later)?)
            }),
            now: Box::new(|$x: &$X, $y: &$X, $w: With| {
                let _ = ($y, $w);
                steps!(@now $kind $x $name $(($($argument),*))? $(: $now)?)
            }),
            is_growing: matches!(stringify!($name), "outer" | "kron" | "tensordot" | "tile" | "repeat" | "broadcast_to"),
        }),*]
    };
    (@later plain $x:ident $name:ident ($($argument:expr),*)) => { $x.$name($($argument),*) };
    (@now plain $x:ident $name:ident ($($argument:expr),*)) => { lacuna::$name($x $(, $argument)*) };
    (@later stored $x:ident $name:ident ($($argument:expr),*)) => { $x.stored().$name($($argument),*) };
    (@now stored $x:ident $name:ident ($($argument:expr),*)) => { lacuna::$name(&$x.stored() $(, $argument)*) };
    (@later both $x:ident $name:ident ($y:expr)) => { $x.stored().$name(&$y.stored()) };
    (@now both $x:ident $name:ident ($y:expr)) => { lacuna::$name(&$x.stored(), &$y.stored()) };
    (@later cast $x:ident $name:ident ($($argument:expr),*)) => { $x.$name($($argument),*).cast() };
    (@now cast $x:ident $name:ident ($($argument:expr),*)) => { lacuna::$name($x $(, $argument)*)?.cast() };
    (@later storedcast $x:ident $name:ident ($($argument:expr),*)) => { $x.stored().$name($($argument),*).cast() };
    (@now storedcast $x:ident $name:ident ($($argument:expr),*)) => {
        lacuna::$name(&$x.stored() $(, $argument)*)?.cast()
    };
    (@later bothcast $x:ident $name:ident ($y:expr)) => { $x.stored().$name(&$y.stored()).cast() };
    (@now bothcast $x:ident $name:ident ($y:expr)) => { lacuna::$name(&$x.stored(), &$y.stored())?.cast() };
    (@later either $x:ident $name:ident : $later:expr) => { $later };
    (@now either $x:ident $name:ident : $now:expr) => { $now };
}

/// The product of a matrix with itself, of entries, which has rows and columns for its columns.
macro_rules! gram {
    (later $y:ident) => {
        $y.transpose().matmul_with($y, Matmul::plus_times())
    };
    (now $y:ident) => {
        lacuna::matmul_with(&lacuna::transpose($y)?, $y, Matmul::plus_times())?
    };
}

/// The gradient by one operand of two, which may be one step: a step of its own stands for it.
macro_rules! by_another {
    ($by:ident, |$z:ident| $result:expr, $upstream:ident) => {{
        let $z = &$by.mul(1.0);
        $result.gradient($z, $upstream)
    }};
}

/// Lists the functions of floats in the table, and their gradients.
macro_rules! functions {
    ($X:ty, tests $tests:tt numbers [$($number:ident)*] bits $bits:tt parts $parts:tt floats [$($float:ident)*]
     gradients [$($name:ident $backward:ident)*]) => {
        steps! {$X, |x, y, w|
            $(plain $number();)* $(plain $float();)*
            $(either $backward: x.$name().gradient(x, y), lacuna::grad::$name(x, y);)*
        }
    };
}

/// Lists the predicates of floats in the table.
macro_rules! predicates {
    ($X:ty, tests [$($test:ident)*] $($others:tt)*) => {
        steps! {$X, |x, y, w| $(cast $test();)*}
    };
}

/// Lists the reductions with their gradients, or those of stored entries.
macro_rules! of_folds {
    ([$kind:ident $X:ty] $(
        $name:ident($options:ident $(, $q:ident)?) [$bound:ident -> $out:ident] $route:tt $stream:tt
        [$($backward:ident($($given:ident)?) $back_bound:ident $back_route:ident $second:ident)?]
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        [
            $(of_folds!(@$kind $out $X, $name($({ let $q = 0.3; $q },)?)),)*
            $($(of_folds!(@back $kind $out $X, $backward $name($({ let $given = 0.3; $given },)?)),)?)*
        ]
    };
    (@whole bool $X:ty, $name:ident $q:tt) => { Vec::new() };
    (@whole u64 $X:ty, $name:ident $q:tt) => { Vec::new() };
    (@whole $out:ident $X:ty, $name:ident ($($q:expr,)?)) => { steps! {$X, |x, y, w| plain $name($($q,)? w.kept());} };
    (@entries bool $X:ty, $name:ident $q:tt) => { of_folds!(@of_another_type $X, $name) };
    (@entries u64 $X:ty, $name:ident $q:tt) => { of_folds!(@of_another_type $X, $name) };
    (@entries $out:ident $X:ty, $name:ident ($($q:expr,)?)) => {
        steps! {$X, |x, y, w| stored $name($($q,)? w.kept());}
    };
    (@of_another_type $X:ty, $name:ident) => {
        steps! {$X, |x, y, w| cast $name(w.kept()); storedcast $name(w.kept());}
    };
    (@back whole bool $X:ty, $backward:ident $name:ident $q:tt) => { Vec::new() };
    (@back whole $out:ident $X:ty, $backward:ident $name:ident ($($q:expr,)?)) => {
        steps! {$X, |x, y, w|
            either $backward: x.$name($($q,)? w.kept()).gradient(x, y), lacuna::grad::$name(x, y, $($q,)? w.kept());
        }
    };
    (@back entries $out:ident $X:ty, $backward:ident $name:ident $q:tt) => { Vec::new() };
}

/// Lists the steps of tensors and arrays of floats.
macro_rules! of_floats {
    ($X:ty) => {
        steps! {$X, |x, y, w|
            plain powi(w.number as i32 - 2); plain powf(0.5); plain clamp(-0.5, 2.0);
            plain mul_nonzero(-3.0);
            plain add(0.5); plain sub(-0.0); plain mul(-3.0); plain div(0.3); plain pow(2.0); plain minimum(0.25);
            plain maximum(f64::NAN); plain rem(0.7); plain rem_euclid(0.7);
            plain sum(w.axis); plain nanmean(w.axis); plain var(Var::over(w.kept()).ddof(w.number as u64 % 2));
            plain std(w.axis); plain max(w.axis); plain norm(Norm::over(w.kept()).one());
            plain norm(Norm::over(w.kept()).infinity()); plain nanmedian(Nanmedian::over(w.axis).lower());
            plain nanquantile(0.6, Quantile::over(w.kept()).method(QuantileMethod::Higher));
            plain topk(w.number, w.axis);
            plain flip(w.axis); plain roll(w.number as isize, w.axis); plain transpose(); plain move_axis(w.axis, 0);
            plain expand_dims(w.axis); plain squeeze(w.axis); plain tril(w.number as isize - 1);
            plain triu(w.number as isize - 1); plain diagonal(w.number as isize - 1); plain trace(w.number as isize - 1); plain repeat(w.number, w.axis);
            plain tile([2, 1]); plain pad([(w.number, 0), (1, 0)]); plain broadcast_to([2, 3, 4]);
            plain take_axis(vec![w.number as i64 - 1, 0], w.axis); plain take(vec![w.number as u32, 0, 1]);
            plain take_axis(Take::at(vec![w.number as i64 * 5, -9]).wrap(), w.axis);
            plain take(Take::at(vec![w.number as i32 * 7]).clip());
            plain gather([vec![w.number as i64 - 1, 0], vec![-1, 0]]);
            either take_along_axis: x.take_along_axis(last_of(x.shape(), w.axis), w.axis),
                lacuna::take_along_axis(x, last_of(Some(x.lengths()), w.axis), w.axis);
            either slice: x.slice(s![.., w.number as isize..]), lacuna::slice(x, s![.., w.number as isize..]);
            either slice_backwards: x.slice(s![..;-1, w.number as isize]), lacuna::slice(x, s![..;-1, w.number as isize]);
            either group_by: x.sum(Axes::by(w.axis, &labels(x.shape(), w))),
                lacuna::sum(x, Axes::by(w.axis, &labels(Some(x.lengths()), w)));
            either group_by_median: x.nanmedian(Axes::by(w.axis, &labels(x.shape(), w))),
                lacuna::nanmedian(x, Axes::by(w.axis, &labels(Some(x.lengths()), w)));
            either nanmedian_index: x.nanmedian_index(w.kept()).parts().0, Ok(lacuna::nanmedian_index(x, w.kept())?.0);
            either scale: x.scale(w.axis, &y.sum(0)), lacuna::scale(x, w.axis, &lacuna::sum(y, 0)?);
            either powi_backward: x.powi(3).gradient(x, y), lacuna::grad::powi(x, y, 3);
            either powf_backward: x.powf(1.5).gradient(x, y), lacuna::grad::powf(x, y, 1.5);
            either clamp_backward: x.clamp(-0.5, 2.0).gradient(x, y), lacuna::grad::clamp(x, y, -0.5, 2.0);
            either std_backward: x.std(w.axis).gradient(x, y), lacuna::grad::std(x, y, w.axis);
            either nanmin_backward: x.nanmin(w.axis).gradient(x, y), lacuna::grad::nanmin(x, y, w.axis);
            either median_backward: x.median(w.axis).gradient(x, y), lacuna::grad::median(x, y, w.axis);
        }
    };
}

/// Adds the elementwise operations of two operands that give floats, and their gradients by either operand.
macro_rules! pairs {
    ([$all:ident, $X:ty] $($name:ident: $op:ident, $bound:ident -> $out:ident
        [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {
        $(lacuna::__if_kind! { float $bound pairs!(@$out $all $X, $name $($backward)?); })*
    };
    (@bool $all:ident $X:ty, $name:ident) => {};
    (@same $all:ident $X:ty, $name:ident) => { $all.extend(steps! {$X, |x, y, w| plain $name(y);}) };
    (@same $all:ident $X:ty, $name:ident $backward:ident) => {
        $all.extend(steps! {$X, |x, y, w|
            plain $name(y);
            either $backward: by_another!(x, |z| z.$name(y), y),
                Ok(lacuna::grad::$name(&lacuna::mul(x, 1.0)?, y, y)?.0);
            either $backward: by_another!(y, |z| x.$name(z), x),
                Ok(lacuna::grad::$name(x, &lacuna::mul(y, 1.0)?, x)?.1);
        })
    };
}

/// Adds the elementwise operations of two tensors of floats that give truth values, and those of what both store.
macro_rules! pairs_of_tensors {
    ([$all:ident, $X:ty] $($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*) => {
        $(lacuna::__if_kind! { float $bound pairs_of_tensors!(@$out $all $X, $name); })*
    };
    (@same $all:ident $X:ty, $name:ident) => { $all.extend(steps! {$X, |x, y, w| both $name(y);}) };
    (@bool $all:ident $X:ty, $name:ident) => {
        $all.extend(steps! {$X, |x, y, w| cast $name(y); bothcast $name(y);})
    };
}

/// A label for each position of an axis, if there is one.
fn labels(shape: Option<&[usize]>, with: With) -> Vec<usize> {
    let shape = shape.unwrap_or_default();
    let axis = if with.axis < 0 { with.axis + shape.len() as isize } else { with.axis };
    let length = usize::try_from(axis).ok().and_then(|axis| shape.get(axis)).copied().unwrap_or(0);
    (0..length).map(|at| at % (with.number + 1)).collect()
}

/// The last position of an axis for each position of the others, if there is such an axis.
fn last_of(shape: Option<&[usize]>, axis: isize) -> ArrayD<i64> {
    let mut lengths = shape.unwrap_or_default().to_vec();
    let axis = if axis < 0 { axis + lengths.len() as isize } else { axis };
    if let Some(length) = usize::try_from(axis).ok().and_then(|axis| lengths.get_mut(axis)) {
        *length = 1;
    }
    ArrayD::from_elem(lengths, -1)
}

/// The steps of arrays of floats.
pub fn of_arrays() -> Vec<Step<ArrayD<f64>>> {
    let mut all = of_floats!(ArrayD<f64>);
    all.extend(lacuna::__function_names! { functions ArrayD<f64>, });
    lacuna::__binary! { pairs [all, ArrayD<f64>] }
    all.extend(lacuna::__folds! { (of_folds) whole ArrayD<f64> }.into_iter().flatten());
    all.extend(steps! {ArrayD<f64>, |x, y, w|
        plain matmul(y);
        either matmul_with: x.matmul_with(y, Matmul::max_min()), lacuna::matmul_with(x, y, Matmul::max_min());
        either ttm: x.ttm(y, w.axis), lacuna::ttm(x, &of_rank(y)?, w.axis);
    });
    all
}

/// A matrix, of what is one.
fn of_rank(y: &ArrayD<f64>) -> Result<ndarray::ArrayView2<'_, f64>> {
    let refused = |_| lacuna::Error::Argument { operation: "ttm", why: "it is no matrix".into() };
    y.view().into_dimensionality().map_err(refused)
}

/// The steps of tensors of floats, with those that only they have.
pub fn of_tensors<P: Pattern>() -> Vec<Step<Tensor<P, f64>>> {
    let mut all = of_floats!(Tensor<P, f64>);
    all.extend(lacuna::__function_names! { functions Tensor<P, f64>, });
    all.extend(lacuna::__function_names! { predicates Tensor<P, f64>, });
    lacuna::__binary! { pairs [all, Tensor<P, f64>] }
    lacuna::__binary! { pairs_of_tensors [all, Tensor<P, f64>] }
    all.extend(lacuna::__folds! { (of_folds) whole Tensor<P, f64> }.into_iter().flatten());
    all.extend(lacuna::__folds! { (of_folds) entries Tensor<P, f64> }.into_iter().flatten());
    all.extend(steps! {Tensor<P, f64>, |x, y, w|
        cast isin(0.5);
        cast argmax(w.axis); cast nanargmax(w.axis); stored nanmean(w.axis); stored var(w.axis); stored max(w.axis);
        stored nanmedian(w.axis); storedcast all(w.axis); stored softmax(w.axis);
        stored log_softmax(w.axis); stored topk(w.number, w.axis);
        stored nanquantile(0.6, Quantile::over(w.axis).method(QuantileMethod::Lower));
        either stored_topk_backward: x.stored().topk(w.number, w.axis).gradient(x, y),
            lacuna::grad::topk(&x.stored(), y, w.number, w.axis);
        either stored_nanmedian_index: x.stored().nanmedian_index(w.kept()).parts().0,
            Ok(lacuna::nanmedian_index(&x.stored(), w.kept())?.0);
        either diff: x.diff(w.number % 3, w.axis), lacuna::diff(x, w.number % 3, w.axis);
        stored diff(1, w.axis); stored cumsum(w.axis); stored cumprod(w.axis); stored nancumsum(w.axis);
        stored nancumprod(w.axis); plain sort(w.axis); stored sort(w.axis);
        either stored_cumsum_backward: x.stored().cumsum(w.axis).gradient(x, y),
            lacuna::grad::cumsum(&x.stored(), y, w.axis);
        either stored_sort_backward: x.stored().sort(w.axis).gradient(x, y),
            lacuna::grad::sort(&x.stored(), y, w.axis);
        either stored_nancumprod_backward: x.stored().nancumprod(w.axis).gradient(x, y),
            lacuna::grad::nancumprod(&x.stored(), y, w.axis);
        storedcast argsort(w.axis); stored abs(); stored exp(); stored recip(); stored neg(); stored powi(2);
        storedcast isnan(); storedcast isin(0.5); stored add(0.5); stored div(0.5); stored rem(0.7); storedcast less(0.5);
        either stored_sum_backward: x.stored().sum(w.kept()).gradient(x, y),
            lacuna::grad::sum(&x.stored(), y, w.kept());
        either stored_mean_backward: x.stored().mean(w.kept()).gradient(x, y),
            lacuna::grad::mean(&x.stored(), y, w.kept());
        either stored_nanmedian_backward: x.stored().nanmedian(w.kept()).gradient(x, y),
            lacuna::grad::nanmedian(&x.stored(), y, w.kept());
        either softmax_backward: x.stored().softmax(w.axis).gradient(x, y),
            lacuna::grad::softmax(&x.stored(), y, w.axis);
        plain matmul(y); plain outer(y); plain kron(y);
        either where_: x.greater(y).where_(x, y), lacuna::where_(&lacuna::greater(x, y)?, x, y);
        either with_fill: x.with_fill(-0.0), Ok(x.clone().with_fill(-0.0));
        either with_nan: x.with_fill(f64::NAN), Ok(x.clone().with_fill(f64::NAN));
        either with_two: x.with_fill(2.0), Ok(x.clone().with_fill(2.0));
        either prune: x.prune(), x.prune();
        either cast: x.cast::<f32>().cast(), x.clone().cast::<f32>()?.cast();
        either cast_to_integers: x.cast::<i64>().cast(), x.clone().cast::<i64>()?.cast();
        either concat: lazy::concat(w.axis, &[x, y]), lacuna::concat(w.axis, &[x, y]);
        either stack: lazy::stack(w.axis, &[x, y]), lacuna::stack(w.axis, &[x, y]);
        either einsum: lazy::einsum("ij,kj->ik", &[x, y]), lacuna::einsum("ij,kj->ik", &[x, y]);
        either einsum_of_one: lazy::einsum("ij->j", &[x]), lacuna::einsum("ij->j", &[x]);
        either matmul_with: x.matmul_with(y, Matmul::min_plus()), lacuna::matmul_with(x, y, Matmul::min_plus());
        either matmul_of_entries: x.matmul_with(y, Matmul::plus_times()), lacuna::matmul_with(x, y, Matmul::plus_times());
        either matmul_on: x.matmul_on(&gram!(later y), &x.pattern(), Matmul::min_plus()),
            lacuna::matmul_with(x, &gram!(now y), Matmul::min_plus().mask(x.pattern()));
        either matmul_on_entries: x.matmul_on(&gram!(later y), &y.pattern(), Matmul::plus_times()),
            lacuna::matmul_with(x, &gram!(now y), y.pattern());
        either matmul_without: x.matmul_without(&gram!(later y), &x.pattern(), Matmul::plus_times()),
            lacuna::matmul_with(x, &gram!(now y), Matmul::plus_times().without(x.pattern()));
        plain tensordot(y, [w.axis], [w.axis]); plain tensordot(y, [-1, w.axis], [-1, w.axis]);
        either block: lazy::block(&[&[x, y], &[y, x]]), lacuna::block(&[&[x, y], &[y, x]]);
        either select: x.select(|value| value > 0.25), x.select(|value| value > 0.25);
        either filter_entries: x.filter_entries(|at, value| at.first() != Some(&0) && value < 1.0),
            x.filter_entries(|at, value| at.first() != Some(&0) && value < 1.0);
        either with_entries: x.with_entries([(vec![0; x.shape().map_or(0, <[usize]>::len)], -0.5)]),
            x.with_entries([(vec![0; x.rank()], -0.5)]);
        either mask: x.stored().mask(&y.pattern()), x.stored().mask(y.pattern());
        either without: x.stored().without(&y.pattern()), x.stored().without(y.pattern());
        either scale_stored: x.stored().scale(w.axis, &y.sum(0)),
            lacuna::scale(&x.stored(), w.axis, &lacuna::sum(y, 0)?);
        either topk_index: x.stored().topk_index(w.number, w.axis).parts().0,
            Ok(lacuna::topk_index(&x.stored(), w.number, w.axis)?.0);
        either positions: x.stored().topk_index(w.number, w.axis).parts().1.cast(),
            lacuna::topk_index(&x.stored(), w.number, w.axis)?.1.cast();
        either median_positions: x.nanmedian_index(w.axis).parts().1.cast(),
            lacuna::nanmedian_index(x, w.axis)?.1.cast();
        either matmul_backward: by_another!(y, |z| x.matmul(z), x),
            Ok(lacuna::grad::matmul(x, &lacuna::mul(y, 1.0)?, x)?.1);
        either outer_backward: by_another!(x, |z| z.outer(y), x),
            Ok(lacuna::grad::outer(&lacuna::mul(x, 1.0)?, y, x)?.0);
    });
    all
}

/// The steps of tensors of integers.
macro_rules! of_integers {
    ($name:ident $type:ty) => {
        pub fn $name<P: Pattern>() -> Vec<Step<Tensor<P, $type>>> {
            steps! {Tensor<P, $type>, |x, y, w|
                plain square(); plain sign(); plain not(); plain powi(2); plain clamp(1, 3);
                plain add(y); plain sub(y); plain mul(y); plain div(y); plain rem(y); plain rem_euclid(y); plain pow(y);
                plain minimum(y); plain maximum(y); plain bit_and(y); plain bit_or(y); plain bit_xor(y);
                plain add(1); plain sub(1); plain mul(2); plain div(2); plain rem(3); plain pow(2); plain bit_and(6);
                plain shift_left(1); plain shift_right(2);
                plain bit_xor(1); both add(y); both sub(y); both mul(y); both div(y); both rem(y); both bit_or(y);
                both maximum(y); bothcast equal(y); stored bit_and(3); stored not(); stored mul(2);
                cast isfinite(); cast equal(y); cast less(y); cast greater_equal(y); cast isin(1);
                cast sum(w.kept()); cast mean(w.kept()); cast prod(w.kept()); cast median(w.axis); cast var(w.axis);
                plain min(w.kept()); plain max(w.axis); cast argmin(w.kept()); cast count_nonzero(w.axis);
                cast any(w.kept()); cast all(w.axis); storedcast sum(w.kept()); stored max(w.kept());
                cast quantile(0.5, w.axis); plain topk(w.number, w.axis);
                plain flip(w.axis); plain roll(w.number as isize, w.axis); plain transpose(); plain tril(0);
                plain pad([(1, 0), (0, w.number)]); plain take(vec![w.number as u32, 0]);
                either slice: x.slice(s![..;-1, w.number as isize..]), lacuna::slice(x, s![..;-1, w.number as isize..]);
                plain matmul(y); plain outer(y);
                either with_fill: x.with_fill(1), Ok(x.clone().with_fill(1));
                either where_: x.less(y).where_(x, y), lacuna::where_(&lacuna::less(x, y)?, x, y);
                either cast: x.cast::<f64>().cast(), x.clone().cast::<f64>()?.cast();
                either concat: lazy::concat(w.axis, &[x, y]), lacuna::concat(w.axis, &[x, y]);
                either einsum: lazy::einsum("ij,kj->ik", &[x, y]), lacuna::einsum("ij,kj->ik", &[x, y]);
                either matmul_with: x.matmul_with(y, Matmul::min_plus()), lacuna::matmul_with(x, y, Matmul::min_plus());
                either mask: x.stored().mask(&y.pattern()), x.stored().mask(y.pattern());
                either prune: x.prune(), x.prune();
                either matmul_on: x.matmul_on(&gram!(later y), &x.pattern(), Matmul::max_times()),
                    lacuna::matmul_with(x, &gram!(now y), Matmul::max_times().mask(x.pattern()));
                plain tensordot(y, [w.axis], [w.axis]);
                either block: lazy::block(&[&[x, y]]), lacuna::block(&[&[x, y]]);
                either select: x.select(|value| value > 1), x.select(|value| value > 1);
            }
        }
    };
}

of_integers!(of_longs i64);
of_integers!(of_bytes u8);

/// The steps of tensors of truth values.
pub fn of_bools<P: Pattern>() -> Vec<Step<Tensor<P, bool>>> {
    steps! {Tensor<P, bool>, |x, y, w|
        plain not(); plain add(y); plain mul(y); plain minimum(y); plain maximum(y); plain bit_and(y); plain bit_or(y);
        plain bit_xor(y); plain equal(y); plain not_equal(y); plain less(y); plain greater_equal(y); plain isnan();
        plain isfinite(); plain isin(true); plain any(w.kept()); plain all(w.axis); plain min(w.kept()); plain max(w.axis);
        cast sum(w.axis); cast count_nonzero(w.kept()); both bit_xor(y); both bit_or(y); both bit_and(y); both equal(y);
        stored any(w.kept()); stored all(w.kept()); stored not(); plain flip(w.axis); plain transpose(); plain matmul(y);
        plain roll(1, w.axis); plain take(vec![w.number as u32]); plain topk(w.number, w.axis);
        either with_fill: x.with_fill(true), Ok(x.clone().with_fill(true));
        either where_: x.where_(x, y), lacuna::where_(x, x, y);
        either or_and: x.matmul_with(y, Matmul::or_and()), lacuna::matmul_with(x, y, Matmul::or_and());
        either slice: x.slice(s![1.., ..]), lacuna::slice(x, s![1.., ..]);
    }
}

/// The steps of tensors of complex numbers.
pub fn of_complex<P: Pattern>() -> Vec<Step<Tensor<P, Complex<f64>>>> {
    steps! {Tensor<P, Complex<f64>>, |x, y, w|
        plain conj(); plain neg(); cast real(); cast imag(); cast abs(); cast angle(); plain exp(); plain ln(); plain sqrt();
        plain square(); plain recip(); plain sign(); plain powi(2); plain pow(y); plain nansum(w.kept());
        plain nanmean(w.axis); plain nanprod(w.kept()); plain add(y); plain sub(y); plain mul(y);
        plain div(y); plain mul(Complex::new(0.0, 1.0)); cast equal(y); cast isnan(); cast isreal(); plain sum(w.kept());
        plain mean(w.axis); plain prod(w.kept()); cast var(w.kept()); cast any(w.axis); both mul(y); both add(y);
        stored sum(w.kept()); stored conj(); plain flip(w.axis); plain transpose(); plain matmul(y);
        plain take_axis(vec![0u32, 0], w.axis);
        either with_fill: x.with_fill(Complex::new(0.5, -1.0)), Ok(x.clone().with_fill(Complex::new(0.5, -1.0)));
        either slice: x.slice(s![..;2, ..]), lacuna::slice(x, s![..;2, ..]);
    }
}
