//! The command `spy`: a picture in the terminal, or a file.

use std::io::Write;
use std::path::Path;

use console::Term;
use lacuna::io::{self, AnyTensor};
use lacuna::spy::Spy;
use lacuna::{Result, dispatch};

use crate::args::{Picture, SpyArgs};
use crate::failure::Failure;
use crate::names::is_stream;
use crate::output::{print, print_summary, write_stdout};
use crate::summary::Summary;

/// The width of the picture if stdout is not a terminal.
const COLUMNS: usize = 80;

/// Draws the pattern of a file.
pub(crate) fn spy(args: &SpyArgs) -> std::result::Result<(), Failure> {
    let x = args.input.read()?;
    match &args.output {
        Some(path) => {
            let kind = args.to.or_else(|| Picture::from_path(path)).unwrap_or(Picture::Png);
            write(path, || image(&x, args, kind)).map_err(|error| Failure::of_target(path, error))?;
            print_summary(&Summary::new((&x).into()), &args.printing, is_stream(path))
        }
        None if args.printing.json => print_summary(&Summary::new((&x).into()), &args.printing, false),
        None => {
            let text =
                dispatch!(&x, x => Spy::new(x.pattern()).titled(&title(&args.input.file)).braille(columns(args)));
            print(text.as_bytes())
        }
    }
}

/// Returns the name of the file without its folder.
fn title(path: &Path) -> String {
    match path.file_name() {
        Some(name) if !is_stream(path) => name.to_string_lossy().into_owned(),
        _ => "stdin".into(),
    }
}

/// Returns the requested width, otherwise the width of the terminal.
fn columns(args: &SpyArgs) -> usize {
    let terminal = || Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    args.width.or_else(terminal).unwrap_or(COLUMNS)
}

/// Returns the bytes of the image.
fn image(x: &AnyTensor, args: &SpyArgs, kind: Picture) -> Result<Vec<u8>> {
    dispatch!(x, x => {
        let picture = Spy::new(x.pattern()).titled(&title(&args.input.file));
        let picture = args.pixels.into_iter().fold(picture, Spy::sized);
        match kind {
            Picture::Png => picture.png(),
            Picture::Svg => Ok(picture.svg().into_bytes()),
        }
    })
}

/// Writes the bytes to a file, all or nothing, or to stdout.
fn write(path: &Path, bytes: impl FnOnce() -> Result<Vec<u8>>) -> Result<()> {
    let bytes = bytes()?;
    if is_stream(path) { write_stdout(&bytes) } else { io::save(path, |file| Ok(file.write_all(&bytes)?)) }
}
