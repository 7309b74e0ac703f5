/* The default memory limit: the minimum of the machine's memory and the limits of the process's
   control groups, less a sixteenth. */

/* The first number in a file, after `label` at the start of a line if there is one. */
static bool br_number_in(const char *file, const char *label, u64 *number) {
    FILE *in = fopen(file, "r");
    if (in == NULL) return false;
    char line[256];
    bool found = false;
    while (!found && fgets(line, sizeof line, in) != NULL) {
        size_t skip = strlen(label);
        found = strncmp(line, label, skip) == 0 && sscanf(line + skip, "%" SCNu64, number) == 1;
    }
    fclose(in);
    return found;
}

static void br_limit_of_group(const char *mount, const char *file, char *path, u64 *limit) {
    for (;;) {
        char name[4400];
        u64 number;
        snprintf(name, sizeof name, "%s%s/%s", mount, path, file);
        if (br_number_in(name, "", &number) && number < *limit) *limit = number;
        char *slash = strrchr(path, '/');
        if (slash == NULL) return;
        *slash = 0;
    }
}

static u64 br_default_limit(void) {
    u64 limit = UINT64_MAX, kib;
    if (br_number_in("/proc/meminfo", "MemTotal:", &kib) && kib < UINT64_MAX / 1024) limit = kib * 1024;
    FILE *groups = fopen("/proc/self/cgroup", "r");
    char line[4200];
    while (groups != NULL && fgets(line, sizeof line, groups) != NULL) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (path == NULL) continue;
        *controllers++ = 0;
        *path++ = 0;
        size_t length = strlen(path);
        if (length > 0 && path[length - 1] == '/') path[length - 1] = 0;
        if (*controllers == 0) br_limit_of_group("/sys/fs/cgroup", "memory.max", path, &limit);
        else if (strstr(controllers, "memory") != NULL) {
            br_limit_of_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes", path, &limit);
        }
    }
    if (groups != NULL) fclose(groups);
    return limit - limit / 16;
}
