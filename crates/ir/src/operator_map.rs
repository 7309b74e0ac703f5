//! Analysis of operators for rule G4 of incremental flattening (Henriksen et al., PPoPP 2019, §3):
//! whether an operator is a map, and the operator on elements.

use crate::Name;
use crate::soac::Operator;
use crate::syntax::{Atom, Exp, Lambda, Level, Param};
use crate::types::{Dim, Type};
use crate::walk::{LevelOp, Substitution, free_names_lambda, substitute_body};

/// For an operator on arrays that is exactly one map over its parameters and uses no other values
/// of them: the inner width, and for each parameter of the map's lambda the position of the
/// operator's parameter. Neutral elements must be variables.
pub fn operator_map<L: Level>(operator: &Operator<L>) -> Option<(Dim, Vec<usize>)> {
    as_map(operator).map(|(width, positions, _)| (width, positions))
}

fn as_map<L: Level>(operator: &Operator<L>) -> Option<(Dim, Vec<usize>, &Lambda<L>)> {
    let [stm] = operator.op.body.stms.as_slice() else {
        return None;
    };
    let Exp::Op(op) = &stm.exp else {
        return None;
    };
    let (width, inputs, map) = op.as_map()?;
    let params = &operator.op.params;
    let free = free_names_lambda(map);
    let only_elements = free.iter().all(|name| params.iter().all(|param| param.name != *name));
    let returned = stm.pat.len() == operator.op.body.result.len()
        && stm.pat.iter().zip(&operator.op.body.result).all(|(p, &r)| Atom::Var(p.name) == r);
    if !returned || !only_elements {
        return None;
    }
    let position = |input: &Name| params.iter().position(|p| p.name == *input);
    let inputs: Option<Vec<usize>> = inputs.iter().map(position).collect();
    let neutral_arrays = operator.neutral.iter().all(|ne| ne.var().is_some());
    neutral_arrays.then_some((width, inputs?, map))
}

/// The operator on elements of an operator on arrays that is a map ([`operator_map`]). It has one
/// parameter for each of the operator's, which the map may use several times or not at all.
pub fn element_operator<L: Level>(
    operator: &Operator<L>,
    fresh: &mut dyn FnMut(&str, Type) -> Param<L>,
) -> Option<Lambda<L>> {
    let (_, positions, map) = as_map(operator)?;
    let rows = &map.ret;
    let params: Vec<Param<L>> = rows.iter().chain(rows).map(|ty| fresh("x", ty.clone())).collect();
    let own = map.params.iter().zip(&positions);
    let own: Substitution = own.map(|(param, &at)| (param.name, params[at].name.into())).collect();
    let mut body = map.body.clone();
    substitute_body(&mut body, &own);
    Some(Lambda { params, body, ret: rows.clone() })
}
