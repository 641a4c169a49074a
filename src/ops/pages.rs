//! The paragraphs that several pages share.

/// Expands to the file `pages/$name.md` of the folder of the page, for `#[doc = said!(name)]`.
///
/// If the file does not end with an empty line, the page continues its last paragraph.
macro_rules! said {
    ($name:ident) => {
        include_str!(concat!("pages/", stringify!($name), ".md"))
    };
}

/// Expands to a link to a function, for `#[doc = concat!("See ", linked!(name), ".")]`.
macro_rules! linked {
    (grad::$name:ident) => {
        concat!("[`grad::", stringify!($name), "`](crate::grad::", stringify!($name), "())")
    };
    ($name:ident) => {
        concat!("[`", stringify!($name), "`](crate::", stringify!($name), "())")
    };
}

#[cfg(feature = "dynamic")]
pub(crate) use linked;
