/* The start of a Perfetto trace: clock, process, tracks, interned texts; and facts about the whole
 * trace. */
#include "base/array.h"
#include "base/hex.h"
#include "export/perfetto/perfetto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The texts to which events of a Perfetto trace refer by number. */

static bool add(tt_perfetto_names *n, const char *text, bool is_event)
{
    if (!text || !text[0]) return true;
    const uint64_t address = (uint64_t)(uintptr_t)text;
    uint32_t i = tt_idmap_get(&n->by_address, address), was;
    if (i == TT_NONE) {
        i = tt_dictionary_code(&n->texts, text, strlen(text));
        if (i == TT_NONE || !tt_idmap_add(&n->by_address, address, i, &was)) return false;
        if (!tt_array_room_zeroed(n->is_event, n->capacity, n->texts.n)) return false;
    }
    n->is_event[i] |= is_event;
    return true;
}

static bool add_place(tt_perfetto_names *n, const tt_place *place)
{
    return add(n, place->category, false) && add(n, place->component, false);
}

static bool add_tensor(tt_perfetto_names *n, const tt_tensor *t)
{
    /* An executing node names the slices of its op; without a name the op's name does. */
    bool executes = t->flags & TT_TENSOR_EXECUTES;
    return add(n, t->name, executes) && add(n, t->op_name, executes && !t->name[0]) &&
           add(n, t->op_desc, false) && add(n, t->type_name, false) && add_place(n, &t->place);
}

tt_status tt_perfetto_names_collect(tt_perfetto_names *n, const tt_model *m, tt_error *err)
{
    bool ok = true;
    for (unsigned i = TT_PHASE_UNKNOWN; i < TT_PHASES; i++)
        ok = ok && add(n, tt_phase_name(i), false);
    for (unsigned i = TT_ORIGIN_UNKNOWN; i <= TT_ORIGIN_BUFFER; i++)
        ok = ok && add(n, tt_origin_name((tt_origin)i), false);
    for (uint32_t i = 0; i < m->n_files && ok; i++)
        ok = add(n, m->files[i].path, false);
    for (uint32_t i = 0; i < m->n_weights && ok; i++)
        ok = add_place(n, &m->weights[i].place);
    for (uint32_t g = 0; g < m->n_graphs && ok; g++)
        for (uint32_t i = 0; i < m->graphs[g].n_tensors && ok; i++)
            ok = add_tensor(n, &m->graphs[g].tensors[i]);
    return ok ? TT_OK : tt_error_memory(err, "the names");
}

void tt_perfetto_names_free(tt_perfetto_names *n)
{
    tt_idmap_free(&n->by_address);
    tt_dictionary_free(&n->texts);
    free(n->is_event);
    memset(n, 0, sizeof *n);
}

uint64_t tt_perfetto_name_iid(const tt_perfetto_names *n, const char *text)
{
    uint32_t i = tt_idmap_get(&n->by_address, (uint64_t)(uintptr_t)text);
    return i == TT_NONE ? 0 : (uint64_t)i + 1;
}

static void put(tt_bytes *b, uint32_t field, uint64_t iid, const char *text)
{
    size_t at = tt_proto_begin(b, field);
    tt_proto_uint(b, 1, iid); /* in each of these messages iid is field 1 and the text field 2 */
    tt_proto_text(b, 2, text);
    tt_proto_end(b, at);
}

/* The texts [first, last) as fields of an InternedData. */
static void perfetto_names_put(const tt_perfetto_names *n, uint32_t first, uint32_t last,
                               tt_bytes *b)
{
    enum { EVENT_CATEGORIES = 1, EVENT_NAMES = 2, ANNOTATION_NAMES = 3, STRING_VALUES = 29 };
    static const char *const categories[] = {[TT_PERFETTO_OP] = "op",
                                             [TT_PERFETTO_WAIT] = "wait",
                                             [TT_PERFETTO_BATCH] = "batch",
                                             [TT_PERFETTO_GRAPH] = "graph"};
    if (first == 0) {
        for (uint32_t i = TT_PERFETTO_OP; i <= TT_PERFETTO_GRAPH; i++)
            put(b, EVENT_CATEGORIES, i, categories[i]);
        for (uint32_t i = 1; i < ARGS; i++)
            put(b, ANNOTATION_NAMES, i, tt_perfetto_arg_name((tt_perfetto_arg)i));
        /* Not one of the texts: an op may have the same name. */
        put(b, EVENT_NAMES, (uint64_t)n->texts.n + 1, "wait");
    }
    for (uint32_t i = first; i < last; i++) {
        put(b, STRING_VALUES, (uint64_t)i + 1, n->texts.texts[i]);
        if (n->is_event[i]) put(b, EVENT_NAMES, (uint64_t)i + 1, n->texts.texts[i]);
    }
}

