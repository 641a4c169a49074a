//! The paragraphs that several pages share.

/// Expands to the file `pages/$name.md` of the folder of the page, for `#[doc = page!(name)]`.
///
/// If the file does not end with an empty line, the page continues its last paragraph.
macro_rules! page {
    ($name:ident) => {
        include_str!(concat!("pages/", stringify!($name), ".md"))
    };
}

/// Expands to a link to a function, for `#[doc = concat!("See ", linked!(name), ".")]`. `linked!(name in grad)` is a
/// function of a module.
macro_rules! linked {
    ($name:ident $(in $module:ident)?) => {
        concat!(
            "[`", $(stringify!($module), "::",)? stringify!($name), "`]",
            "(crate::", $(stringify!($module), "::",)? stringify!($name), "())"
        )
    };
}

#[cfg(feature = "dynamic")]
pub(crate) use linked;
