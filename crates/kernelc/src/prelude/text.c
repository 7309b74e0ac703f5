/* Values in the text format: scalars, nested arrays, strings and `empty(...)`. */

/* A value that is being read. Space for a block's header precedes the elements. */
typedef struct br_value {
    int type;
    int rank;
    i64 shape[BR_MAX_RANK];
    u8 *raw;
    size_t bytes;
    size_t capacity;
} br_value;

/* Grows the buffer to at least this many bytes of elements. */
static bool br_reserve(br_input *in, br_value *value, size_t capacity) {
    if (capacity <= value->capacity) return true;
    u8 *raw = capacity <= SIZE_MAX - sizeof(br_header) ? realloc(value->raw, capacity + sizeof(br_header)) : NULL;
    if (raw == NULL) {
        br_putf(br_error_here(in), "out of memory: cannot allocate %zu bytes", capacity);
        return false;
    }
    value->raw = raw;
    value->capacity = capacity;
    return true;
}

static bool br_push(br_input *in, br_value *value, u64 bits) {
    size_t size = (size_t)br_scalar_sizes[value->type];
    if (value->capacity - value->bytes < size && !br_reserve(in, value, 2 * value->capacity + 64)) return false;
    u8 *to = value->raw + sizeof(br_header) + value->bytes;
    u8 b1 = (u8)bits;
    u16 b2 = (u16)bits;
    u32 b4 = (u32)bits;
    if (size == 1) memcpy(to, &b1, 1);
    else if (size == 2) memcpy(to, &b2, 2);
    else if (size == 4) memcpy(to, &b4, 4);
    else memcpy(to, &bits, 8);
    value->bytes += size;
    return true;
}

static void br_put_type(br_text *text, int type, int rank) {
    for (int i = 0; i < rank; i++) br_puts(text, "[]");
    br_puts(text, br_scalar_names[type]);
}
static const char *br_article(int type) { return type >= BR_U8 && type <= BR_U64 ? "a" : type == BR_BOOL ? "a" : "an"; }

/* Reads one literal. */
static bool br_read_element(br_input *in, int type, u64 *bits) {
    size_t count = br_token(in);
    char wanted[16], capacity[64];
    snprintf(wanted, sizeof wanted, "%s %s", br_article(type), br_scalar_names[type]);
    if (count == 0) return br_unexpected(in, wanted);
    if (count > BR_LONGEST_TOKEN) {
        br_puts(br_error_here(in), "a literal of more than 1048576 characters");
        return false;
    }
    char *token = count < sizeof capacity ? capacity : malloc(count + 1);
    if (token == NULL) {
        br_puts(br_error_here(in), "out of memory");
        return false;
    }
    memcpy(token, in->window + in->at, count);
    token[count] = 0;
    int other = -1, fault = br_literal(token, count, type, bits, &other);
    if (token != capacity) free(token);
    if (fault == BR_FINE) {
        in->at += count;
        return true;
    }
    br_text *error = br_error_here(in);
    if (fault == BR_RANGE) {
        br_put_found(in, error);
        br_putf(error, " does not fit in %s", wanted);
        return false;
    }
    br_putf(error, "expected %s, found ", wanted);
    br_put_found(in, error);
    if (fault == BR_SUFFIX) br_putf(error, ", %s %s", br_article(other), br_scalar_names[other]);
    return false;
}

/* Reads `empty([n]...[m]type)`; its first word has been seen. */
static bool br_read_empty(br_input *in, br_value *value) {
    br_position start = br_here(in);
    in->at += 5;
    if (!br_expect(in, '(', "`(`")) return false;
    int rank = 0;
    bool is_empty = false;
    for (br_skip(in); br_peek(in) == '['; br_skip(in)) {
        in->at++;
        br_skip(in);
        br_position position = br_here(in);
        u64 bits;
        if (!br_read_element(in, BR_I64, &bits)) return false;
        if ((i64)bits < 0 || rank == BR_MAX_RANK) {
            br_text *error = br_error_at(in, position);
            if ((i64)bits < 0) br_putf(error, "negative size %" PRId64, (i64)bits);
            else br_puts(error, "128 dimensions; the maximum is 127");
            return false;
        }
        is_empty = is_empty || bits == 0;
        value->shape[rank++] = (i64)bits;
        if (!br_expect(in, ']', "`]`")) return false;
    }
    size_t count = br_token(in);
    int type = BR_I8;
    while (type <= BR_BOOL && !(strlen(br_scalar_names[type]) == count &&
                                memcmp(br_scalar_names[type], in->window + in->at, count) == 0)) {
        type++;
    }
    if (type > BR_BOOL) return br_unexpected(in, "`[` or an element type");
    in->at += count;
    if (!br_expect(in, ')', "`)`")) return false;
    if (type != value->type || rank != value->rank) {
        br_text *error = br_error_at(in, start);
        br_puts(error, "expected ");
        br_put_type(error, value->type, value->rank);
        br_puts(error, ", found an empty ");
        br_put_type(error, type, rank);
        return false;
    }
    if (!is_empty) {
        br_text *error = br_error_at(in, start);
        br_puts(error, "`empty` of shape [");
        for (int i = 0; i < rank; i++) br_putf(error, "%s%" PRId64, i == 0 ? "" : ", ", value->shape[i]);
        br_puts(error, "], which is not empty");
        return false;
    }
    return true;
}

