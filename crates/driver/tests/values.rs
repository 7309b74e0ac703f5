//! Values of entry points' types in the memory of a context, built and split into components
//! outside of compiled programs; and calls that another thread cancels.

use driver::{DeviceTarget, Options, Session};
use runtime::{Config, Context, Error, Handle, Output, device};
use std::time::{Duration, Instant};
use value::Value;
use value::interface::{EntryType, OpaqueId, OpaqueKind};

/// A loader with one file.
struct Text(&'static str);

impl check::Loader for Text {
    fn load(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }
}

/// A context for a program.
fn context(text: &'static str, target: Option<DeviceTarget>, config: &Config) -> Context {
    let mut options = Options { llvm_level: 1, ..Options::default() };
    if let Some(target) = target {
        options = options.on_device(target);
    }
    let mut session = Session::new("program.fut", options);
    let typed = session.check(&mut Text(text));
    let typed = typed.unwrap_or_else(|failure| panic!("{:?}", failure.0));
    let ir = session.lower(&typed).unwrap_or_else(|failure| panic!("{:?}", failure.0));
    let image = session.image(ir, &mut ()).unwrap_or_else(|failure| panic!("{:?}", failure.0));
    Context::new(config, image).unwrap_or_else(|error| panic!("{error}"))
}

const SHAPES: &str = "
type point = {y: f32, x: f32}
type~ shape = #path ([]point) | #none | #circle point f32
type~ nested = {tags: [2](i32, bool), name: []u8, at: point}
module m : { type t val make : i32 -> t val get : t -> i32 } = {
  type t = {a: i32, b: bool}
  def make x = {a = x, b = x > 0}
  def get (t: t) = if t.b then t.a else -t.a
}

-- | The size of a shape.
-- Two lines.
#[noinline]
entry size (s: shape) : f32 =
  match s
  case #circle p r -> r * r + p.x
  case #none -> -1
  case #path ps -> f32.sum (map (\\p -> p.y) ps)

entry path [n] (xs: [n]f32) : shape = #path (map (\\x -> {x, y = x * 10}) xs)
entry nest (k: i32) : nested = {name = \"ab\", at = {x = 1, y = 2}, tags = [(k, true), (k + 1, false)]}
entry name_of (n: nested) : ([]u8, i32) = (n.name, n.tags[1].0 + i32.f32 n.at.y)
entry split (x: i32) : (i32, (bool, []i64)) = (x, (x > 0, iota (i64.i32 x)))
entry make (x: i32) : m.t = m.make x
entry get (t: m.t) : i32 = m.get t
entry moved [n] (ps: *[n]point) (by: f32) : *[n]point = map (\\p -> p with x = p.x + by) ps
entry rows [n] (k: i64) (xs: [n]i32) : [][]([]i32, i8) =
  tabulate_2d 2 k (\\i j -> (map (+ i32.i64 (10 * i + j)) xs, i8.i64 j))
entry unit (x: i32) : () = let _ = x in ()
";

/// A scalar or array in the context.
macro_rules! take {
    ($context:expr, $value:expr) => {
        $context.import(Value::scalar($value).expect("a scalar")).expect("it fits")
    };
}

/// A context of the program `SHAPES`.
struct Test(Context);

impl Test {
    fn new() -> Self {
        Self::on(None)
    }

    fn on(target: Option<DeviceTarget>) -> Self {
        let config = Config { num_threads: Some(2), ..Config::default() };
        Self(context(SHAPES, target, &config))
    }

    /// The result of an entry point; the arguments are released.
    fn call(&mut self, name: &str, args: Vec<Handle>) -> Result<Handle, Error> {
        let entry = self.0.entry(name)?;
        let result = self.0.invoke(entry, &args);
        args.into_iter().for_each(|arg| self.0.release(arg));
        result
    }

    /// The type of this name.
    fn ty(&self, name: &str) -> OpaqueId {
        self.0.interface().opaques.find(name).unwrap_or_else(|| panic!("no type {name}"))
    }

    /// The text of a scalar or array, which is released.
    fn text(&mut self, handle: Handle) -> String {
        let value = self.0.export(&handle).expect("it has a text form");
        self.0.release(handle);
        value.to_string()
    }

    /// The text of a field.
    fn field(&mut self, record: &Handle, field: usize) -> String {
        let part = self.0.project(record, field).expect("a field");
        self.text(part)
    }

    /// A point of these coordinates.
    fn point(&mut self, x: f32, y: f32) -> Handle {
        let (x, y) = (take!(self.0, x), take!(self.0, y));
        let point = self.0.new_record(self.ty("point"), &[&x, &y]).expect("a record");
        [x, y].into_iter().for_each(|part| self.0.release(part));
        point
    }

    /// Ends the context, and checks that nothing leaks.
    fn finish(self) {
        assert_eq!(self.0.finish(), 0, "bytes leaked");
    }
}

fn message<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    outcome.expect_err("a failure").to_string()
}

#[test]
fn the_interface_has_types_names_attributes_and_documentation() {
    let test = Test::new();
    let interface = test.0.interface().clone();
    let entry = &interface.entries[test.0.entry("size").expect("an entry point")];
    assert_eq!(
        (&*entry.attributes, &*entry.doc),
        (&["noinline".into()][..], "The size of a shape.\nTwo lines.")
    );
    assert_eq!((&*entry.params[0].name, &*entry.params[0].type_name), ("s", "shape"));
    let Some(OpaqueKind::Sum(constrs)) = interface.opaques.kind(entry.params[0].ty) else { panic!() };
    let shown: Vec<String> = constrs
        .iter()
        .map(|constr| {
            let payload: Vec<_> = constr.payload.iter().map(|ty| interface.opaques.name(*ty)).collect();
            format!("{} {}", constr.name, payload.join(" "))
        })
        .collect();
    assert_eq!(shown, ["circle point f32", "none ", "path []point"]);
    let Some(OpaqueKind::Record(fields)) = interface.opaques.kind(EntryType::Opaque(test.ty("nested")))
    else {
        panic!()
    };
    let shown: Vec<String> =
        fields.iter().map(|(name, ty)| format!("{name}: {}", interface.opaques.name(*ty))).collect();
    assert_eq!(shown, ["at: point", "name: []u8", "tags: [](i32, bool)"]);
    let moved = &interface.entries[test.0.entry("moved").expect("an entry point")];
    assert_eq!((moved.params[0].unique, moved.params[1].unique, moved.result.unique), (true, false, true));
    let split = &interface.entries[test.0.entry("split").expect("an entry point")];
    assert_eq!(&*interface.opaques.name(split.result.ty), "(i32, (bool, []i64))");
    assert_eq!(value::interface::Interface::decode(&interface.encode()).as_ref(), Ok(&*interface));
    test.finish();
}

#[test]
fn records_and_sums() {
    let mut test = Test::new();
    let shape = test.ty("shape");
    // (3, 4), radius 2: 2 * 2 + 3
    let (point, radius) = (test.point(3.0, 4.0), take!(test.0, 2f32));
    let circle = test.0.new_variant(shape, 0, &[&point, &radius]).expect("a circle");
    let size = test.call("size", vec![circle]).expect("a size");
    assert_eq!(test.text(size), "7f32");
    let none = test.0.new_variant(shape, 1, &[]).expect("no shape");
    let size = test.call("size", vec![none]).expect("a size");
    assert_eq!(test.text(size), "-1f32");

    let xs = Value::from_slice(&[3], &[1f32, 2.0, 3.0]).expect("an array");
    let xs = test.0.import(xs).expect("it fits");
    let path = test.call("path", vec![xs]).expect("a path");
    assert_eq!(test.0.variant(&path), Ok(2));
    let mut payload = test.0.destruct(&path).expect("a payload");
    let points = payload.pop().expect("the points");
    assert!(payload.is_empty());
    assert_eq!(test.field(&points, 0), "[1f32, 2f32, 3f32]");
    assert_eq!(test.field(&points, 1), "[10f32, 20f32, 30f32]");
    let last = test.0.index(&points, &[2]).expect("a point");
    assert_eq!((test.field(&last, 0), test.field(&last, 1)), ("3f32".to_owned(), "30f32".to_owned()));
    let again = test.0.new_variant(shape, 2, &[&points]).expect("a path");
    let size = test.call("size", vec![again]).expect("a size");
    assert_eq!(test.text(size), "60f32");

    assert_eq!(message(test.0.index(&points, &[3])), "Index out of bounds.");
    assert_eq!(message(test.0.index(&points, &[-1])), "Index out of bounds.");
    assert_eq!(message(test.0.new_variant(shape, 0, &[&point])), "Expected 2 values, but got 1.");
    let wrong = "Expected a value of type f32, got one of type point.";
    assert_eq!(message(test.0.new_variant(shape, 0, &[&point, &point])), wrong);
    assert_eq!(message(test.0.new_variant(shape, 3, &[])), "No such variant");
    assert_eq!(message(test.0.project(&point, 2)), "No such field");
    assert_eq!(message(test.0.destruct(&point)), "Not a sum type");
    assert_eq!(message(test.0.shape(&point)), "Not an array type");
    let mut other = Test::new();
    assert_eq!(message(other.0.share(&point)), "a value belongs to another context");
    other.finish();
    let outcome = test.call("size", vec![point]);
    assert!(message(outcome).contains("expected a value of type shape, got one of type point"));
    [radius, path, points, last].into_iter().for_each(|handle| test.0.release(handle));
    test.finish();
}

#[test]
fn nested_records_tuples_and_abstract_types() {
    let mut test = Test::new();
    let k = take!(test.0, 5i32);
    let nested = test.call("nest", vec![k]).expect("a record");
    let (at, tags) =
        (test.0.project(&nested, 0).expect("a point"), test.0.project(&nested, 2).expect("tags"));
    assert_eq!(test.field(&at, 1), "2f32");
    assert_eq!(test.0.shape(&tags), Ok(vec![2]));
    let tag = test.0.index(&tags, &[1]).expect("a tag");
    assert_eq!((test.field(&tag, 0), test.field(&tag, 1)), ("6i32".to_owned(), "false".to_owned()));
    // The record with another point: "ab", 6 + 7.
    let (point, name) = (test.point(0.0, 7.0), test.0.project(&nested, 1).expect("a name"));
    let changed = test.0.new_record(test.ty("nested"), &[&point, &name, &tags]).expect("a record");
    let both = test.call("name_of", vec![changed]).expect("a tuple");
    assert_eq!((test.field(&both, 0), test.field(&both, 1)), ("[97u8, 98u8]".to_owned(), "13i32".to_owned()));
    [nested, at, tags, tag, point, name, both].into_iter().for_each(|handle| test.0.release(handle));

    // Executables print the components of tuples.
    let outputs = test.0.call("split", vec![Value::scalar(3i32).expect("a scalar")]).expect("a tuple");
    let shown: Vec<String> = outputs
        .iter()
        .map(|output| match output {
            Output::Value(value) => value.to_string(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(shown, ["3i32", "true", "[0i64, 1i64, 2i64]"]);
    assert_eq!(test.0.call("unit", vec![Value::scalar(3i32).expect("a scalar")]), Ok(vec![Output::Unit]));

    let x = take!(test.0, -4i32);
    let hidden = test.call("make", vec![x]).expect("an abstract value");
    let got = test.call("get", vec![hidden]).expect("a number");
    assert_eq!(test.text(got), "4i32");
    test.finish();
}

/// Returns true if there is an OpenCL device.
fn has_device() -> bool {
    device::list(None).is_ok_and(|devices| !devices.is_empty())
}

#[test]
fn arrays_of_records() {
    make_and_index_arrays(Test::new());
}

#[test]
fn arrays_of_records_on_a_device() {
    if has_device() {
        make_and_index_arrays(Test::on(Some(DeviceTarget::OpenCl)));
    }
}

fn make_and_index_arrays(mut test: Test) {
    let all: Vec<Handle> = [(1.0, 2.0), (3.0, 4.0)].into_iter().map(|(x, y)| test.point(x, y)).collect();
    let points = EntryType::Opaque(test.ty("[]point"));
    let array = test.0.new_array(points, &[2], &[&all[0], &all[1]]).expect("an array");
    let by = take!(test.0, 0.5f32);
    let moved = test.call("moved", vec![array, by]).expect("an array");
    assert_eq!(test.field(&moved, 0), "[1.5f32, 3.5f32]");
    assert_eq!(test.field(&moved, 1), "[2f32, 4f32]");
    let none = test.0.new_array(points, &[0], &[]).expect("an empty array");
    assert_eq!(test.0.shape(&none), Ok(vec![0]));
    assert_eq!(message(test.0.new_array(points, &[3], &[&all[0]])), "Expected 3 values, but got 1.");
    let two = test.0.import(Value::from_slice(&[2], &[1f32, 2.0]).expect("an array")).expect("it fits");
    let one = test.0.import(Value::from_slice(&[1], &[1f32]).expect("an array")).expect("it fits");
    let EntryType::Opaque(points) = points else { panic!() };
    let zipped = test.0.new_record(points, &[&two, &two]).expect("an array of records");
    let second = test.0.index(&zipped, &[1]).expect("a record");
    assert_eq!(test.field(&second, 0), "2f32");
    let failure = message(test.0.new_record(points, &[&two, &one]));
    assert_eq!(failure, "Cannot zip arrays with different shapes.");

    // Arrays inside of elements.
    let k = take!(test.0, 3i64);
    let xs = test.0.import(Value::from_slice(&[2], &[100i32, 200]).expect("an array")).expect("it fits");
    let rows = test.call("rows", vec![k, xs]).expect("an array");
    assert_eq!(test.0.shape(&rows), Ok(vec![2, 3]));
    let row = test.0.index(&rows, &[1, 2]).expect("an element");
    assert_eq!((test.field(&row, 0), test.field(&row, 1)), ("[112i32, 212i32]".to_owned(), "2i8".to_owned()));
    let copies = test.0.new_array(rows.ty(), &[1, 2], &[&row, &row]).expect("an array");
    assert_eq!(test.field(&copies, 0), "[[[112i32, 212i32], [112i32, 212i32]]]");
    assert_eq!(test.field(&copies, 1), "[[2i8, 2i8]]");
    let shared = test.0.share(&copies).expect("another handle");
    let handles = [moved, none, two, one, zipped, second, rows, row, copies, shared];
    handles.into_iter().chain(all).for_each(|handle| test.0.release(handle));
    test.finish();
}

const LONG: &str = "
entry spin (n: i64) : i64 = (loop (i, s) = (0i64, 1i64) while i < n do (i + 1, s * 3 + i)).1
entry sums (n: i64) : i64 = i64.sum (map (\\i -> loop s = i for j < 1000 do s * 3 + j) (iota n))
entry steps (n: i64) (xs: []i32) : []i32 = loop xs = xs for _i < n do map (\\x -> x * 3 + 1) (rotate 1 xs)
";

/// Cancels a call that would take years, then calls again.
fn cancel(context: &mut Context, entry: &str, long: Vec<Value>, short: Vec<Value>, expected: &str) {
    let cancellation = context.cancellation();
    let start = Instant::now();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            cancellation.request();
        });
        context.call(entry, long)
    });
    assert_eq!(message(outcome), "Error: cancelled", "{entry}");
    assert!(start.elapsed() < Duration::from_mins(1), "{entry} takes {:?}", start.elapsed());
    let outputs = context.call(entry, short).expect("the context can be used again");
    let [Output::Value(value)] = &outputs[..] else { panic!("{outputs:?}") };
    assert_eq!(value.to_string(), expected);
}

