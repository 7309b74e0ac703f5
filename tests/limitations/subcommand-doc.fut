-- run: doc FILE
-- exit: 1
-- prints: unrecognized subcommand 'doc'

entry main (x: i32) = x
