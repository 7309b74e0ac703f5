//! Marks the last use of each variable, so that its value is moved out.
//!
//! In-place updates require that an array has no other reference. A variable that is not read
//! afterwards must therefore not keep its value: its last [`Node::Slot`] becomes [`Node::Move`].
//! The walk goes backwards through the order of evaluation and tracks the slots that are read
//! later. That set only grows, since every variable has a slot of its own; all branches start with
//! the same set. In a loop, variables from outside are read again in the next iteration.

use crate::tree::{Bind, Form, Index, Node, Slot};
use rustc_hash::FxHashSet;

/// Marks last uses in the body of a function. Slots in `pinned` are never taken.
pub fn mark(body: &mut Node, n_slots: Slot, pinned: &FxHashSet<Slot>, captures: &[Slot]) {
    let mut marker = Marker {
        live: vec![false; n_slots as usize],
        captured: vec![false; n_slots as usize],
        trail: Vec::new(),
    };
    for slot in pinned_in_order(pinned) {
        marker.read(slot);
    }
    for slot in captures {
        marker.captured[*slot as usize] = true;
    }
    marker.node(body);
}

fn pinned_in_order(pinned: &FxHashSet<Slot>) -> Vec<Slot> {
    #[allow(clippy::iter_over_hash_type, reason = "sorted at once")]
    let mut slots: Vec<Slot> = pinned.iter().copied().collect();
    slots.sort_unstable();
    slots
}

struct Marker {
    /// For each slot: true if it is read later.
    live: Vec<bool>,
    captured: Vec<bool>,
    /// The slots that became live, in order.
    trail: Vec<Slot>,
}

impl Marker {
    fn read(&mut self, slot: Slot) {
        if let Some(live) = self.live.get_mut(slot as usize)
            && !*live
        {
            *live = true;
            self.trail.push(slot);
        }
    }

    fn is_live(&self, slot: Slot) -> bool {
        self.live.get(slot as usize).copied().unwrap_or(true)
    }

    /// Walks alternatives: each starts with the slots that are live now.
    fn branches<'a>(&mut self, nodes: impl Iterator<Item = &'a mut Node>) {
        let from = self.trail.len();
        let mut all = Vec::new();
        for node in nodes {
            self.node(node);
            for slot in self.trail.drain(from..) {
                self.live[slot as usize] = false;
                all.push(slot);
            }
        }
        for slot in all {
            self.read(slot);
        }
    }

    fn backwards<'a>(&mut self, nodes: impl DoubleEndedIterator<Item = &'a mut Node>) {
        for node in nodes.rev() {
            self.node(node);
        }
    }

    fn indices(&mut self, indices: &mut [Index]) {
        for index in indices.iter_mut().rev() {
            match index {
                Index::At(node, _) => self.node(node),
                Index::Slice(from, to, step) => {
                    self.backwards([from, to, step].into_iter().flatten());
                }
            }
        }
    }

    fn node(&mut self, node: &mut Node) {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || self.walk(node));
    }

    fn walk(&mut self, node: &mut Node) {
        match node {
            Node::Slot(slot) => {
                let slot = *slot;
                if !self.is_live(slot) {
                    *node = Node::Move(slot);
                    self.read(slot);
                }
            }
            Node::Const(_)
            | Node::Move(_)
            | Node::Global(_)
            | Node::GlobalInst(..)
            | Node::Intrinsic(..)
            | Node::Hole(..)
            | Node::Refused(..) => {}
            // A polymorphic function may be instantiated repeatedly.
            Node::LocalInst(fun, ..) => {
                if let Node::Slot(slot) = &**fun {
                    self.read(*slot);
                }
            }
            Node::Parts(parts) => self.backwards(parts.iter_mut().map(|(_, node)| node)),
            Node::Field(inner, _)
            | Node::Unary(_, inner)
            | Node::Convert(_, _, inner)
            | Node::Coerce(inner, ..)
            | Node::Break(inner, _)
            | Node::Watched(inner, _)
            | Node::Trace(_, inner, ..)
            | Node::DontCare(inner, ..)
            | Node::BindSizes(inner, ..)
            | Node::Checked(inner, _) => self.node(inner),
            Node::WithField(pair, _)
            | Node::Binary(_, _, pair, _)
            | Node::Compare(_, pair)
            | Node::Equal(_, pair)
            | Node::Assert(pair, ..) => {
                self.node(&mut pair.1);
                self.node(&mut pair.0);
            }
            Node::And(pair) | Node::Or(pair) => {
                self.branches(std::iter::once(&mut pair.1));
                self.node(&mut pair.0);
            }
            // The last argument is evaluated first.
            Node::ArrayFun(_, _, nodes, _) | Node::Call(_, _, nodes, _) => {
                nodes.iter_mut().for_each(|node| self.node(node));
            }
            Node::Array(nodes, ..)
            | Node::Math(_, nodes)
            | Node::Constr(_, nodes)
            | Node::Closure(_, nodes) => self.backwards(nodes.iter_mut()),
            Node::Fma(nodes) => self.backwards(nodes.iter_mut()),
            Node::Range(range) => {
                let parts = [&mut range.start].into_iter();
                let parts = parts.chain(&mut range.second).chain([&mut range.end]);
                let mut parts: Vec<&mut Node> = parts.collect();
                self.backwards(parts.iter_mut().map(|node| &mut **node));
            }
            Node::Index(array, indices, _) => {
                self.indices(indices);
                self.node(array);
            }
            // The value first, then the indices, then the array.
            Node::Update(pair, indices, _) => {
                self.node(&mut pair.0);
                self.indices(indices);
                self.node(&mut pair.1);
            }
            Node::Apply(fun, args, ..) => {
                self.node(fun);
                args.iter_mut().for_each(|node| self.node(node));
            }
            Node::Let(binds, body) => {
                self.node(body);
                for bind in binds.iter_mut().rev() {
                    match bind {
                        Bind::Pat(_, _, node, _) | Bind::Fun(_, node) => self.node(node),
                    }
                }
            }
            Node::If(parts) => {
                let (cond, then, otherwise) = &mut **parts;
                self.branches([then, otherwise].into_iter());
                self.node(cond);
            }
            Node::Match(scrutinee, cases, _) => {
                self.branches(cases.iter_mut().map(|(_, node)| node));
                self.node(scrutinee);
            }
            Node::Loop(inner) => {
                let mark = inner.first_body_slot;
                let mut outside = Vec::new();
                let mut note = |slot: Slot| outside.push(slot);
                mentions(&inner.body, &mut note);
                if let Form::While(cond) = &inner.form {
                    mentions(cond, &mut note);
                }
                for slot in outside {
                    if slot < mark || self.captured.get(slot as usize) == Some(&true) {
                        self.read(slot);
                    }
                }
                self.node(&mut inner.body);
                match &mut inner.form {
                    Form::For(_, _, node) | Form::ForIn(_, node) | Form::While(node) => {
                        self.node(node);
                    }
                }
                self.node(&mut inner.init);
            }
        }
    }
}

