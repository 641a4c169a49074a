//! An upstream element that is exactly zero gives `+0.0` to every element that it reaches, whatever the derivative is
//! there: in the operations, in graphs and in expressions.

use lacuna::dynamic::AnyTensor;
use lacuna::lazy::Lazy;
use lacuna::{Axes, CooTensor, CsrTensor, Nanmedian, Norm, Operand, Result, Var, grad};
use ndarray::{Array2, ArrayD, arr1, arr2};

/// Values at which few derivatives or none are finite.
const WILD: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0];

/// Zeros of both signs, and what stores none of them.
fn zeros(shape: [usize; 2]) -> Vec<ArrayD<f64>> {
    [0.0, -0.0].map(|zero| ArrayD::from_elem(shape.to_vec(), zero)).into()
}

/// All positions stored, with the values of a function of the coordinates.
fn full(shape: [usize; 2], of: impl Fn(usize, usize) -> f64) -> CooTensor<f64> {
    let at: Vec<(u32, u32)> = (0..shape[0] as u32).flat_map(|i| (0..shape[1] as u32).map(move |j| (i, j))).collect();
    let values = at.iter().map(|&(i, j)| of(i as usize, j as usize)).collect();
    let coords = vec![at.iter().map(|at| at.0).collect(), at.iter().map(|at| at.1).collect()];
    CooTensor::new(shape, coords, values, 0.0).unwrap()
}

#[track_caller]
fn nothing(given: impl IntoIterator<Item = f64>) {
    let given: Vec<f64> = given.into_iter().collect();
    assert!(given.iter().all(|value| value.to_bits() == 0), "{given:?}");
}

#[test]
fn of_functions_of_one_element() {
    let (array, x) = (arr1(&WILD), CooTensor::new([6], vec![(0..6).collect()], WILD.to_vec(), 0.0).unwrap());
    let (none, stored) = (
        CooTensor::new([6], vec![vec![]], vec![], -0.0).unwrap(),
        CooTensor::new([6], vec![(0..6).collect()], vec![-0.0; 6], 7.0).unwrap(),
    );
    macro_rules! all {
        ($($name:ident($($arg:expr),*))*) => {$(
            for zero in [0.0, -0.0] {
                nothing(grad::$name(&array, &arr1(&[zero; 6]) $(, $arg)*).unwrap());
                nothing(grad::$name(&x, &arr1(&[zero; 6]) $(, $arg)*).unwrap().values().to_vec());
            }
            nothing(grad::$name(&x, &none $(, $arg)*).unwrap().values().to_vec());
            nothing(grad::$name(&x.to_csr().unwrap(), &stored $(, $arg)*).unwrap().values().to_vec());
        )*};
    }
    macro_rules! of_table {
        (tests $tests:tt numbers $numbers:tt bits $bits:tt parts $parts:tt floats $floats:tt
         gradients [$($name:ident $backward:ident)*]) => {
            all!($($name())*);
        };
    }
    lacuna::__function_names! { of_table }
    all!(powi(-3) powf(0.5) clamp(-1.0, 1.0));
}

