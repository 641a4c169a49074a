//! The manual and the completions, generated from the definitions that parse the arguments.

use std::io::Write;
use std::path::Path;

use clap::{Arg, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use lacuna::Error;
use lacuna::io::save;

use crate::args;
use crate::failure::Failure;
use crate::output::print;

/// Prints the completion script for a shell.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let (mut script, mut program) = (Vec::new(), program());
    clap_complete::generate(shell, &mut program, "lacuna", &mut script);
    if shell == Shell::Fish {
        script.extend(values_for_fish(&program).bytes());
    }
    print(&script)
}

/// Returns completions of the values of positional arguments, which the generator for fish leaves out.
fn values_for_fish(program: &Command) -> String {
    let mut script = String::new();
    for command in program.get_subcommands() {
        let values = command.get_positionals().flat_map(Arg::get_possible_values);
        let names: Vec<String> = values.map(|value| value.get_name().to_string()).collect();
        if !names.is_empty() {
            let (command, names) = (command.get_name(), names.join(" "));
            script +=
                &format!("complete -c lacuna -n \"__fish_lacuna_using_subcommand {command}\" -f -a \"{names}\"\n");
        }
    }
    script
}

/// Prints one page with all commands, or writes a page per command into a folder.
pub(crate) fn man(folder: Option<&Path>) -> Result<(), Failure> {
    match folder {
        None => print(&whole_manual().map_err(|error| Failure::of_target(Path::new("-"), error))?),
        Some(folder) => std::fs::create_dir_all(folder)
            .map_err(Error::from)
            .and_then(|()| write_pages(folder, &program()))
            .map_err(|error| Failure::of_target(folder, error)),
    }
}

/// Returns the program with all its commands.
fn program() -> Command {
    let mut program = args::program();
    program.build();
    program
}

/// Writes the page of a command, and the pages of its subcommands.
fn write_pages(folder: &Path, command: &Command) -> lacuna::Result<()> {
    let man = Man::new(command.clone());
    let path = folder.join(man.get_filename());
    let page = page_of(man)?;
    save(path, |file| Ok(file.write_all(page.as_bytes())?))?;
    command.get_subcommands().try_for_each(|below| write_pages(folder, below))
}

/// Renders a command as a separate page.
fn page_of(man: Man) -> std::io::Result<String> {
    let mut page = Vec::new();
    man.source(concat!("lacuna ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    Ok(with_named_example(&page))
}

/// Renders one page: the program, then each command in its own section.
fn whole_manual() -> std::io::Result<Vec<u8>> {
    let program = program();
    let mut page = page_of(Man::new(program.clone()))?.into_bytes();
    for command in program.get_subcommands() {
        add_command(&mut page, command)?;
    }
    Ok(page)
}

/// Appends a command and its subcommands. The sections of a command's page become subsections.
fn add_command(page: &mut Vec<u8>, command: &Command) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    page.extend(format!(".SH \"{}\"\n", name.replace('-', " ").to_uppercase()).bytes());
    let (man, mut part) = (Man::new(command.clone()), Vec::new());
    man.render_description_section(&mut part)?;
    man.render_synopsis_section(&mut part)?;
    man.render_options_section(&mut part)?;
    man.render_extra_section(&mut part)?;
    page.extend(with_named_example(&part).replace(".SH ", ".SS ").bytes());
    command.get_subcommands().try_for_each(|below| add_command(page, below))
}

/// Renames the section after the options from "extra" to "example".
fn with_named_example(page: &[u8]) -> String {
    String::from_utf8_lossy(page).replace(".SH EXTRA", ".SH EXAMPLE")
}
