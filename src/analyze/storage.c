#include "analyze/storage.h"

#include "base/units.h"

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
    DISK_TEXT(disk_model, "model", "what the disk says that it is"),
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