/// Rows of what is not finite receive nothing of a zero; those of numbers what they would alone.
#[test]
fn of_reductions() {
    let x = full([3, 6], |row, column| if row < 2 { WILD[(row + column) % 6] } else { column as f64 - 2.5 });
    let csr = x.to_csr().unwrap();
    let (dense, up) = (x.to_dense().unwrap(), arr1(&[0.0, -0.0, 2.0]));
    let one = Axes::from(1);
    macro_rules! over {
        ([] $($name:ident $q:tt $out:ident $stream:ident $gradient:tt;)*) => {
            $(over!(@ $gradient $name $q);)*
        };
        (@ [] $name:ident $q:tt) => {};
        (@ [$backward:ident] $name:ident ($($q:expr,)?)) => {{
            let found: [Vec<f64>; 5] = [
                lacuna::grad::$name(&x, &up, $($q,)? &one).unwrap().values().to_vec(),
                lacuna::grad::$name(&csr, &up, $($q,)? &one).unwrap().values().to_vec(),
                lacuna::grad::$name(&x.stored(), &up, $($q,)? &one).unwrap().values().to_vec(),
                lacuna::grad::$name(&dense, &up, $($q,)? &one).unwrap().into_iter().collect(),
                lacuna::grad::$name(&dense.t(), &up, $($q,)? 0).unwrap().t().iter().copied().collect(),
            ];
            for given in found {
                nothing(given[..12].to_vec());
                assert!(given[12..].iter().any(|&g| g != 0.0), "{given:?}");
                assert!(given.iter().all(|g| g.is_finite()), "{given:?}");
            }
            // Each element is a group by itself, or groups have labels.
            let none = ArrayD::from_elem(vec![3, 6], -0.0);
            nothing(lacuna::grad::$name(&x, &none, $($q,)? Axes::none()).unwrap().values().to_vec());
            nothing(lacuna::grad::$name(&dense, &none, $($q,)? Axes::none()).unwrap());
            let labels = [0, 1, 0, 1, 0, 1];
            let none = ArrayD::from_elem(vec![3, 2], -0.0);
            nothing(lacuna::grad::$name(&x, &none, $($q,)? Axes::by(1, &labels)).unwrap().values().to_vec());
            nothing(lacuna::grad::$name(&dense, &none, $($q,)? Axes::by(1, &labels)).unwrap());
        }};
    }
    every_fold! { (over) }
    macro_rules! with {
        ($($name:ident($($arg:expr),*);)*) => {$(
            for given in [
                grad::$name(&x, &up, $($arg),*).unwrap().values().to_vec(),
                grad::$name(&csr, &up, $($arg),*).unwrap().values().to_vec(),
                grad::$name(&dense, &up, $($arg),*).unwrap().into_iter().collect(),
            ] {
                nothing(given[..12].to_vec());
                assert!(given[12..].iter().any(|&g| g != 0.0) && given.iter().all(|g| g.is_finite()), "{given:?}");
            }
        )*};
    }
    with! {
        norm(Norm::over(1).one());
        norm(Norm::over(1).infinity());
        var(Var::over(1).ddof(1));
        nanmedian(Nanmedian::over(1).first());
    }
}

/// A deviation of 0 has the gradient 0, as a norm of 0 has.
#[test]
fn of_deviations_of_what_is_all_equal() {
    let (x, up) = (full([2, 3], |row, column| if row == 0 { 2.0 } else { column as f64 }), arr1(&[1.0, 1.0]));
    let dense = x.to_dense().unwrap();
    for given in [
        grad::std(&x, &up, 1).unwrap().values().to_vec(),
        grad::nanstd(&x, &up, 1).unwrap().values().to_vec(),
        grad::std(&x.stored(), &up, 1).unwrap().values().to_vec(),
        lacuna::grad::std(&dense, &up, 1).unwrap().into_iter().collect(),
        lacuna::grad::nanstd(&dense, &up, Var::over(1)).unwrap().into_iter().collect(),
    ] {
        nothing(given[..3].to_vec());
        assert!(given[3] < 0.0 && given[4] == 0.0 && given[5] == -given[3], "{given:?}");
    }
    // Gaps count, and those of a group of nothing else are equal.
    let lone = CooTensor::new([3], vec![vec![1]], vec![0.0], 0.0).unwrap();
    assert_eq!(grad::std(&lone, &ndarray::arr0(5.0), 0).unwrap().values(), [0.0]);
    let with_nan = CooTensor::new([3], vec![vec![0, 1, 2]], vec![2.0, f64::NAN, 2.0], 0.0).unwrap();
    nothing(grad::nanstd(&with_nan, &ndarray::arr0(5.0), 0).unwrap().values().to_vec());
}

