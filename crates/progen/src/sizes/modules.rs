//! Modules with abstract types, in several representations, and functors over them. The result of
//! an operation does not depend on the representation (`model.rs`).

use super::exp::Name;
use super::scope::{Binding, Fun, Gen};
use super::types::Kind;

/// The interface of vectors; `~` is inserted at `T`.
const VEC: &str = "\
module type vec = {
  typeT t [n]
  val of [n] : [n]i64 -> t [n]
  val to [n] : t [n] -> [n]i64
  val make : (n: i64) -> t [n]
  val cat [n] [m] : t [n] -> t [m] -> t [n + m]
  val both [n] : t [n] -> t [n] -> t [n]
  val pick [n] : i64 -> t [n] -> ?[l].t [l]
  val len [n] : t [n] -> i64
  val sum [n] : t [n] -> i64
}
";

const MAT: &str = "\
module type mat = {
  typeT t [n] [m]
  val of [n] [m] : [n][m]i64 -> t [n] [m]
  val to [n] [m] : t [n] [m] -> [n][m]i64
  val make : (n: i64) -> (m: i64) -> t [n] [m]
  val cat [n] [m] [l] : t [n] [m] -> t [l] [m] -> t [n + l] [m]
  val both [n] [m] : t [n] [m] -> t [n] [m] -> t [n] [m]
  val pick [n] [m] : i64 -> t [n] [m] -> ?[l].t [l] [m]
  val len [n] [m] : t [n] [m] -> i64
  val sum [n] [m] : t [n] [m] -> i64
  val flip [n] [m] : t [n] [m] -> t [m] [n]
  val sums [n] [m] : t [n] [m] -> [n]i64
}
";

const BAG: &str = "\
module type bag = {
  type~ t
  val of [n] : [n]i64 -> t
  val to : t -> ?[l].[l]i64
  val make : i64 -> t
  val cat : t -> t -> t
  val pick : i64 -> t -> t
  val len : t -> i64
  val sum : t -> i64
}
";

/// The operations of vector modules besides `t`, `of` and `to`.
const VEC_REST: &str = "  def make (n: i64) : t [n] = of (iota n)
  def cat [n] [m] (a: t [n]) (b: t [m]) : t [n + m] = of (to a ++ to b)
  def both [n] (a: t [n]) (b: t [n]) : t [n] = of (map2 (+) (to a) (to b))
  def pick [n] (k: i64) (a: t [n]) : ?[l].t [l] = of (filter (> k) (to a))
  def len [n] (_: t [n]) : i64 = n
  def sum [n] (a: t [n]) : i64 = i64.sum (to a)
";

const MAT_REST: &str = "  def make (n: i64) (m: i64) : t [n] [m] = of (tabulate_2d n m (\\i j -> i * m + j))
  def cat [n] [m] [l] (a: t [n] [m]) (b: t [l] [m]) : t [n + l] [m] = of (to a ++ to b)
  def both [n] [m] (a: t [n] [m]) (b: t [n] [m]) : t [n] [m] = of (map2 (map2 (+)) (to a) (to b))
  def pick [n] [m] (k: i64) (a: t [n] [m]) : ?[l].t [l] [m] = of (filter (\\r -> i64.sum r > k) (to a))
  def len [n] [m] (_: t [n] [m]) : i64 = n * 100 + m
  def sum [n] [m] (a: t [n] [m]) : i64 = i64.sum (flatten (to a))
  def flip [n] [m] (a: t [n] [m]) : t [m] [n] = of (transpose (to a))
  def sums [n] [m] (a: t [n] [m]) : [n]i64 = map i64.sum (to a)
";

const BAG_REST: &str = "  def make (n: i64) : t = of (iota n)
  def cat (a: t) (b: t) : t = of (to a ++ to b)
  def pick (k: i64) (a: t) : t = of (filter (> k) (to a))
  def len (a: t) : i64 = length (to a)
  def sum (a: t) : i64 = i64.sum (to a)
";

