#include "experiment/stamp.h"

#include "base/checksum.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static tt_status io_error(tt_error *err, const char *path)
{
    return tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                        "cannot read %.250s: %s", path, strerror(errno));
}

static void put_text(tt_bytes *out, const char *text)
{
    tt_bytes_str(out, text, strlen(text));
}

tt_status tt_stamp_file(tt_bytes *out, const char *path, tt_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0) return io_error(err, path);
    put_text(out, path);
    tt_bytes_u64(out, (uint64_t)st.st_size);
    tt_bytes_u64(out, (uint64_t)st.st_mtim.tv_sec);
    tt_bytes_u64(out, (uint64_t)st.st_mtim.tv_nsec);
    return TT_OK;
}

static int is_library(const struct dirent *entry)
{
    const char *so = strstr(entry->d_name, ".so");
    return so && (so[3] == '\0' || so[3] == '.');
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

tt_status tt_stamp_libraries(tt_bytes *out, const char *folder, tt_error *err)
{
    struct dirent **entries;
    char path[2 * PATH_MAX];
    int n = scandir(folder, &entries, is_library, by_bytes);
    if (n < 0) return io_error(err, folder);
    tt_status status = TT_OK;
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (status == TT_OK) status = tt_stamp_file(out, path, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

tt_status tt_stamp_content(tt_bytes *out, const char *path, size_t limit, tt_error *err)
{
    FILE *f = fopen(path, "rbe");
    char *content = f ? malloc(limit + 1) : NULL;
    tt_status status = TT_OK;
    if (!f) return io_error(err, path);
    size_t n = content ? fread(content, 1, limit + 1, f) : 0;
    if (!content)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    else if (ferror(f))
        status = io_error(err, path);
    else if (n > limit)
        status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "%.250s has more than %zu bytes", path,
                              limit);
    else
        tt_bytes_u64(out, tt_checksum(content, n));
    free(content);
    (void)fclose(f);
    return status;
}

tt_status tt_stamp_key(const tt_bytes *stamp, char out[TT_STAMP_KEY], tt_error *err)
{
    if (stamp->failed) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    (void)snprintf(out, TT_STAMP_KEY, "%016" PRIx64, tt_checksum(stamp->data, stamp->size));
    return TT_OK;
}