#[test]
fn of_what_chooses_and_moves() {
    let x = full([3, 4], |_, _| 1.0);
    let dense = x.to_dense().unwrap();
    let up = |shape: [usize; 2]| ArrayD::from_elem(shape.to_vec(), -0.0);
    nothing(grad::take_axis(&x, &up([3, 2]), [1, 1], 1).unwrap().values().to_vec());
    nothing(lacuna::grad::take_axis(&dense, &up([3, 2]), [1, 0], 1).unwrap());
    nothing(grad::flip(&x, &up([3, 4]), 0).unwrap().values().to_vec());
    nothing(lacuna::grad::flip(&dense, &up([3, 4]), 0).unwrap());
    nothing(grad::transpose(&x, &up([4, 3])).unwrap().values().to_vec());
    nothing(grad::tile(&x, &up([6, 4]), [2, 1]).unwrap().values().to_vec());
    nothing(grad::topk(&x, &up([3, 2]), 2, 1).unwrap().values().to_vec());
    nothing(lacuna::grad::topk(&dense, &up([3, 2]), 2, 1).unwrap());
    nothing(grad::select(&x, &up([3, 4]), |value| value > 0.0).unwrap().values().to_vec());
    nothing(grad::filter_entries(&x, &up([3, 4]), |_, _| true).unwrap().values().to_vec());
    for given in lacuna::grad::concat(&up([6, 4]), 0, &[&x, &x]).unwrap() {
        nothing(given.values().to_vec());
    }
}

/// A term whose gradient is zero is left out before it is looked at what it meets; others meet it.
#[test]
fn of_products() -> Result<()> {
    let wild = Array2::from_shape_fn((3, 4), |(row, column)| WILD[(row * 4 + column) % 6]);
    let (x, y) = (full([2, 3], |row, _| 1.0 + row as f64), full([3, 4], |row, column| wild[[row, column]]));
    let dense = x.to_dense()?;
    for up in zeros([2, 4]) {
        let (dx, dy) = grad::matmul(&dense, &wild, &up)?;
        nothing(dx.into_iter().chain(dy));
        let (dx, dy) = grad::matmul(&x, &wild, &up)?;
        nothing(dx.values().iter().copied().chain(dy));
        let (dx, dy) = grad::matmul(&x.stored(), &y.stored(), &up)?;
        nothing(dx.values().iter().chain(dy.values()).copied());
        let (dx, dy) = grad::matmul(&y.transpose()?.stored(), &x.transpose()?.stored(), &up.t())?;
        nothing(dx.values().iter().chain(dy.values()).copied());
        let (dx, dy) = grad::tensordot(&dense.clone(), &wild.clone().into_dyn(), [1], [0], &up)?;
        nothing(dx.into_iter().chain(dy));
        for given in grad::einsum("ij,jk->ik", &[&x.stored(), &y.stored()], &up)? {
            nothing(given.values().to_vec());
        }
        let (dx, factors) = grad::mttkrp(&x, 0, &[&wild], &up)?;
        nothing(dx.values().iter().copied().chain(factors.into_iter().flatten()));
        let (dx, dm) = grad::ttm(&x, &wild.t().to_owned(), 1, &up)?;
        nothing(dx.values().iter().copied().chain(dm));
    }
    // Only one column is nonzero: elements that meet the other columns do not count.
    let up = arr2(&[[0.0, 0.0, -0.0, 2.0], [-0.0, 0.0, 0.0, 3.0]]);
    let tame = Array2::from_shape_fn((3, 4), |(row, column)| if column < 3 { f64::NAN } else { row as f64 });
    let (dx, dy) = grad::matmul(&x, &tame, &up)?;
    assert_eq!(dx.values(), [0.0, 2.0, 4.0, 0.0, 3.0, 6.0]);
    assert_eq!(dy, Array2::from_shape_fn((3, 4), |(_, column)| if column < 3 { 0.0 } else { 8.0 }).into_dyn());
    let (dx, _) = grad::mttkrp(&x, 0, &[&tame], &up)?;
    assert_eq!(dx.values(), [0.0, 2.0, 4.0, 0.0, 3.0, 6.0]);
    // A gap beside an infinite gradient is still NaN.
    let (dx, _) = grad::matmul(
        &x,
        &CooTensor::new([3, 4], vec![vec![0], vec![0]], vec![1.0], 0.0)?,
        &arr2(&[[0.0, f64::INFINITY, 0.0, 0.0], [0.0; 4]]),
    )?;
    assert!(dx.values()[..3].iter().all(|g| g.is_nan()) && dx.values()[3..].iter().all(|&g| g == 0.0), "{dx:?}");
    let v = arr1(&[f64::NAN, f64::INFINITY, 1.0]);
    let (dx, dv) = grad::ttv(&x, &v, 1, &arr1(&[0.0, -0.0]))?;
    nothing(dx.values().iter().copied().chain(dv));
    Ok(())
}

