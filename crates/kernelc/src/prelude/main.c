/* An executable: reads arguments from standard input, runs and times the program, writes results
   to standard output; exit code 1 on failure. */

/* A run of the program. */
typedef struct br_run {
    br_ctx ctx;
    br_options options;
    br_input input;
    br_text error;
    const br_entry *entry;
    FILE *times;
    br_word *args;
    br_word *results;
    int loaded;
    bool has_results;
    bool quiet;
} br_run;

static u64 br_micros(void) {
    struct timespec now;
#if BR_UNIX
    clock_gettime(CLOCK_MONOTONIC, &now);
#else
    timespec_get(&now, TIME_UTC);
#endif
    return (u64)now.tv_sec * 1000000u + (u64)now.tv_nsec / 1000u;
}

/* The lowest stack address that compiled code may use. */
static uintptr_t br_lowest_stack(void) {
    char here;
    volatile char *at = &here;
    u64 size = 512 << 10, margin = 256 << 10;
#if BR_UNIX
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0) {
        /* A finite size is assumed for an unlimited stack. */
        size = limit.rlim_cur == RLIM_INFINITY ? (u64)64 << 20 : (u64)limit.rlim_cur;
    }
#endif
    if (size < 2 * margin) margin = size / 2;
    return (uintptr_t)at > size - margin ? (uintptr_t)at - (uintptr_t)(size - margin) : 0;
}

static void br_describe(br_text *text, int index, const br_param *param) {
    br_putf(text, "argument %d (", index + 1);
    if (*param->name != 0) {
        br_puts(text, "`");
        br_puts(text, param->name);
        br_puts(text, "`, ");
    }
    br_puts(text, "of type ");
    if (param->unique) br_puts(text, "*");
    br_puts(text, param->type_name);
    br_puts(text, "): ");
}

/* Reads an argument into its words. */
static bool br_read_argument(br_run *run, const br_param *param, br_word *words) {
    br_input *in = &run->input;
    if (param->kind == BR_OPAQUE) {
        br_puts(&run->error, "values of this type have no text or binary form");
        return false;
    }
    br_skip(in);
    if (param->kind == BR_UNIT) {
        return br_peek(in) != '(' || (br_expect(in, '(', "`()`") && br_expect(in, ')', "`)`"));
    }
    br_value value = {.type = param->scalar, .rank = param->rank};
    int c = br_peek(in);
    bool fine = false;
    if (c == -1) {
        if (in->error.length == 0) {
            br_text *error = br_error_here(in);
            br_puts(error, "expected ");
            br_put_type(error, value.type, value.rank);
            br_puts(error, ", found the end of the input");
        }
    } else fine = c == 'b' ? br_read_binary(in, &value) : br_read_text(in, &value);
    br_ctx *ctx = &run->ctx;
    if (fine && value.rank == 0) {
        memcpy(words, value.raw + sizeof(br_header), value.bytes);
        if (value.type == BR_BOOL) words->as_bool = value.raw[sizeof(br_header)] != 0;
    } else if (fine) {
        fine = br_reserve(in, &value, 1);
        u64 total = value.capacity + sizeof(br_header);
        if (fine && (ctx->live > ctx->limit || total > ctx->limit - ctx->live)) {
            br_no_memory(ctx, (i64)value.bytes, NULL, true);
            br_take_failure(ctx, &run->error);
            fine = false;
        }
        if (fine) {
            br_header *header = (br_header *)value.raw;
            header->references = 1;
            header->bytes = total;
            header->slots = 0;
            ctx->live += total;
            if (ctx->live > ctx->peak) ctx->peak = ctx->live;
            words[0].block = (u8 *)(header + 1);
            for (int i = 0; i < value.rank; i++) words[i + 1].as_i64 = value.shape[i];
            return true;
        }
    }
    free(value.raw);
    return fine;
}