#define TEXTS_A_PACKET 512u

static void put_clock(tt_bytes *b, uint32_t id, uint64_t time_ns)
{
    enum { CLOCKS = 1, CLOCK_ID = 1, TIMESTAMP = 2 };
    size_t at = tt_proto_begin(b, CLOCKS);
    tt_proto_uint(b, CLOCK_ID, id);
    tt_proto_uint(b, TIMESTAMP, time_ns);
    tt_proto_end(b, at);
}

/* Times are of CLOCK_MONOTONIC, which is also the clock that the UI shows; the snapshot has the
 * value of CLOCK_REALTIME. Begins the sequence. */
static void put_clocks(const tt_perfetto *p, tt_bytes *b)
{
    enum { PRIMARY_TRACE_CLOCK = 2, DEFAULT_TIMESTAMP_CLOCK_ID = 58 };
    const tt_clock_fit *clock = &p->m->clock;
    size_t packet = tt_proto_begin(b, PB_TRACE_PACKET);
    tt_proto_uint(b, PB_SEQUENCE_ID, 1);
    tt_proto_uint(b, PB_SEQUENCE_FLAGS, PB_STATE_CLEARED);
    size_t at = tt_proto_begin(b, PB_PACKET_DEFAULTS);
    tt_proto_uint(b, DEFAULT_TIMESTAMP_CLOCK_ID, PB_CLOCK_MONOTONIC);
    tt_proto_end(b, at);
    at = tt_proto_begin(b, PB_CLOCK_SNAPSHOT);
    put_clock(b, PB_CLOCK_MONOTONIC, clock->mono_ns);
    if (clock->unix_ns) put_clock(b, PB_CLOCK_REALTIME, clock->unix_ns);
    tt_proto_uint(b, PRIMARY_TRACE_CLOCK, PB_CLOCK_MONOTONIC);
    tt_proto_end(b, at);
    tt_proto_end(b, packet);
}

static void run_text(const tt_model *m, char out[33])
{
    tt_hex(out, m->trace.header.run_id, 16);
}

/* "llama-cli", from "/usr/bin/llama-cli -m ...". */
static void program_text(const tt_model *m, char out[96])
{
    const char *command = tt_model_environment(m, "command");
    size_t n = command ? strcspn(command, " ") : 0, from = 0;
    for (size_t i = 0; i < n; i++)
        if (command[i] == '/') from = i + 1;
    (void)snprintf(out, 96, "%.*s", n ? (int)(n - from < 90 ? n - from : 90) : 13,
                   n ? command + from : "program");
}

static void put_process(const tt_perfetto *p, tt_bytes *b)
{
    enum { UUID = 1, NAME = 2, PROCESS = 3 };                            /* TrackDescriptor */
    enum { PID = 1, CMDLINE = 2, PROCESS_NAME = 6, PROCESS_LABELS = 8 }; /* ProcessDescriptor */
    char run[33], program[96], name[160];
    const char *command = tt_model_environment(p->m, "command");
    const char *engine = tt_model_environment(p->m, "engine_version");
    run_text(p->m, run);
    program_text(p->m, program);
    (void)snprintf(name, sizeof name, "%s, run %.8s", program, run);
    size_t packet = tt_perfetto_packet(b), track = tt_proto_begin(b, PB_TRACK_DESCRIPTOR);
    tt_proto_uint(b, UUID, TT_PERFETTO_PROCESS);
    tt_proto_text(b, NAME, name);
    size_t process = tt_proto_begin(b, PROCESS);
    tt_proto_int(b, PID, (int32_t)(p->m->trace.header.pid & INT32_MAX));
    if (command) tt_proto_text(b, CMDLINE, command);
    tt_proto_text(b, PROCESS_NAME, name);
    if (engine && engine[0]) tt_proto_text(b, PROCESS_LABELS, engine);
    tt_proto_end(b, process);
    tt_proto_end(b, track);
    tt_proto_end(b, packet);
    (void)snprintf(name, sizeof name, "run %.8s", run);
    tt_perfetto_track_put(b, &(tt_perfetto_track){.uuid = TT_PERFETTO_RUN,
                                                  .parent = TT_PERFETTO_PROCESS,
                                                  .name = name,
                                                  .ordered = true});
    tt_perfetto_track_put(b, &(tt_perfetto_track){.uuid = TT_PERFETTO_ABOUT,
                                                  .parent = TT_PERFETTO_RUN,
                                                  .name = "about this trace",
                                                  .rank = 1});
}