/// Representations: `t`, `of` and `to`. The first ones also fit unlifted types.
const VECS: [&str; 6] = [
    "type t [n] = [n]i64
  def of [n] (xs: [n]i64) : t [n] = xs
  def to [n] (xs: t [n]) : [n]i64 = xs",
    "type t [n] = ([n]i64, [n]i64)
  def of [n] (xs: [n]i64) : t [n] = (map (+ 1) xs, xs)
  def to [n] ((_, m): t [n]) : [n]i64 = m",
    "type t [n] = {n: [n](), xs: [n]i64}
  def of [n] (xs: [n]i64) : t [n] = {n = replicate n (), xs}
  def to [n] (x: t [n]) : [n]i64 = x.xs",
    "type t [n] = #up ([n]i64) | #down ([n]i64) i64
  def of [n] (xs: [n]i64) : t [n] = if n > 2 then #up xs else #down (map i64.neg xs) n
  def to [n] (x: t [n]) : [n]i64 = match x case #up xs -> xs case #down n _ -> map i64.neg n",
    "type~ t [n] = {n: [n](), xs: []i64}
  def of [n] (xs: [n]i64) : t [n] = {n = replicate n (), xs = xs ++ [1]}
  def to [n] (x: t [n]) : [n]i64 = take n x.xs",
    "type~ t [n] = ([n](), #even ([n]i64) | #odd ([]i64))
  def of [n] (xs: [n]i64) : t [n] =
    (replicate n (), if n % 2 == 0 then #even xs else #odd (reverse xs))
  def to [n] (x: t [n]) : [n]i64 =
    match x.1 case #even xs -> xs case #odd m -> reverse m :> [n]i64",
];

const MATS: [&str; 4] = [
    "type t [n] [m] = [n][m]i64
  def of [n] [m] (xs: [n][m]i64) : t [n] [m] = xs
  def to [n] [m] (xs: t [n] [m]) : [n][m]i64 = xs",
    "type t [n] [m] = {m: [m][n]i64, n: [n][m]()}
  def of [n] [m] (xs: [n][m]i64) : t [n] [m] =
    {m = transpose xs, n = replicate n (replicate m ())}
  def to [n] [m] (x: t [n] [m]) : [n][m]i64 = transpose x.m",
    "type t [n] [m] = ([n](), [m](), [n * m]i64)
  def of [n] [m] (xs: [n][m]i64) : t [n] [m] = (replicate n (), replicate m (), flatten xs)
  def to [n] [m] ((_, _, xs): t [n] [m]) : [n][m]i64 = unflatten xs",
    "type t [n] [m] = [m]([n]i64, i64)
  def of [n] [m] (xs: [n][m]i64) : t [n] [m] = map (\\c -> (c, n)) (transpose xs)
  def to [n] [m] (xs: t [n] [m]) : [n][m]i64 = transpose (map (.0) xs)",
];

const BAGS: [&str; 4] = [
    "type~ t = []i64
  def of [n] (xs: [n]i64) : t = xs
  def to (xs: t) : []i64 = xs",
    "type~ t = ?[k].([k]i64, [k]i64)
  def of [n] (xs: [n]i64) : t = (xs, map i64.neg xs)
  def to (x: t) : []i64 = map2 (\\a b -> a - b - a) x.0 x.1",
    "type~ t = #some ([]i64) | #none
  def of [n] (xs: [n]i64) : t = if n == 0 then #none else #some xs
  def to (x: t) : []i64 = match x case #some xs -> xs case #none -> filter (> 0) [0]",
    "type~ t = {low: []i64, high: []i64}
  def of [n] (xs: [n]i64) : t = {low = take (n / 2) xs, high = drop (n / 2) xs}
  def to (x: t) : []i64 = x.low ++ x.high",
];

/// The names of modules; variables may hide them.
const MODULES: [&str; 5] = ["m", "v", "w", "u", "t"];

impl Gen<'_> {
    /// Module types, modules, functors and their applications.
    pub fn declare_modules(&mut self, fuel: u32) -> String {
        let lifted = self.c.once_in(2);
        let interface = |text: &str| text.replace("typeT", if lifted { "type~" } else { "type" });
        let mut text = [VEC, MAT, BAG].map(interface).concat();
        let mut kinds: Vec<Kind> = Vec::new();
        let count = 1 + self.c.below(MODULES.len() - 1);
        for name in &MODULES[..count] {
            let kind = [Kind::Vec, Kind::Bag, Kind::Mat, Kind::Vec][self.c.below(4)];
            let (of, rest) = match kind {
                Kind::Vec => {
                    let most = if lifted { VECS.len() } else { VECS.len() - 2 };
                    (VECS[self.c.below(most)], VEC_REST)
                }
                Kind::Mat => (MATS[self.c.below(MATS.len())], MAT_REST),
                Kind::Bag => (BAGS[self.c.below(BAGS.len())], BAG_REST),
            };
            kinds.push(kind);
            let sig = signature(kind);
            let inner = if self.c.once_in(3) { self.inner(kind) } else { None };
            text.push_str(&match inner {
                // By a functor, or by the other module itself.
                Some(inner) if self.c.once_in(2) => {
                    let of = stacked(kind, "X", lifted);
                    format!(
                        "\nmodule Wrap_{name} (X: {sig}) : {sig} = {{\n  {of}\n{rest}}}\n\
                         module {name} = Wrap_{name} {inner}\n"
                    )
                }
                Some(inner) => {
                    let of = stacked(kind, &inner, lifted);
                    format!("\nmodule {name} : {sig} = {{\n  {of}\n{rest}}}\n")
                }
                None => format!("\nmodule {name} : {sig} = {{\n  {of}\n{rest}}}\n"),
            });
            self.push(&(*name).into(), Binding::Module(kind));
        }
        for at in 0..self.c.below(3) {
            let kind = kinds[self.c.below(kinds.len())];
            let functor = self.functor(at, kind, fuel);
            text.push_str(&functor);
        }
        text
    }

    /// An existing module of this kind.
    fn inner(&self, kind: Kind) -> Option<Name> {
        let modules = self.modules();
        let found = modules.into_iter().find(|(_, other)| *other == kind);
        found.map(|(path, _)| path)
    }

    /// A functor with functions, and its applications to the modules of its kind.
    fn functor(&mut self, at: usize, kind: Kind, fuel: u32) -> String {
        let param: Name = "X".into();
        let mut declarations = String::new();
        let mut funs = Vec::new();
        self.scoped(|g| {
            g.push(&param, Binding::Module(kind));
            for number in 0..=g.c.below(2) {
                let result = g.goal(1);
                let name: Name = format!("call{number}").into();
                let fun = g.declare("def", &name, &result, fuel, false);
                let text = &g.defs[g.funs[fun].def].text;
                declarations.push_str(&format!("  {}\n", text.replace('\n', "\n  ")));
                g.push(&name, Binding::Fun(fun));
                funs.push(fun);
            }
        });
        let functor = format!("F{at}");
        let sig = signature(kind);
        let mut text = format!("\nmodule {functor} (X: {sig}) = {{\n{declarations}}}\n");
        let modules = self.modules();
        for (module, other) in modules {
            if other != kind || self.c.once_in(3) {
                continue;
            }
            let result: Name = format!("{module}{at}").into();
            text.push_str(&format!("module {result} = {functor} {module}\n"));
            let mut made = Vec::new();
            for fun in &funs {
                let fun = self.funs[*fun].clone();
                let tys = fun.params.iter();
                self.funs.push(Fun {
                    path: format!("{result}.{}", fun.path).into(),
                    params: tys.map(|ty| ty.with_module(&param, &module)).collect(),
                    ret: fun.ret.with_module(&param, &module),
                    ..fun
                });
                made.push(self.funs.len() - 1);
            }
            self.push(&result, Binding::Funs(made));
        }
        text
    }
}

