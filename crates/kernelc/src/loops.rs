//! Loops. Task loops run sequentially here; where tasks take chunks of a range, the whole range is
//! one chunk.

use crate::error::{Error, Res};
use crate::expr::Expressions;
use crate::function::{Printer, declarator};
use imp::walk::each_use;
use imp::{Expr, For, Launch, LoopMode, Slices, Stmt, Var};

impl<'a> Printer<'a, '_> {
    /// Prints a counting loop of any kind.
    pub fn for_loop(&mut self, f: &'a For) -> Res<()> {
        match &f.mode {
            LoopMode::Seq { independent } => {
                if *independent && self.unit.dialect.independent_loop_hints && self.is_independent(&f.body) {
                    self.line("BR_INDEPENDENT");
                }
                self.counted(f, &[])
            }
            LoopMode::Scheduled => self.counted(f, &[]),
            LoopMode::Tasks(Launch { slices: Some(slices), .. }) => self.chunked_loop(f, slices),
            LoopMode::Tasks(launch) => self.counted(f, &launch.owned),
            LoopMode::Threads(_) => self.threads(f),
            LoopMode::Grid(_) => Err(Error::Unsupported("device kernels in portable C".to_owned())),
            LoopMode::Lanes(_) => Err(Error::bug("the back end does not support loops in lanes")),
        }
    }

    /// A loop over its range, whose iterations own blocks.
    fn counted(&mut self, f: &'a For, owned: &[Var]) -> Res<()> {
        self.counting(f, None, |writer| {
            writer.statements(&f.body)?;
            for var in owned {
                let name = writer.name(*var);
                writer.line(format!("br_unref(ctx, {name});"));
                writer.line(format!("{name} = NULL;"));
            }
            Ok(())
        })
    }

    /// A loop over a range, whose body is printed by `body`; if the condition `only_if` is given
    /// and does not hold, the range is empty.
    pub fn counting(
        &mut self,
        f: &'a For,
        only_if: Option<&str>,
        body: impl FnOnce(&mut Self) -> Res<()>,
    ) -> Res<()> {
        let limit = |exprs: &Expressions<'_>, e: &Expr| match only_if {
            Some(cond) if *e != Expr::i64(0) => Ok(format!("{cond} ? {} : 0", exprs.operand(e)?)),
            Some(_) | None => exprs.whole(e),
        };
        let (name, from) = (self.name(f.var), limit(&self.exprs, &f.from)?);
        let ty = declarator(&self.exprs.spelled(f.var)?);
        let to = limit(&self.exprs, &f.to)?;
        // The bound is computed once.
        let is_fixed = only_if.is_none() && matches!(f.to, Expr::Const(_));
        let bound = if is_fixed { to.clone() } else { format!("{name}_end") };
        let head = if self.scopes.outer.contains(&f.var) {
            if !is_fixed {
                self.begin_block("{");
                self.line(format!("{ty}{bound} = {to};"));
            }
            format!("{name} = {from}")
        } else if is_fixed {
            format!("{ty}{name} = {from}")
        } else {
            format!("{ty}{name} = {from}, {bound} = {to}")
        };
        self.begin_block(format!("for ({head}; {name} < {bound}; {name}++) {{"));
        body(self)?;
        self.end_block("}");
        if self.scopes.outer.contains(&f.var) && !is_fixed {
            self.end_block("}");
        }
        Ok(())
    }

    /// A chunked range as a single chunk.
    fn chunked_loop(&mut self, f: &'a For, slices: &Slices) -> Res<()> {
        let (from, to) = (self.exprs.whole(&f.from)?, self.exprs.whole(&f.to)?);
        let (first, end) = (self.name(f.var), self.name(slices.end));
        let ty = declarator(&self.exprs.spelled(f.var)?);
        let declared = |outer: bool| if outer { "" } else { ty.as_str() };
        let (of_first, of_end) =
            (declared(self.scopes.outer.contains(&f.var)), declared(self.scopes.outer.contains(&slices.end)));
        self.begin_block("{");
        self.line(format!("{of_first}{first} = {from};"));
        self.line(format!("{of_end}{end} = {to};"));
        self.begin_block(format!("if ({first} < {end}) {{"));
        self.statements(&f.body)?;
        self.end_block("}");
        self.end_block("}");
        Ok(())
    }

    /// Returns true if iterations of an innermost loop touch disjoint memory: no frame arrays,
    /// which they share, and no state of the context.
    fn is_independent(&self, body: &[Stmt]) -> bool {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            body.iter().all(|stmt| self.stmt_is_independent(stmt))
        })
    }

    fn stmt_is_independent(&self, stmt: &Stmt) -> bool {
        let mut unframed = true;
        each_use(stmt, &mut |var, _| {
            unframed &= !self.scopes.framed.contains(&var);
        });
        unframed
            && match stmt {
                Stmt::Set(..)
                | Stmt::Load(..)
                | Stmt::Store(..)
                | Stmt::Borrow(..)
                | Stmt::ConstData(..)
                | Stmt::ReadGlobal(..) => true,
                Stmt::If(_, yes, no) => self.is_independent(yes) && self.is_independent(no),
                imp::leaf_stmt!() | Stmt::While(..) | Stmt::For(_) => false,
            }
    }
}
