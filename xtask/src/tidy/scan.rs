//! Blanks comments and literals in Rust text, so that a search finds code only.

/// Returns `text` with comments and quoted literals replaced by spaces. Line breaks are kept, so
/// line numbers do not change.
pub fn code_only(text: &str) -> String {
    blank(text, true)
}

/// Returns `text` with comments replaced by spaces; literals and line breaks are kept. C text is
/// read the same way.
pub fn without_comments(text: &str) -> String {
    blank(text, false)
}

/// Replaces comments, and quoted literals if `literals` is set.
fn blank(text: &str, literals: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = ' ';
    while let Some(first) = rest.chars().next() {
        let in_word = previous.is_alphanumeric() || previous == '_';
        let blanked = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => 1 + quoted(&rest[1..], '"'),
            'r' | 'b' | 'c' if !in_word => prefixed(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if blanked == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else if first != '/' && !literals {
            out.push_str(&rest[..blanked]);
            rest = &rest[blanked..];
        } else {
            out.extend(rest[..blanked].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[blanked..];
        }
        previous = first;
    }
    out
}

/// The length of the block comment at the start of `text`; comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length up to and including the next unescaped `quote`.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + 1;
        }
    }
    text.len()
}

/// The length of the byte, C or raw string at the start of `text`; 0 if there is none.
fn prefixed(text: &str) -> usize {
    let letters = text.len() - text.trim_start_matches(['r', 'b', 'c']).len();
    let hashes = text[letters..].len() - text[letters..].trim_start_matches('#').len();
    let open = letters + hashes;
    if letters > 2 || !text[open..].starts_with('"') {
        return 0;
    }
    if !text[..letters].contains('r') {
        return if hashes == 0 { open + 1 + quoted(&text[open + 1..], '"') } else { 0 };
    }
    let close = format!("\"{}", "#".repeat(hashes));
    text[open + 1..].find(&close).map_or(text.len(), |at| open + 1 + at + close.len())
}

/// The length of the character literal at the start of `text`; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => 1 + quoted(&text[1..], '\''),
        Some(_) => chars.next().map_or(0, |(at, c)| if c == '\'' { at + 1 } else { 0 }),
        None => 0,
    }
}
