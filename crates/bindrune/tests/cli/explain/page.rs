//! The page of `explain --html`, as text and in a browser.

use super::explain;
use crate::process::{Folder, finish};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program whose text contains everything that HTML must escape.
const PROGRAM: &str = "\
-- <script>document.title = \"taken over\"</script> & 'quotes' </code></td>
entry main [n] (xs: [n]f32) (is: []i64): ([]f32, [n]f32) =
  let a = map (\\i -> if i < 3 && i >= 0 then xs[i] else 0 -- \u{e9}\u{2264} <b>
              ) is
  let b = xs |> map (+ 1) |> map (f32.max 2)
  let c = copy b with [0] = 1
  in (a, map2 (+) b c)
";

/// Creates the page of a program; returns its path and text.
fn page(folder: &Folder, program: &str) -> (String, String) {
    let path = folder.path("page.html");
    let done = explain(folder, program, &["--html", &path]).quiet();
    assert_eq!(done.text(), "");
    let text = std::fs::read_to_string(&path).expect("the page is there");
    (path, text)
}

/// The tags of a page in order, without the contents of `style` and `script`.
fn tags(text: &str) -> Vec<&str> {
    let mut tags = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let end = rest[start..].find('>').expect("a tag ends") + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        tags.push(tag);
        for name in ["style", "script"] {
            if tag == name {
                let end = rest.find(&format!("</{name}>")).expect("a closing tag");
                rest = &rest[end..];
            }
        }
    }
    tags
}

#[test]
fn page_is_well_formed_and_self_contained() {
    let folder = Folder::new();
    let (_, text) = page(&folder, PROGRAM);
    let mut open: Vec<&str> = Vec::new();
    for tag in tags(&text) {
        let name = tag.split_whitespace().next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "at </{name}>"),
            None if name == "!DOCTYPE" || name == "meta" => {}
            None => open.push(name),
        }
        let quotes = tag.matches('"').count();
        assert!(quotes % 2 == 0, "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
    for outside in ["http:", "https:", "src=", "@import", "url(", "<link"] {
        assert!(!text.contains(outside), "{outside}");
    }
    // Each `&` begins an entity.
    for part in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;", "#8599;"];
        let script = part.starts_with("& ");
        assert!(script || known.iter().any(|entity| part.starts_with(entity)), "{part:.20}");
    }
    let escaped = "-- &lt;script&gt;document.title = &quot;taken over&quot;&lt;/script&gt; &amp; &#39;quotes&#39; &lt;/code&gt;&lt;/td&gt;";
    assert!(text.contains(escaped));
}

/// The browser: the one named by `CHROMIUM`, or one with a usual name.
fn browser() -> PathBuf {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return path.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let files = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files
        .into_iter()
        .find(|file| file.is_file())
        .expect("a browser: `make setup-test` installs Chromium, or CHROMIUM names one")
}

/// The DOM of a page after its script ran, in a browser with a profile of its own.
fn dom(folder: &Folder, page: &str, fragment: &str, profile: &str) -> String {
    let profile = format!("--user-data-dir={}", folder.path(profile));
    let mut command = Command::new(browser());
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            &profile,
            "--dump-dom",
            &format!("file://{page}{fragment}"),
        ])
        .env("HOME", folder.path(""))
        .stdout(Stdio::piped());
    let done = finish(&mut command, b"");
    assert_eq!(done.code, 0, "{}", done.stderr);
    done.text().to_owned()
}

/// The remarks of a page: the group, and true if hidden.
fn entries(dom: &str) -> Vec<(String, bool)> {
    let of = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let tags = tags(dom).into_iter();
    tags.filter_map(|tag| Some((of(tag.strip_prefix("li ")?, "data-group")?, tag.contains(" hidden"))))
        .collect()
}

/// The groups whose buttons are pressed.
fn pressed(dom: &str) -> Vec<&str> {
    let buttons = tags(dom).into_iter().filter(|tag| tag.starts_with("button"));
    let chosen = buttons.filter(|tag| tag.contains("aria-pressed=\"true\""));
    chosen.filter_map(|tag| tag.split_once("data-group=\"")?.1.split('"').next()).collect()
}

#[test]
fn browser_shows_source_beside_remarks_and_filters_them() {
    let folder = Folder::new();
    let (path, text) = page(&folder, PROGRAM);
    let whole = dom(&folder, &path, "", "profile-whole");
    // No program text became part of the page's markup.
    assert!(whole.contains(": optimisation remarks</title>"), "{whole}");
    assert_eq!(whole.matches("<script>").count(), 1);
    assert_eq!(whole.matches("<tr ").count(), PROGRAM.lines().count());
    assert!(whole.contains("<td class=\"source\"><code>  let c = copy b with [0] = 1</code></td><td class=\"remarks\"><ul><li class=\"left\" data-group=\"copies\" data-kind=\"copied\">"), "{whole}");
    let all = entries(&whole);
    assert_eq!(all, entries(&text));
    assert!(all.iter().all(|(_, hidden)| !hidden));
    for group in ["fusion", "parallel", "lanes", "checks", "copies"] {
        assert!(all.iter().any(|(own, _)| own == group), "{group}");
    }
    assert_eq!(pressed(&whole).len(), 8);
    // The URL's fragment selects groups.
    let chosen = dom(&folder, &path, "#checks,copies", "profile-chosen");
    assert_eq!(pressed(&chosen), ["checks", "copies"]);
    let expected: Vec<(String, bool)> =
        all.iter().map(|(group, _)| (group.clone(), group != "checks" && group != "copies")).collect();
    assert_eq!(entries(&chosen), expected);
    // A click on a button hides its group.
    let click = "<script>document.querySelector('button[data-group=fusion]').click()</script></body>";
    let clicked = folder.file("clicked.html", text.replace("</body>", click));
    let clicked = dom(&folder, &clicked, "", "profile-clicked");
    assert_eq!(pressed(&clicked).len(), 7);
    let hidden = entries(&clicked);
    assert!(hidden.iter().all(|(group, hidden)| *hidden == (group == "fusion")));
}
