-- run: repl FILE
-- input: def two = 2i32
-- input: [1, 2][two]
-- prints: [prompt].fut:4:1-11

def zero = 0i32
