mod causality; pub(crate) mod consume; mod exhaust; pub(crate) mod recursion; pub(crate) mod warnings;
