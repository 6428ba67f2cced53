/* Packets of a Perfetto trace and the arguments of their events. */
#include "export/perfetto/perfetto.h"

static const char *const names[ARGS] = {
    [ARG_NONE] = "",
    [ARG_TOKEN_ID] = "token_id",
    [ARG_PHASE] = "phase",
    [ARG_RUN_ID] = "run_id",
    [ARG_THREAD_ID] = "thread_id",
    [ARG_GRAPH_ID] = "graph_id",
    [ARG_NODE] = "node",
    [ARG_NODES] = "nodes",
    [ARG_OP] = "op",
    [ARG_NAME] = "name",
    [ARG_LAYER_ID] = "layer_id",
    [ARG_CATEGORY] = "category",
    [ARG_COMPONENT] = "component",
    [ARG_WEIGHT_BYTES] = "weight_bytes",
    [ARG_WEIGHT_BYTES_AT_MOST] = "weight_bytes_at_most",
    [ARG_SOURCES] = "sources",
    [ARG_DESTINATION] = "destination",
    [ARG_VIEW_OF] = "view_of",
    [ARG_TYPE] = "type",
    [ARG_SHAPE] = "shape",
    [ARG_SIZE_BYTES] = "size_bytes",
    [ARG_ORIGIN] = "origin",
    [ARG_FILE] = "file",
    [ARG_FILE_OFFSET_BYTES] = "file_offset_bytes",
    [ARG_BUFFER_ID] = "buffer_id",
    [ARG_BUFFER_OFFSET_BYTES] = "buffer_offset_bytes",
    [ARG_READ_BYTES] = "read_bytes",
    [ARG_READ_BYTES_AT_MOST] = "read_bytes_at_most",
    [ARG_ROWS] = "rows",
    [ARG_EXPERTS] = "experts",
    [ARG_EXPERT_ID] = "expert_id",
    [ARG_TOKENS] = "tokens",
    [ARG_FIRST] = "first",
    [ARG_COUNT] = "count",
    [ARG_UNFINISHED] = "unfinished",
    [ARG_MINOR_FAULTS] = "minor_faults",
    [ARG_MAJOR_FAULTS] = "major_faults",
    [ARG_CPU_NS] = "cpu_ns",
    [ARG_DEVICE_READ_BYTES] = "device_read_bytes",
    [ARG_THREADS] = "threads",
    [ARG_OBSERVED] = "observed",
    [ARG_OS_THREAD_ID] = "os_thread_id",
    [ARG_STATUS] = "status",
    [ARG_TEXT] = "text",
    [ARG_POSITION] = "position",
    [ARG_SEQUENCES] = "sequences",
    [ARG_CONTEXT_ID] = "context_id",
    [ARG_N_TOKENS] = "n_tokens",
};

_Static_assert(ARGS < 128, "an argument's id takes one byte");

const char *tt_perfetto_arg_name(tt_perfetto_arg arg)
{
    return names[arg];
}

size_t tt_perfetto_put_begin(tt_bytes *b, uint32_t field, tt_perfetto_arg name)
{
    size_t at = tt_proto_begin(b, field);
    if (name != ARG_NONE) tt_proto_uint(b, PB_ANNOTATION_NAME_IID, name);
    return at;
}

void tt_perfetto_put_uint(tt_bytes *b, uint32_t field, tt_perfetto_arg name, uint64_t v)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    tt_proto_uint(b, PB_UINT_VALUE, v);
    tt_proto_end(b, at);
}

void tt_perfetto_put_int(tt_bytes *b, uint32_t field, tt_perfetto_arg name, int64_t v)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    tt_proto_int(b, PB_INT_VALUE, v);
    tt_proto_end(b, at);
}

void tt_perfetto_put_true(tt_bytes *b, uint32_t field, tt_perfetto_arg name)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    tt_proto_uint(b, PB_BOOL_VALUE, 1);
    tt_proto_end(b, at);
}

void tt_perfetto_put_text(tt_bytes *b, uint32_t field, tt_perfetto_arg name,
                          const tt_perfetto_names *interned, const char *text)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    uint64_t iid = interned ? tt_perfetto_name_iid(interned, text) : 0;
    if (iid)
        tt_proto_uint(b, PB_STRING_VALUE_IID, iid);
    else
        tt_proto_text(b, PB_STRING_VALUE, text);
    tt_proto_end(b, at);
}