static bool br_read_arguments(br_run *run) {
    br_word *words = run->args;
    for (int i = 0; i < run->entry->params_count; i++) {
        const br_param *param = &run->entry->params[i];
        br_text said = {0};
        br_describe(&said, i, param);
        if (!br_read_argument(run, param, words)) {
            br_puts(&said, br_shown(&run->error));
            br_puts(&said, br_shown(&run->input.error));
            br_clear(&run->error);
            run->error = said;
            return false;
        }
        br_clear(&said);
        words += param->words;
        run->loaded++;
    }
    br_skip(&run->input);
    bool more = br_peek(&run->input) != -1;
    br_puts(&run->error, br_shown(&run->input.error));
    if (more) {
        int count = run->entry->params_count;
        br_putf(&run->error, "there is more input after the %d argument%s of `", count, count == 1 ? "" : "s");
        br_puts(&run->error, run->entry->name);
        br_puts(&run->error, "`");
    }
    return run->error.length == 0;
}

/* Releases the blocks of values; if `unique`, those of unique values only. */
static void br_free_values(br_ctx *ctx, const br_param *params, int count, br_word *words, bool unique) {
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < params[i].blocks && (params[i].unique || !unique); k++) {
            br_unref(ctx, words[params[i].block_words[k]].block);
        }
        words += params[i].words;
    }
}

static int br_words(const br_param *params, int count) {
    int words = 0;
    for (int i = 0; i < count; i++) words += params[i].words;
    return words;
}

static u64 br_array_bytes(const br_param *param, const br_word *words) {
    u64 bytes = (u64)br_scalar_sizes[param->scalar];
    for (int i = 0; i < param->rank; i++) bytes *= (u64)words[i + 1].as_i64;
    return bytes;
}

/* Copies the argument words; unique arguments, which may be overwritten, get blocks of their
   own. */
static br_word *br_copy_arguments(br_run *run) {
    const br_entry *entry = run->entry;
    int count = br_words(entry->params, entry->params_count);
    br_word *copy = malloc(((size_t)count + 1) * sizeof *copy);
    if (copy == NULL) return NULL;
    memcpy(copy, run->args, (size_t)count * sizeof *copy);
    br_word *words = copy;
    for (int i = 0; i < entry->params_count; words += entry->params[i].words, i++) {
        const br_param *param = &entry->params[i];
        if (!param->unique || param->kind != BR_ARRAY) continue;
        u64 bytes = br_array_bytes(param, words);
        u8 *block = br_alloc(&run->ctx, NULL, (i64)bytes, NULL);
        if (block == NULL) {
            br_free_values(&run->ctx, entry->params, i, copy, true);
            free(copy);
            return NULL;
        }
        memcpy(block, words[0].block, (size_t)bytes);
        words[0].block = block;
    }
    return copy;
}

static void br_show_comparisons(br_run *run) {
    br_ctx *ctx = &run->ctx;
    for (u64 i = 0; i < ctx->comparisons_count; i++) {
        br_comparison seen = ctx->comparisons[i];
        i64 least = ctx->tunables[seen.tunable];
        fprintf(stderr, "Compared %s <= %" PRId64 ": %s; the parameter is %" PRId64 ".\n",
                program.tunables[seen.tunable].name, seen.size, least <= seen.size ? "true" : "false", least);
    }
    if (ctx->comparisons_lost > 0) fprintf(stderr, "There were %" PRIu64 " more comparisons.\n", ctx->comparisons_lost);
    ctx->comparisons_count = 0;
    ctx->comparisons_lost = 0;
}

