//! The functions that the library exports, as the sources list them.

use std::collections::BTreeSet;
use std::path::Path;

/// The lists of exports of each family of operations: functions and types, then gradients.
fn lists() -> Vec<(String, String)> {
    let ops = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ops");
    let families = ["map", "product", "reduce", "select", "zip"];
    let texts = families.map(|family| std::fs::read_to_string(ops.join(family).join("mod.rs")).unwrap());
    texts.iter().map(|text| text.split_once("mod grad {").unwrap()).map(|(a, b)| (a.into(), b.into())).collect()
}

/// The names of all `pub use` items in a text.
fn exports(text: &str) -> impl Iterator<Item = &str> {
    let paths = text.split("pub use ").skip(1).filter_map(|path| path.split(';').next());
    paths.flat_map(|path| {
        let list = path.split_once('{').map_or_else(|| path.rsplit("::").next().unwrap_or(path), |(_, list)| list);
        list.trim_end_matches('}').split(',').map(str::trim).filter(|name| !name.is_empty())
    })
}

/// The elementwise functions of one operand and their gradients, which the exports take from the table.
fn of_table() -> (Vec<&'static str>, Vec<&'static str>) {
    macro_rules! names {
        (tests [$($test:ident)*] numbers [$($number:ident)*] bits [$($bit:ident)*] parts [$($part:ident)*]
         floats [$($float:ident)*] gradients [$($name:ident $backward:ident)*]) => {
            (
                vec![
                    $(stringify!($test),)* $(stringify!($number),)* $(stringify!($bit),)* $(stringify!($part),)*
                    $(stringify!($float),)* "clamp", "powi", "powf"
                ],
                vec![$(stringify!($backward),)* "clamp_backward", "powi_backward", "powf_backward"],
            )
        };
    }
    lacuna::__function_names! { names }
}

fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The functions of the operations by name, without gradients.
pub(crate) fn exported_functions() -> BTreeSet<String> {
    let lists = lists();
    let names = lists.iter().flat_map(|(functions, _)| exports(functions)).filter(|name| is_name(name));
    names.chain(of_table().0).filter(|name| name.starts_with(char::is_lowercase)).map(String::from).collect()
}

/// The functions of `lacuna::grad`, by the names that they have in expressions: `sum_backward`.
pub(crate) fn exported_gradients() -> BTreeSet<String> {
    let lists = lists();
    let names = lists.iter().flat_map(|(_, gradients)| exports(gradients.split("\n}").next().unwrap_or_default()));
    let names = names.filter_map(|name| name.split(" as ").next()).filter(|name| is_name(name));
    names.chain(of_table().1).map(String::from).collect()
}
