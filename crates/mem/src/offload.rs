//! The pass `offload`: segops that cannot be device kernels become functions that
//! run on the host.
//!
//! ```text
//! fun main (n, xs) {                          fun main (n, xs) {
//!   let ys = segmap grid (i < n)                let ys = main.host1 (n, xs)
//!     { .. arrays of i elements .. }      =>    ..
//!   ..                                        }
//! }                                           fun main.host1 (n, xs) version of main on host {
//!                                               let ys = segmap tasks (i < n) { .. }
//!                                             }
//! ```
//!
//! Before and after: level `segs`. A segop, or a whole `withacc`, outside of all others that cannot
//! be a kernel ([`legality`](crate::legality)) even as a map of loops ([`mod@sequentialise`]), or as
//! a map and a reduction ([`mod@split_updates`]), moves to a function that takes its free names
//! ([`outline`]), with segops at the levels of the host ([`host`]). Functions called there get host
//! clones. If one of two versions that a comparison of sizes chooses between would run on the host
//! and the other does not, it is dropped ([`choices`]). Functions that are no longer called are
//! removed.
//!
//! Does nothing on target machines without a device.

mod choices;
mod host;
mod outline;
mod sequentialise;
mod split_updates;

use crate::callees::Callees;
use crate::legality::{Refused, refusal_of, refused};
use ir::kernels::ThreadCallees;
use ir::name::FunId;
use ir::remark::{OperationKind, RemarkKind};
use ir::syntax::{Body, Exp, Function};
use ir::version::{CallPosition, Version};
use ir::walk::{VisitMut, callees, sub_bodies_mut, with_stack};
use ir::{Context, PassError, Program, Segs, TypeEnv};
use outline::Outline;

/// Moves segops that cannot be kernels to host functions.
///
/// # Errors
/// A segop breaks an invariant of the IR.
pub fn offload(mut program: Program<Segs>, context: &mut Context) -> Result<Program<Segs>, PassError> {
    if !program.levels.has_device() {
        return Ok(program);
    }
    let (callees, threads) = (Callees::of(&program), ThreadCallees::of(&program));
    let functions = std::mem::take(&mut program.functions);
    let n = functions.len();
    let outlined =
        context.each(functions, |function, own| outline_function(function, (&callees, &threads), n, own))?;
    if outlined.iter().all(|(_, own)| own.is_empty()) {
        program.functions = outlined.into_iter().map(|(function, _)| function).collect();
        return Ok(program);
    }
    let clones = host_clones(&outlined)?;
    // The new ids of the functions, and of their host clones.
    let (mut new_ids, mut host_ids) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let mut next = 0;
    for ((_, own), host_clone) in outlined.iter().zip(&clones) {
        new_ids.push(next);
        host_ids.push(next + 1 + own.len());
        next += 1 + own.len() + usize::from(host_clone.is_some());
    }
    for (at, ((mut function, own), host_clone)) in outlined.into_iter().zip(clones).enumerate() {
        function.renumber_calls(|id| {
            let outlined = (id.index().checked_sub(n)).map(|number| new_ids[at] + 1 + number);
            FunId::new(outlined.unwrap_or_else(|| new_ids[id.index()]))
        });
        program.functions.push(function);
        program.functions.extend(own.into_iter().chain(host_clone).map(|mut function| {
            function.renumber_calls(|id| FunId::new(host_ids[id.index()]));
            function
        }));
    }
    program.entries.iter_mut().for_each(|entry| entry.fun = FunId::new(new_ids[entry.fun.index()]));
    let reachable = program.reachable();
    program.retain_functions(&reachable);
    Ok(program)
}

/// Processes a function of a program of `n_functions`. Also returns the host functions made from its
/// parts; their ids follow those of the program, and the calls in them stand for host clones.
fn outline_function(
    mut function: Function<Segs>,
    (callees, threads): (&Callees, &ThreadCallees),
    n_functions: usize,
    context: &mut Context,
) -> Result<(Function<Segs>, Vec<Function<Segs>>), PassError> {
    let version = function.version.as_ref();
    // The bodies of these functions are parts of kernels.
    if version.is_some_and(|it| matches!(it.position, CallPosition::Within { .. })) {
        return Ok((function, Vec::new()));
    }
    split_updates::split_updates(&mut function);
    sequentialise::sequentialise_in_threads(&mut function)?;
    let refused = refused(&function, threads, context.options.device.block.unsigned_abs());
    if refused.is_empty() {
        return Ok((function, Vec::new()));
    }
    choices::drop_refused(&mut function, &refused, context);
    let types = TypeEnv::of_function(&function);
    let mut outline =
        Outline::new(&function.name, &function.names, &function.provs, types, callees, n_functions);
    OutlineRefused { outline: &mut outline, refused: &refused, context }.body(&mut function.body);
    let made = outline.finish()?;
    Ok((function, made))
}

/// Moves the refused segops, wherever they are outside of other segops.
struct OutlineRefused<'a, 'b> {
    outline: &'a mut Outline<'b>,
    refused: &'a Refused,
    context: &'a mut Context,
}

impl VisitMut<Segs> for OutlineRefused<'_, '_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            for stm in &mut body.stms {
                match (&stm.exp, refusal_of(stm, self.refused)) {
                    (Exp::Op(op), Some(why)) => {
                        let what = OperationKind::of_segop(op);
                        let spans = self.outline.spans(stm.aux.prov);
                        let kind = RemarkKind::OnHost { what, why };
                        self.context.remark(&self.outline.name().0, spans, kind);
                        self.outline.unit(stm);
                    }
                    (Exp::Op(_), None) => {}
                    (Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. }, _) => {
                        sub_bodies_mut(&mut stm.exp, |body| self.body(body));
                    }
                }
            }
        });
    }
}

/// Returns the host clone of each function, if host functions call it.
fn host_clones(
    outlined: &[(Function<Segs>, Vec<Function<Segs>>)],
) -> Result<Vec<Option<Function<Segs>>>, PassError> {
    let mut clones: Vec<Option<Function<Segs>>> = outlined.iter().map(|_| None).collect();
    let mut open: Vec<FunId> = Vec::new();
    for own in outlined.iter().flat_map(|(_, own)| own) {
        callees(&own.body, |fun| open.push(fun));
    }
    while let Some(fun) = open.pop() {
        let (host_clone @ None, (function, _)) = (&mut clones[fun.index()], &outlined[fun.index()]) else {
            continue;
        };
        let version = Version { of: function.name.clone(), position: CallPosition::Host };
        let name = host::host_clone_name(&function.name);
        let made = host_clone.insert(Function { name, version: Some(version), ..function.clone() });
        host::convert(made)?;
        callees(&made.body, |fun| open.push(fun));
    }
    Ok(clones)
}
