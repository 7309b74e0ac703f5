-- run: run FILE
-- input: 3
-- exit: 1
-- prints: values of type `{a: i32, b: f32}` have no text or binary form

entry main (x: i32): {a: i32, b: f32} = {a = x, b = 1}
