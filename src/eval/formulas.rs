//! What backward functions give, as formulas of their arguments: gradients of gradients are the gradients of these.

/// What a backward function gives to each of its operands, in the language of expressions. The formula stands for the
/// function and is not run; `below` is an exponent less one.
const FORMULAS: &[(&str, &[&str])] = &[
    ("neg_backward", &["upstream * -1"]),
    ("square_backward", &["upstream * (x * 2)"]),
    ("sqrt_backward", &["upstream / (sqrt(x) * 2)"]),
    ("cbrt_backward", &["upstream / (square(cbrt(x)) * 3)"]),
    ("exp_backward", &["upstream * exp(x)"]),
    ("exp_m1_backward", &["upstream * exp(x)"]),
    ("ln_backward", &["upstream / x"]),
    ("ln_1p_backward", &["upstream / (x + 1)"]),
    ("log2_backward", &["upstream / (x * 0.6931471805599453)"]),
    ("log10_backward", &["upstream / (x * 2.302585092994046)"]),
    ("sin_backward", &["upstream * cos(x)"]),
    ("cos_backward", &["upstream * (sin(x) * -1)"]),
    ("tan_backward", &["upstream * (square(tan(x)) + 1)"]),
    ("asin_backward", &["upstream / sqrt(square(x) * -1 + 1)"]),
    ("acos_backward", &["upstream / (sqrt(square(x) * -1 + 1) * -1)"]),
    ("atan_backward", &["upstream / (square(x) + 1)"]),
    ("sinh_backward", &["upstream * cosh(x)"]),
    ("cosh_backward", &["upstream * sinh(x)"]),
    ("tanh_backward", &["upstream * (square(tanh(x)) * -1 + 1)"]),
    ("recip_backward", &["upstream / (square(x) * -1)"]),
    ("powi_backward", &["upstream * (powi(x, below) * exponent)"]),
    ("powf_backward", &["upstream * (powf(x, below) * exponent)"]),
    ("add_backward", &["upstream * 1", "upstream * 1"]),
    ("sub_backward", &["upstream * 1", "upstream * -1"]),
    ("mul_backward", &["upstream * y", "upstream * x"]),
    ("div_backward", &["upstream / y", "upstream * -1 * x / (y * y)"]),
];

/// Backward functions that are linear in the upstream gradient and depend on no other value, and what their own
/// gradient is: that function of what comes back to them.
const LINEAR: &[(&str, &str)] = &[
    ("any_backward", "sum"),
    ("sum_backward", "sum"),
    ("mean_backward", "mean"),
    ("transpose_backward", "transpose"),
    ("move_axis_backward", "move_axis"),
    ("squeeze_backward", "squeeze"),
    ("expand_dims_backward", "expand_dims"),
    ("broadcast_to_backward", "broadcast_to"),
    ("flip_backward", "flip"),
    ("roll_backward", "roll"),
    ("pad_backward", "pad"),
    ("tile_backward", "tile"),
    ("repeat_backward", "repeat"),
    ("tril_backward", "tril"),
    ("triu_backward", "triu"),
    ("diagonal_backward", "diagonal"),
    ("slice_backward", "slice"),
    ("take_axis_backward", "take_axis"),
];

/// What a backward function gives to the operand of a number.
pub(super) fn formula(backward: &str, wrt: usize) -> Option<&'static str> {
    let (_, formulas) = FORMULAS.iter().find(|(name, _)| *name == backward)?;
    formulas.get(wrt).copied()
}

/// The function that the gradient of a linear backward function is.
pub(super) fn linear(backward: &str) -> Option<&'static str> {
    LINEAR.iter().find(|(name, _)| *name == backward).map(|(_, forward)| *forward)
}

#[cfg(test)]
mod tests {
    use super::super::table::function;
    use super::super::{Expression, parse};
    use super::*;

    /// Formulas are expressions of the arguments that the functions have.
    #[test]
    fn formulas_are_of_arguments() {
        for (name, formulas) in FORMULAS {
            let parameters: Vec<&str> = function(name).unwrap().parameters().collect();
            for formula in *formulas {
                assert!(parse::nodes(formula).is_ok());
                for name in Expression::parse(formula).unwrap().names() {
                    assert!(name == "below" || parameters.contains(&name), "{formula}");
                }
            }
        }
        for (backward, forward) in LINEAR {
            assert!(function(backward).is_some() && function(forward).is_some(), "{backward}");
        }
    }
}
