//! Placement of declarations: a variable is declared in the innermost block that contains all of
//! its uses, before the first statement that names it. Loops declare their counters.
//!
//! Blocks are numbered in the order in which they begin; the printer counts along. Before:
//! statements. After: for each block a table of its declarations.

use imp::walk::{Use, each_use};
use imp::{For, Stmt, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The declarations of a block: the index of the statement that they precede, and the variable.
pub type Declared = Vec<(usize, Var)>;

/// The declarations of a function.
pub struct Scopes {
    /// The declarations of each block, in statement order.
    pub blocks: Vec<Declared>,
    /// Counters that are used outside of their loops, so that the loops do not declare them.
    pub outer: FxHashSet<Var>,
    /// Buffer variables that may denote frame arrays, which iterations share.
    pub framed: FxHashSet<Var>,
}

/// The position of a block in the tree of blocks.
#[derive(Clone, Copy)]
struct Block {
    parent: usize,
    /// The index of the parent's statement that contains the block.
    at: usize,
    depth: usize,
}

#[derive(Clone, Copy)]
struct Position {
    block: usize,
    at: usize,
}

struct Walk {
    blocks: Vec<Block>,
    /// For each variable the innermost block that contains all uses so far, and the first use.
    found: Vec<Option<(usize, Position)>>,
    /// The variables in the order of their first uses.
    order: Vec<Var>,
    counters: Vec<(Var, usize)>,
    frames: Vec<Var>,
    borrows: Vec<(Var, Var)>,
}

/// Places the declarations of a function's variables, of which there are `vars`, except for
/// `others`.
pub fn of(body: &[Stmt], vars: usize, predeclared: &FxHashSet<Var>) -> Scopes {
    let mut walk = Walk {
        blocks: Vec::new(),
        found: vec![None; vars],
        order: Vec::new(),
        counters: Vec::new(),
        frames: Vec::new(),
        borrows: Vec::new(),
    };
    walk.block(body, Block { parent: 0, at: 0, depth: 0 });
    walk.scopes(predeclared)
}

impl Walk {
    fn block(&mut self, stmts: &[Stmt], block: Block) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let number = self.blocks.len();
            self.blocks.push(block);
            for (at, stmt) in stmts.iter().enumerate() {
                self.stmt(stmt, Position { block: number, at });
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt, position: Position) {
        let is_loop = matches!(stmt, Stmt::For(_));
        each_use(stmt, &mut |var, how| {
            if !(is_loop && how == Use::Sets) {
                self.used(var, position);
            }
        });
        match stmt {
            Stmt::If(_, yes, no) => {
                self.nested(yes, position);
                self.nested(no, position);
            }
            Stmt::While(_, body) => self.nested(body, position),
            Stmt::For(f) => {
                let body = self.blocks.len();
                for var in f.counters() {
                    self.counters.push((var, body));
                }
                self.for_loop(f, position, body);
            }
            Stmt::Frame { buffer, .. } => self.frames.push(*buffer),
            Stmt::Borrow(to, from) => self.borrows.push((*to, *from)),
            imp::leaf_stmt!() => {}
        }
    }

    fn for_loop(&mut self, f: &For, position: Position, body: usize) {
        self.nested(&f.body, position);
        for var in f.counters() {
            self.used(var, Position { block: body, at: 0 });
        }
    }

    fn nested(&mut self, stmts: &[Stmt], position: Position) {
        let depth = self.depth(position.block) + 1;
        self.block(stmts, Block { parent: position.block, at: position.at, depth });
    }

    fn depth(&self, block: usize) -> usize {
        self.blocks.get(block).map_or(0, |block| block.depth)
    }

    fn used(&mut self, var: Var, position: Position) {
        let Some(known) = self.found.get(var.index()).copied() else {
            return;
        };
        let now = match known {
            None => {
                self.order.push(var);
                (position.block, position)
            }
            Some((block, first)) => (self.common(block, position.block), first),
        };
        if let Some(slot) = self.found.get_mut(var.index()) {
            *slot = Some(now);
        }
    }

    /// The innermost block that contains both.
    fn common(&self, mut a: usize, mut b: usize) -> usize {
        let outside = |block: usize| self.blocks.get(block).map_or(0, |block| block.parent);
        while a != b {
            let (at_a, at_b) = (self.depth(a), self.depth(b));
            if at_a >= at_b {
                a = outside(a);
            }
            if at_b >= at_a {
                b = outside(b);
            }
        }
        a
    }

    fn scopes(self, others: &FxHashSet<Var>) -> Scopes {
        let mut scopes = Scopes {
            blocks: vec![Vec::new(); self.blocks.len()],
            outer: FxHashSet::default(),
            framed: FxHashSet::default(),
        };
        let mut by_loop = FxHashSet::default();
        for (var, body) in &self.counters {
            let block = self.found.get(var.index()).copied().flatten();
            if block.is_some_and(|(block, _)| block == *body) {
                by_loop.insert(*var);
            } else {
                scopes.outer.insert(*var);
            }
        }
        for var in &self.order {
            let Some((block, first)) = self.found.get(var.index()).copied().flatten() else {
                continue;
            };
            if by_loop.contains(var) || others.contains(var) {
                continue;
            }
            let mut position = first;
            while position.block != block {
                let Some(nested) = self.blocks.get(position.block) else {
                    break;
                };
                position = Position { block: nested.parent, at: nested.at };
            }
            if let Some(declared) = scopes.blocks.get_mut(block) {
                declared.push((position.at, *var));
            }
        }
        for declared in &mut scopes.blocks {
            declared.sort_by_key(|(at, _)| *at);
        }
        scopes.framed = frame_arrays(self.frames, &self.borrows);
        scopes
    }
}

/// The variables that denote frame arrays, directly or by borrowing.
fn frame_arrays(mut frames: Vec<Var>, borrows: &[(Var, Var)]) -> FxHashSet<Var> {
    let mut by_source = FxHashMap::<Var, Vec<Var>>::default();
    for (to, from) in borrows {
        by_source.entry(*from).or_default().push(*to);
    }
    let mut found = FxHashSet::default();
    while let Some(var) = frames.pop() {
        if found.insert(var) {
            frames.extend(by_source.remove(&var).unwrap_or_default());
        }
    }
    found
}
