//! A forest of versions as SVG: choices have round corners, versions square ones. A dashed edge
//! leads to the choices inside a version.
//!
//! Each node is centred above its children. The font is monospaced, so no text is measured.

use super::{condition, version_label};
use ir::forest::{ChoiceTrees, Node};

/// The width of a character and the height of a line of text.
const LETTER: (f64, f64) = (7.3, 12.0);
/// The horizontal and vertical padding around the text of a node.
const PADDING: (f64, f64) = (12.0, 9.0);
/// The horizontal and vertical distance between nodes.
const GAP: (f64, f64) = (18.0, 46.0);
/// The length in characters to which a version's operations are truncated.
const SHOWN: usize = 44;

/// A node with its position.
struct LaidOut {
    text: String,
    kind: Kind,
    /// The horizontal centre.
    x: f64,
    /// The width of the subtree.
    width: f64,
    below: Vec<(Edge, LaidOut)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function,
    Choice,
    Version,
}

/// An edge from the parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Plain,
    Yes,
    No,
    Inside,
}

/// Returns the image.
pub fn svg(forest: &[ChoiceTrees]) -> String {
    let mut left = GAP.0;
    let mut roots = Vec::new();
    for ChoiceTrees { function, roots: trees } in forest {
        let below = trees.iter().map(|node| (Edge::Plain, layout_node(node)));
        let mut root = layout(function.0.to_string(), Kind::Function, below.collect());
        root.shift(left);
        left += root.width + GAP.0;
        roots.push(root);
    }
    let levels = roots.iter().map(LaidOut::levels).max().unwrap_or(0);
    let box_height = LETTER.1 + 2.0 * PADDING.1;
    let height = 2.0 * GAP.0 + levels as f64 * (box_height + GAP.1) - GAP.1;
    let mut out = String::new();
    let mut put = |line: String| out.extend([&*line, "\n"]);
    put(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{left:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {left:.0} {height:.0}\" font-family=\"monospace\" \
         font-size=\"{}\" text-anchor=\"middle\">",
        LETTER.1
    ));
    put("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>".to_owned());
    for root in &roots {
        root.draw(GAP.0, &mut put);
    }
    put("</svg>".to_owned());
    out
}

fn layout_node(node: &Node) -> LaidOut {
    match node {
        Node::Choice(choice) => {
            let holds = choice.if_true.iter().map(|node| (Edge::Yes, layout_node(node)));
            let fails = choice.if_false.iter().map(|node| (Edge::No, layout_node(node)));
            layout(condition(choice), Kind::Choice, holds.chain(fails).collect())
        }
        Node::Version(version) => {
            let inside = version.inside.iter().map(|node| (Edge::Inside, layout_node(node)));
            let whole = version_label(version);
            let mut text: String = whole.chars().take(SHOWN).collect();
            if text.len() < whole.len() {
                text.push_str(" ...");
            }
            layout(text, Kind::Version, inside.collect())
        }
    }
}

/// Lays out a subtree, with its left edge at 0.
fn layout(text: String, kind: Kind, mut below: Vec<(Edge, LaidOut)>) -> LaidOut {
    let text_width = text.chars().count() as f64 * LETTER.0 + 2.0 * PADDING.0;
    let gaps = below.len().saturating_sub(1) as f64 * GAP.0;
    let below_width = below.iter().map(|(_, node)| node.width).sum::<f64>() + gaps;
    let width = text_width.max(below_width);
    let mut left = (width - below_width) / 2.0;
    for (_, node) in &mut below {
        node.shift(left);
        left += node.width + GAP.0;
    }
    let outermost = below.first().zip(below.last());
    let middle = outermost.map(|((_, first), (_, last))| f64::midpoint(first.x, last.x));
    // Keeps the node inside the subtree's width where the children's centre is far to one side.
    let x = middle.unwrap_or(width / 2.0).clamp(text_width / 2.0, width - text_width / 2.0);
    LaidOut { text, kind, x, width, below }
}

impl LaidOut {
    fn shift(&mut self, by: f64) {
        self.x += by;
        for (_, node) in &mut self.below {
            node.shift(by);
        }
    }

    fn levels(&self) -> usize {
        let below = self.below.iter().map(|(_, node)| node.levels());
        1 + below.max().unwrap_or(0)
    }

    fn draw(&self, top: f64, put: &mut impl FnMut(String)) {
        let height = LETTER.1 + 2.0 * PADDING.1;
        let (bottom, next) = (top + height, top + height + GAP.1);
        for (edge, node) in &self.below {
            let dashed = if *edge == Edge::Inside { " stroke-dasharray=\"4 3\"" } else { "" };
            put(format!(
                "<line x1=\"{:.1}\" y1=\"{bottom:.1}\" x2=\"{:.1}\" y2=\"{next:.1}\" \
                 stroke=\"#555\"{dashed}/>",
                self.x, node.x
            ));
            let label = match edge {
                Edge::Yes => "yes",
                Edge::No => "no",
                Edge::Plain | Edge::Inside => "",
            };
            if !label.is_empty() {
                let x = f64::midpoint(self.x, node.x) + 16.0;
                let y = f64::midpoint(bottom, next) + LETTER.1 / 3.0;
                put(format!("<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#555\">{label}</text>"));
            }
            node.draw(next, put);
        }
        let width = self.text.chars().count() as f64 * LETTER.0 + 2.0 * PADDING.0;
        let (fill, round) = match self.kind {
            Kind::Function => ("none", 0.0),
            Kind::Choice => ("#e8f0fa", height / 2.0),
            Kind::Version => ("#f3efe2", 0.0),
        };
        if self.kind != Kind::Function {
            put(format!(
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                 rx=\"{round:.1}\" fill=\"{fill}\" stroke=\"#555\"/>",
                self.x - width / 2.0
            ));
        }
        let y = top + PADDING.1 + 0.8 * LETTER.1;
        put(format!("<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", self.x, escaped(&self.text)));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