#[test]
fn of_outer_products_and_of_dots_at_a_pattern() -> Result<()> {
    let [a, b] = [[f64::NAN, 2.0], [f64::INFINITY, 3.0]].map(|of| arr1(&of).into_dyn());
    let [x, y] = [[f64::NAN, 2.0], [f64::INFINITY, 3.0]]
        .map(|of| CooTensor::new([2], vec![vec![0, 1]], of.to_vec(), 0.0).unwrap());
    let up = arr2(&[[0.0, -0.0], [-0.0, 5.0]]);
    for (dx, dy) in [lacuna::grad::outer(&a, &b, &up)?, lacuna::grad::kron(&a, &b, &arr1(&[0.0, -0.0, -0.0, 5.0]))?] {
        assert_eq!([dx[0].to_bits(), dy[0].to_bits()], [0, 0]);
        assert_eq!([dx[1], dy[1]], [15.0, 10.0]);
    }
    let (dx, dy) = lacuna::grad::outer(&x, &y, &up)?;
    assert_eq!((dx.values(), dy.values()), (&[0.0, 15.0][..], &[0.0, 10.0][..]));
    let l = arr2(&[[f64::NAN, 1.0], [2.0, 1.0]]);
    let r = arr2(&[[f64::INFINITY, 1.0], [3.0, 1.0]]);
    let z = full([2, 2], |row, column| if row + column == 0 { f64::NAN } else { 1.0 });
    let (dx, dl, dr) = grad::sddmm(&z.stored(), &l, &r, &up)?;
    assert_eq!(dx.values(), [0.0, 0.0, 0.0, 35.0]);
    assert_eq!((dl, dr), (arr2(&[[0.0, 0.0], [15.0, 5.0]]).into_dyn(), arr2(&[[0.0, 0.0], [10.0, 5.0]]).into_dyn()));
    let (dl, dr) = grad::pattern_sddmm(z.pattern(), &l, &r, &up)?;
    assert_eq!((dl, dr), (arr2(&[[0.0, 0.0], [15.0, 5.0]]).into_dyn(), arr2(&[[0.0, 0.0], [10.0, 5.0]]).into_dyn()));
    Ok(())
}

#[test]
fn of_softmax() {
    let x = full([2, 3], |row, column| if row == 0 { WILD[column] } else { column as f64 });
    let up = arr2(&[[0.0, -0.0, 0.0], [0.0, 1.0, -0.0]]);
    for given in [
        grad::softmax(&x.stored(), &up, 1).unwrap().values().to_vec(),
        grad::log_softmax(&x.stored(), &up, 1).unwrap().values().to_vec(),
        lacuna::grad::softmax(&x.to_dense().unwrap(), &up, 1).unwrap().into_iter().collect(),
        lacuna::grad::log_softmax(&x.to_dense().unwrap(), &up, 1).unwrap().into_iter().collect(),
    ] {
        nothing(given[..3].to_vec());
        assert!(given[3..].iter().all(|g| g.is_finite() && *g != 0.0), "{given:?}");
    }
}

#[test]
fn of_scaled_rows_of_run_time_types() {
    let x = AnyTensor::from(full([2, 2], |row, _| [f64::NAN, 1.0][row]).with_index::<u64>().unwrap());
    let of = |values: Vec<f64>| {
        AnyTensor::from(CooTensor::new([2], vec![vec![0, 1]], values, 0.0).unwrap().with_index::<u64>().unwrap())
    };
    let up = AnyTensor::from(full([2, 2], |row, _| row as f64).with_index::<u64>().unwrap());
    let (dx, df) = x.scale_backward(0, &of(vec![f64::INFINITY, 3.0]), &up).unwrap();
    assert_eq!(dx, AnyTensor::from(full([2, 2], |row, _| [0.0, 3.0][row]).with_index::<u64>().unwrap()));
    assert_eq!(df, of(vec![0.0, 2.0]));
}

// ---- the examples of the issue, in every front ----

fn three(values: [f64; 3]) -> CooTensor<f64> {
    CooTensor::new([3], vec![vec![0, 1, 2]], values.to_vec(), 0.0).unwrap()
}