static void put_rows(const tt_perfetto_rows *r, const char *name, uint64_t uuid, int32_t rank,
                     tt_bytes *b)
{
    char full[96];
    for (uint32_t i = 0; i < r->n_rows; i++)
        tt_perfetto_track_put(b,
                              &(tt_perfetto_track){.uuid = uuid + i,
                                                   .parent = TT_PERFETTO_RUN,
                                                   .name = tt_perfetto_row_name(full, r, i, name),
                                                   .rank = rank});
}

static void put_fault_tracks(const tt_perfetto *p, tt_bytes *b)
{
    static const struct {
        const char *name, *unit;
    } counters[] = {{"minor faults", "faults/s"},
                    {"major faults", "faults/s"},
                    {"read from devices", "bytes/s"}};
    char full[96];
    for (uint32_t row = 0; row < p->runs.n_rows; row++)
        for (uint32_t i = 0; i < 3; i++)
            tt_perfetto_track_put(
                b, &(tt_perfetto_track){
                       .uuid = TT_PERFETTO_FAULTS + 4 * row + i,
                       .parent = TT_PERFETTO_RUN,
                       .name = tt_perfetto_row_name(full, &p->runs, row, counters[i].name),
                       .rank = 200,
                       .unit = counters[i].unit,
                       .about = "While an op was under way, over its time, all threads."});
}

tt_status tt_perfetto_front(tt_perfetto *p, tt_error *err)
{
    tt_status status = TT_OK;
    tt_bytes b;
    tt_bytes_init(&b, TT_MODEL_MEMORY_MAX);
    put_clocks(p, &b);
    put_process(p, &b);
    put_rows(&p->batches, "tokens", TT_PERFETTO_TOKENS, 10, &b);
    put_rows(&p->runs, "graph computations", TT_PERFETTO_GRAPHS, 20, &b);
    if (p->has_faults) put_fault_tracks(p, &b);
    for (uint32_t i = 0; (i == 0 || i < p->names.texts.n) && status == TT_OK; i += TEXTS_A_PACKET) {
        uint32_t left = p->names.texts.n - i;
        size_t packet = tt_perfetto_packet(&b), data = tt_proto_begin(&b, PB_INTERNED_DATA);
        perfetto_names_put(&p->names, i, i + (left < TEXTS_A_PACKET ? left : TEXTS_A_PACKET), &b);
        tt_proto_end(&b, data);
        tt_proto_end(&b, packet);
        status = tt_perfetto_write(p, &b, err);
    }
    tt_bytes_free(&b);
    return status;
}

/* --- facts --- */

/* Each is written twice: as an attribute of the trace (the table `metadata`, prefixed with
 * "trace_attribute."; the UI's overview), and as an argument of one instant event, which older
 * versions show too. */
typedef struct facts {
    tt_bytes attributes, arguments;
} facts;

static void put_fact(facts *f, const char *key, const char *text, int64_t number)
{
    enum { ATTRIBUTE = 1, KEY = 1, LONG_VALUE = 2, TEXT_VALUE = 3 };
    enum { ANNOTATION_NAME = 10 };
    size_t at = tt_proto_begin(&f->attributes, ATTRIBUTE);
    tt_proto_text(&f->attributes, KEY, key);
    if (text)
        tt_proto_text(&f->attributes, TEXT_VALUE, text);
    else
        tt_proto_int(&f->attributes, LONG_VALUE, number);
    tt_proto_end(&f->attributes, at);
    at = tt_proto_begin(&f->arguments, PB_DEBUG_ANNOTATIONS);
    tt_proto_text(&f->arguments, ANNOTATION_NAME, key);
    if (text)
        tt_proto_text(&f->arguments, PB_STRING_VALUE, text);
    else
        tt_proto_int(&f->arguments, PB_INT_VALUE, number);
    tt_proto_end(&f->arguments, at);
}

