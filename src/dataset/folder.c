#include "dataset/folder.h"

#include "base/array.h"
#include "base/order.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[TT_DATASET_PARTS] = {"experiment.json", "memory-map.json",
                                                    "buffer-timeline.json", "graphs", "traces"};
static const char *const packings[] = {"", ".zst", ".gz"};

#define PACKINGS (sizeof packings / sizeof *packings)

void tt_dataset_name(tt_dataset_part part, uint32_t number, unsigned packing,
                     char out[TT_DATASET_NAME])
{
    if (part < TT_DATASET_GRAPH)
        (void)snprintf(out, TT_DATASET_NAME, "%s%s", names[part], packings[packing]);
    else
        (void)snprintf(out, TT_DATASET_NAME, "%s/token-%05u.json%s", names[part], (unsigned)number,
                       packings[packing]);
}

static tt_status add(tt_dataset_list *l, tt_dataset_entry e, tt_error *err)
{
    if (l->n == TT_FOLDER_FILES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "more than %u files of a kind",
                            TT_FOLDER_FILES_MAX);
    if (!tt_array_one_more(l->entries, l->n, l->capacity)) return tt_error_memory(err, "the files");
    l->entries[l->n++] = e;
    return TT_OK;
}

/* Whether the name is that of a token's file, spelt exactly as it has to be. */
static bool is_token(tt_dataset_part part, const char *name, tt_dataset_entry *e)
{
    char right[TT_DATASET_NAME];
    unsigned number;
    if (sscanf(name, "token-%10u.json", &number) != 1) return false;
    for (uint8_t p = 0; p < PACKINGS; p++) {
        tt_dataset_name(part, number, p, right);
        *e = (tt_dataset_entry){number, p};
        if (strcmp(strchr(right, '/') + 1, name) == 0) return true;
    }
    return false;
}

static tt_status list_tokens(tt_dataset_folder *f, tt_dataset_part part, const char *path,
                             tt_error *err)
{
    DIR *dir = opendir(path);
    tt_status status = TT_OK;
    const struct dirent *d;
    /* That there is none is told like any file that is missing. */
    if (!dir && (errno == ENOENT || errno == ENOTDIR)) return TT_OK;
    if (!dir)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot open %s: %s", path,
                            strerror(errno));
    while (status == TT_OK && (d = readdir(dir))) {
        tt_dataset_entry e;
        if (is_token(part, d->d_name, &e))
            status = add(&f->parts[part], e, err);
        else if (strncmp(d->d_name, "token-", 6) == 0 && f->odd_names++ == 0)
            (void)snprintf(f->odd_name, sizeof f->odd_name, "%s/%.60s", names[part], d->d_name);
    }
    (void)closedir(dir);
    return status;
}

TT_ORDER_BY(by_number, tt_dataset_entry, number, packing)

static tt_status list_all(tt_dataset_folder *f, char *room, size_t size, tt_error *err)
{
    struct stat st;
    tt_status status = TT_OK;
    bool any = false;
    for (unsigned part = 0; part < TT_DATASET_PARTS && status == TT_OK; part++) {
        for (uint8_t p = 0; p < PACKINGS && part < TT_DATASET_GRAPH && status == TT_OK; p++) {
            (void)snprintf(room, size, "%s/%s%s", f->path, names[part], packings[p]);
            if (stat(room, &st) == 0) status = add(&f->parts[part], (tt_dataset_entry){0, p}, err);
        }
        if (part >= TT_DATASET_GRAPH) {
            (void)snprintf(room, size, "%s/%s", f->path, names[part]);
            status = list_tokens(f, (tt_dataset_part)part, room, err);
        }
        tt_dataset_list *l = &f->parts[part];
        if (l->n) qsort(l->entries, l->n, sizeof *l->entries, by_number);
        any |= l->n > 0;
    }
    if (status == TT_OK && !any)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%s is no dataset: it holds neither experiment.json nor any other file "
                            "of one",
                            f->path);
    return status;
}

tt_status tt_dataset_folder_open(tt_dataset_folder *f, const char *path, tt_error *err)
{
    memset(f, 0, sizeof *f);
    size_t size = strlen(path) + TT_DATASET_NAME;
    char *room = malloc(size);
    f->path = strdup(path);
    DIR *dir = opendir(path);
    tt_status status;
    if (!dir)
        status =
            tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot open %s: %s", path, strerror(errno));
    else if (!room || !f->path)
        status = tt_error_memory(err, "the files");
    else
        status = list_all(f, room, size, err);
    if (dir) (void)closedir(dir);
    free(room);
    return status;
}

void tt_dataset_folder_close(tt_dataset_folder *f)
{
    free(f->path);
    for (unsigned part = 0; part < TT_DATASET_PARTS; part++)
        free(f->parts[part].entries);
    memset(f, 0, sizeof *f);
}