fn signature(kind: Kind) -> &'static str {
    match kind {
        Kind::Vec => "vec",
        Kind::Mat => "mat",
        Kind::Bag => "bag",
    }
}

/// A representation by the type of another module of the kind.
fn stacked(kind: Kind, inner: &str, lifted: bool) -> String {
    let keyword = if lifted { "type~" } else { "type" };
    match kind {
        Kind::Vec => format!(
            "{keyword} t [n] = ({inner}.t [n], i64)
  def of [n] (xs: [n]i64) : t [n] = ({inner}.of xs, n)
  def to [n] ((a, _): t [n]) : [n]i64 = {inner}.to a"
        ),
        Kind::Mat => format!(
            "{keyword} t [n] [l] = {{k: {inner}.t [l] [n]}}
  def of [n] [l] (xs: [n][l]i64) : t [n] [l] = {{k = {inner}.of (transpose xs)}}
  def to [n] [l] ({{k}}: t [n] [l]) : [n][l]i64 = transpose ({inner}.to k)"
        ),
        Kind::Bag => format!(
            "type~ t = {{a: {inner}.t, b: {inner}.t}}
  def of [n] (xs: [n]i64) : t =
    {{a = {inner}.of (take (n / 2) xs), b = {inner}.of (drop (n / 2) xs)}}
  def to ({{a, b}}: t) : []i64 = {inner}.to a ++ {inner}.to b"
        ),
    }
}
