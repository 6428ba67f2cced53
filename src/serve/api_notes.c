/* /api/v1/traces/ID/notes: the notes beside a trace; the only endpoint that changes anything. */
#include "notes/notes.h"
#include "serve/endpoints.h"
#include "serve/request.h"
#include "serve/traces.h"

#include <pthread.h>

/* One change at a time: each reads the file and writes it anew. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Reads them, and makes the request's change. */
static tt_status read_and_change(tt_request *q, const char *path, tt_notes *notes, tt_error *err)
{
    (void)pthread_mutex_lock(&lock);
    tt_status status = tt_notes_read(path, notes, err);
    if (status == TT_OK && q->body) {
        status = tt_notes_change(notes, q->body, q->body_size, err);
        if (status == TT_OK) status = tt_notes_write(path, notes, err);
    }
    (void)pthread_mutex_unlock(&lock);
    return status;
}

tt_status tt_answer_notes(tt_request *q, tt_reply *r, tt_error *err)
{
    /* By the trace's number: no part of the request is a path. */
    const char *path = tt_traces_path(q->traces, q->trace_id);
    tt_notes notes = {0};
    tt_status status = read_and_change(q, path, &notes, err);
    if (status == TT_OK) {
        tt_json *j = tt_reply_json(r);
        tt_json_object(j);
        tt_json_kv_bool(j, "writable", q->keeps_notes && tt_notes_are_writable(path));
        tt_json_kv_string(j, "why_not",
                          !q->keeps_notes ? "`serve` was started with --no-notes"
                          : tt_notes_are_writable(path)
                              ? NULL
                              : "the trace's folder cannot be written to");
        tt_json_key(j, "notes");
        tt_notes_json(j, &notes);
        tt_json_object_end(j);
    }
    tt_notes_free(&notes);
    return status;
}
