/* The command line of an executable. */

typedef struct br_options {
    const char *entry;
    u64 runs;
    const char *times;
    bool binary;
    bool silent;
    bool log;
    bool log_versions;
    bool profile;
    bool debug;
    bool has_limit;
    u64 limit;
    bool help;
    bool print_params;
    bool print_values;
    br_setting *settings;
    size_t settings_count;
} br_options;

static const struct {
    char letter;
    const char *name;
    const char *value;
    const char *help;
} br_known_options[] = {
    {'h', "help", NULL, "Print this text and exit."},
    {'e', "entry-point", "NAME", "Run this entry point instead of `main`."},
    {'r', "runs", "N", "Run once to warm up and then N times; only the last result is printed."},
    {'t', "write-runtime-to", "FILE", "Write the time of each run to FILE, in microseconds, one per line."},
    {'b', "binary-output", NULL, "Print results in the binary format."},
    {'n', "no-print-result", NULL, "Do not print results."},
    {'D', "debugging", NULL, "Log, print counters, and check that all memory is released."},
    {'L', "log", NULL, "Log threads, comparisons and run times to standard error."},
    {0, "log-versions", NULL, "Log each comparison with a tuning parameter; --log does so too."},
    {'P', "profile", NULL, "Print counters to standard error at the end."},
    {0, "num-threads", "N", "Accepted for compatibility; there is one thread."},
    {0, "memory-limit", "BYTES", "Fail rather than use more memory; K, M, G, T may follow the number."},
    {0, "param", "NAME=N", "Set a tuning parameter."},
    {0, "tuning", "FILE", "Set tuning parameters from a file of lines NAME=N."},
    {0, "print-params", NULL, "Print the tuning parameters and their classes, and exit."},
    {0, "print-values", NULL, "Print the tuning parameters' values as a tuning file, and exit."},
    {0, "cache-file", "FILE", "Accepted for compatibility; nothing needs to be cached."},
};
enum { BR_OPTIONS = sizeof br_known_options / sizeof br_known_options[0] };

static void br_put_help(br_text *text, const char *name) {
    br_puts(text, "Usage: ");
    br_puts(text, name);
    br_puts(text, " [OPTION...]\n\nReads the arguments of an entry point from standard input and prints its\n"
                  "results to standard output.\n\nOptions:\n");
    for (int i = 0; i < BR_OPTIONS; i++) {
        char left[64], letter[8] = "    ";
        if (br_known_options[i].letter != 0) snprintf(letter, sizeof letter, "-%c, ", br_known_options[i].letter);
        const char *value = br_known_options[i].value;
        snprintf(left, sizeof left, "%s--%s%s%s", letter, br_known_options[i].name, value == NULL ? "" : "=",
                 value == NULL ? "" : value);
        br_putf(text, "  %-31s %s\n", left, br_known_options[i].help);
    }
}

static void br_put_quoted(br_text *text, const char *value) {
    br_puts(text, "\"");
    br_put_escaped(text, (const u8 *)value, strlen(value));
    br_puts(text, "\"");
}

static bool br_bad_value(br_text *error, const char *value, const char *why) {
    br_puts(error, "cannot parse argument ");
    br_put_quoted(error, value);
    br_puts(error, ": ");
    br_puts(error, why);
    return false;
}

static bool br_parse_bytes(const char *text, u64 *bytes) {
    size_t count = strlen(text);
    const char *units = "KMGT", *unit = count > 0 ? strchr(units, text[count - 1] & ~32) : NULL;
    int shift = unit != NULL && *unit != 0 ? 10 * (int)(unit - units + 1) : 0;
    i64 n;
    if (shift > 0) count--;
    if (!br_parse_i64(text, count, &n) || n < 0 || (u64)n > UINT64_MAX >> shift) return false;
    *bytes = (u64)n << shift;
    return true;
}

static bool br_add_setting(br_options *options, br_setting setting) {
    br_setting *more = realloc(options->settings, (options->settings_count + 1) * sizeof *more);
    if (more == NULL) return false;
    options->settings = more;
    more[options->settings_count++] = setting;
    return true;
}

/* Reads a tuning file. */
static bool br_read_tuning(const char *file, br_options *options, br_text *error) {
    FILE *in = fopen(file, "rb");
    br_text text = {0};
    char buffer[4096];
    size_t got = 0;
    while (in != NULL && text.length <= (16u << 20) && (got = fread(buffer, 1, sizeof buffer, in)) > 0) {
        br_put(&text, buffer, got);
    }
    bool fine = in != NULL && !ferror(in);
    if (!fine) {
        br_puts(error, "cannot read tuning file ");
        br_puts(error, file);
        br_puts(error, ": ");
        br_put_errno(error, errno);
    } else if (text.length > (16u << 20)) {
        br_puts(error, "tuning file ");
        br_puts(error, file);
        br_puts(error, " is larger than 16 MiB");
        fine = false;
    }
    if (in != NULL) fclose(in);
    const char *at = br_shown(&text), *end = at + text.length;
    for (int number = 1; fine && at < end; number++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        const char *line = at;
        size_t count = (size_t)((next == NULL ? end : next) - at);
        at = next == NULL ? end : next + 1;
        br_trim(&line, &count);
        if (count == 0 || (count >= 2 && line[0] == '-' && line[1] == '-')) continue;
        br_text location = {0};
        br_puts(&location, "tuning file ");
        br_puts(&location, file);
        br_putf(&location, ", line %d: ", number);
        br_setting setting = {.location = location.at};
        if (!br_parse_setting(line, count, &setting)) {
            br_puts(error, br_shown(&location));
            br_puts(error, BR_SETTING_FORM);
            br_clear(&location);
            fine = false;
        } else fine = br_add_setting(options, setting);
    }
    br_clear(&text);
    return fine;
}