fn two(values: [f64; 2]) -> CooTensor<f64> {
    CooTensor::new([2], vec![vec![0, 1]], values.to_vec(), 0.0).unwrap()
}

#[test]
fn masked_parts_give_nothing_by_the_operations() -> Result<()> {
    // d nansum(a * b) / db
    let (a, b, one) = (three([1.0, 2.0, f64::NAN]), three([1.0; 3]), ndarray::arr0(1.0));
    let sum = grad::nansum(&a.mul(&b)?, &one, 0)?;
    assert_eq!(grad::mul(&a, &b, &sum)?.1.values(), [1.0, 2.0, 0.0]);
    let single = CooTensor::new([1], vec![vec![0]], vec![1.0], 0.0)?;
    assert_eq!(grad::mul(&a, &single, &sum)?.1.values(), [3.0]);
    // d sum(where(x > 0, sqrt(x), 0)) / dx
    let x = two([0.0, 4.0]);
    let (of_root, _) = grad::where_(&x.greater(0.0)?, &x.sqrt()?, &ndarray::arr0(0.0), &arr1(&[1.0, 1.0]))?;
    assert_eq!(grad::sqrt(&x, &of_root)?.values(), [0.0, 0.25]);
    assert_eq!(lacuna::grad::sqrt(&x.to_dense()?, &of_root)?, arr1(&[0.0, 0.25]).into_dyn());
    // d sum(select(x / y, y != 0)) / dx
    let (x, y) = (two([1.0, 1.0]), two([0.0, 1.0]));
    let is_nonzero = |at: &[usize], _: f64| y.get(at).is_ok_and(|y| y != 0.0);
    let of_quotient = grad::filter_entries(&x.div(&y)?, &arr1(&[1.0, 1.0]), is_nonzero)?;
    let (dx, dy) = grad::div(&x, &y, &of_quotient)?;
    assert_eq!((dx.values(), dy.values()), (&[0.0, 1.0][..], &[0.0, -1.0][..]));
    Ok(())
}

#[test]
fn masked_parts_give_nothing_in_graphs() -> Result<()> {
    let one = CooTensor::full([0; 0], 1.0)?.lazy();
    let (a, b) = (three([1.0, 2.0, f64::NAN]).lazy(), three([1.0; 3]).lazy());
    assert_eq!((&a * &b).nansum(0).gradient(&b, &one).collect()?.values(), [1.0, 2.0, 0.0]);
    let single = CooTensor::new([1], vec![vec![0]], vec![1.0], 0.0)?.lazy();
    assert_eq!((&a * &single).nansum(0).gradient(&single, &one).collect()?.values(), [3.0]);
    let (a, b) = (Lazy::from(arr1(&[1.0, 2.0, f64::NAN]).into_dyn()), Lazy::from(arr1(&[1.0; 3]).into_dyn()));
    let unit = Lazy::from(ndarray::arr0(1.0).into_dyn());
    assert_eq!((&a * &b).nansum(0).gradient(&b, &unit).collect()?, arr1(&[1.0, 2.0, 0.0]).into_dyn());

    let (x, factors, up) = (two([1.0, 1.0]).lazy(), two([f64::INFINITY, 3.0]).lazy(), two([0.0, 1.0]).lazy());
    assert_eq!(x.scale(0, &factors).gradient(&x, &up).collect()?.values(), [0.0, 3.0]);
    assert_eq!(factors.scale(0, &x).gradient(&x, &up).collect()?.values(), [0.0, 3.0]);

    let x = two([0.0, 4.0]).lazy();
    let zero = two([0.0, 0.0]).lazy();
    let masked = x.greater(0.0).where_(&x.sqrt(), &zero).sum(0);
    let first = masked.gradient(&x, &one);
    assert_eq!(first.collect()?.values(), [0.0, 0.25]);
    let up = two([1.0, 1.0]).lazy();
    assert_eq!(first.gradient(&x, &up).collect()?.values(), [0.0, -0.03125]);

    let (x, y) = (two([1.0, 1.0]).lazy(), two([0.0, 1.0]).lazy());
    let [dx, dy] = y.not_equal(0.0).where_(&(&x / &y), &zero).sum(0).gradients([&x, &y], &one);
    assert_eq!((dx.collect()?.values(), dy.collect()?.values()), (&[0.0, 1.0][..], &[0.0, -1.0][..]));
    // Each gradient of these is masked again.
    for (of, by) in [(&dx, &y), (&dy, &x), (&dy, &y)] {
        let second = of.gradient(by, &up).collect()?;
        assert!(second.values()[0] == 0.0 && second.values()[1].is_finite(), "{second:?}");
    }
    Ok(())
}