fn number(n: i64) -> Value {
    Value::scalar(n).expect("a scalar")
}

#[test]
fn calls_are_cancelled() {
    for threads in [1, 2] {
        let config = Config { num_threads: Some(threads), ..Config::default() };
        let mut context = context(LONG, None, &config);
        // 1, 3, 10, 32
        cancel(&mut context, "spin", vec![number(i64::MAX)], vec![number(3)], "32i64");
        cancel(&mut context, "sums", vec![number(100_000_000)], vec![number(0)], "0i64");
        let xs = |n| Value::from_slice(&[n], &vec![1i32; n as usize]).expect("an array");
        let long = vec![number(1 << 50), xs(100_000)];
        cancel(&mut context, "steps", long, vec![number(2), xs(1)], "[13i32]");
        // A request before a call holds for it.
        context.cancellation().request();
        assert_eq!(message(context.call("spin", vec![number(1)])), "Error: cancelled");
        assert_eq!(context.finish(), 0, "bytes leaked");
    }
}

#[test]
fn calls_on_a_device_are_cancelled() {
    if has_device() {
        let mut context = context(LONG, Some(DeviceTarget::OpenCl), &Config::default());
        let xs = |n| Value::from_slice(&[n], &vec![1i32; n as usize]).expect("an array");
        let long = vec![number(1 << 50), xs(1000)];
        cancel(&mut context, "steps", long, vec![number(2), xs(1)], "[13i32]");
        assert_eq!(context.finish(), 0, "bytes leaked");
    }
}
