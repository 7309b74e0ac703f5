//! The choices between versions of a program, as a forest: the comparisons, with their sizes, and
//! the version behind each (Rotendahl and Larsen 2019, §2.6).
//!
//! ```text
//! main
//!   n >= main.suff_outer_par_0 (16)?
//!     V0: segmap n
//!   n * m >= main.suff_intra_par_0 (16)?
//!     V1: segmap n
//!   V2: segred n m
//! ```
//!
//! A choice is a conditional on [`BasicOp::SizeAtLeast`]. Its false branch is either the next
//! choice or the last version. Choices inside of a version's segops belong to that version.

use crate::Segs;
use crate::name::{FunName, Name, NameTable, SrcLoc};
use crate::seg::{SegOp, outermost_segops};
use crate::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Level, Program, Stm};
use crate::tunable::Tunable;
use crate::types::Dim;
use crate::walk::{LevelOp, with_stack};
use prim::{BinOp, Scalar, ScalarOp};
use rustc_hash::FxHashMap;

/// A function's choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChoiceTrees {
    /// The function.
    pub function: FunName,
    /// The choices that are nested in no other.
    pub roots: Vec<Node>,
}

/// A choice or a version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// A choice.
    Choice(Box<Choice>),
    /// A version.
    Version(VersionNode),
}

/// A comparison and its two branches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The parameter's full name.
    pub name: String,
    /// The parameter.
    pub tunable: Tunable,
    /// The size, in terms of the function's sizes.
    pub size: String,
    /// Source spans, innermost first.
    pub spans: Vec<SrcLoc>,
    /// The branch if the comparison is true.
    pub if_true: Vec<Node>,
    /// The branch if it is false.
    pub if_false: Vec<Node>,
}

/// A version of code, without further choices between versions outside of its segops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VersionNode {
    /// Its number within the function.
    pub number: u32,
    /// Its segops with their index spaces.
    pub operations: Vec<String>,
    /// Choices inside of its segops.
    pub inside: Vec<Node>,
}

/// The choices of all functions that have any.
pub fn forest(program: &Program<Segs>) -> Vec<ChoiceTrees> {
    let functions = program.functions.iter();
    let trees = functions.map(|function| {
        let mut finder = Finder {
            function,
            sizes: FxHashMap::default(),
            compared: FxHashMap::default(),
            either: FxHashMap::default(),
            versions: 0,
        };
        ChoiceTrees { function: function.name.clone(), roots: finder.choices(&function.body, true) }
    });
    trees.filter(|trees| !trees.roots.is_empty()).collect()
}

struct Finder<'a> {
    function: &'a Function<Segs>,
    /// Sizes computed from other sizes.
    sizes: FxHashMap<Name, &'a BasicOp>,
    /// Comparisons, by the names of their results.
    compared: FxHashMap<Name, (Atom, Tunable)>,
    /// Conditions that are true if the first of two comparisons is true or the second is false.
    either: FxHashMap<Name, (Name, Name)>,
    versions: u32,
}

impl<'a> Finder<'a> {
    /// The choices in a body; those inside of segops only if `all`.
    fn choices(&mut self, body: &'a Body<Segs>, all: bool) -> Vec<Node> {
        with_stack(|| {
            let mut nodes = Vec::new();
            for stm in &body.stms {
                self.note(stm.pat.first().map(|param| param.name), &stm.exp);
                match &stm.exp {
                    Exp::Basic(_) | Exp::Apply { .. } => {}
                    Exp::If { cond, then_body, else_body } => {
                        let cond = cond.var();
                        let both = cond.and_then(|name| self.either.get(&name).copied());
                        let (first, second) = match both {
                            Some((first, second)) => (Some(first), Some(second)),
                            None => (cond, None),
                        };
                        if !first.is_some_and(|name| self.compared.contains_key(&name)) {
                            nodes.extend(self.choices(then_body, all));
                            nodes.extend(self.choices(else_body, all));
                            continue;
                        }
                        let spans = self.function.provs.stack(stm.aux.prov);
                        let holds = self.branch(then_body);
                        let mut fails = self.branch(else_body);
                        if second.is_some() {
                            fails = self.choice(second, &spans, fails, holds.clone());
                        }
                        nodes.extend(self.choice(first, &spans, holds, fails));
                    }
                    Exp::Loop { body, .. } => nodes.extend(self.choices(body, all)),
                    Exp::Op(SegOp::WithAcc { lambda, .. }) => {
                        nodes.extend(self.choices(&lambda.body, all));
                    }
                    Exp::Op(SegOp::Seg(seg)) if all => {
                        nodes.extend(self.choices(&seg.body, all));
                    }
                    Exp::Op(SegOp::Seg(_)) => {}
                }
            }
            nodes
        })
    }

    /// The choice made by a comparison.
    fn choice(
        &self,
        compared: Option<Name>,
        spans: &[SrcLoc],
        holds: Vec<Node>,
        fails: Vec<Node>,
    ) -> Vec<Node> {
        let known = compared.and_then(|name| self.compared.get(&name).copied());
        let choice = known.map(|(size, tunable)| {
            Node::Choice(Box::new(Choice {
                name: tunable.full_name(&self.function.name),
                tunable,
                size: self.size(size),
                spans: spans.to_vec(),
                if_true: holds,
                if_false: fails,
            }))
        });
        choice.into_iter().collect()
    }