#[cfg(feature = "cli")]
#[test]
fn masked_parts_give_nothing_in_expressions() {
    use lacuna::eval::Expression;
    let values = |text: &str, given: &[(&str, &CooTensor<f64>)]| {
        let bound = |name: &str| {
            let (_, tensor) = given.iter().find(|(own, _)| *own == name)?;
            Some(AnyTensor::from((*tensor).clone().with_index::<u64>().unwrap()))
        };
        let found = Expression::parse(text).unwrap_or_else(|wrong| panic!("{text}: {wrong}")).evaluate(bound);
        let found = found.unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
        let found: CooTensor<f64, u64> = found.into_tensor().unwrap().into_coo().unwrap();
        found.to_dense().unwrap().into_iter().collect::<Vec<f64>>()
    };
    let (a, b, one) =
        (three([1.0, 2.0, f64::NAN]), three([1.0; 3]), CooTensor::new([1], vec![vec![0]], vec![1.0], 0.0));
    let one = one.unwrap();
    assert_eq!(values("grad(nansum(a * b), b, 1)", &[("a", &a), ("b", &b)]), [1.0, 2.0, 0.0]);
    assert_eq!(values("grad(nansum(a * b), b, 1)", &[("a", &a), ("b", &one)]), [3.0]);
    let (x, z) = (two([0.0, 4.0]), two([0.0, 0.0]));
    assert_eq!(values("grad(sum(where(x > 0, sqrt(x), z)), x, 1)", &[("x", &x), ("z", &z)]), [0.0, 0.25]);
    let second = "grad(sum(grad(sum(where(x > 0, sqrt(x), z)), x, 1)), x, 1)";
    assert_eq!(values(second, &[("x", &x), ("z", &z)]), [0.0, -0.03125]);
    let (x, y) = (two([1.0, 1.0]), two([0.0, 1.0]));
    let given = [("x", &x), ("y", &y)];
    assert_eq!(values("grad(sum(select(x / y, y != 0)), x, 1)", &given), [0.0, 1.0]);
    assert_eq!(values("grad(sum(select(x / y, y != 0)), y, 1)", &given), [0.0, -1.0]);
    assert_eq!(values("grad(sum(grad(sum(select(x / y, y != 0)), y, 1)), y, 1)", &given), [0.0, 2.0]);
    assert_eq!(values("grad(std(x), x, 1)", &[("x", &three([2.0; 3]))]), [0.0, 0.0, 0.0]);
    let (wild, up) = (two([f64::INFINITY, 3.0]), two([0.0, 1.0]));
    assert_eq!(values("grad(scale(x, 0, y), x, z)", &[("x", &x), ("y", &wild), ("z", &up)]), [0.0, 3.0]);
    assert_eq!(values("grad(scale(y, 0, x), x, z)", &[("x", &x), ("y", &wild), ("z", &up)]), [0.0, 3.0]);
}

/// The patterns are those of the operands, and nothing is computed of `+0.0` otherwise than of what is not stored.
#[test]
fn what_is_not_stored_upstream_is_as_a_zero() -> Result<()> {
    let x = CsrTensor::from_dense(&arr2(&[[f64::INFINITY, 1.0], [f64::NAN, 2.0]]), 0.0)?;
    let up = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![3.0], 0.0)?;
    for given in [grad::mul(&x, &x, &up)?.0, grad::square(&x, &up)?] {
        assert!(given.shares_pattern_with(&x));
        assert_eq!(given.values().iter().map(|g| g.to_bits() == 0).collect::<Vec<_>>(), [true, false, true, true]);
    }
    assert_eq!(x.lengths(), [2, 2]);
    nothing(
        grad::any(&x, &CooTensor::new([2, 2], vec![vec![], vec![]], vec![], -0.0)?, Axes::none())?.values().to_vec(),
    );
    Ok(())
}
