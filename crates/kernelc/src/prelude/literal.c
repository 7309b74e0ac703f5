/* Number literals of the text format, in all forms. */

static const char *const br_scalar_names[] = {"i8",  "i16", "i32", "i64", "u8",  "u16",
                                              "u32", "u64", "f16", "f32", "f64", "bool"};
static const int br_scalar_sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 1};

enum { BR_FINE, BR_FORM, BR_SUFFIX, BR_RANGE };

static bool br_ends(const char *text, size_t count, const char *end) {
    size_t length = strlen(end);
    return count >= length && memcmp(text + count - length, end, length) == 0;
}

/* The type of a literal's suffix, or -1; `count` becomes the length without it. */
static int br_split_suffix(const char *token, size_t *count) {
    const char *plain = *token == '-' ? token + 1 : token;
    bool hex = plain[0] == '0' && (plain[1] == 'x' || plain[1] == 'X');
    bool floats = !hex || strpbrk(plain, "pP") != NULL;
    for (int type = BR_I8; type < BR_BOOL; type++) {
        size_t length = strlen(br_scalar_names[type]);
        if ((type < BR_F16 || floats) && br_ends(token, *count, br_scalar_names[type]) && *count > length) {
            *count -= length;
            return type;
        }
    }
    return -1;
}

static int br_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

static int br_int_literal(const char *token, size_t count, int type, u64 *bits, int *other) {
    int suffix = br_split_suffix(token, &count);
    const char *end = token + count;
    bool negative = *token == '-';
    if (*token == '-' || *token == '+') token++;
    u64 radix = 10, size = 0;
    if (end - token >= 2 && token[0] == '0') {
        if (token[1] == 'x' || token[1] == 'X') radix = 16;
        if (token[1] == 'b' || token[1] == 'B') radix = 2;
        if (radix != 10) token += 2;
    }
    if (token >= end) return BR_FORM;
    bool fits = true;
    for (; token < end; token++) {
        u64 digit = (u64)br_digit(*token);
        if (digit >= radix) return BR_FORM;
        fits = fits && size <= (UINT64_MAX - digit) / radix;
        size = size * radix + digit;
    }
    if (suffix >= 0 && suffix != type) {
        *other = suffix;
        return BR_SUFFIX;
    }
    int width = 8 * br_scalar_sizes[type];
    u64 mask = UINT64_MAX >> (64 - width), limit = mask;
    /* Hexadecimal and binary literals may fill the width of a signed type. */
    if (negative) limit = (u64)1 << (width - 1);
    else if (type <= BR_I64 && radix == 10) limit = mask >> 1;
    if (suffix < 0 && !(fits && size <= limit)) return BR_RANGE;
    *bits = (negative ? 0 - size : size) & mask;
    return BR_FINE;
}

/* The bits of size * 2^exponent, plus a fraction if `sticky`, rounded to nearest, ties to even. */
static u64 br_round(u64 size, bool sticky, i64 exponent, int fraction, int exponent_bits) {
    if (size == 0) return 0;
    i64 bias = ((i64)1 << (exponent_bits - 1)) - 1;
    i64 zeros = br_clz_i64((i64)size);
    size <<= zeros;
    i64 top = exponent - zeros + 63;
    if (top > bias) return (((u64)1 << exponent_bits) - 1) << fraction;
    i64 lost = 1 - bias - top > 0 ? 1 - bias - top : 0;
    i64 kept = fraction + 1 - lost;
    if (kept < 0) return 0;
    int shift = (int)(64 - kept);
    u64 quotient = shift == 64 ? 0 : size >> shift;
    u64 rest = shift == 64 ? size : size & (((u64)1 << shift) - 1);
    u64 half = (u64)1 << (shift - 1);
    bool up = rest > half || (rest == half && (sticky || (quotient & 1)));
    i64 field = top + bias - 1 > 0 ? top + bias - 1 : 0;
    return ((u64)field << fraction) + quotient + up;
}

