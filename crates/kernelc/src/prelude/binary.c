/* Values in the binary format: `b`, a version, the rank, the type as four characters, each size
   as eight bytes, the elements; little-endian. */

static bool br_is_big(void) {
    u16 probe = 1;
    u8 first;
    memcpy(&first, &probe, 1);
    return first == 0;
}
/* Swaps the bytes of each element on big-endian machines. */
static void br_swap(u8 *bytes, size_t count, size_t size) {
    if (!br_is_big() || size == 1) return;
    for (size_t at = 0; at < count; at += size) {
        for (size_t i = 0; i < size / 2; i++) {
            u8 low = bytes[at + i];
            bytes[at + i] = bytes[at + size - 1 - i];
            bytes[at + size - 1 - i] = low;
        }
    }
}

/* Consumes the next bytes; false if the input ends before. */
static bool br_take(br_input *in, u8 *to, size_t count) {
    while (in->end - in->at < count) {
        if (!br_refill(in)) return false;
    }
    memcpy(to, in->window + in->at, count);
    in->at += count;
    return true;
}

static bool br_cut(br_input *in, br_position start, const char *what) {
    if (in->error.length > 0) return false;
    br_text *error = br_error_at(in, start);
    br_puts(error, "binary value: the input ends before ");
    br_puts(error, what);
    return false;
}

static void br_put_shape(br_text *text, const br_value *value) {
    br_puts(text, "[");
    for (int i = 0; i < value->rank; i++) br_putf(text, "%s%" PRId64, i == 0 ? "" : ", ", value->shape[i]);
    br_puts(text, "]");
}

static bool br_too_short(br_input *in, br_position start, const br_value *value, u64 bytes, u64 have) {
    br_text *error = br_error_at(in, start);
    br_puts(error, "binary value of type ");
    br_put_type(error, value->type, value->rank);
    br_puts(error, " and shape ");
    br_put_shape(error, value);
    br_putf(error, " has %" PRIu64 " bytes of elements, but the input ends after %" PRIu64, bytes, have);
    return false;
}

/* The number of bytes of an array; false if it does not fit in 63 bits. */
static bool br_byte_count(const br_value *value, u64 *bytes) {
    *bytes = (u64)br_scalar_sizes[value->type];
    for (int i = 0; i < value->rank; i++) {
        if (value->shape[i] == 0) {
            *bytes = 0;
            return true;
        }
    }
    for (int i = 0; i < value->rank; i++) {
        if (*bytes > (u64)INT64_MAX / (u64)value->shape[i]) return false;
        *bytes *= (u64)value->shape[i];
    }
    return true;
}

/* Reads the elements of a value. */
static bool br_read_elements(br_input *in, br_position start, br_value *value, u64 bytes) {
    u64 here = in->base + in->at, left = in->has_total && in->total > here ? in->total - here : 0;
    if (in->has_total && left < bytes) return br_too_short(in, start, value, bytes, left);
    if (bytes > SIZE_MAX) return br_reserve(in, value, SIZE_MAX);
    if (in->has_total && !br_reserve(in, value, (size_t)bytes)) return false;
    while (value->bytes < bytes) {
        size_t more = (size_t)bytes - value->bytes;
        if (value->bytes == value->capacity) {
            size_t capacity = 2 * value->capacity + BR_WINDOW;
            if (!br_reserve(in, value, capacity < bytes ? capacity : (size_t)bytes)) return false;
        }
        if (more > value->capacity - value->bytes) more = value->capacity - value->bytes;
        u8 *to = value->raw + sizeof(br_header) + value->bytes;
        if (in->at < in->end) {
            if (more > in->end - in->at) more = in->end - in->at;
            memcpy(to, in->window + in->at, more);
            in->at += more;
        } else {
            br_drop(in);
            int64_t got = br_read(to, more);
            if (got < 0) {
                int number = errno;
                br_text *error = br_error_here(in);
                br_puts(error, "cannot read the input: ");
                br_put_errno(error, number);
                return false;
            }
            if (got == 0) return br_too_short(in, start, value, bytes, value->bytes);
            more = (size_t)got;
            in->base += more;
        }
        value->bytes += more;
    }
    return true;
}

/* Reads a binary value, of the type and rank that `value` has. */
static bool br_read_binary(br_input *in, br_value *value) {
    br_position start = br_here(in);
    u8 head[7], size[8];
    if (!br_take(in, head, 2)) return br_cut(in, start, "the version");
    if (head[1] != 2) {
        br_putf(br_error_at(in, start), "binary value of version %d; only version 2 is known", head[1]);
        return false;
    }
    in->only_text = false;
    if (!br_take(in, head + 2, 5)) return br_cut(in, start, "the type");
    int type = BR_I8, rank = head[2];
    char tag[5];
    for (; type <= BR_BOOL; type++) {
        snprintf(tag, sizeof tag, "%4s", br_scalar_names[type]);
        if (memcmp(tag, head + 3, 4) == 0) break;
    }
    if (type > BR_BOOL) {
        br_text *error = br_error_at(in, start);
        br_puts(error, "binary value of unknown type `");
        br_put_escaped(error, head + 3, 4);
        br_puts(error, "`");
        return false;
    }
    if (type != value->type || rank != value->rank) {
        br_text *error = br_error_at(in, start);
        br_puts(error, "expected ");
        br_put_type(error, value->type, value->rank);
        br_puts(error, ", found a binary value of type ");
        br_put_type(error, type, rank);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        if (!br_take(in, size, 8)) {
            char what[40];
            snprintf(what, sizeof what, "size %d of %d", i + 1, rank);
            return br_cut(in, start, what);
        }
        u64 dim = 0;
        for (int k = 7; k >= 0; k--) dim = dim << 8 | size[k];
        if ((i64)dim < 0) {
            br_putf(br_error_at(in, start), "binary value with the invalid size %" PRId64, (i64)dim);
            return false;
        }
        value->shape[i] = (i64)dim;
    }
    u64 bytes;
    if (!br_byte_count(value, &bytes)) {
        br_text *error = br_error_at(in, start);
        br_puts(error, "binary value of shape ");
        br_put_shape(error, value);
        br_puts(error, ": the size in bytes does not fit in 63 bits");
        return false;
    }
    if (!br_read_elements(in, start, value, bytes)) return false;
    u8 *elements = value->raw == NULL ? NULL : value->raw + sizeof(br_header);
    for (u64 i = 0; type == BR_BOOL && i < bytes; i++) {
        if (elements[i] > 1) {
            br_text *error = br_error_at(in, start);
            br_puts(error, "binary value of type ");
            br_put_type(error, type, rank);
            br_putf(error, ": the byte of bool %" PRIu64 " is neither 0 nor 1", i);
            return false;
        }
    }
    br_swap(elements, (size_t)bytes, (size_t)br_scalar_sizes[type]);
    return true;
}
