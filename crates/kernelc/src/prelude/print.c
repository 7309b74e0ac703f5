/* Output of values in the text and the binary format. */

/* Buffered output; the first error is kept. */
typedef struct br_output {
    char buffer[1 << 16];
    size_t count;
    int error;
} br_output;

static void br_flush(br_output *out) {
    if (out->error == 0 && out->count > 0) {
        errno = 0;
        if (fwrite(out->buffer, 1, out->count, stdout) != out->count || fflush(stdout) != 0) {
            out->error = errno == 0 ? EIO : errno;
        }
    }
    out->count = 0;
}

static void br_write(br_output *out, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        size_t available = sizeof out->buffer - out->count, part = count < available ? count : available;
        memcpy(out->buffer + out->count, at, part);
        out->count += part;
        at += part;
        count -= part;
        if (out->count == sizeof out->buffer) br_flush(out);
    }
}
static void br_write_text(br_output *out, const char *text) { br_write(out, text, strlen(text)); }

static void br_write_int(br_output *out, bool negative, u64 size) {
    char digits[24];
    int at = sizeof digits;
    do {
        digits[--at] = (char)('0' + size % 10);
        size /= 10;
    } while (size != 0);
    if (negative) digits[--at] = '-';
    br_write(out, digits + at, sizeof digits - (size_t)at);
}

/* Writes a float with `digits` significant digits, enough to read back the same bits. */
static void br_write_float(br_output *out, f64 x, int digits, const char *name) {
    char text[40];
    if (x != x) snprintf(text, sizeof text, "%s.nan", name);
    else if (x - x != 0) snprintf(text, sizeof text, "%s%s.inf", x < 0 ? "-" : "", name);
    else snprintf(text, sizeof text, "%.*g%s", digits, x, name);
    br_write_text(out, text);
}

static void br_write_element(br_output *out, int type, const u8 *at) {
    const char *name = br_scalar_names[type];
    br_word word;
    memcpy(&word, at, (size_t)br_scalar_sizes[type]);
    i64 n = 0;
    switch (type) {
    case BR_I8: n = word.as_i8; break;
    case BR_I16: n = word.as_i16; break;
    case BR_I32: n = word.as_i32; break;
    case BR_I64: n = word.as_i64; break;
    case BR_U8: n = (u8)word.as_i8; break;
    case BR_U16: n = (u16)word.as_i16; break;
    case BR_U32: n = (u32)word.as_i32; break;
    case BR_U64: br_write_int(out, false, (u64)word.as_i64); br_write_text(out, name); return;
    case BR_F16: br_write_float(out, br_wide(word.as_f16), 9, name); return;
    case BR_F32: br_write_float(out, word.as_f32, 9, name); return;
    case BR_F64: br_write_float(out, word.as_f64, 17, name); return;
    default: br_write_text(out, *at != 0 ? "true" : "false"); return;
    }
    br_write_int(out, n < 0, n < 0 ? 0 - (u64)n : (u64)n);
    br_write_text(out, name);
}

static void br_write_array(br_output *out, int type, int rank, const i64 *shape, const u8 *at) {
    bool is_empty = false;
    for (int i = 0; i < rank; i++) is_empty = is_empty || shape[i] == 0;
    if (is_empty) {
        br_write_text(out, "empty(");
        for (int i = 0; i < rank; i++) {
            br_write_text(out, "[");
            br_write_int(out, false, (u64)shape[i]);
            br_write_text(out, "]");
        }
        br_write_text(out, br_scalar_names[type]);
        br_write_text(out, ")");
        return;
    }
    i64 left[BR_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        left[i] = shape[i];
        br_write_text(out, "[");
    }
    for (;;) {
        br_write_element(out, type, at);
        at += br_scalar_sizes[type];
        int level = rank - 1;
        for (; level >= 0 && --left[level] == 0; level--) br_write_text(out, "]");
        if (level < 0) return;
        br_write_text(out, ", ");
        for (level++; level < rank; level++) {
            left[level] = shape[level];
            br_write_text(out, "[");
        }
    }
}

static void br_write_binary(br_output *out, int type, int rank, const i64 *shape, const u8 *at) {
    char head[16];
    snprintf(head, sizeof head, "b%c%c%4s", 2, 0, br_scalar_names[type]);
    head[2] = (char)rank;
    br_write(out, head, 7);
    u64 bytes = (u64)br_scalar_sizes[type];
    for (int i = 0; i < rank; i++) {
        u8 size[8];
        for (int k = 0; k < 8; k++) size[k] = (u8)((u64)shape[i] >> 8 * k);
        br_write(out, size, 8);
        bytes *= (u64)shape[i];
    }
    if (!br_is_big()) {
        br_write(out, at, (size_t)bytes);
        return;
    }
    size_t size = (size_t)br_scalar_sizes[type];
    for (u64 i = 0; i < bytes; i += size) {
        u8 element[8];
        memcpy(element, at + i, size);
        br_swap(element, size, size);
        br_write(out, element, size);
    }
}