static bool br_hex_float(const char *at, const char *end, int fraction, int exponent_bits, u64 *bits) {
    u64 size = 0;
    bool sticky = false, digits = false, point = false;
    i64 exponent = 0;
    for (at += 2; at < end && *at != 'p' && *at != 'P'; at++) {
        if (*at == '.') {
            if (point) return false;
            point = true;
            continue;
        }
        int digit = br_digit(*at);
        if (digit > 15) return false;
        digits = true;
        if (size >> 60 == 0) {
            size = size << 4 | (u64)digit;
            exponent -= point ? 4 : 0;
        } else {
            sticky = sticky || digit != 0;
            exponent += point ? 0 : 4;
        }
    }
    if (at < end) {
        i64 more = 0;
        bool negative = ++at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) at++;
        if (at >= end) return false;
        for (; at < end; at++) {
            if (!br_is_digit(*at)) return false;
            more = 10 * more + (*at - '0');
            if (more > (i64)1 << 40) more = (i64)1 << 40;
        }
        exponent += negative ? -more : more;
    }
    if (digits) *bits = br_round(size, sticky, exponent, fraction, exponent_bits);
    return digits;
}

static bool br_is_word(const char *at, const char *end, const char *word) {
    for (; *word != 0; word++, at++) {
        if (at == end || (*at | 32) != *word) return false;
    }
    return at == end;
}

/* Returns true if text is a decimal number, an infinity or a NaN. */
static bool br_is_decimal(const char *at, const char *end) {
    if (br_is_word(at, end, "inf") || br_is_word(at, end, "infinity") || br_is_word(at, end, "nan")) return true;
    int digits = 0;
    for (; at < end && br_is_digit(*at); at++) digits++;
    if (at < end && *at == '.') at++;
    for (; at < end && br_is_digit(*at); at++) digits++;
    if (digits == 0) return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '-' || *at == '+')) at++;
        if (at == end) return false;
        while (at < end && br_is_digit(*at)) at++;
    }
    return at == end;
}

static int br_float_literal(char *token, size_t count, int type, u64 *bits, int *other) {
    int fraction = type == BR_F16 ? 10 : type == BR_F32 ? 23 : 52;
    int exponent_bits = type == BR_F16 ? 5 : type == BR_F32 ? 8 : 11;
    u64 sign = *token == '-' ? (u64)1 << (fraction + exponent_bits) : 0;
    u64 infinity = (((u64)1 << exponent_bits) - 1) << fraction;
    if (*token == '-' || *token == '+') {
        token++;
        count--;
    }
    for (int named = BR_F16; named <= BR_F64; named++) {
        size_t length = strlen(br_scalar_names[named]);
        if (count != length + 4 || memcmp(token, br_scalar_names[named], length) != 0) continue;
        bool nan = strcmp(token + length, ".nan") == 0;
        if (!nan && strcmp(token + length, ".inf") != 0) continue;
        *other = named;
        *bits = sign | infinity | (nan ? (u64)1 << (fraction - 1) : 0);
        return named == type ? BR_FINE : BR_SUFFIX;
    }
    int suffix = br_split_suffix(token, &count);
    char *end = token + count;
    if (count > 2 && token[0] == '0' && (token[1] == 'x' || token[1] == 'X')) {
        if (!br_hex_float(token, end, fraction, exponent_bits, bits)) return BR_FORM;
    } else {
        if (!br_is_decimal(token, end)) return BR_FORM;
        *end = 0;
        if (type == BR_F64) *bits = br_bits_f64(strtod(token, NULL));
        else if (type == BR_F32) *bits = br_bits_f32(strtof(token, NULL));
        else *bits = br_half_of_f64(strtod(token, NULL));
    }
    if (suffix >= 0 && suffix != type) {
        *other = suffix;
        return BR_SUFFIX;
    }
    *bits |= sign;
    return BR_FINE;
}

/* The bits of a token as a literal of a type; the token ends with a zero byte. */
static int br_literal(char *token, size_t count, int type, u64 *bits, int *other) {
    if (type == BR_BOOL) {
        *bits = strcmp(token, "true") == 0;
        if (*bits == 1 || strcmp(token, "false") == 0) return BR_FINE;
        *other = br_split_suffix(token, &count);
        return *other < 0 ? BR_FORM : BR_SUFFIX;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (token[i] != '_') token[kept++] = token[i];
    }
    token[kept] = 0;
    return type >= BR_F16 ? br_float_literal(token, kept, type, bits, other)
                          : br_int_literal(token, kept, type, bits, other);
}
