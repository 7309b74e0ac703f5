/* Values of tuning parameters: NAME=N from options and from files. */

/* An assignment to a parameter, and its location. */
typedef struct br_setting {
    char *name;
    i64 value;
    char *location;
} br_setting;

static char *br_copy(const char *text, size_t count) {
    char *copy = malloc(count + 1);
    if (copy != NULL) {
        memcpy(copy, text, count);
        copy[count] = 0;
    }
    return copy;
}

/* Parses text that is one decimal number in range. */
static bool br_parse_i64(const char *text, size_t count, i64 *value) {
    bool negative = count > 0 && *text == '-';
    if (count > 0 && (*text == '-' || *text == '+')) {
        text++;
        count--;
    }
    u64 size = 0, limit = (u64)INT64_MAX + negative;
    if (count == 0) return false;
    for (size_t i = 0; i < count; i++) {
        if (!br_is_digit(text[i])) return false;
        u64 digit = (u64)(text[i] - '0');
        if (size > (limit - digit) / 10) return false;
        size = 10 * size + digit;
    }
    *value = (i64)(negative ? 0 - size : size);
    return true;
}

static void br_trim(const char **text, size_t *count) {
    while (*count > 0 && br_is_space((u8)**text)) {
        ++*text;
        --*count;
    }
    while (*count > 0 && br_is_space((u8)(*text)[*count - 1])) --*count;
}

/* Parses an assignment NAME=N; the last `=` separates name and value. */
static bool br_parse_setting(const char *text, size_t count, br_setting *setting) {
    size_t at = count;
    while (at > 0 && text[at - 1] != '=') at--;
    if (at == 0) return false;
    const char *name = text, *value = text + at;
    size_t name_count = at - 1, value_count = count - at;
    br_trim(&name, &name_count);
    br_trim(&value, &value_count);
    if (!br_parse_i64(value, value_count, &setting->value)) return false;
    setting->name = br_copy(name, name_count);
    return setting->name != NULL;
}

#define BR_SETTING_FORM "must be of the form NAME=N, where N is a 64-bit integer"

/* The edit distance of two texts. */
static size_t br_distance(const char *a, const char *b) {
    size_t row[201], m = strlen(b) < 200 ? strlen(b) : 200;
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 0; i < 200 && a[i] != 0; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < m; j++) {
            size_t change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (row[j + 1] + 1 < change) change = row[j + 1] + 1;
            if (row[j] + 1 < change) change = row[j] + 1;
            row[j + 1] = change;
        }
    }
    return row[m];
}

/* Sets the parameters; errors go to `error`. */
static bool br_apply(const br_program *program, const br_setting *settings, size_t count, i64 *values,
                     br_text *error) {
    for (size_t i = 0; i < count; i++) {
        const char *name = settings[i].name;
        int at = 0, nearest = -1;
        size_t least = SIZE_MAX;
        while (at < program->tunables_count && strcmp(program->tunables[at].name, name) != 0) at++;
        if (at < program->tunables_count) {
            values[at] = settings[i].value;
            continue;
        }
        for (int k = 0; k < program->tunables_count; k++) {
            size_t distance = br_distance(program->tunables[k].name, name);
            if (distance < least) {
                least = distance;
                nearest = k;
            }
        }
        if (settings[i].location != NULL) br_puts(error, settings[i].location);
        br_puts(error, "there is no tuning parameter `");
        br_puts(error, name);
        br_puts(error, "`; ");
        size_t length = strlen(name) < 200 ? strlen(name) : 200;
        if (nearest < 0) br_puts(error, "the program has none");
        else if (least <= 2 + length / 4) {
            br_puts(error, "did you mean `");
            br_puts(error, program->tunables[nearest].name);
            br_puts(error, "`?");
        } else br_puts(error, "--print-params lists the parameters");
        return false;
    }
    return true;
}
