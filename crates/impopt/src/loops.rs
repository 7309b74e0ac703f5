//! The traversal of passes that replace loops of the host by other statements.

use imp::def_use::DefUse;
use imp::{For, Launch, LoopMode, Stmt};

/// A pass that replaces loops. It sees outer loops before inner ones, and no kernels.
pub(crate) trait ReplaceLoops {
    /// A mark of what the pass has made so far in the innermost frame.
    type Mark;

    /// The numbers of the function's statements.
    fn def_use(&self) -> &DefUse;

    /// Appends the statements that replace the loop with number `at`; returns the loop if it stays.
    fn replace(&mut self, f: For, at: u32, out: &mut Vec<Stmt>) -> Option<For>;

    /// Begins a loop that stays.
    fn mark(&self) -> Self::Mark;

    /// Begins the body of tasks.
    fn enter(&mut self, _: &Launch) {}

    /// Gives the variables that were made since the mark to the frame of tasks.
    fn leave(&mut self, mark: Self::Mark, launch: &mut Launch);

    /// Replaces loops among statements, the first with number `at`.
    fn block(&mut self, stmts: Vec<Stmt>, mut at: u32) -> Vec<Stmt> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut out = Vec::with_capacity(stmts.len());
            for stmt in stmts {
                self.stmt(stmt, at, &mut out);
                at = self.def_use().end(at);
            }
            out
        })
    }

    /// Replaces loops in a statement.
    fn stmt(&mut self, stmt: Stmt, at: u32, out: &mut Vec<Stmt>) {
        let stmt = match stmt {
            Stmt::If(cond, yes, no) => {
                let yes = self.block(yes, at + 1);
                let no = self.block(no, self.def_use().else_start(at));
                Stmt::If(cond, yes, no)
            }
            Stmt::While(cond, body) => Stmt::While(cond, self.block(body, at + 1)),
            Stmt::For(f) if f.mode.is_kernel() => Stmt::For(f),
            Stmt::For(f) => match self.replace(f, at, out) {
                Some(f) => Stmt::For(self.inside(f, at)),
                None => return,
            },
            imp::leaf_stmt!() => stmt,
        };
        out.push(stmt);
    }

    /// Replaces loops in the body of one that stays.
    fn inside(&mut self, mut f: For, at: u32) -> For {
        let mark = self.mark();
        if let LoopMode::Tasks(launch) = &f.mode {
            self.enter(launch);
        }
        f.body = self.block(f.body, at + 1);
        if let LoopMode::Tasks(launch) = &mut f.mode {
            self.leave(mark, launch);
        }
        f
    }
}
