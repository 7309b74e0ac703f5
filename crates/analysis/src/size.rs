//! The size of code in statements: what copies of it cost in compile time and instruction cache. A
//! mathematical function counts as its definition.

use ir::syntax::{BasicOp, Body, Exp, Level, Stm};
use ir::walk::Visit;
use prim::ScalarOp;
use target::time;

/// The number of statements that an operation becomes.
pub fn of_basic(op: &BasicOp) -> usize {
    if let BasicOp::Scalar(ScalarOp::Math(fun, ty, _)) = op
        && fun.has_definition(*ty)
    {
        return (time::math(*fun, *ty) / time::PLAIN) as usize;
    }
    1
}

/// The number of statements of a body, at any depth.
pub fn of_body<L: Level>(body: &Body<L>) -> usize {
    count_up_to(body, usize::MAX)
}

/// Returns true if a body has at most `most` statements, at any depth. Visits no more statements
/// than that.
pub fn is_at_most<L: Level>(body: &Body<L>, most: usize) -> bool {
    count_up_to(body, most) <= most
}

/// The number of statements of a body, or a number greater than `most`.
fn count_up_to<L: Level>(body: &Body<L>, most: usize) -> usize {
    struct Size {
        count: usize,
        most: usize,
    }
    impl<L: Level> Visit<L> for Size {
        fn stm(&mut self, stm: &Stm<L>) {
            if self.count > self.most {
                return;
            }
            match &stm.exp {
                Exp::Basic(op) => self.count += of_basic(op),
                Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {
                    self.count += 1;
                    self.exp(&stm.exp);
                }
            }
        }
    }
    let mut size = Size { count: 0, most };
    Visit::<L>::body(&mut size, body);
    size.count
}
