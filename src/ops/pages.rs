//! The paragraphs that several pages share.

/// Expands to the file `pages/$name.md` of the folder of the page, for `#[doc = said!(name)]`.
///
/// If the file does not end with an empty line, the page continues its last paragraph.
macro_rules! said {
    ($name:ident) => {
        include_str!(concat!("pages/", stringify!($name), ".md"))
    };
}
