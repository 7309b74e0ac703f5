/* Failures: strings, the message of a check with its values, the backtrace. */

static void br_put(br_text *text, const char *bytes, size_t count) {
    if (text->capacity - text->length <= count) {
        size_t capacity = 2 * (text->length + count) + 64;
        char *at = realloc(text->at, capacity);
        if (at == NULL) return;
        text->at = at;
        text->capacity = capacity;
    }
    memcpy(text->at + text->length, bytes, count);
    text->length += count;
    text->at[text->length] = 0;
}
static void br_puts(br_text *text, const char *more) { br_put(text, more, strlen(more)); }
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
static void br_putf(br_text *text, const char *format, ...) {
    char buffer[256];
    va_list args;
    va_start(args, format);
    int count = vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    if (count > 0) br_put(text, buffer, (size_t)count < sizeof buffer ? (size_t)count : sizeof buffer - 1);
}
static const char *br_shown(const br_text *text) { return text->at == NULL ? "" : text->at; }
static void br_clear(br_text *text) {
    free(text->at);
    *text = (br_text){0};
}

/* Appends a float with the fewest digits that read back as the same float, without an exponent. */
static void br_put_float(br_text *text, f64 x, bool single) {
    if (x != x) {
        br_puts(text, "NaN");
        return;
    }
    if (signbit(x)) br_puts(text, "-");
    x = fabs(x);
    if (x - x != 0) {
        br_puts(text, "inf");
        return;
    }
    if (x == 0) {
        br_puts(text, "0");
        return;
    }
    char shown[40];
    for (int digits = 0; digits < 17; digits++) {
        snprintf(shown, sizeof shown, "%.*e", digits, x);
        if (single ? strtof(shown, NULL) == (f32)x : strtod(shown, NULL) == x) break;
    }
    char digits[20];
    int count = 0;
    const char *at = shown;
    for (; *at != 'e' && *at != 0; at++) {
        if (*at >= '0' && *at <= '9' && count < 20) digits[count++] = *at;
    }
    int exponent = *at == 'e' ? atoi(at + 1) : 0;
    while (count > 1 && digits[count - 1] == '0') count--;
    if (exponent < 0) {
        br_puts(text, "0.");
        for (int i = exponent + 1; i < 0; i++) br_puts(text, "0");
        br_put(text, digits, (size_t)count);
        return;
    }
    for (int i = 0; i <= exponent || i < count; i++) {
        if (i == exponent + 1) br_puts(text, ".");
        br_put(text, i < count ? &digits[i] : "0", 1);
    }
}

/* Appends the value of a placeholder; false if no placeholder has this name. */
static bool br_put_value(br_text *text, const char *name, size_t count, const u64 *word) {
#define BR_NAMED(type) (count == sizeof type - 1 && memcmp(name, type, count) == 0)
    if (BR_NAMED("i8")) br_putf(text, "%" PRId64, (i64)(i8)*word);
    else if (BR_NAMED("i16")) br_putf(text, "%" PRId64, (i64)(i16)*word);
    else if (BR_NAMED("i32")) br_putf(text, "%" PRId64, (i64)(i32)*word);
    else if (BR_NAMED("i64")) br_putf(text, "%" PRId64, (i64)*word);
    else if (BR_NAMED("u8")) br_putf(text, "%" PRIu64, (u64)(u8)*word);
    else if (BR_NAMED("u16")) br_putf(text, "%" PRIu64, (u64)(u16)*word);
    else if (BR_NAMED("u32")) br_putf(text, "%" PRIu64, (u64)(u32)*word);
    else if (BR_NAMED("u64")) br_putf(text, "%" PRIu64, *word);
    else if (BR_NAMED("f16")) br_put_float(text, br_wide((f16)*word), true);
    else if (BR_NAMED("f32")) br_put_float(text, br_f32_from((u32)*word), true);
    else if (BR_NAMED("f64")) br_put_float(text, br_f64_from(*word), false);
    else if (BR_NAMED("bool")) br_puts(text, *word & 1 ? "true" : "false");
    else return false;
    return true;
#undef BR_NAMED
}

