mod decls; mod describe; mod entry; mod holes; pub(crate) mod matching; mod module_types;
