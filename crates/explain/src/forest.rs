//! A program's forest of versions, printed as text, JSON, DOT and SVG.

mod svg;

use ir::forest::{Choice, ChoiceTrees, Node, VersionNode};
use serde_json::{Value, json};

/// An output format of forests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Indented lines.
    Text,
    /// JSON.
    Json,
    /// Graphviz's DOT language.
    Dot,
    /// An SVG image.
    Svg,
}

impl Format {
    /// Returns the format of this name: `text`, `json`, `dot` or `svg`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "text" => Self::Text,
            "json" => Self::Json,
            "dot" => Self::Dot,
            "svg" => Self::Svg,
            _ => return None,
        })
    }
}

/// Prints the forest in this format.
pub fn show(forest: &[ChoiceTrees], form: Format) -> String {
    match form {
        Format::Text => text(forest),
        Format::Json => format!("{:#}\n", data(forest)),
        Format::Dot => dot(forest),
        Format::Svg => svg::svg(forest),
    }
}

/// The condition of a choice, with the default of its threshold.
fn condition(choice: &Choice) -> String {
    let Choice { name, size, .. } = choice;
    format!("{size} >= {name} ({})?", choice.tunable.default)
}

/// Returns the value of a choice's parameter if it is not the default.
type Tuned<'t> = &'t dyn Fn(&Choice) -> Option<i64>;

/// The condition of a choice, with the tuned value of its threshold if there is one.
fn tuned_condition(choice: &Choice, tuned: Tuned<'_>) -> String {
    let Choice { name, size, .. } = choice;
    match tuned(choice) {
        None => condition(choice),
        Some(value) => format!("{size} >= {name} ({}, tuned {value})?", choice.tunable.default),
    }
}

fn version_label(version: &VersionNode) -> String {
    let operations = version.operations.join("; ");
    let operations = if operations.is_empty() { "sequential" } else { &operations };
    format!("V{}: {operations}", version.number)
}

/// The forest as indented lines.
pub fn text(forest: &[ChoiceTrees]) -> String {
    let mut out = String::new();
    for ChoiceTrees { function, roots } in forest {
        put(&mut out, 0, &function.0);
        nodes(&mut out, roots, 1, &|_| None);
    }
    out
}

/// A tree as indented lines, truncated to 100 characters.
pub fn tree(root: &Node, tuned: Tuned<'_>) -> String {
    const SHOWN: usize = 100;
    let mut whole = String::new();
    nodes(&mut whole, std::slice::from_ref(root), 0, tuned);
    let mut out = String::new();
    for line in whole.lines() {
        let end = line.char_indices().nth(SHOWN).map(|(end, _)| end);
        let cut = end.map_or_else(|| line.to_owned(), |end| format!("{} ...", &line[..end]));
        put(&mut out, 0, &cut);
    }
    out
}

fn nodes(out: &mut String, nodes_: &[Node], depth: usize, tuned: Tuned<'_>) {
    for node in nodes_ {
        match node {
            Node::Choice(choice) => {
                put(out, depth, &tuned_condition(choice, tuned));
                nodes(out, &choice.if_true, depth + 1, tuned);
                // A chain of choices prints without deeper indentation, like `else if`.
                let next = matches!(choice.if_false.as_slice(), [Node::Choice(_)]);
                if !next {
                    put(out, depth, "else");
                }
                nodes(out, &choice.if_false, depth + usize::from(!next), tuned);
            }
            Node::Version(version) => {
                put(out, depth, &version_label(version));
                nodes(out, &version.inside, depth + 1, tuned);
            }
        }
    }
}

fn put(out: &mut String, depth: usize, line: &str) {
    out.extend([&*" ".repeat(2 * depth), line, "\n"]);
}

/// Calls `f` with the choices of a tree, except those inside versions.
pub fn choices<'n>(node: &'n Node, f: &mut dyn FnMut(&'n Choice)) {
    if let Node::Choice(choice) = node {
        f(choice);
        for node in choice.if_true.iter().chain(&choice.if_false) {
            choices(node, f);
        }
    }
}

/// The forest as JSON.
pub fn data(forest: &[ChoiceTrees]) -> Value {
    let functions = forest.iter();
    let functions = functions
        .map(|ChoiceTrees { function, roots }| json!({ "function": &*function.0, "roots": all(roots) }));
    Value::Array(functions.collect())
}

