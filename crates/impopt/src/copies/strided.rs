//! Replaces copies by strides with calls of copy functions, which choose the strategy at run time.
//!
//! The program has one function for each rank, element size, and tile; each module that calls one
//! has a copy of it. It tests extents and strides at run time:
//!
//! ```text
//! fun "copy 2.8.32"(to, from, to_at, from_at, n0, n1, to0, to1, from0, from1)
//!   if one loop covers both dimensions { copy of one dimension }
//!   else if the sides differ in which one is contiguous { tiles }
//!   else { for i in 0 .. n0 { copy of one dimension } }
//! ```
//!
//! Needs: a verified program. Guarantees: a verified program with the same results, in which no
//! copy of the host has [`CopyPlan::Dynamic`]; those in kernels are small, and remain. The
//! functions follow all others, in order of first use.

use super::nest;
use imp::captures;
use imp::{Arg, CodePlacement, CopyPlan, Expr, For, FunId, Function, Program, Region, Stmt, Tile};
use prim::PrimType;
use rustc_hash::FxHashMap;

/// The key of a copy function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Key {
    /// The number of dimensions.
    pub(super) rank: usize,
    /// The integer type of an element's size; only the bits matter.
    pub(super) elem: PrimType,
    /// Tiles, for two or more dimensions.
    pub(super) tile: Option<Tile>,
}

/// The functions made so far.
pub(super) struct CopyFunctions {
    first: usize,
    ids: FxHashMap<Key, FunId>,
    functions: Vec<Function>,
}

/// Replaces the copies of a program, and adds the functions.
pub fn outline_copies(mut program: Program) -> Program {
    let mut made =
        CopyFunctions { first: program.functions.len(), ids: FxHashMap::default(), functions: Vec::new() };
    for function in &mut program.functions {
        if made.block(&mut function.body) {
            captures::fill(function);
        }
    }
    program.functions.extend(made.functions);
    program
}

impl CopyFunctions {
    /// Replaces the copies among statements; returns true if there are any.
    fn block(&mut self, stmts: &mut [Stmt]) -> bool {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut called = false;
            for stmt in stmts {
                called |= self.stmt(stmt);
            }
            called
        })
    }

    fn stmt(&mut self, stmt: &mut Stmt) -> bool {
        match stmt {
            Stmt::Copy { to, from, elem, extents, plan: CopyPlan::Dynamic(tile) } => {
                let key = Key { rank: extents.len(), elem: word(*elem), tile: *tile };
                *stmt = call(self.function(key), (to, from), extents);
                true
            }
            Stmt::If(_, yes, no) => {
                let called = self.block(yes);
                self.block(no) || called
            }
            Stmt::For(f) if f.mode.is_kernel() => false,
            Stmt::While(_, body) | Stmt::For(For { body, .. }) => self.block(body),
            imp::leaf_stmt!() => false,
        }
    }

    /// The function of a key, made on first use.
    pub(super) fn function(&mut self, key: Key) -> FunId {
        if let Some(known) = self.ids.get(&key) {
            return *known;
        }
        // The body calls the function of one dimension fewer.
        let (params, vars, body) = stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || nest::body(key, self));
        let id = FunId::new(self.first + self.functions.len());
        let size = key.elem.size();
        let name = match key.tile {
            Some(Tile { extent: side, pitch }) => format!("copy {}.{size}.{side}.{pitch}", key.rank),
            None => format!("copy {}.{size}", key.rank),
        };
        self.functions.push(Function {
            name: name.into(),
            params,
            results: Vec::new(),
            owned: Vec::new(),
            distinct: Vec::new(),
            vars,
            body,
            code: CodePlacement::EachModule,
            recursive: false,
        });
        self.ids.insert(key, id);
        id
    }
}

/// The integer type of an element's size.
const fn word(elem: PrimType) -> PrimType {
    match elem {
        PrimType::I8 | PrimType::Bool => PrimType::I8,
        PrimType::I16 | PrimType::F16 => PrimType::I16,
        PrimType::I32 | PrimType::F32 => PrimType::I32,
        PrimType::I64 | PrimType::F64 => PrimType::I64,
    }
}

fn call(fun: FunId, (to, from): (&Region, &Region), extents: &[Expr]) -> Stmt {
    let mut args = vec![Arg::Buffer(to.buffer), Arg::Buffer(from.buffer)];
    let offsets = [to.offset.clone(), from.offset.clone()];
    let words = offsets.iter().chain(extents);
    let words = words.chain(&to.strides).chain(&from.strides);
    args.extend(words.cloned().map(Arg::Scalar));
    Stmt::Call { fun, args, results: Vec::new(), location: None }
}