void tt_perfetto_put_text_n(tt_bytes *b, uint32_t field, tt_perfetto_arg name, const char *text,
                            size_t n)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    tt_proto_text_n(b, PB_STRING_VALUE, text, n);
    tt_proto_end(b, at);
}

/* --- packets --- */

size_t tt_perfetto_packet(tt_bytes *b)
{
    size_t at = tt_proto_begin(b, PB_TRACE_PACKET);
    tt_proto_uint(b, PB_SEQUENCE_ID, 1);
    tt_proto_uint(b, PB_SEQUENCE_FLAGS, PB_NEEDS_STATE);
    return at;
}

tt_perfetto_event tt_perfetto_event_begin(tt_bytes *b, uint64_t time_ns, uint32_t type,
                                          uint64_t track)
{
    tt_perfetto_event e = {.packet = tt_perfetto_packet(b)};
    tt_proto_uint(b, PB_TIMESTAMP, time_ns);
    e.event = tt_proto_begin(b, PB_TRACK_EVENT);
    tt_proto_uint(b, PB_TYPE, type);
    tt_proto_uint(b, PB_TRACK_UUID, track);
    return e;
}

void tt_perfetto_event_end(tt_bytes *b, tt_perfetto_event e)
{
    tt_proto_end(b, e.event);
    tt_proto_end(b, e.packet);
}

void tt_perfetto_counter(tt_bytes *b, uint64_t time_ns, uint64_t track, int64_t value)
{
    tt_perfetto_event e = tt_perfetto_event_begin(b, time_ns, PB_COUNTER, track);
    tt_proto_int(b, PB_COUNTER_VALUE, value);
    tt_perfetto_event_end(b, e);
}

void tt_perfetto_counter_real(tt_bytes *b, uint64_t time_ns, uint64_t track, double value)
{
    tt_perfetto_event e = tt_perfetto_event_begin(b, time_ns, PB_COUNTER, track);
    tt_proto_double(b, PB_DOUBLE_COUNTER_VALUE, value);
    tt_perfetto_event_end(b, e);
}

void tt_perfetto_track_put(tt_bytes *b, const tt_perfetto_track *t)
{
    enum { /* TrackDescriptor */
           UUID = 1,
           NAME = 2,
           PARENT_UUID = 5,
           COUNTER = 8,
           CHILD_ORDERING = 11,
           SIBLING_ORDER_RANK = 12,
           DESCRIPTION = 14,
           SIBLING_MERGE_BEHAVIOR = 15
    };
    enum { UNIT = 3, UNIT_NAME = 6, UNIT_SIZE_BYTES = 3 }; /* CounterDescriptor */
    enum { EXPLICIT = 3 };                                 /* ChildTracksOrdering */
    enum { MERGE_NONE = 2 };                               /* SiblingMergeBehavior */
    size_t packet = tt_perfetto_packet(b), track = tt_proto_begin(b, PB_TRACK_DESCRIPTOR);
    tt_proto_uint(b, UUID, t->uuid);
    tt_proto_uint(b, PARENT_UUID, t->parent);
    tt_proto_text(b, NAME, t->name);
    if (t->about) tt_proto_text(b, DESCRIPTION, t->about);
    if (t->unit) {
        size_t counter = tt_proto_begin(b, COUNTER);
        if (strcmp(t->unit, "bytes") == 0)
            tt_proto_uint(b, UNIT, UNIT_SIZE_BYTES);
        else
            tt_proto_text(b, UNIT_NAME, t->unit);
        tt_proto_end(b, counter);
    }
    if (t->ordered) tt_proto_uint(b, CHILD_ORDERING, EXPLICIT);
    tt_proto_int(b, SIBLING_ORDER_RANK, t->rank);
    /* Else those of one name become one. */
    tt_proto_uint(b, SIBLING_MERGE_BEHAVIOR, MERGE_NONE);
    tt_proto_end(b, track);
    tt_proto_end(b, packet);
}