static bool br_call(br_run *run) {
    const br_entry *entry = run->entry;
    u64 warm_ups = run->options.runs > 0, runs = run->options.runs > 0 ? run->options.runs : 1;
    bool unique = false;
    for (int i = 0; i < entry->params_count; i++) unique = unique || entry->params[i].unique;
    for (u64 number = 0; number < warm_ups + runs; number++) {
        br_word *copy = NULL;
        if (run->has_results) br_free_values(&run->ctx, entry->results, entry->results_count, run->results, false);
        run->has_results = false;
        if (unique && number + 1 < warm_ups + runs) {
            copy = br_copy_arguments(run);
            if (copy == NULL) {
                br_take_failure(&run->ctx, &run->error);
                return false;
            }
        }
        u64 start = br_micros();
        int status = entry->fun(&run->ctx, copy == NULL ? run->args : copy, run->results);
        u64 micros = br_micros() - start;
        if (copy != NULL) br_free_values(&run->ctx, entry->params, entry->params_count, copy, true);
        free(copy);
        br_show_comparisons(run);
        if (status != 0) {
            br_take_failure(&run->ctx, &run->error);
            return false;
        }
        run->has_results = true;
        if (number < warm_ups) continue;
        if (run->options.log) fprintf(stderr, "`%s` took %" PRIu64 " us\n", entry->name, micros);
        if (run->times != NULL && (fprintf(run->times, "%" PRIu64 "\n", micros) < 0 || fflush(run->times) != 0)) {
            br_puts(&run->error, "cannot write the run time: ");
            br_put_errno(&run->error, errno);
            return false;
        }
    }
    return true;
}

static bool br_print_results(br_run *run) {
    static br_output out;
    const br_word *words = run->results;
    for (int i = 0; i < run->entry->results_count && out.error == 0; i++) {
        const br_param *result = &run->entry->results[i];
        i64 shape[BR_MAX_RANK] = {0};
        for (int k = 0; k < result->rank; k++) shape[k] = words[k + 1].as_i64;
        const u8 *at = result->kind == BR_ARRAY ? words[0].block : (const u8 *)words;
        if (result->kind == BR_OPAQUE) {
            br_flush(&out);
            if (out.error != 0) break;
            br_puts(&run->error, "values of type `");
            br_puts(&run->error, result->type_name);
            br_puts(&run->error, "` have no text or binary form");
            return false;
        }
        u8 truth = result->kind == BR_SCALAR && result->scalar == BR_BOOL && words[0].as_bool;
        if (result->kind == BR_SCALAR && result->scalar == BR_BOOL) at = &truth;
        if (result->kind == BR_UNIT) br_write_text(&out, "()");
        else if (run->options.binary) br_write_binary(&out, result->scalar, result->rank, shape, at);
        else if (result->rank == 0) br_write_element(&out, result->scalar, at);
        else br_write_array(&out, result->scalar, result->rank, shape, at);
        br_write_text(&out, "\n");
        words += result->words;
    }
    br_flush(&out);
    if (out.error == 0) return true;
    run->quiet = out.error == EPIPE;
    br_puts(&run->error, "cannot write the result: ");
    br_put_errno(&run->error, out.error);
    return false;
}

static bool br_set_tunables(br_run *run) {
    i64 *values = calloc((size_t)program.tunables_count + 1, sizeof *values);
    run->ctx.tunables = values;
    if (values == NULL) {
        br_puts(&run->error, "out of memory");
        return false;
    }
    for (int i = 0; i < program.tunables_count; i++) values[i] = program.tunables[i].value;
    return br_apply(&program, run->options.settings, run->options.settings_count, values, &run->error);
}

