#include "analyze/storage.h"

#include "analyze/loading.h"

#include "base/units.h"
#include "host/disk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* --- memory and limits --- */

static void set_fact(tt_cell *cell, uint64_t value, tt_cell_unit unit)
{
    char text[TT_UNITS_TEXT];
    if (value == TT_HOST_UNKNOWN) return;
    if (value == TT_HOST_UNLIMITED)
        tt_cell_text(cell, "unlimited");
    else
        tt_cell_format(cell, "%s",
                       unit == TT_UNIT_BYTES ? tt_units_bytes(text, value)
                                             : tt_units_count(text, value));
}

static void put_fact(tt_json *j, uint64_t value)
{
    if (value == TT_HOST_UNKNOWN)
        tt_json_null(j);
    else if (value == TT_HOST_UNLIMITED)
        tt_json_string(j, "unlimited");
    else
        tt_json_u64(j, value);
}

#define FACT(key, title, unit, about)                                                              \
    TT_COLUMN_GET(get_##key, tt_host_system, s, set_fact(cell, s->key, TT_UNIT_##unit);)           \
    TT_COLUMN_JSON(put_##key, tt_host_system, s, put_fact(j, s->key);)
TT_HOST_SYSTEM(FACT)
#undef FACT

#define FACT(key, title, unit, about)                                                              \
    TT_COLUMN(#key, title, NONE, about, .type = TT_CELL_NAME, .nullable = true,                    \
              .show = TT_SHOW_KNOWN, .get = get_##key, .json = put_##key),
static const tt_column system_columns[] = {TT_HOST_SYSTEM(FACT)};
#undef FACT

const tt_schema tt_system_schema = {"system", "memory of the machine and limits of the process",
                                    system_columns, COUNT(system_columns)};

void tt_system_of(const tt_model *m, tt_host_system *s)
{
    tt_host_system_clear(s);
    for (uint32_t i = 0; i < m->n_environment; i++) {
        uint64_t *member = tt_host_system_member(s, m->environment[i].key);
        if (member) *member = tt_host_parse(m->environment[i].value);
    }
}

/* --- disks --- */

#define DISK_TEXT(member)                                                                          \
    TT_COLUMN_GET(get_##member, tt_host_disk, d,                                                   \
                  tt_cell_text(cell, d->member[0] ? d->member : NULL);)
DISK_TEXT(file_system)
DISK_TEXT(name)
DISK_TEXT(disk)
DISK_TEXT(disk_model)
DISK_TEXT(scheduler)
DISK_TEXT(unknown)
#undef DISK_TEXT

TT_COLUMN_KNOWN(has_rotational, tt_host_disk, d, d->rotational_known)
TT_COLUMN_KNOWN(has_read_ahead, tt_host_disk, d, d->read_ahead_bytes != TT_HOST_UNKNOWN)

#define DISK_TEXT(key, title, about)                                                               \
    TT_COLUMN(#key, title, NONE, about, .type = TT_CELL_NAME, .nullable = true, .get = get_##key)
static const tt_column disk_columns[] = {
    DISK_TEXT(file_system, "file system", "type of the file system"),
    DISK_TEXT(name, "device", "block device that the file system is on"),
    DISK_TEXT(disk, "disk", "disk below that"),
    DISK_TEXT(disk_model, "disk model", "what the disk says that it is"),
    TT_COLUMN("is_rotational", "rotational", NONE, "has turning platters, as the kernel was told",
              .nullable = true, .known = has_rotational, TT_MEMBER(tt_host_disk, is_rotational)),
    DISK_TEXT(scheduler, "scheduler", "that puts requests into an order"),
    TT_COLUMN("read_ahead_bytes", "readahead", BYTES,
              "the most that the kernel reads around a missing page", .nullable = true,
              .known = has_read_ahead, TT_MEMBER(tt_host_disk, read_ahead_bytes)),
    TT_COLUMN("unknown", "not known", NONE, "what is not known, and why", .show = TT_SHOW_KNOWN,
              .type = TT_CELL_NAME, .nullable = true, .get = get_unknown),
};
#undef DISK_TEXT

const tt_schema tt_disk_schema = {"disk", "what a file lies on", disk_columns, COUNT(disk_columns)};

static const char *find(const void *context, const char *key)
{
    return tt_model_environment(context, key);
}

void tt_disk_of(const tt_model *m, const tt_model_file *file, tt_host_disk *d)
{
    tt_host_disk_read(d, file->device, find, m);
}

/* --- extents --- */

static bool untrusted(uint8_t flags)
{
    return (flags & TT_HOST_EXTENT_UNTRUSTED) != 0;
}

TT_COLUMN_KNOWN(has_place, tt_fragment, f, !untrusted(f->flags))
TT_COLUMN_VALUE(get_shared, tt_fragment, f, boolean, (f->flags & TT_HOST_EXTENT_SHARED) != 0)
TT_COLUMN_VALUE(get_unwritten, tt_fragment, f, boolean, (f->flags & TT_HOST_EXTENT_UNWRITTEN) != 0)

static const tt_column fragment_columns[] = {
    TT_COLUMN("offset_bytes", "OFFSET", BYTES, "in the file", TT_MEMBER(tt_fragment, offset_bytes)),
    TT_COLUMN("disk_offset_bytes", "ON DISK", BYTES,
              "on the block device; null: the file system does not say, or the bytes there are not "
              "the file's (compressed, encrypted)",
              .nullable = true, .known = has_place, TT_MEMBER(tt_fragment, disk_bytes)),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "size in the file", TT_MEMBER(tt_fragment, size_bytes)),
    TT_COLUMN("is_shared", "SHARED", NONE, "with other files", .type = TT_CELL_BOOL,
              .get = get_shared),
    TT_COLUMN("is_unwritten", "UNWRITTEN", NONE, "reserved: reads as zeros, without the disk",
              .type = TT_CELL_BOOL, .get = get_unwritten),
};

static const tt_schema fragment_schema = {"fragments", "what is in one piece, in file and on disk",
                                          fragment_columns, COUNT(fragment_columns)};

TT_COLUMN_KNOWN(was_observed, tt_file_extents, e, e->state < TT_EXTENTS_NOT_OBSERVED)
TT_COLUMN_GET(get_state, tt_file_extents, e,
              tt_cell_text(cell, e->state == TT_EXTENTS_WHOLE ? "whole"
                                 : e->state == TT_EXTENTS_CUT ? "begin only"
                                                              : "not observed");)
TT_COLUMN_GET(get_why, tt_file_extents, e, tt_cell_text(cell, e->why[0] ? e->why : NULL);)
TT_COLUMN_GET(get_holes, tt_file_extents, e, cell->known = was_observed(NULL, e);
              cell->u64 = e->walked_bytes - e->mapped_bytes;)
TT_COLUMN_GET(get_trusted, tt_file_extents, e, cell->known = was_observed(NULL, e);
              cell->boolean = !untrusted(e->flags);)
TT_COLUMN_GET(get_any_shared, tt_file_extents, e, cell->known = was_observed(NULL, e);
              cell->boolean = (e->flags & TT_HOST_EXTENT_SHARED) != 0;)
TT_COLUMN_GET(get_largest_share, tt_file_extents, e,
              cell->known = was_observed(NULL, e) && e->mapped_bytes > 0;
              if (cell->known) cell->f64 = (double)e->largest_bytes / (double)e->mapped_bytes;)
TT_COLUMN_GET(get_long_share, tt_file_extents, e,
              cell->known = was_observed(NULL, e) && e->mapped_bytes > 0;
              if (cell->known) cell->f64 = (double)e->long_bytes / (double)e->mapped_bytes;)

static void fragments(const void *context, const void *row, tt_rowset *out)
{
    const tt_file_extents *e = row;
    (void)context;
    *out = TT_ROWSET(&fragment_schema, 0, NULL, e->fragments, e->n_listed);
}

#define TOTAL(key, title, unit, member, about)                                                     \
    TT_COLUMN(key, title, unit, about, .nullable = true, .known = was_observed,                    \
              TT_MEMBER(tt_file_extents, member))
static const tt_column extents_columns[] = {
    TT_COLUMN("state", "STATE", NONE, "whole; begin only: too many extents; not observed",
              .type = TT_CELL_NAME, .get = get_state),
    TT_COLUMN("reason", "REASON", NONE, "why it was not observed", .type = TT_CELL_NAME,
              .nullable = true, .get = get_why),
    TOTAL("walked_bytes", "WALKED", BYTES, walked_bytes, "of the file: what follows is of that"),
    TOTAL("extents", "EXTENTS", COUNT, n_extents, "as the file system counts them"),
    TOTAL("fragments", "FRAGMENTS", COUNT, n_fragments,
          "pieces: extents that follow each other in the file and on the disk are one"),
    TOTAL("backward", "BACKWARD", COUNT, n_backward,
          "fragments that lie before the end of the one before"),
    TOTAL("mapped_bytes", "MAPPED", BYTES, mapped_bytes, "in extents"),
    TT_COLUMN("hole_bytes", "HOLES", BYTES, "the rest: reads as zeros", .type = TT_CELL_U64,
              .nullable = true, .get = get_holes),
    TOTAL("largest_bytes", "LARGEST", BYTES, largest_bytes, "largest fragment"),
    TT_COLUMN("largest_share", "SHARE", SHARE, "of it of what is mapped: 1 is all in one piece",
              .type = TT_CELL_F64, .nullable = true, .get = get_largest_share),
    TT_COLUMN("long_share", "LONG", SHARE,
              "of what is mapped that lies in fragments of 1 MiB and "
              "more",
              .type = TT_CELL_F64, .nullable = true, .get = get_long_share),
    TT_COLUMN("is_trusted", "TRUSTED", NONE,
              "places on the disk are known and hold the file's own bytes", .type = TT_CELL_BOOL,
              .nullable = true, .get = get_trusted),
    TT_COLUMN("is_shared", "SHARED", NONE, "other files have some of the same extents",
              .type = TT_CELL_BOOL, .nullable = true, .get = get_any_shared),
    TT_COLUMN("list", NULL, NONE, "the first fragments, 8,192 at most", .type = TT_CELL_ROWS,
              .inner = &fragment_schema, .rows = fragments),
};

const tt_schema tt_extents_schema = {"extents", "where a model file lies on its disk",
                                     extents_columns, COUNT(extents_columns)};

/* --- for all outputs --- */

void tt_system_json(tt_json *j, const tt_model *m)
{
    tt_host_system s;
    tt_system_of(m, &s);
    tt_row_json(j, NULL, &tt_system_schema, NULL, &s);
}

void tt_disk_json(tt_json *j, const tt_model *m, const tt_model_file *file)
{
    tt_host_disk d;
    tt_disk_of(m, file, &d);
    tt_row_json(j, NULL, &tt_disk_schema, NULL, &d);
}

static void each_fact(const tt_schema *schema, const void *row, tt_fact_each *each, void *context)
{
    for (size_t i = 0; i < schema->n_columns; i++) {
        char text[320];
        tt_cell_show(&schema->columns[i], NULL, row, text, sizeof text);
        if (text[0]) each(context, schema->columns[i].title, text);
    }
}

void tt_system_facts(const tt_model *m, tt_fact_each *each, void *context)
{
    tt_host_system s;
    tt_system_of(m, &s);
    each_fact(&tt_system_schema, &s, each, context);
}

/* "1.2 GiB in 4 pieces, 3 of them backward, ..." */
static void write_extents(const tt_file_extents *e, char *out, size_t size)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT], c[TT_UNITS_TEXT];
    if (e->state >= TT_EXTENTS_NOT_OBSERVED) {
        char why[96];
        tt_cell_text_copy(why, sizeof why, e->why);
        (void)snprintf(out, size, "not observed: %s", why);
        return;
    }
    (void)snprintf(
        out, size, "%s%s in %s piece%s%s%s, the largest %s%s%s",
        e->state == TT_EXTENTS_CUT ? "the first " : "", tt_units_bytes(a, e->mapped_bytes),
        tt_units_count(b, e->n_fragments), e->n_fragments == 1 ? "" : "s",
        e->mapped_bytes < e->walked_bytes ? " with holes between" : "",
        e->n_backward ? ", some of them backward" : "", tt_units_bytes(c, e->largest_bytes),
        untrusted(e->flags) ? "; not all places on the disk are known" : "",
        e->flags & TT_HOST_EXTENT_SHARED ? "; shared with other files" : "");
}

void tt_storage_facts(const tt_model *m, const tt_model_file *file, tt_fact_each *each,
                      void *context)
{
    tt_host_disk d;
    char text[320];
    tt_disk_of(m, file, &d);
    each_fact(&tt_disk_schema, &d, each, context);
    if (file->extents) {
        write_extents(file->extents, text, sizeof text);
        each(context, "on disk", text);
    }
    tt_loading_text(m, (uint32_t)(file - m->files), text, sizeof text);
    if (text[0]) each(context, "mapped", text);
}
