//! Dead code: values that nothing reads, and empty conditionals and loops.

use imp::rename::each_var_mut;
use imp::walk::{Use, each_stmt, each_stmt_mut, each_use};
use imp::{Field, Fields, For, Function, Launch, LoopMode, Stmt, Var};

/// Removes dead code, and the variables that are no longer named: the others are renumbered.
pub(super) fn remove(function: &mut Function) {
    remove_statements(function);
    let named = trim(function);
    renumber(function, &named);
}

/// Removes dead code.
pub(crate) fn remove_statements(function: &mut Function) {
    let mut reads = Reads(vec![0; function.vars.len()]);
    function.results.iter().for_each(|var| reads.change(*var, 1));
    each_stmt(&function.body, &mut |stmt| reads.stmt(stmt, 1));
    reads.block(&mut function.body);
}

/// How often each variable is read.
struct Reads(Vec<u32>);

impl Reads {
    fn change(&mut self, var: Var, by: i32) {
        if let Some(count) = self.0.get_mut(var.index()) {
            *count = count.saturating_add_signed(by);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, by: i32) {
        each_use(stmt, &mut |var, used| {
            if used == Use::Reads {
                self.change(var, by);
            }
        });
    }

    /// Removes the dead statements of a list, last ones first: their operands may be dead then.
    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut kept = Vec::with_capacity(stmts.len());
            while let Some(mut stmt) = stmts.pop() {
                match &mut stmt {
                    Stmt::If(_, yes, no) => {
                        self.block(no);
                        self.block(yes);
                    }
                    Stmt::For(f) if f.mode.is_kernel() => {}
                    Stmt::While(_, body) | Stmt::For(For { body, .. }) => self.block(body),
                    imp::leaf_stmt!() => {}
                }
                if self.is_dead(&stmt) {
                    self.stmt(&stmt, -1);
                } else {
                    kept.push(stmt);
                }
            }
            kept.reverse();
            *stmts = kept;
        });
    }

    fn is_dead(&self, stmt: &Stmt) -> bool {
        if let Stmt::Set(var, _) | Stmt::Load(var, _) | Stmt::LoadLanes { var, .. } = stmt {
            self.0.get(var.index()) == Some(&0)
        } else if let Stmt::If(_, yes, no) = stmt {
            yes.is_empty() && no.is_empty()
        } else if let Stmt::For(For { mode: LoopMode::Seq { .. } | LoopMode::Scheduled, body, .. }) = stmt {
            body.is_empty()
        } else {
            false
        }
    }
}

/// Removes the variables that no statement names from the lists of launches; returns, for each
/// variable, whether it is named.
pub(crate) fn trim(function: &mut Function) -> Vec<bool> {
    let mut named = vec![false; function.vars.len()];
    let mut name = |var: Var| {
        if let Some(named) = named.get_mut(var.index()) {
            *named = true;
        }
    };
    for list in [&function.params, &function.results, &function.owned, &function.distinct] {
        list.iter().for_each(|var| name(*var));
    }
    each_stmt(&function.body, &mut |stmt| {
        each_use(stmt, &mut |var, _| name(var));
        if let Stmt::For(For { mode: LoopMode::Tasks(launch), .. }) = stmt {
            launch.owned.iter().for_each(|var| name(*var));
        } else {
            stmt.visit(&mut |field| {
                if let Field::Lists(var) = field {
                    name(*var);
                }
            });
        }
    });
    each_stmt_mut(&mut function.body, &mut |stmt| {
        if let Stmt::For(For { mode: LoopMode::Tasks(launch), .. }) = stmt {
            let Launch { locals, captures, distinct, scattered, .. } = launch;
            for list in [locals, captures, distinct, scattered] {
                list.retain(|var| named.get(var.index()) == Some(&true));
            }
        }
    });
    named
}

/// Numbers the named variables consecutively.
fn renumber(function: &mut Function, named: &[bool]) {
    let mut count = 0;
    let numbers: Vec<Var> = named
        .iter()
        .map(|named| {
            let number = Var(count);
            count += u32::from(*named);
            number
        })
        .collect();
    let mut new = |var: &mut Var| *var = numbers.get(var.index()).copied().unwrap_or(*var);
    each_var_mut(&mut function.body, &mut new);
    for list in [&mut function.params, &mut function.results, &mut function.owned, &mut function.distinct] {
        list.iter_mut().for_each(&mut new);
    }
    let mut named = named.iter();
    function.vars.retain(|_| named.next() == Some(&true));
}
