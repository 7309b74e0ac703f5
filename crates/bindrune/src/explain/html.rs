//! stub
use super::account::Account;
/// The page.
pub fn page(_: &Account) -> String { String::new() }