/// Calls `f` with every slot that the expression reads.
fn mentions(node: &Node, f: &mut dyn FnMut(Slot)) {
    stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || match node {
        Node::Slot(slot) | Node::Move(slot) => f(*slot),
        Node::Const(_)
        | Node::Global(_)
        | Node::GlobalInst(..)
        | Node::Intrinsic(..)
        | Node::Hole(..)
        | Node::Refused(..) => {}
        Node::LocalInst(inner, ..)
        | Node::Field(inner, _)
        | Node::Unary(_, inner)
        | Node::Convert(_, _, inner)
        | Node::Coerce(inner, ..)
        | Node::Break(inner, _)
        | Node::Watched(inner, _)
        | Node::Trace(_, inner, ..)
        | Node::DontCare(inner, ..)
        | Node::BindSizes(inner, ..)
        | Node::Checked(inner, _) => mentions(inner, f),
        Node::Parts(parts) => parts.iter().for_each(|(_, node)| mentions(node, f)),
        Node::WithField(pair, _)
        | Node::Binary(_, _, pair, _)
        | Node::Compare(_, pair)
        | Node::Equal(_, pair)
        | Node::Assert(pair, ..)
        | Node::And(pair)
        | Node::Or(pair) => {
            mentions(&pair.0, f);
            mentions(&pair.1, f);
        }
        Node::Array(nodes, ..)
        | Node::Math(_, nodes)
        | Node::ArrayFun(_, _, nodes, _)
        | Node::Call(_, _, nodes, _)
        | Node::Constr(_, nodes)
        | Node::Closure(_, nodes) => nodes.iter().for_each(|node| mentions(node, f)),
        Node::Fma(nodes) => nodes.iter().for_each(|node| mentions(node, f)),
        Node::Range(range) => {
            mentions(&range.start, f);
            range.second.iter().for_each(|node| mentions(node, f));
            mentions(&range.end, f);
        }
        Node::Index(array, indices, _) => {
            mentions(array, f);
            index_mentions(indices, f);
        }
        Node::Update(pair, indices, _) => {
            mentions(&pair.0, f);
            mentions(&pair.1, f);
            index_mentions(indices, f);
        }
        Node::Apply(fun, args, ..) => {
            mentions(fun, f);
            args.iter().for_each(|node| mentions(node, f));
        }
        Node::Let(binds, body) => {
            for bind in binds {
                match bind {
                    Bind::Pat(_, _, node, _) | Bind::Fun(_, node) => mentions(node, f),
                }
            }
            mentions(body, f);
        }
        Node::If(parts) => {
            mentions(&parts.0, f);
            mentions(&parts.1, f);
            mentions(&parts.2, f);
        }
        Node::Match(scrutinee, cases, _) => {
            mentions(scrutinee, f);
            cases.iter().for_each(|(_, node)| mentions(node, f));
        }
        Node::Loop(inner) => {
            mentions(&inner.init, f);
            mentions(&inner.body, f);
            match &inner.form {
                Form::For(_, _, node) | Form::ForIn(_, node) | Form::While(node) => {
                    mentions(node, f);
                }
            }
        }
    });
}

fn index_mentions(indices: &[Index], f: &mut dyn FnMut(Slot)) {
    for index in indices {
        match index {
            Index::At(node, _) => mentions(node, f),
            Index::Slice(from, to, step) => {
                let parts = [from, to, step].into_iter().flatten();
                parts.for_each(|node| mentions(node, f));
            }
        }
    }
}
