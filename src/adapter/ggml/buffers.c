#include "adapter/ggml/buffers.h"

#include "adapter/ggml/models.h"
#include "adapter/ggml/names.h"
#include "adapter/ggml/process.h"
#include "base/array.h"
#include "base/clock.h"
#include "format/meta.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE_MAX 65536u

enum place { IS_UNKNOWN, IS_MEMORY, IS_FILE };

typedef struct live {
    void *buffer;
    uint64_t id;
    uint64_t base;
    uint64_t size;
    int usage;
    uint32_t model;     /* the last model opened before the buffer appeared */
    uint32_t allocator; /* string id */
    bool allocation_seen;
    bool host;
    enum place place; /* of host memory */
    char *path;       /* of the mapped file, with IS_FILE */
    uint64_t file_offset;
} live;

static live *table; /* existing buffers; few, so a list */
static uint32_t n_live, capacity;
static uint64_t last_id;
_Atomic uint64_t tt_buffers_changes;

static live *find(const void *buffer)
{
    /* First the last one found, then the newest: a graph's tensors share few buffers. */
    static uint32_t last;
    if (last < n_live && table[last].buffer == buffer) return &table[last];
    for (uint32_t i = n_live; i-- > 0;) {
        if (table[i].buffer != buffer) continue;
        last = i;
        return &table[i];
    }
    return NULL;
}

/* False for shared memory and drivers' memory, which the kernel names like files. */
static bool is_disk_path(const char *path)
{
    static const char *const memory[] = {"/dev/", "/memfd:", "/SYSV", "/anon_hugepage"};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (strncmp(path, memory[i], strlen(memory[i])) == 0) return false;
    return true;
}

/* Whether the byte at base is in a mapping of a file, and its offset in that file. */
static enum place find_mapping(uint64_t base, char path[4096], uint64_t *offset)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t size = 0;
    enum place found = IS_UNKNOWN;
    if (!maps) return IS_UNKNOWN;
    while (found == IS_UNKNOWN && getline(&line, &size, maps) > 0) {
        uint64_t begin, end, at;
        int name = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &begin, &end, &at,
                   &name) < 3)
            continue;
        if (base < begin || base >= end) continue;
        found = IS_MEMORY;
        if (!name || line[name] != '/') break;
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(path, 4096, "%s", line + name);
        *offset = at + (base - begin);
        if (is_disk_path(path)) found = IS_FILE;
    }
    free(line);
    (void)fclose(maps);
    return found;
}

/* Takes a copy, because asking the engine may change the table. */
static void record(tt_recorder *r, const tt_engine *e, live copy)
{
    const live *b = &copy;
    tt_bytes payload;
    tt_meta_buffer m = {.id = b->id, .ticks = tt_ticks(), .base = b->base, .size_bytes = b->size};
    m.name = tt_names_id(r, e->buffer_name(b->buffer));
    m.usage = (uint8_t)b->usage;
    m.model = b->model;
    m.allocator = b->allocator;
    if (b->allocation_seen) m.flags |= TT_BUFFER_ALLOC_SEEN;
    if (b->host) m.flags |= TT_BUFFER_HOST;
    if (b->host && b->place == IS_UNKNOWN) m.flags |= TT_BUFFER_PLACE_UNKNOWN;
    if (b->place == IS_FILE) {
        m.flags |= TT_BUFFER_FILE;
        m.path = tt_names_id(r, b->path);
        m.file_offset_bytes = b->file_offset;
    }
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_buffer(&payload, &m);
    (void)tt_process_put(r, TT_META_BUFFER, &payload);
}

static void find_place(tt_recorder *r, live *b)
{
    char path[4096];
    b->place = find_mapping(b->base, path, &b->file_offset);
    if (b->place == IS_UNKNOWN)
        tt_process_environment(r, "capture_mappings",
                               "not observed: /proc/self/maps cannot be read, or does not list a "
                               "buffer's memory");
    if (b->place != IS_FILE) return;
    b->path = strdup(path);
    if (!b->path) b->place = IS_UNKNOWN;
}