/* Closes the innermost open row; `counts` has the numbers of elements of open rows. */
static bool br_close_row(br_input *in, br_value *value, i64 *counts, int *open, i64 count) {
    int level = --*open;
    if (count == 0 && level + 1 < value->rank && value->shape[level + 1] < 0) {
        br_text *error = br_error_here(in);
        br_puts(error, "an empty row does not determine its inner sizes; write the array as `empty(");
        for (int i = 0; i < value->rank; i++) br_puts(error, "[0]");
        br_putf(error, "%s)`", br_scalar_names[value->type]);
        return false;
    }
    i64 *known = &value->shape[level];
    if (*known < 0) *known = count;
    else if (*known != count) {
        br_putf(br_error_here(in), "irregular array: a row of size %" PRId64 " after rows of size %" PRId64,
                count, *known);
        return false;
    }
    if (level > 0) counts[level - 1]++;
    return true;
}

/* Reads the elements of an innermost row, up to its `]`. */
static bool br_read_row(br_input *in, br_value *value, i64 *count) {
    for (;;) {
        br_skip(in);
        if (br_peek(in) == ']') break;
        u64 bits;
        if (!br_read_element(in, value->type, &bits) || !br_push(in, value, bits)) return false;
        ++*count;
        br_skip(in);
        int c = br_peek(in);
        if (c == ']') break;
        if (c != ',') return br_unexpected(in, "`,` or `]`");
        in->at++;
    }
    in->at++;
    return true;
}

/* The character of the escape sequence at `text`, of which `count` bytes are available, and the
   sequence's length; -1 if it denotes no character, length 0 if there is no sequence. */
static i64 br_escape(const u8 *text, size_t count, size_t *length) {
    static const char letters[] = "abfnrtv\\\"'", meanings[] = "\a\b\f\n\r\t\v\\\"'";
    static const char *const names[] = {
        "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF",
        "VT",  "FF",  "CR",  "SO",  "SI",  "DLE", "DC1", "DC2", "DC3", "DC4", "NAK",
        "SYN", "ETB", "CAN", "EM",  "SUB", "ESC", "FS",  "GS",  "RS",  "US",  "SP"};
    *length = 0;
    if (count < 2) return -1;
    u8 c = text[1];
    const char *letter = c == 0 ? NULL : strchr(letters, c);
    if (letter != NULL || c == '&') {
        *length = 2;
        return letter == NULL ? -1 : meanings[letter - letters];
    }
    if (c == '^' && count > 2 && text[2] >= '@' && text[2] <= '_') {
        *length = 3;
        return text[2] - '@';
    }
    int base = c == 'x' || c == 'X' ? 16 : c == 'o' || c == 'O' ? 8 : 10;
    size_t first = base == 10 ? 1 : 2, end = first;
    u64 code = 0;
    for (; end < count && br_digit((char)text[end]) < base; end++) {
        code = code * (u64)base + (u64)br_digit((char)text[end]);
    }
    if (end > first) {
        if (code > 0x10ffff) return -1;
        *length = end;
        return code >= 0xd800 && code < 0xe000 ? 0xfffd : (i64)code;
    }
    i64 found = -1;
    if (count > 3 && memcmp(text + 1, "DEL", 3) == 0) {
        *length = 4;
        found = 0x7f;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (n < count && n >= *length && memcmp(text + 1, names[i], n) == 0) {
            *length = n + 1;
            found = (i64)i;
        }
    }
    return found;
}

