-- run: run FILE
-- input: 3
-- exit: 1
-- prints: values of this type have no text or binary form

entry main (r: {a: i32, b: f32}): i32 = r.a
