#include "base/array.h"
#include "bitnet/names.h"
#include "bitnet/read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_ours(const char *name)
{
    size_t n = strlen(name);
    return n > 6 && (strcmp(name + n - 6, ".trace") == 0 || strcmp(name + n - 6, ".jsonl") == 0);
}

bool tt_bitnet_is(const char *path)
{
    struct stat st;
    bool found = false;
    if (stat(path, &st) != 0) return false;
    if (!S_ISDIR(st.st_mode)) return is_ours(path);
    DIR *folder = opendir(path);
    if (!folder) return false;
    for (struct dirent *e = readdir(folder); e && !found; e = readdir(folder))
        found = is_ours(e->d_name);
    (void)closedir(folder);
    return found;
}

/* "a.2.trace" after "a.trace" and before "a.10.trace". */
static int by_number(const void *x, const void *y)
{
    const char *a = *(char *const *)x, *b = *(char *const *)y;
    size_t n, m;
    uint64_t number = tt_bitnet_file_number(a, &n), other = tt_bitnet_file_number(b, &m);
    int order = memcmp(a, b, n < m ? n : m);
    if (order == 0 && n != m) order = n < m ? -1 : 1;
    if (order == 0 && number != other) order = number < other ? -1 : 1;
    return order ? order : strcmp(a, b);
}

static tt_status add_file(tt_bitnet_folder *f, const char *name, tt_error *err)
{
    if (f->n_files == TT_BITNET_FILES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "more than %zu files", f->n_files);
    if (!tt_array_one_more(f->files, f->n_files, f->files_capacity))
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    char *kept = tt_bitnet_keep(f, strlen(name) + 1);
    if (!kept) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    f->files[f->n_files++] = strcpy(kept, name);
    return TT_OK;
}

static tt_status list_folder(tt_bitnet_folder *f, const char *path, DIR *folder, tt_error *err)
{
    tt_status status = TT_OK;
    struct dirent *e;
    while (status == TT_OK) {
        errno = 0;
        e = readdir(folder);
        if (!e) break;
        if (is_ours(e->d_name)) status = add_file(f, e->d_name, err);
    }
    if (status == TT_OK && errno != 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot read %s: %s", path,
                            strerror(errno));
    if (status == TT_OK && f->n_files == 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "%s holds no *.trace and no *.jsonl file: there are no records", path);
    qsort(f->files, f->n_files, sizeof *f->files, by_number);
    return status;
}

tt_status tt_bitnet_list(tt_bitnet_folder *f, const char *path, bool *single, tt_error *err)
{
    DIR *folder = opendir(path);
    *single = !folder && errno == ENOTDIR;
    if (*single) return add_file(f, path, err);
    if (!folder)
        return tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                            "cannot read %s: %s", path, strerror(errno));
    tt_status status = list_folder(f, path, folder, err);
    (void)closedir(folder);
    return status;
}