    /// A branch of a choice: further choices, or a version.
    fn branch(&mut self, body: &'a Body<Segs>) -> Vec<Node> {
        let choices = self.choices(body, false);
        if !choices.is_empty() {
            return choices;
        }
        let number = self.versions;
        self.versions += 1;
        let segs = outermost_segops(body);
        let operations = segs.iter().filter_map(|op| self.operation(op)).collect();
        let mut inside = Vec::new();
        for op in segs {
            if let SegOp::Seg(seg) = op {
                inside.extend(self.choices(&seg.body, true));
            }
        }
        vec![Node::Version(VersionNode { number, operations, inside })]
    }

    fn note(&mut self, name: Option<Name>, exp: &'a Exp<Segs>) {
        let (Some(name), Exp::Basic(op)) = (name, exp) else {
            return;
        };
        if let BasicOp::SizeAtLeast { size, tunable } = op {
            if let Some(tunable) = self.function.tunables.get(tunable.index()) {
                self.compared.insert(name, (*size, *tunable));
            }
        } else if let Some(both) = or_not(op) {
            self.either.insert(name, both);
        } else if matches!(
            op,
            BasicOp::Atom(_)
                | BasicOp::Scalar(ScalarOp::Binary(
                    BinOp::Mul | BinOp::SMax | BinOp::SMin | BinOp::Add | BinOp::Sub | BinOp::SQuot,
                    ..
                ))
        ) {
            self.sizes.insert(name, op);
        }
    }

    /// The size as an expression of the function's sizes.
    fn size(&self, size: Atom) -> String {
        let name = match size {
            Atom::Const(value) => {
                return value.as_i64().map_or("?".to_owned(), |n| n.to_string());
            }
            Atom::Var(name) => name,
        };
        let known = self.sizes.get(&name).copied();
        if let Some(BasicOp::Atom(atom)) = known {
            return self.size(*atom);
        }
        let Some(BasicOp::Scalar(ScalarOp::Binary(op, _, x, y))) = known else {
            return shown(&self.function.names, name);
        };
        let (x, y) = (self.size(*x), self.size(*y));
        let factor = |text: String| {
            let compound = [" + ", " - ", " / "].iter().any(|op| text.contains(op));
            if compound { format!("({text})") } else { text }
        };
        if *op == BinOp::Mul {
            format!("{} * {}", factor(x), factor(y))
        } else if *op == BinOp::SQuot {
            format!("{} / {}", factor(x), factor(y))
        } else if *op == BinOp::SMax {
            format!("max({x}, {y})")
        } else if *op == BinOp::SMin {
            format!("min({x}, {y})")
        } else if *op == BinOp::Add {
            format!("{x} + {y}")
        } else {
            format!("{x} - {}", factor(y))
        }
    }

    /// A segop's name and index space, and those of the segops in it.
    fn operation(&self, op: &SegOp<Segs>) -> Option<String> {
        let SegOp::Seg(seg) = op else {
            return None;
        };
        let dims = seg.space.dims.iter().map(|(_, dim)| match dim {
            Dim::Const(n) => n.to_string(),
            Dim::Var(name) => self.size(Atom::Var(*name)),
            Dim::Ext(_) => "?".to_owned(),
        });
        let dims: Vec<String> = dims.collect();
        let keyword = LevelOp::<Segs>::keyword(op);
        let text = format!("{keyword} {} ({})", seg.level.name, dims.join(", "));
        let inner = outermost_segops(&seg.body);
        if inner.is_empty() {
            return Some(text);
        }
        let inner: Vec<String> = inner.iter().filter_map(|op| self.operation(op)).collect();
        Some(format!("{text} {{ {} }}", inner.join("; ")))
    }
}

/// For an operation that is true if the first of two conditions is true or the second is false
/// (`select second first true`), the two conditions.
pub fn or_not(op: &BasicOp) -> Option<(Name, Name)> {
    if let BasicOp::Scalar(ScalarOp::Select {
        ty: _,
        cond: Atom::Var(second),
        if_true: Atom::Var(first),
        if_false: Atom::Const(Scalar::Bool(true)),
    }) = op
    {
        Some((*first, *second))
    } else {
        None
    }
}

/// Appends the chosen branch of a conditional in its place; other statements unchanged.
pub fn keep_branch<L: Level>(stm: Stm<L>, first: bool, out: &mut Vec<Stm<L>>) {
    let Stm { pat, aux, exp } = stm;
    let kept = match exp {
        Exp::If { then_body, .. } if first => then_body,
        Exp::If { else_body, .. } => else_body,
        exp @ (Exp::Basic(_) | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_)) => {
            out.push(Stm { pat, aux, exp });
            return;
        }
    };
    out.extend(kept.stms);
    for (param, result) in pat.into_iter().zip(kept.result) {
        out.push(Stm { pat: vec![param], aux: Aux::at(aux.prov), exp: Exp::Basic(BasicOp::Atom(result)) });
    }
}

/// A name with its hint and number.
fn shown(names: &NameTable, name: Name) -> String {
    format!("{}_{}", names.hint(name), name.0)
}
