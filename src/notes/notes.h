/* Notes that people make on places of a trace. They are kept beside it, in FILE.notes.json:
 *
 *     {"notes": [{"note_id": 1, "text": "...", "time_ns": 123.0, "batch_id": 4, "layer_id": null,
 *                 "tensor": null, "fragment": "view=log&token=4"}]}
 *
 * time_ns is since the trace's zero; fragment is the viewer's state, from its address.
 * Content is hostile: limited, and only ever text. */
#ifndef TT_NOTES_NOTES_H
#define TT_NOTES_NOTES_H

#include "base/json.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_NOTES_ENDING ".notes.json"
#define TT_NOTES_MAX 1000u
#define TT_NOTES_TEXT_MAX 4000u /* bytes of each text */
/* The longest change; also the most bytes of a note in the file. */
#define TT_NOTES_CHANGE_MAX 16384u

typedef struct tt_note {
    uint64_t note_id;
    char *text;
    bool has_time, has_batch, has_layer;
    double time_ns;
    uint64_t batch_id, layer_id;
    char *tensor, *fragment; /* NULL: none */
} tt_note;

typedef struct tt_notes {
    tt_note *list;
    size_t n, capacity;
} tt_notes;

/* Reads those of the trace at that path; without a file there are none. Zero-filled or freed with
 * tt_notes_free, also after an error. */
tt_status tt_notes_read(const char *trace_path, tt_notes *out, tt_error *err);
/* Writes the whole file, or leaves it as it was. */
tt_status tt_notes_write(const char *trace_path, const tt_notes *notes, tt_error *err);
/* Whether the folder allows that. */
bool tt_notes_are_writable(const char *trace_path);
/* One change as JSON: {"add": NOTE without note_id}, {"change": {"note_id": N, "text": TEXT}},
 * {"remove": N}. TT_E_USAGE: it is something else, or too much; TT_E_NOT_FOUND: no such note. */
tt_status tt_notes_change(tt_notes *notes, const char *json, size_t n, tt_error *err);
/* Writes the array. */
void tt_notes_json(tt_json *j, const tt_notes *notes);
void tt_notes_free(tt_notes *notes);

#endif
