//! Devices by name: a part of a device's name, or of its platform's, whatever the case of
//! letters; `#K` before it means the K-th of those, from 0. Platforms likewise.

/// The position of the device that is meant; of each its name and its platform's are given.
pub fn find(all: &[[&str; 2]], wanted: &str) -> Result<usize, String> {
    let (number, part) = split(wanted)?;
    let part = part.to_lowercase();
    let fits = |names: &[&str; 2]| names.iter().any(|name| name.to_lowercase().contains(&part));
    let mut found = all.iter().enumerate().filter(|(_, names)| fits(names));
    found.nth(number).map(|(at, _)| at).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|[name, _]| format!("`{name}`")).collect();
        format!(
            "there is no device `{wanted}`; there are: {} (--list-devices says more)",
            names.join(", ")
        )
    })
}

/// The platform that is meant, of all devices' platforms in order.
pub fn platform<'a>(all: &[&'a str], wanted: &str) -> Result<&'a str, String> {
    let mut names = all.to_vec();
    names.dedup();
    let (number, part) = split(wanted)?;
    let part = part.to_lowercase();
    let mut found = names
        .iter()
        .filter(|name| name.to_lowercase().contains(&part));
    found.nth(number).copied().ok_or_else(|| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!(
            "there is no platform `{wanted}`; there are: {}",
            names.join(", ")
        )
    })
}

/// `#K` and a name.
fn split(wanted: &str) -> Result<(usize, &str), String> {
    let Some(rest) = wanted.strip_prefix('#') else {
        return Ok((0, wanted));
    };
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (number, name) = rest.split_at(end);
    match number.parse() {
        Ok(number) => Ok((number, name.trim_start())),
        Err(_) => Err(format!(
            "`{wanted}` has no number behind `#`; it is `#K NAME`"
        )),
    }
}
