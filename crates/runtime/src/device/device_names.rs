//! Devices by name: a substring of a device's name, or of its platform's, ignoring case; the prefix
//! `#K` denotes the K-th match, from 0. Platforms likewise.

/// The index of the requested device; `all` has each device's name and its platform's.
pub fn find(all: &[[&str; 2]], wanted: &str) -> Result<usize, String> {
    pick("device", all, wanted, " (see --list-devices)")
}

/// The requested platform, among the platforms of all devices in order.
pub fn platform<'a>(all: &[&'a str], wanted: &str) -> Result<&'a str, String> {
    let mut names: Vec<[&str; 1]> = all.iter().map(|name| [*name]).collect();
    names.dedup();
    pick("platform", &names, wanted, "").map(|at| names[at][0])
}

/// The index of the requested item; `all` has each item's names, the first of which is shown in
/// messages.
fn pick<const N: usize>(what: &str, all: &[[&str; N]], wanted: &str, more: &str) -> Result<usize, String> {
    let (number, part) = split(wanted)?;
    let part = part.to_lowercase();
    let fits = |names: &[&str; N]| names.iter().any(|name| name.to_lowercase().contains(&part));
    let mut found = all.iter().enumerate().filter(|(_, names)| fits(names));
    found.nth(number).map(|(at, _)| at).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|names| format!("`{}`", names[0])).collect();
        let names = names.join(", ");
        format!("there is no {what} `{wanted}`; there are: {names}{more}")
    })
}

/// Splits `#K NAME` into number and name.
fn split(wanted: &str) -> Result<(usize, &str), String> {
    let Some(rest) = wanted.strip_prefix('#') else {
        return Ok((0, wanted));
    };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, name) = rest.split_at(end);
    match number.parse() {
        Ok(number) => Ok((number, name.trim_start())),
        Err(_) => Err(format!("`{wanted}` has no number after `#`; write `#K NAME`")),
    }
}