/* Reads an escape sequence as its character's bytes in UTF-8. */
static bool br_read_escape(br_input *in, br_value *value, i64 *count) {
    enum { LONGEST = 10 };
    /* Makes the longest possible sequence available, but reads nothing after the string. */
    while (in->end - in->at < LONGEST) {
        bool ends = false;
        for (size_t i = in->at + 2; i < in->end; i++) ends |= in->window[i] == '"' || in->window[i] == '\n';
        if (ends || !br_refill(in)) break;
    }
    size_t have = in->end - in->at, length;
    i64 c = br_escape(in->window + in->at, have < LONGEST ? have : LONGEST, &length);
    if (length == 0) {
        br_puts(br_error_here(in), "a backslash without an escape sequence in a string");
        return false;
    }
    in->at += length;
    if (c < 0) return true;
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const u64 leads[] = {0, 0xc0, 0xe0, 0xf0};
    u64 byte = leads[more] | (u64)(c >> (6 * more));
    for (;;) {
        if (!br_push(in, value, byte)) return false;
        ++*count;
        if (more-- == 0) return true;
        byte = 0x80 | ((u64)(c >> (6 * more)) & 0x3f);
    }
}

/* Reads a string as a row of bytes. */
static bool br_read_string(br_input *in, br_value *value, i64 *count) {
    br_position start = br_here(in);
    in->at++;
    for (;;) {
        int c = br_peek(in);
        if (c == -1 || c == '\n') {
            br_puts(br_error_at(in, start), "a string without its closing quote");
            return false;
        }
        if (c == '\\') {
            if (!br_read_escape(in, value, count)) return false;
            continue;
        }
        in->at++;
        if (c == '"') return true;
        if (!br_push(in, value, (u64)c)) return false;
        ++*count;
    }
}

/* Reads the elements after the opening brackets. */
static bool br_read_items(br_input *in, br_value *value, int open) {
    i64 counts[BR_MAX_RANK + 1] = {0};
    bool allowed = true;
    for (;;) {
        if (open == value->rank) {
            if (!br_read_row(in, value, &counts[open - 1])) return false;
            if (!br_close_row(in, value, counts, &open, counts[open - 1])) return false;
            if (open == 0) return true;
            allowed = false;
        }
        br_skip(in);
        int c = br_peek(in);
        if (c == '[' && allowed) {
            in->at++;
            counts[open++] = 0;
        } else if (c == '"' && allowed && value->type == BR_U8 && open + 1 == value->rank) {
            counts[open++] = 0;
            if (!br_read_string(in, value, &counts[open - 1])) return false;
            if (!br_close_row(in, value, counts, &open, counts[open - 1])) return false;
            if (open == 0) return true;
            allowed = false;
        } else if (c == ',' && !allowed) {
            in->at++;
            allowed = true;
        } else if (c == ']') {
            in->at++;
            if (!br_close_row(in, value, counts, &open, counts[open - 1])) return false;
            if (open == 0) return true;
            allowed = false;
        } else if (allowed) {
            br_text wanted = {0};
            br_puts(&wanted, "`[` (the value is a ");
            br_put_type(&wanted, value->type, value->rank);
            br_puts(&wanted, ")");
            br_unexpected(in, br_shown(&wanted));
            br_clear(&wanted);
            return false;
        } else return br_unexpected(in, "`,` or `]`");
    }
}

static bool br_read_array(br_input *in, br_value *value) {
    br_position start = br_here(in);
    if (value->rank == 0) {
        br_putf(br_error_here(in), "expected %s, found an array", br_scalar_names[value->type]);
        return false;
    }
    int open = 0;
    while (open <= value->rank && br_peek(in) == '[') {
        in->at++;
        open++;
        br_skip(in);
    }
    bool string = br_peek(in) == '"';
    int full = string ? open + 1 : open;
    if (full > value->rank || (string && (value->type != BR_U8 || full < value->rank))) {
        br_text *error = br_error_at(in, start);
        br_puts(error, "expected ");
        br_put_type(error, value->type, value->rank);
        if (string && full == 1) br_puts(error, ", found a string");
        else if (string) br_putf(error, ", found an array of strings of %d dimensions", full);
        else br_putf(error, ", found an array of at least %d dimensions", full);
        return false;
    }
    for (int i = 0; i < value->rank; i++) value->shape[i] = -1;
    return br_read_items(in, value, open);
}

/* Reads a text value, of the type and rank that `value` has. */
static bool br_read_text(br_input *in, br_value *value) {
    int c = br_peek(in);
    if (c == '[' || c == '"') return br_read_array(in, value);
    if (br_token(in) == 5 && memcmp(in->window + in->at, "empty", 5) == 0) return br_read_empty(in, value);
    if (value->rank > 0) {
        br_text wanted = {0};
        br_put_type(&wanted, value->type, value->rank);
        br_unexpected(in, br_shown(&wanted));
        br_clear(&wanted);
        return false;
    }
    u64 bits;
    return br_read_element(in, value->type, &bits) && br_push(in, value, bits);
}