static bool br_start(br_run *run, const char *name) {
    br_ctx *ctx = &run->ctx;
    ctx->limit = run->options.has_limit ? run->options.limit : br_default_limit();
    ctx->lowest_stack = br_lowest_stack();
    ctx->logging = run->options.log_versions;
    ctx->globals = calloc((size_t)program.globals_count + 1, sizeof *ctx->globals);
    if (ctx->globals == NULL) {
        br_puts(&run->error, "out of memory");
        return false;
    }
    if (!br_set_tunables(run)) return false;
    if (program.init(ctx) != 0) {
        br_take_failure(ctx, &run->error);
        return false;
    }
    for (int i = 0; i < program.entries_count; i++) {
        if (strcmp(program.entries[i].name, run->options.entry) == 0) run->entry = &program.entries[i];
    }
    if (run->entry == NULL) {
        br_puts(&run->error, "there is no entry point `");
        br_puts(&run->error, run->options.entry);
        br_puts(&run->error, program.entries_count == 0 ? "`: the program has none" : "`; there are: ");
        for (int i = 0; i < program.entries_count; i++) {
            if (i > 0) br_puts(&run->error, ", ");
            br_puts(&run->error, program.entries[i].name);
        }
        return false;
    }
    if (run->options.log) fprintf(stderr, "%s: 1 threads\n", name);
    run->args = calloc((size_t)br_words(run->entry->params, run->entry->params_count) + 1, sizeof *run->args);
    run->results = calloc((size_t)br_words(run->entry->results, run->entry->results_count) + 1, sizeof *run->results);
    if (run->args == NULL || run->results == NULL) br_puts(&run->error, "out of memory");
    return run->error.length == 0;
}

/* Carries out the options; the caller prints the error. */
static bool br_behave(br_run *run, const char *name) {
    bool list = run->options.print_params || run->options.print_values;
    if (run->options.help || list) {
        if (run->options.print_values && !br_set_tunables(run)) return false;
        br_text text = {0};
        if (run->options.help) br_put_help(&text, name);
        for (int i = 0; i < program.tunables_count && !run->options.help; i++) {
            const char *known = program.tunables[i].name;
            if (run->options.print_params) br_putf(&text, "%s (%s)\n", known, program.tunables[i].class);
            else br_putf(&text, "%s=%" PRId64 "\n", known, run->ctx.tunables[i]);
        }
        bool fine = fputs(br_shown(&text), stdout) >= 0 && fflush(stdout) == 0;
        if (!fine) {
            run->quiet = errno == EPIPE;
            br_puts(&run->error, "cannot write the result: ");
            br_put_errno(&run->error, errno);
        }
        br_clear(&text);
        return fine;
    }
    if (run->options.times != NULL) {
        run->times = fopen(run->options.times, "w");
        if (run->times == NULL) {
            int number = errno;
            br_puts(&run->error, "cannot open ");
            br_puts(&run->error, run->options.times);
            br_puts(&run->error, " for writing: ");
            br_put_errno(&run->error, number);
            return false;
        }
    }
    if (!br_start(run, name)) return false;
    bool fine = br_read_arguments(run) && br_call(run) && (run->options.silent || br_print_results(run));
    br_ctx *ctx = &run->ctx;
    if (run->has_results) br_free_values(ctx, run->entry->results, run->entry->results_count, run->results, false);
    br_free_values(ctx, run->entry->params, run->loaded, run->args, false);
    if (run->options.profile) {
        fprintf(stderr, "threads: 1\npeak memory: %" PRIu64 " bytes\nblocks allocated: %" PRIu64 "\nbytes allocated: %" PRIu64 "\n",
                ctx->peak, ctx->blocks, ctx->bytes);
    }
    program.fini(ctx);
    if (fine && run->options.debug && ctx->live > 0) {
        fprintf(stderr, "the program leaked %" PRIu64 " bytes of memory; please report this.\n", ctx->live);
    }
    return fine;
}

int main(int argc, char **argv) {
    static br_run run;
    const char *name = argc > 0 && argv[0] != NULL ? argv[0] : "program";
#if BR_UNIX
    signal(SIGPIPE, SIG_IGN);
#endif
    bool fine = br_parse_options(argc, argv, &run.options, &run.error);
    if (!fine) br_puts(&run.error, "; --help lists the options");
#if BR_UNIX
    if (isatty(0)) fputs("Reading arguments from the terminal; Ctrl-D ends them.\n", stderr);
#endif
    br_open_input(&run.input);
    fine = fine && br_behave(&run, name);
    if (!fine && !run.quiet) fprintf(stderr, "%s: %s\n", name, br_shown(&run.error));
    return fine ? 0 : 1;
}
