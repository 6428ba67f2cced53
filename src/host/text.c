#include "host/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 4096

bool tt_host_line(const char *dir, const char *name, char *out, size_t size)
{
    char path[PATH_MAX];
    out[0] = '\0';
    const int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof path) return false;
    FILE *f = fopen(path, "re");
    if (!f) return false;
    const bool read = fgets(out, (int)size, f) != NULL;
    (void)fclose(f);
    if (!read) out[0] = '\0';
    size_t length = strlen(out);
    while (length && (out[length - 1] == '\n' || out[length - 1] == ' '))
        out[--length] = '\0';
    return length > 0;
}

uint64_t tt_host_parse(const char *text)
{
    uint64_t value = 0;
    if (strcmp(text, "max") == 0 || strcmp(text, "unlimited") == 0) return TT_HOST_UNLIMITED;
    if (!*text) return TT_HOST_UNKNOWN;
    for (; *text; text++) {
        const unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9 || value > (TT_HOST_UNLIMITED - 1 - digit) / 10) return TT_HOST_UNKNOWN;
        value = value * 10 + digit;
    }
    return value;
}

uint64_t tt_host_number(const char *dir, const char *name)
{
    char text[64];
    return tt_host_line(dir, name, text, sizeof text) ? tt_host_parse(text) : TT_HOST_UNKNOWN;
}

/* Spaces and the like in paths are written as three octal digits. */
static void copy_path(char *out, size_t size, const char *from)
{
    size_t n = 0;
    while (*from && n + 1 < size) {
        unsigned code;
        if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1 && strlen(from) >= 4) {
            out[n++] = (char)code;
            from += 4;
        } else {
            out[n++] = *from++;
        }
    }
    out[n] = '\0';
}

/* "36 35 98:0 /root /point options shared:1 - type source super" */
static bool parse_mount(char *line, tt_host_mount *m)
{
    char root[PATH_MAX], point[PATH_MAX], source[sizeof m->source] = "";
    char *rest = strstr(line, " - ");
    memset(m, 0, sizeof *m);
    if (!rest) return false;
    *rest = '\0';
    if (sscanf(line, "%*s %*s %u:%u %4095s %4095s", &m->major, &m->minor, root, point) != 4 ||
        sscanf(rest + 3, "%31s %255s %255s", m->type, source, m->super) < 1)
        return false;
    copy_path(m->root, sizeof m->root, root);
    copy_path(m->point, sizeof m->point, point);
    copy_path(m->source, sizeof m->source, source);
    return true;
}

bool tt_host_mounts(const char *root, bool (*each)(void *context, const tt_host_mount *mount),
                    void *context)
{
    char line[LINE_BYTES];
    tt_host_mount mount;
    bool more = true, begins = true;
    (void)snprintf(line, sizeof line, "%s/proc/self/mountinfo", root);
    FILE *f = fopen(line, "re");
    if (!f) return false;
    /* What is behind the first bytes of a long line is the options of layers, which nobody needs.
     */
    while (more && fgets(line, sizeof line, f)) {
        const bool ends = strchr(line, '\n') != NULL;
        line[strcspn(line, "\n")] = '\0';
        if (begins && parse_mount(line, &mount)) more = each(context, &mount);
        begins = ends;
    }
    (void)fclose(f);
    return true;
}

const char *tt_host_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    while (n && folder[n - 1] == '/')
        n--;
    if (strncmp(path, folder, n) != 0 || (path[n] && path[n] != '/')) return NULL;
    return strcmp(path + n, "/") == 0 ? "" : path + n;
}