static void br_fill(br_text *text, const char *format, const u64 *values) {
    while (*format != 0) {
        size_t plain = strcspn(format, "{}");
        br_put(text, format, plain);
        format += plain;
        if (*format == 0) return;
        if (format[0] == format[1]) {
            br_put(text, format, 1);
            format += 2;
            continue;
        }
        const char *end = *format == '{' ? strchr(format, '}') : NULL;
        if (end != NULL && br_put_value(text, format + 1, (size_t)(end - format - 1), values)) {
            values++;
            format = end + 1;
        } else {
            br_put(text, format, 1);
            format++;
        }
    }
}

/* Begins the message of a failure; null if one is recorded already. */
static br_text *br_fails(br_ctx *ctx, const char *location, bool open) {
    br_failure *failure = &ctx->failure;
    if (failure->set) return NULL;
    br_clear(&failure->message);
    br_clear(&failure->location);
    br_puts(&failure->location, location);
    if (failure->location.length > 0) br_puts(&failure->location, "\n");
    failure->set = true;
    failure->open = open;
    failure->calls = 0;
    failure->more = 0;
    return &failure->message;
}

static BR_COLD void br_fail(br_ctx *ctx, const br_check *check, const u64 *values) {
    br_text *message = br_fails(ctx, check->location, false);
    if (message != NULL) br_fill(message, check->format, values);
}

/* Adds the location of a call to the backtrace of a stack overflow. */
static BR_COLD void br_called(br_ctx *ctx, const br_check *span) {
    br_failure *failure = &ctx->failure;
    if (!failure->open) return;
    if (failure->calls == 8) {
        failure->more++;
        return;
    }
    failure->calls++;
    br_puts(&failure->location, span->location);
    br_puts(&failure->location, "\n");
}

static BR_COLD void br_too_deep(br_ctx *ctx) {
    br_text *message = br_fails(ctx, "", true);
    if (message != NULL) br_puts(message, "stack overflow: the recursion is too deep.");
}

/* Returns true if the stack is nearly used up, and records the failure; the stack grows
   downwards. */
static inline bool br_stack_low(br_ctx *ctx) {
    char here;
    volatile char *at = &here;
    if (!BR_UNLIKELY((uintptr_t)at < ctx->lowest_stack)) return false;
    br_too_deep(ctx);
    return true;
}

/* Formats the recorded failure and clears it. */
static void br_take_failure(br_ctx *ctx, br_text *out) {
    br_failure *failure = &ctx->failure;
    br_puts(out, "Error: ");
    if (!failure->set) br_puts(out, "the program failed without a message; please report this.");
    br_put(out, br_shown(&failure->message), failure->message.length);
    const char *line = br_shown(&failure->location);
    for (int i = 0; *line != 0;) {
        size_t length = strcspn(line, "\n");
        if (length > 0) {
            if (i == 0) br_puts(out, "\n\nBacktrace:");
            char number[16];
            snprintf(number, sizeof number, "#%d", i);
            br_putf(out, "\n%s %-3s ", i == 0 ? "->" : "  ", number);
            br_put(out, line, length);
            i++;
        }
        line += length + (line[length] != 0);
    }
    if (failure->more > 0) br_putf(out, "\n   and %" PRIu64 " more calls", failure->more);
    br_clear(&failure->message);
    br_clear(&failure->location);
    failure->set = false;
}

/* Logs a comparison with a tuning parameter. */
static void br_compared(br_ctx *ctx, i64 tunable, i64 size) {
    if (ctx->comparisons_count == ctx->comparisons_capacity) {
        u64 capacity = 2 * ctx->comparisons_capacity + 64;
        br_comparison *more = NULL;
        if (capacity <= (u64)1 << 21) more = realloc(ctx->comparisons, capacity * sizeof *more);
        if (more == NULL) {
            ctx->comparisons_lost++;
            return;
        }
        ctx->comparisons = more;
        ctx->comparisons_capacity = capacity;
    }
    ctx->comparisons[ctx->comparisons_count++] = (br_comparison){tunable, size};
}