static void put_number(facts *f, const char *key, uint64_t v)
{
    put_fact(f, key, NULL, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

static void put_files(const tt_perfetto *p, facts *f)
{
    char key[48];
    for (uint32_t i = 0; i < p->m->n_files; i++) {
        (void)snprintf(key, sizeof key, "model_file_%" PRIu32, i);
        put_fact(f, key, p->m->files[i].path, 0);
    }
}

static void put_losses(tt_perfetto *p, facts *f)
{
    const tt_model *m = p->m;
    uint64_t dropped;
    tt_error damage;
    put_fact(f, "complete", m->trace.complete ? "yes" : "no: it was cut off, or is damaged", 0);
    if (tt_model_count(m, "dropped", &dropped))
        put_number(f, "ops_dropped", dropped);
    else
        put_fact(f, "ops_dropped", "not observed", 0);
    put_number(f, "details_dropped", m->detail_losses_total);
    size_t chunks = tt_pieces_damaged(m->pieces, &damage);
    put_number(f, "chunks_damaged", chunks);
    if (chunks) put_fact(f, "damage", damage.message, 0);
    if (m->meta_damage.status != TT_OK)
        put_fact(f, "descriptions_damaged", m->meta_damage.message, 0);
    put_number(f, "problems", m->n_problems);
    put_number(f, "times_bent", atomic_load(&p->moved));
    put_number(f, "records_without_a_node", atomic_load(&p->orphan));
    put_number(f, "computations_left_out", p->runs.left_out);
    put_number(f, "batches_left_out", p->batches.left_out);
    if (m->clock.assumed) put_fact(f, "clock", "assumed from the processor's stated rate", 0);
    if (m->front.present) put_fact(f, "begins", "in the middle of the run (flight recorder)", 0);
    if (!p->has_faults) put_fact(f, "faults", "not observed", 0);
}

static void put_about(tt_perfetto *p, facts *f)
{
    char text[64];
    time_t seconds = (time_t)(p->m->trace.header.created_unix_ns / 1000000000u);
    struct tm when;
    run_text(p->m, text);
    put_fact(f, "run_id", text, 0);
    put_fact(f, "exported_by", "tensortrace " TT_VERSION, 0);
    if (gmtime_r(&seconds, &when) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &when))
        put_fact(f, "recorded", text, 0);
    for (uint32_t i = 0; i < p->m->n_environment; i++) {
        const tt_pair *e = &p->m->environment[i];
        if (tt_model_environment(p->m, e->key) == e->value) put_fact(f, e->key, e->value, 0);
    }
    put_files(p, f);
    put_losses(p, f);
}

tt_status tt_perfetto_back(tt_perfetto *p, tt_error *err)
{
    tt_bytes b;
    facts f;
    tt_bytes_init(&b, TT_MODEL_MEMORY_MAX);
    tt_bytes_init(&f.attributes, TT_MODEL_MEMORY_MAX);
    tt_bytes_init(&f.arguments, TT_MODEL_MEMORY_MAX);
    put_about(p, &f);
    size_t packet = tt_perfetto_packet(&b);
    size_t at = tt_proto_begin(&b, PB_TRACE_ATTRIBUTES);
    tt_bytes_put(&b, f.attributes.data, f.attributes.size);
    tt_proto_end(&b, at);
    tt_proto_end(&b, packet);
    uint64_t now = tt_model_mono_ns(p->m, p->m->clock.zero_ticks);
    tt_perfetto_event e = tt_perfetto_event_begin(&b, now, PB_INSTANT, TT_PERFETTO_ABOUT);
    tt_proto_text(&b, PB_NAME, "tensortrace");
    tt_bytes_put(&b, f.arguments.data, f.arguments.size);
    tt_perfetto_event_end(&b, e);
    b.failed |= f.attributes.failed || f.arguments.failed;
    tt_status status = tt_perfetto_write(p, &b, err);
    tt_bytes_free(&b);
    tt_bytes_free(&f.attributes);
    tt_bytes_free(&f.arguments);
    return status;
}
