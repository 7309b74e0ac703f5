-- run: lsp FILE
-- exit: 1
-- prints: unrecognized subcommand 'lsp'

entry main (x: i32) = x
