//! Any text as a program: it is one or an error that shows a place, is written as a text that reads as the same
//! program, and what types and shapes refuse is told without entries. Where it is small, both run to the same.
#![no_main]

use lacuna::dynamic::{AnyTensor, AnyValue};
use lacuna::eval::{Fault, Input, Program, header};
use libfuzzer_sys::fuzz_target;

/// What makes tensors much larger than the text.
const GROWING: [&str; 13] = [
    "outer",
    "kron",
    "einsum",
    "tensordot",
    "tile",
    "pad",
    "repeat",
    "broadcast_to",
    "full",
    "random",
    "eye",
    "diag",
    "concat",
];

fn bound(inputs: &[Input], name: &str) -> Option<AnyTensor> {
    inputs.iter().find(|input| input.name == name).and_then(header)
}

fn is_same(one: &AnyValue, other: &AnyValue) -> bool {
    match (one, other) {
        (AnyValue::Tensor(one), AnyValue::Tensor(other)) => one.same_as(other),
        (AnyValue::Array(one), AnyValue::Array(other)) => format!("{one:?}") == format!("{other:?}"),
        _ => false,
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let program = match Program::parse(&text) {
        Ok(program) => program,
        Err(fault) => {
            assert!(!fault.to_string().is_empty());
            let Fault::Wrong(wrong) = fault else { panic!("{fault}") };
            assert!(wrong.place().start <= wrong.place().end && wrong.place().end <= text.len());
            return;
        }
    };
    let written = program.to_string();
    let again = Program::parse(&written).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(again.to_string(), written, "{text}");
    assert_eq!(again.inputs(), program.inputs(), "{text}");
    let is_small = |input: &Input| input.lengths.iter().all(|length| length.is_some_and(|length| length < 6));
    let is_growing = GROWING.iter().any(|name| text.contains(name));
    let is_large = program.inputs().iter().any(|input| input.lengths.len() > 4 || !is_small(input));
    if is_growing || text.len() > 400 || is_large {
        return;
    }
    let on = |name: &str| bound(program.inputs(), name);
    let (checked, rechecked) = (program.check(on), again.check(on));
    assert_eq!(checked.is_ok(), rechecked.is_ok(), "{text}");
    match (program.run(on), again.run(on)) {
        (Ok(found), Ok(rerun)) => {
            assert!(checked.is_ok(), "{text}: what is refused before it runs has no value");
            assert!(found.len() == rerun.len() && found.iter().zip(&rerun).all(|(one, other)| is_same(one, other)));
        }
        (Err(_), Err(_)) => {}
        (one, other) => panic!("{text}: {one:?} and {other:?}"),
    }
});
