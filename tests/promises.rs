//! The dense promise and the structure promise of what changes the form only, for every element type.

use crate::generators::{Drawn, huge, sparse};
use crate::reference::dense::{Dense, Sparse};
use crate::reference::structure;
use crate::support::*;
use lacuna::{CooTensor, CsrTensor, Element};
use proptest::collection::vec;
use proptest::prelude::any;

/// Between the formats and to dense: every entry is kept, bit for bit.
fn conversions_keep_every_entry<T: Both + Drawn>() {
    check(sparse::<T>(), |x| {
        let (coo, csr, dense) = (coo(&x), csr(&x), x.to_dense());
        assert_entries(&coo.to_csr().unwrap(), &x);
        assert_entries(&csr.to_coo().unwrap(), &x);
        assert_entries(&coo.clone().into_csr().unwrap().into_coo().unwrap(), &x);
        assert_entries(&coo.with_index::<u64>().unwrap().with_index::<usize>().unwrap(), &x);
        assert_array(&coo.to_dense().unwrap(), &dense);
        assert_array(&csr.to_dense().unwrap(), &dense);
        assert!(coo.cast::<T>().unwrap().same_as(&coo));
        assert!(coo.map_values(|value| value).unwrap().shares_pattern_with(&coo));
    });
}

/// From dense, in any layout: stored is what is not the same as the fill; `prune` drops just what is.
fn from_dense_and_prune_store_what_is_not_the_fill<T: Both + Drawn>() {
    check((sparse::<T>(), T::fills()), |(x, fill)| {
        let dense = x.to_dense();
        let expected = dense.to_sparse(fill);
        for_each_layout(&dense, |_, view| {
            assert_entries(&CooTensor::from_dense(&view, fill).unwrap(), &expected);
            assert_entries(&CsrTensor::from_dense(&view, fill).unwrap(), &expected);
        });
        let kept = x.entries.iter().filter(|(_, value)| !Element::same(**value, x.fill));
        let pruned = Sparse::new(&x.shape, kept.map(|(at, value)| (at.clone(), *value)).collect(), x.fill);
        assert_entries(&coo(&x).prune().unwrap(), &pruned);
        assert_entries(&csr(&x).prune().unwrap(), &pruned);
    });
}

/// Permutations and reshapes: the dense form of the result is that of the dense form.
fn permutations_and_reshapes_are_those_of_the_dense_form<T: Both + Drawn>() {
    check((sparse::<T>(), vec(any::<u32>(), 10), any::<bool>()), |(x, keys, units)| {
        let dense = x.to_dense();
        let mut order: Vec<usize> = (0..x.shape.len()).collect();
        order.sort_by_key(|&axis| keys[axis]);
        let axes: Vec<isize> = order.iter().map(|&axis| axis as isize).collect();
        let expected = dense_of(&array(&dense).permuted_axes(order.clone()).view());
        let stored = structure::permute(&x.coords(), &order);
        assert_tensor(&coo(&x).permute_axes(&axes).unwrap(), &expected, &stored);
        assert_tensor(&csr(&x).permute_axes(&axes).unwrap(), &expected, &stored);

        let target = reshaped(&x.shape, &keys, units);
        let expected = Dense::new(&target, dense.data.clone());
        let stored = structure::reshape(&x.coords(), &x.shape, &target);
        assert_tensor(&coo(&x).reshape(target.clone()).unwrap(), &expected, &stored);
        assert_tensor(&csr(&x).reshape(target).unwrap(), &expected, &stored);
    });
}

/// A shape of as many positions: neighbours merged, the prime factors partitioned out again, axes of length 1 put in.
fn reshaped(shape: &[usize], keys: &[u32], units: bool) -> Vec<usize> {
    let mut rest: usize = shape.iter().product();
    if rest == 0 {
        return vec![3, 0, 2];
    }
    let mut target = vec![1; 1 + keys[0] as usize % 4];
    let mut key = 0;
    for factor in 2.. {
        while rest.is_multiple_of(factor) {
            key = (key + 1) % keys.len();
            let at = keys[key] as usize % target.len();
            target[at] *= factor;
            rest /= factor;
        }
        if rest == 1 {
            break;
        }
    }
    if !units && shape.iter().product::<usize>() > 1 {
        target.retain(|&length| length > 1);
    }
    target
}

for_all_types!(
    conversions_keep_every_entry,
    from_dense_and_prune_store_what_is_not_the_fill,
    permutations_and_reshapes_are_those_of_the_dense_form
);

/// Shapes of more positions than memory holds are permuted by what they store, and found again.
#[test]
fn vast_shapes_are_permuted_and_looked_up() {
    check((huge::<i16>(), vec(any::<u32>(), 10)), |(x, keys)| {
        let tensor = coo_as::<i16, u64>(&x);
        let mut order: Vec<usize> = (0..x.shape.len()).collect();
        order.sort_by_key(|&axis| keys[axis]);
        let axes: Vec<isize> = order.iter().map(|&axis| axis as isize).collect();
        let permuted = tensor.permute_axes(&axes).unwrap();
        assert_eq!(stored_coords(&permuted), structure::permute(&x.coords(), &order));
        for (coords, value) in &permuted {
            let mut original = vec![0; coords.len()];
            order.iter().zip(coords.iter()).for_each(|(&axis, &coord)| original[axis] = coord);
            assert_eq!(tensor.get(&original).unwrap(), value);
            assert_eq!(permuted.get(&coords).unwrap(), value);
        }
    });
}