static live *add(tt_recorder *r, const tt_engine *e, void *buffer, enum tt_buffer_source source,
                 const char *allocator)
{
    live fresh = {.buffer = buffer, .allocation_seen = source != TT_BUFFER_MET};
    fresh.base = (uint64_t)(uintptr_t)e->buffer_base(buffer);
    fresh.size = e->buffer_size(buffer);
    fresh.usage = e->buffer_usage ? e->buffer_usage(buffer) : 0;
    fresh.model = tt_models_last_opened();
    fresh.allocator = tt_names_id(r, allocator);
    fresh.host = e->buffer_is_host(buffer);
    if (find(buffer)) return find(buffer);
    if (!tt_array_one_more_within(table, n_live, capacity, LIVE_MAX * sizeof *table)) return NULL;
    fresh.id = ++last_id;
    if (source == TT_BUFFER_ALLOCATED)
        fresh.place = IS_MEMORY;
    else if (fresh.host)
        find_place(r, &fresh);
    table[n_live++] = fresh;
    tt_buffers_changes++;
    record(r, e, fresh);
    return find(buffer);
}

void tt_buffers_freed(tt_recorder *r, void *buffer)
{
    live *b = find(buffer);
    if (!b) return;
    tt_bytes payload;
    tt_bytes_init(&payload, 64);
    tt_meta_put_buffer_free(&payload, &(tt_meta_buffer_free){b->id, tt_ticks()});
    (void)tt_process_put(r, TT_META_BUFFER_FREE, &payload);
    free(b->path);
    *b = table[--n_live];
    tt_buffers_changes++;
}

void tt_buffers_forget(void)
{
    for (uint32_t i = 0; i < n_live; i++)
        free(table[i].path);
    n_live = 0;
    tt_buffers_changes++;
}

uint8_t *tt_buffers_mapping(const char *path, uint64_t *offset_bytes, uint64_t *size_bytes)
{
    for (uint32_t i = 0; i < n_live; i++) {
        const live *b = &table[i];
        if (b->place != IS_FILE || strcmp(b->path, path) != 0) continue;
        *offset_bytes = b->file_offset;
        *size_bytes = b->size;
        return (uint8_t *)(uintptr_t)b->base;
    }
    return NULL;
}

/* Drops a different buffer known at this address: its end was not observed. */
static void drop_stale(tt_recorder *r, const tt_engine *e, void *buffer)
{
    live *b = find(buffer);
    if (b && (b->base != (uint64_t)(uintptr_t)e->buffer_base(buffer) ||
              b->size != e->buffer_size(buffer)))
        tt_buffers_freed(r, buffer);
}

void tt_buffers_made(tt_recorder *r, const tt_engine *e, void *buffer, enum tt_buffer_source source,
                     const char *allocator)
{
    drop_stale(r, e, buffer);
    if (!find(buffer)) (void)add(r, e, buffer, source, allocator);
}

tt_location tt_buffers_locate(tt_recorder *r, const tt_engine *e, const struct ggml_tensor *t)
{
    uint64_t address = (uint64_t)(uintptr_t)t->data;
    void *buffer = t->buffer ? t->buffer : t->view_src ? t->view_src->buffer : NULL;
    if (buffer) drop_stale(r, e, buffer);
    live *b = buffer ? find(buffer) : NULL;
    if (buffer && !b) b = add(r, e, buffer, TT_BUFFER_MET, "");
    int usage = b && e->buffer_usage ? e->buffer_usage(buffer) : 0;
    b = buffer ? find(buffer) : NULL;
    if (!b) return (tt_location){0, address};
    if (usage != b->usage) {
        /* The engine sets the usage after the allocation. */
        b->usage = usage;
        record(r, e, *b);
        b = find(buffer);
    }
    if (!b) return (tt_location){0, address};
    if (address < b->base || address - b->base > b->size) return (tt_location){0, address};
    return (tt_location){b->id, address - b->base};
}
