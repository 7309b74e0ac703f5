/* Declarations shared by generated functions and the runtime: words, descriptions, the context. */

/* A scalar or the address of a block. */
typedef union br_word {
    i8 as_i8;
    i16 as_i16;
    i32 as_i32;
    i64 as_i64;
    f16 as_f16;
    f32 as_f32;
    f64 as_f64;
    bool as_bool;
    u8 *block;
} br_word;

/* A failing check's message: text with placeholders, and source positions, innermost first. */
typedef struct br_check {
    const char *format;
    const char *location;
} br_check;

enum { BR_SCALAR, BR_ARRAY, BR_OPAQUE, BR_UNIT };
enum { BR_I8, BR_I16, BR_I32, BR_I64, BR_U8, BR_U16, BR_U32, BR_U64, BR_F16, BR_F32, BR_F64, BR_BOOL };

/* A parameter or result of an entry point. An array takes the word of its block, then one word
   for each size. */
typedef struct br_param {
    const char *name;
    const char *type_name;
    int kind;
    int scalar;
    int rank;
    int unique;
    int words;
    int blocks;
    const int *block_words;
} br_param;

struct br_ctx;
typedef int br_entry_fn(struct br_ctx *ctx, const br_word *args, br_word *results);

typedef struct br_entry {
    const char *name;
    br_entry_fn *fun;
    int params_count;
    const br_param *params;
    int results_count;
    const br_param *results;
} br_entry;

typedef struct br_tunable {
    const char *name;
    const char *class;
    i64 value;
} br_tunable;

/* A growing string; text that does not fit into memory is dropped. */
typedef struct br_text {
    char *at;
    size_t length;
    size_t capacity;
} br_text;

/* The first failure of a call. */
typedef struct br_failure {
    bool set;
    bool open;
    br_text message;
    br_text location;
    int calls;
    u64 more;
} br_failure;

typedef struct br_comparison {
    i64 tunable;
    i64 size;
} br_comparison;

/* The state of a program; there is no global state. */
typedef struct br_ctx {
    br_word *globals;
    i64 *tunables;
    bool logging;
    uintptr_t lowest_stack;
    u64 live;
    u64 peak;
    u64 limit;
    u64 blocks;
    u64 bytes;
    br_failure failure;
    br_comparison *comparisons;
    u64 comparisons_count;
    u64 comparisons_capacity;
    u64 comparisons_lost;
} br_ctx;

/* The description of a program. */
typedef struct br_program {
    int entries_count;
    const br_entry *entries;
    int globals_count;
    int tunables_count;
    const br_tunable *tunables;
    int (*init)(br_ctx *ctx);
    void (*fini)(br_ctx *ctx);
} br_program;
