//! Must-alias roots (in-place chains): for each array, the array whose memory it occupies because
//! it was made from it by updates.
//!
//! `root(v)` is `root(a)` if `v` is `a with [..] <- x`, a coercion of `a`, or a histogram or
//! accumulator result over `a`; the root of the initial value if `v` is a loop's result whose
//! parameter is updated in place by the body; and the common root of the branches of an `if`. Any
//! other array is its own root. One forward walk, linear in the size of the function.

use ir::Segs;
use ir::name::Name;
use ir::seg::{Seg, SegKind, SegOp};
use ir::syntax::{Atom, Body, Exp, Param};
use ir::walk::with_stack;

/// The roots of a function's arrays.
pub struct MustAlias {
    root: Vec<Name>,
    in_place: Vec<bool>,
}

impl MustAlias {
    /// Computes the roots of a body whose function has `n_names` names.
    pub fn new(body: &Body<Segs>, n_names: usize) -> Self {
        let mut roots =
            Self { root: (0..n_names as u32).map(Name).collect(), in_place: vec![false; n_names] };
        roots.body(body);
        roots
    }

    /// The array whose memory `name` occupies. Names created after the analysis are their own
    /// roots.
    pub fn root(&self, name: Name) -> Name {
        self.root.get(name.index()).copied().unwrap_or(name)
    }

    /// Returns true if a loop parameter is updated in place by the body.
    pub fn in_place(&self, param: Name) -> bool {
        self.in_place.get(param.index()).copied().unwrap_or(false)
    }

    fn of(&self, atom: Atom) -> Option<Name> {
        atom.var().map(|name| self.root(name))
    }

    fn set(&mut self, pat: &Param<Segs>, root: Option<Name>) {
        if let (true, Some(root)) = (pat.ty.is_array(), root) {
            self.root[pat.name.index()] = root;
        }
    }

    fn body(&mut self, body: &Body<Segs>) {
        with_stack(|| {
            for stm in &body.stms {
                self.exp(&stm.pat, &stm.exp);
            }
        });
    }

    fn exp(&mut self, pat: &[Param<Segs>], exp: &Exp<Segs>) {
        match exp {
            Exp::Basic(op) => {
                if let (Some(source), [elem]) = (op.in_place_of(), pat) {
                    let root = self.root(source);
                    self.set(elem, Some(root));
                }
            }
            Exp::If { cond: _, then_body, else_body } => {
                self.body(then_body);
                self.body(else_body);
                for ((elem, &a), &b) in pat.iter().zip(&then_body.result).zip(&else_body.result) {
                    let (a, b) = (self.of(a), self.of(b));
                    if a == b {
                        self.set(elem, a);
                    }
                }
            }
            Exp::Loop { params, form: _, body } => {
                self.body(body);
                for ((elem, param), &result) in pat.iter().zip(params).zip(&body.result) {
                    if param.param.ty.is_array() && self.of(result) == Some(param.param.name) {
                        self.in_place[param.param.name.index()] = true;
                        let root = self.of(param.init);
                        self.set(elem, root);
                    }
                }
            }
            Exp::Apply { fun: _, args: _ } => {}
            Exp::Op(SegOp::Seg(Seg {
                level: _,
                space: _,
                kind,
                body,
                ret: _,
                decomp: _,
                identity_predicate: _,
            })) => {
                self.body(body);
                match kind {
                    SegKind::ScanReduce(scan_reduce) => {
                        scan_reduce.lambdas().for_each(|lambda| self.body(&lambda.body));
                    }
                    SegKind::Hist(ops) => {
                        ops.iter().for_each(|op| self.body(&op.op.op.body));
                        for (elem, &dest) in pat.iter().zip(ops.iter().flat_map(|op| &op.destinations)) {
                            let root = self.root(dest);
                            self.set(elem, Some(root));
                        }
                    }
                    SegKind::FlatMap => {}
                }
            }
            Exp::Op(SegOp::WithAcc { inputs, lambda }) => {
                self.body(&lambda.body);
                for (elem, &array) in pat.iter().zip(inputs.iter().flat_map(|i| &i.arrays)) {
                    let root = self.root(array);
                    self.set(elem, Some(root));
                }
            }
        }
    }
}
