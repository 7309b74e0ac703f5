//! The commands of the prompt: names, arguments, help texts.

use std::fmt::Write as _;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Load,
    /// Loads the current program again.
    Reload,
    /// Prints the type of an expression.
    Type,
    /// Prints the type of a module.
    ModuleType,
    /// Prints a text with values in it.
    Format,
    /// Prints an array of bytes as text.
    Text,
    /// Selects another call of the stopped evaluation.
    Frame,
    /// Resumes, and disables this breakpoint.
    Unbreak,
    /// Toggles stops at new NaNs.
    NanBreak,
    /// Prints the working directory.
    Folder,
    /// Changes the working directory.
    ChangeFolder,
    Help,
    /// Leaves the prompt.
    Quit,
}

/// A command of the prompt.
pub struct Command {
    /// The name without the colon.
    pub name: &'static str,
    /// The placeholder of the argument in help texts; empty if there is none.
    pub argument: &'static str,
    pub action: Action,
    about: &'static str,
}

const fn command(name: &'static str, argument: &'static str, action: Action, about: &'static str) -> Command {
    Command { name, argument, action, about }
}

/// All commands, in the order of `:help`.
pub const COMMANDS: [Command; 13] = [
    command("load", "FILE", Action::Load, "load a program; earlier declarations are dropped"),
    command("reload", "", Action::Reload, "load the program again"),
    command("type", "EXP", Action::Type, "print the type of an expression"),
    command("mtype", "MOD", Action::ModuleType, "print the type of a module"),
    command("format", "TEXT", Action::Format, "print a text in which each {EXP} is replaced by its value"),
    command("string", "EXP", Action::Text, "print an array of u8 as text"),
    command("frame", "N", Action::Frame, "at a breakpoint: select another call and its variables"),
    command("unbreak", "", Action::Unbreak, "at a breakpoint: continue, and do not stop here again"),
    command("nanbreak", "", Action::NanBreak, "switch stops at new NaNs on or off"),
    command("pwd", "", Action::Folder, "print the current folder"),
    command("cd", "FOLDER", Action::ChangeFolder, "change the current folder"),
    command("help", "", Action::Help, "print this text"),
    command("quit", "", Action::Quit, "leave the prompt; so does Ctrl-D"),
];

/// Returns the command with this name, or the only one with this prefix.
pub fn find(given: &str) -> Result<&'static Command, String> {
    let given = if given == "?" { "help" } else { given };
    let exact = COMMANDS.iter().find(|command| command.name == given);
    let matches = COMMANDS.iter();
    let matches = matches.filter(|c| !given.is_empty() && c.name.starts_with(given));
    let matches: Vec<&Command> = matches.collect();
    match (exact, matches.as_slice()) {
        (Some(command), _) => Ok(command),
        (None, [command]) => Ok(command),
        (None, []) => Err(format!("there is no command `:{given}`; `:help` lists them\n")),
        (None, several) => {
            let names: Vec<String> = several.iter().map(|c| format!("`:{}`", c.name)).collect();
            Err(format!("`:{given}` could be {}\n", names.join(" or ")))
        }
    }
}

/// The text of `:help`.
pub fn help() -> String {
    let mut text = String::from(
        "Expressions are evaluated, declarations are kept. Input may continue over several lines; \
         an empty line ends it. Tab completes names, Ctrl-C ends an evaluation.\n\n",
    );
    for command in &COMMANDS {
        let left = format!(":{} {}", command.name, command.argument);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<13} {}", left.trim_end(), command.about);
    }
    text
}

/// A part of a format text.
#[derive(PartialEq, Eq, Debug)]
pub enum Part {
    /// Literal text.
    Text(String),
    /// An expression whose value is printed.
    Value(String),
}

/// Splits a format text. Expressions are in braces and may contain braces.
pub fn parts(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0u32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => {
                if depth == 0 {
                    parts.push(Part::Text(text[start..at].to_owned()));
                    start = at + 1;
                }
                depth += 1;
            }
            '}' if depth == 0 => return Err("a `}` without a `{` before it\n".to_owned()),
            '}' => {
                depth -= 1;
                if depth == 0 {
                    parts.push(Part::Value(text[start..at].to_owned()));
                    start = at + 1;
                }
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err("a `{` without a `}` after it\n".to_owned());
    }
    parts.push(Part::Text(text[start..].to_owned()));
    parts.retain(|part| *part != Part::Text(String::new()));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_unambiguous_prefixes() {
        let name = |given| find(given).map(|command| command.name);
        assert_eq!(name("l"), Ok("load"));
        assert_eq!(name("?"), Ok("help"));
        assert_eq!(name("cd"), Ok("cd"));
        assert_eq!(name("f"), Err("`:f` could be `:format` or `:frame`\n".into()));
        assert!(name("").is_err() && name("x").is_err() && name("loads").is_err());
    }

    #[test]
    fn format_texts_are_split_at_braces() {
        let text = |text: &str| Part::Text(text.to_owned());
        let value = |text: &str| Part::Value(text.to_owned());
        assert_eq!(parts("a {x} b"), Ok(vec![text("a "), value("x"), text(" b")]));
        assert_eq!(parts("{{a = 1}.a}"), Ok(vec![value("{a = 1}.a")]));
        assert!(parts("a } b").is_err() && parts("{a").is_err());
    }
}