/// A tree as JSON.
pub fn tree_data(node: &Node) -> Value {
    match node {
        Node::Choice(choice) => json!({
            "parameter": choice.name,
            "rule": choice.tunable.rule.name(),
            "default": choice.tunable.default,
            "size": choice.size,
            "line": choice.spans.last().map(|span| span.line),
            "holds": all(&choice.if_true),
            "fails": all(&choice.if_false),
        }),
        Node::Version(version) => json!({
            "version": version.number,
            "operations": version.operations,
            "inside": all(&version.inside),
        }),
    }
}

fn all(nodes: &[Node]) -> Vec<Value> {
    nodes.iter().map(tree_data).collect()
}

/// The forest in Graphviz's DOT language.
fn dot(forest: &[ChoiceTrees]) -> String {
    struct Dot {
        out: String,
        next: u32,
    }
    impl Dot {
        fn put(&mut self, line: &str) {
            self.out.extend(["  ", line, "\n"]);
        }

        fn box_(&mut self, label: &str, shape: &str) -> u32 {
            let id = self.next;
            self.next += 1;
            let label = label.replace('\\', "\\\\").replace('"', "\\\"");
            self.put(&format!("n{id} [shape={shape}, label=\"{label}\"];"));
            id
        }

        fn under(&mut self, parent: u32, label: &str, nodes: &[Node]) {
            for node in nodes {
                let child = self.node(node);
                self.put(&format!("n{parent} -> n{child} [label=\"{label}\"];"));
            }
        }

        fn node(&mut self, node: &Node) -> u32 {
            match node {
                Node::Choice(choice) => {
                    let id = self.box_(&condition(choice), "ellipse");
                    self.under(id, "T", &choice.if_true);
                    self.under(id, "F", &choice.if_false);
                    id
                }
                Node::Version(version) => {
                    let id = self.box_(&version_label(version), "box");
                    self.under(id, "", &version.inside);
                    id
                }
            }
        }
    }
    let mut dot = Dot { out: "digraph versions {\n".to_owned(), next: 0 };
    for ChoiceTrees { function, roots } in forest {
        let id = dot.box_(&function.0, "plaintext");
        dot.under(id, "", roots);
    }
    dot.out.push_str("}\n");
    dot.out
}

#[cfg(test)]
mod tests {
    use super::{Format, show};

    fn forest() -> Vec<ir::forest::ChoiceTrees> {
        let text = "segs
fun f(n_0: i64) : (i64)
tunable#0 suff_outer_par 0 threshold 16
{
  let m_1: i64 = mul.i64 n_0 n_0
  let c_2: bool = size_at_least m_1 tunable#0
  let r_3: i64 = if c_2 then { in (n_0) } else { in (m_1) }
  in (r_3)
}
";
        let program = ir::text::parse(text).expect("the program parses");
        ir::forest::forest(&program)
    }

    #[test]
    fn all_formats_show_the_same_forest() {
        let forest = forest();
        let condition = "n_0 * n_0 >= f.suff_outer_par_0 (16)?";
        assert_eq!(
            show(&forest, Format::Text),
            format!("f\n  {condition}\n    V0: sequential\n  else\n    V1: sequential\n")
        );
        let data = super::data(&forest);
        let root = &data[0]["roots"][0];
        assert_eq!(root["size"], "n_0 * n_0");
        assert_eq!((&root["holds"][0]["version"], &root["default"]), (&0.into(), &16.into()));
        let dot = show(&forest, Format::Dot);
        assert!(dot.contains(&format!("n1 [shape=ellipse, label=\"{condition}\"];")), "{dot}");
        assert!(dot.contains("n1 -> n2 [label=\"T\"];"), "{dot}");
        // The SVG, too, has each node once, and a parent above the middle of its two children.
        let svg = show(&forest, Format::Svg);
        assert_eq!(svg.matches("<rect x=").count(), 3, "{svg}");
        assert!(svg.contains(&format!(">{}<", condition.replace('>', "&gt;"))), "{svg}");
        let centre_of = |text: &str| -> f64 {
            let line = svg.lines().find(|line| line.contains(text)).expect("the SVG has the text");
            let x = line.split('"').nth(1).expect("a coordinate");
            x.parse().expect("a number")
        };
        let middle = f64::midpoint(centre_of(">V0: sequential<"), centre_of(">V1: sequential<"));
        assert!((centre_of("suff_outer_par_0") - middle).abs() < 0.2, "{svg}");
    }
}
