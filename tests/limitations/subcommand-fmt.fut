-- run: fmt FILE
-- exit: 1
-- prints: unrecognized subcommand 'fmt'

entry main (x: i32) = x