/* Applies an option, with its value if it has one. */
static bool br_take_option(br_options *options, const char *name, const char *value, br_text *error) {
    if (strcmp(name, "help") == 0) options->help = true;
    else if (strcmp(name, "print-params") == 0) options->print_params = true;
    else if (strcmp(name, "print-values") == 0) options->print_values = true;
    else if (strcmp(name, "entry-point") == 0) options->entry = value;
    else if (strcmp(name, "write-runtime-to") == 0) options->times = value;
    else if (strcmp(name, "binary-output") == 0) options->binary = true;
    else if (strcmp(name, "no-print-result") == 0) options->silent = true;
    else if (strcmp(name, "profile") == 0) options->profile = true;
    else if (strcmp(name, "log-versions") == 0) options->log_versions = true;
    else if (strcmp(name, "log") == 0) options->log = options->log_versions = true;
    else if (strcmp(name, "debugging") == 0) {
        options->debug = options->log = options->log_versions = options->profile = true;
    } else if (strcmp(name, "runs") == 0) {
        i64 runs;
        if (!br_parse_i64(value, strlen(value), &runs) || runs <= 0) {
            return br_bad_value(error, value, "the number of runs must be positive");
        }
        options->runs = (u64)runs;
    } else if (strcmp(name, "num-threads") == 0) {
        i64 threads;
        if (!br_parse_i64(value, strlen(value), &threads) || threads < 0 || threads > 4096) {
            return br_bad_value(error, value,
                                "the number of threads must be between 0 (one for each core) and 4096");
        }
    } else if (strcmp(name, "memory-limit") == 0) {
        options->has_limit = true;
        if (!br_parse_bytes(value, &options->limit)) {
            return br_bad_value(error, value, "must be a number of bytes, perhaps followed by K, M, G or T");
        }
    } else if (strcmp(name, "param") == 0) {
        br_setting setting = {0};
        if (!br_parse_setting(value, strlen(value), &setting)) return br_bad_value(error, value, BR_SETTING_FORM);
        return br_add_setting(options, setting);
    } else if (strcmp(name, "tuning") == 0) return br_read_tuning(value, options, error);
    return true;
}

/* Parses the arguments; errors go to `error`. */
static bool br_parse_options(int argc, char **argv, br_options *options, br_text *error) {
    *options = (br_options){.entry = "main"};
    for (int at = 1; at < argc && !options->help && !options->print_params; at++) {
        char *arg = argv[at];
        bool is_long = strncmp(arg, "--", 2) == 0 && arg[2] != 0;
        if (arg[0] != '-' || arg[1] == 0 || strcmp(arg, "--") == 0) {
            if (strcmp(arg, "--") == 0 && at + 1 == argc) break;
            br_puts(error, "unexpected argument ");
            br_put_quoted(error, strcmp(arg, "--") == 0 ? argv[at + 1] : arg);
            return false;
        }
        char *next = is_long ? NULL : arg + 1;
        do {
            int known = 0;
            char *value = is_long ? strchr(arg, '=') : NULL;
            size_t length = is_long ? (value == NULL ? strlen(arg) : (size_t)(value - arg)) - 2 : 0;
            while (known < BR_OPTIONS &&
                   (is_long ? strlen(br_known_options[known].name) != length ||
                                  memcmp(br_known_options[known].name, arg + 2, length) != 0
                            : br_known_options[known].letter != *next)) {
                known++;
            }
            char shown[3] = {'-', is_long ? 0 : *next, 0};
            if (known == BR_OPTIONS) {
                br_puts(error, "invalid option '");
                if (is_long) br_put(error, arg, length + 2);
                else br_puts(error, shown);
                br_puts(error, "'");
                return false;
            }
            if (value != NULL) value++;
            if (!is_long) next++;
            if (br_known_options[known].value != NULL) {
                if (!is_long && *next != 0) {
                    value = *next == '=' ? next + 1 : next;
                    next = NULL;
                } else if (value == NULL) value = at + 1 < argc ? argv[++at] : NULL;
                if (value == NULL) {
                    br_puts(error, "missing argument for option '");
                    if (is_long) br_put(error, arg, length + 2);
                    else br_puts(error, shown);
                    br_puts(error, "'");
                    return false;
                }
                if (!is_long) next = NULL;
            } else if (value != NULL || (!is_long && *next == '=')) {
                br_puts(error, "unexpected argument for option '");
                if (is_long) br_put(error, arg, length + 2);
                else br_puts(error, shown);
                if (!is_long) value = next + 1;
                br_puts(error, "': ");
                br_put_quoted(error, value);
                return false;
            }
            if (!br_take_option(options, br_known_options[known].name, value, error)) return false;
            if (options->help || options->print_params) return true;
        } while (next != NULL && *next != 0);
    }
    return true;
}
