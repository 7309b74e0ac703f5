/* A window over the input bytes. Nothing is read ahead of need, so that input typed by hand is
   processed as soon as it is complete; the current position is always known. */

enum { BR_WINDOW = 1 << 16, BR_LONGEST_TOKEN = 1 << 20, BR_MAX_RANK = 127 };

typedef struct br_position {
    u64 offset;
    u64 line;
    u64 column;
    bool text;
} br_position;

typedef struct br_input {
    u8 *window;
    size_t at;
    size_t end;
    size_t capacity;
    bool ended;
    bool only_text;
    u64 base;
    u64 lines;
    u64 line_start;
    bool has_total;
    u64 total;
    br_text error;
} br_input;

static void br_open_input(br_input *in) {
    *in = (br_input){.only_text = true};
#if BR_UNIX
    struct stat about;
    off_t here = lseek(0, 0, SEEK_CUR);
    if (here >= 0 && fstat(0, &about) == 0 && S_ISREG(about.st_mode)) {
        in->has_total = true;
        in->total = about.st_size > here ? (u64)(about.st_size - here) : 0;
    }
#endif
}

static br_position br_here(const br_input *in) {
    br_position position = {in->base + in->at, in->lines + 1, 0, in->only_text};
    u64 start = in->line_start;
    for (size_t i = 0; i < in->at; i++) {
        if (in->window[i] == '\n') {
            position.line++;
            start = in->base + i + 1;
        }
    }
    position.column = position.offset - start + 1;
    return position;
}

/* Begins the message of an error at a position; returns the string to append to. */
static br_text *br_error_at(br_input *in, br_position position) {
    br_clear(&in->error);
    if (position.text) {
        br_putf(&in->error, "line %" PRIu64 ", column %" PRIu64 " (byte %" PRIu64 "): ", position.line,
                position.column, position.offset);
    } else br_putf(&in->error, "byte %" PRIu64 ": ", position.offset);
    return &in->error;
}
static br_text *br_error_here(br_input *in) { return br_error_at(in, br_here(in)); }

static void br_put_errno(br_text *text, int number) {
    br_puts(text, strerror(number));
    br_putf(text, " (os error %d)", number);
}

/* Reads bytes; 0 at the end, negative on errors. */
static int64_t br_read(u8 *to, size_t count) {
#if BR_UNIX
    for (;;) {
        ssize_t got = read(0, to, count);
        if (got >= 0 || errno != EINTR) return got;
    }
#else
    size_t got = 0;
    while (got < count) {
        int c = getc(stdin);
        if (c == EOF) break;
        to[got++] = (u8)c;
        if (c == '\n') break;
    }
    return got == 0 && ferror(stdin) ? -1 : (int64_t)got;
#endif
}

/* Discards the consumed bytes. */
static void br_drop(br_input *in) {
    for (size_t i = 0; i < in->at; i++) {
        if (in->window[i] == '\n') {
            in->lines++;
            in->line_start = in->base + i + 1;
        }
    }
    if (in->at < in->end) memmove(in->window, in->window + in->at, in->end - in->at);
    in->base += in->at;
    in->end -= in->at;
    in->at = 0;
}

/* Reads more bytes; false at the end and on errors, which are recorded. */
static bool br_refill(br_input *in) {
    if (in->ended) return false;
    br_drop(in);
    if (in->capacity - in->end < BR_WINDOW / 2) {
        size_t capacity = in->capacity == 0 ? BR_WINDOW : 2 * in->capacity;
        u8 *window = realloc(in->window, capacity);
        if (window == NULL) {
            in->ended = true;
            br_puts(br_error_here(in), "out of memory");
            return false;
        }
        in->window = window;
        in->capacity = capacity;
    }
    int64_t got = br_read(in->window + in->end, in->capacity - in->end);
    if (got <= 0) {
        in->ended = true;
        if (got < 0) {
            int number = errno;
            br_text *error = br_error_here(in);
            br_puts(error, "cannot read the input: ");
            br_put_errno(error, number);
        }
        return false;
    }
    in->end += (size_t)got;
    return true;
}

/* The next byte; -1 at the end. */
static int br_peek(br_input *in) {
    if (in->at < in->end || br_refill(in)) return in->window[in->at];
    return -1;
}

static bool br_is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool br_is_digit(int c) { return c >= '0' && c <= '9'; }
static bool br_is_part(int c) {
    return br_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
           c == '+' || c == '_';
}

/* Skips white space and comments. */
static void br_skip(br_input *in) {
    for (;;) {
        int c = br_peek(in);
        if (br_is_space(c)) in->at++;
        else if (c == '-') {
            if (in->end - in->at < 2 && br_refill(in)) continue;
            if (in->end - in->at < 2 || in->window[in->at + 1] != '-') return;
            while (br_peek(in) != -1 && in->window[in->at] != '\n') in->at++;
        } else return;
    }
}

/* The length of the number or word here; all of it is in the window then. */
static size_t br_token(br_input *in) {
    size_t count = 0;
    for (;;) {
        while (in->at + count < in->end && br_is_part(in->window[in->at + count])) count++;
        if (in->at + count < in->end || count > BR_LONGEST_TOKEN || !br_refill(in)) return count;
    }
}

/* Appends bytes, escaped for messages. */
static void br_put_escaped(br_text *text, const u8 *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        u8 c = bytes[i];
        if (c == '\n') br_puts(text, "\\n");
        else if (c == '\t') br_puts(text, "\\t");
        else if (c == '\r') br_puts(text, "\\r");
        else if (c == '\'' || c == '"' || c == '\\') br_putf(text, "\\%c", c);
        else if (c >= 0x20 && c < 0x7f) br_put(text, (const char *)&c, 1);
        else br_putf(text, "\\x%02x", c);
    }
}

/* Appends the token at the current position. */
static void br_put_found(br_input *in, br_text *text) {
    size_t count = br_token(in);
    if (in->at == in->end) {
        br_puts(text, "the end of the input");
        return;
    }
    size_t shown = count == 0 ? 1 : count > 40 ? 40 : count;
    br_puts(text, "`");
    br_put_escaped(text, in->window + in->at, shown);
    br_puts(text, count > 40 ? "...`" : "`");
}

/* Records that something else was expected, unless reading itself failed; returns false. */
static bool br_unexpected(br_input *in, const char *wanted) {
    int next = br_peek(in);
    if (next == -1 && in->error.length > 0) return false;
    br_token(in);
    br_text *error = br_error_here(in);
    br_puts(error, "expected ");
    br_puts(error, wanted);
    br_puts(error, ", found ");
    br_put_found(in, error);
    return false;
}

/* Skips white space and then a given character. */
static bool br_expect(br_input *in, int wanted, const char *name) {
    br_skip(in);
    if (br_peek(in) != wanted) return br_unexpected(in, name);
    in->at++;
    return true;
}
