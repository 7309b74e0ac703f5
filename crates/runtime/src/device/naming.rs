//! Devices by name: a part of a device's name, or of its platform's, whatever the case of
//! letters; `#K` before it means the K-th of those, from 0. Platforms likewise.

/// The position of the device that is meant; of each its name and its platform's are given.
pub fn find(all: &[[&str; 2]], wanted: &str) -> Result<usize, String> {
    pick("device", all, wanted, " (--list-devices says more)")
}

/// The platform that is meant, of all devices' platforms in order.
pub fn platform<'a>(all: &[&'a str], wanted: &str) -> Result<&'a str, String> {
    let mut names: Vec<[&str; 1]> = all.iter().map(|name| [*name]).collect();
    names.dedup();
    pick("platform", &names, wanted, "").map(|at| names[at][0])
}

/// The position of the one that is meant, of those that have these names, of which the first
/// is shown.
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

/// `#K` and a name.
fn split(wanted: &str) -> Result<(usize, &str), String> {
    let Some(rest) = wanted.strip_prefix('#') else {
        return Ok((0, wanted));
    };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, name) = rest.split_at(end);
    match number.parse() {
        Ok(number) => Ok((number, name.trim_start())),
        Err(_) => Err(format!("`{wanted}` has no number behind `#`; it is `#K NAME`")),
    }
}
