/* One side of crossval's settings. */
#include "crossval/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MAX (1 << 24)

enum {
    SIDE_ENGINE,
    SIDE_COMMAND,
    SIDE_TRACE,
    SIDE_LABEL,
    SIDE_STAGES,
    SIDE_MODEL, /* for sides that are run, from here on */
    SIDE_ENVIRONMENT,
    SIDE_RECORDS, /* for a command ... */
    SIDE_PRINTS,  /* ... as well */
    SIDE_THREADS, /* for an engine, from here on ... */
    SIDE_CONTEXT,
    SIDE_BATCH,
    SIDE_UBATCH,
    SIDE_FLASH,
    SIDE_MMAP,
    SIDE_REPACK,
    SIDE_MODE, /* ... and for a command that is traced by preloading */
    SIDE_KEYS
};
static const tt_key side_keys[SIDE_KEYS] = {
    [SIDE_ENGINE] = {"sides", "engine", TT_KEY_PATH, 0, 0, NULL, false},
    [SIDE_COMMAND] = {"sides", "command", TT_KEY_OTHER, 0, 0, NULL, false},
    [SIDE_TRACE] = {"sides", "trace", TT_KEY_PATH, 0, 0, NULL, false},
    [SIDE_LABEL] = {"sides", "label", TT_KEY_TEXT, 0, 0, NULL, false},
    [SIDE_STAGES] = {"sides", "stages", TT_KEY_PATH, 0, 0, NULL, false},
    [SIDE_MODEL] = {"sides", "model", TT_KEY_PATH, 0, 0, NULL, false},
    [SIDE_ENVIRONMENT] = {"sides", "environment", TT_KEY_OTHER, 0, 0, NULL, false},
    [SIDE_RECORDS] = {"sides", "records", TT_KEY_CHOICE, 0, 0, "trace bitnet preload", false},
    [SIDE_PRINTS] = {"sides", "prints", TT_KEY_CHOICE, 0, 0, "text ids", false},
    [SIDE_THREADS] = {"sides", "threads", TT_KEY_INTEGER, 1, 512, NULL, false},
    [SIDE_CONTEXT] = {"sides", "context_tokens", TT_KEY_INTEGER, 1, TOKENS_MAX, NULL, false},
    [SIDE_BATCH] = {"sides", "batch_tokens", TT_KEY_INTEGER, 1, TOKENS_MAX, NULL, false},
    [SIDE_UBATCH] = {"sides", "ubatch_tokens", TT_KEY_INTEGER, 1, TOKENS_MAX, NULL, false},
    [SIDE_FLASH] = {"sides", "flash_attention", TT_KEY_CHOICE, 0, 0, "on off auto", false},
    [SIDE_MMAP] = {"sides", "mmap", TT_KEY_BOOL, 0, 0, NULL, false},
    [SIDE_REPACK] = {"sides", "repack", TT_KEY_BOOL, 0, 0, NULL, false},
    [SIDE_MODE] = {"sides", "mode", TT_KEY_CHOICE, 0, 0, "auto hook callback", false},
};

const char *tt_side_kind_name(tt_side_kind kind)
{
    static const char *const names[] = {"engine", "command", "trace"};
    return names[kind];
}

const char *tt_side_records_name(tt_side_records records)
{
    static const char *const names[] = {"trace", "bitnet", "preload"};
    return names[records];
}

static void read_word(tt_cv_reading *r, const tt_cv_object *o, size_t i, const json_t *v,
                      tt_crossval_side *side)
{
    size_t n;
    const char *word = json_string_value(v);
    const char *unknown = word ? tt_crossval_unknown_placeholder(word, &n) : NULL;
    if (!word || (i == 0 && !word[0]))
        tt_cv_diagnose(r, o->shown, "command", "%s is expected at [%zu]",
                       i ? "a text" : "the name of a program", i);
    else if (unknown)
        tt_cv_diagnose(r, o->shown, "command",
                       "%.*s is no placeholder; there are {scenario}, {model}, {out}, {prompt}, "
                       "{token_ids}, {prompt_ids}, {force_ids} and {n}",
                       n < 60 ? (int)n : 60, unknown);
    /* A program relative to the settings gets an absolute path; one without a slash is searched in
     * the PATH. */
    else if (i == 0 && strchr(word, '/'))
        side->command[side->n_command++] = tt_reader_join(&r->reader, r->reader.folder, word);
    else
        side->command[side->n_command++] = word;
}

static void read_command(tt_cv_reading *r, const tt_cv_object *o, tt_crossval_side *side)
{
    const json_t *v = o->raw[SIDE_COMMAND];
    size_t n = json_array_size(v);
    if (!v) return;
    if (!json_is_array(v) || n == 0 || n > TT_CROSSVAL_WORDS_MAX) {
        tt_cv_diagnose(r, o->shown, "command", "an array of 1 to %u texts is expected, not %s",
                       TT_CROSSVAL_WORDS_MAX,
                       json_is_array(v) ? "one of this length" : tt_json_type_name(v));
        return;
    }
    side->command = calloc(n + 1, sizeof *side->command);
    if (!side->command) r->reader.no_memory = true;
    for (size_t i = 0; side->command && i < n; i++)
        read_word(r, o, i, json_array_get(v, i), side);
}

/* Variables that this command sets for the programs it starts. */
static bool is_ours(const char *name)
{
    return strcmp(name, "TENSORTRACE") == 0 || strcmp(name, "BITNET_TRACE_DIR") == 0 ||
           strncmp(name, "TENSORTRACE_", 12) == 0;
}

static void read_environment(tt_cv_reading *r, const tt_cv_object *o, tt_crossval_side *side)
{
    json_t *v = (json_t *)(uintptr_t)o->raw[SIDE_ENVIRONMENT], *value;
    const char *name;
    size_t n = json_object_size(v);
    if (!v) return;
    if (!json_is_object(v) || n > TT_CROSSVAL_WORDS_MAX) {
        tt_cv_diagnose(r, o->shown, "environment", "an object of texts is expected, not %s",
                       json_is_object(v) ? "one of this size" : tt_json_type_name(v));
        return;
    }
    side->environment = calloc(n + 1, sizeof *side->environment);
    if (!side->environment) r->reader.no_memory = true;
    if (!side->environment) return;
    json_object_foreach(v, name, value)
    {
        if (!name[0] || strchr(name, '='))
            tt_cv_diagnose(r, o->shown, "environment", "\"%.60s\" cannot be a variable", name);
        else if (is_ours(name))
            tt_cv_diagnose(r, o->shown, "environment", "%.60s is set by this command itself", name);
        else if (!json_is_string(value) && !json_is_null(value))
            tt_cv_diagnose(r, o->shown, "environment",
                           "%.60s: a text, or null for none, is expected, not %s", name,
                           tt_json_type_name(value));
        else
            side->environment[side->n_environment++] =
                (tt_side_variable){name, json_string_value(value)};
    }
}

/* Rejects keys that this kind of side does not use. */
static void check_keys(tt_cv_reading *r, const tt_cv_object *o, const tt_crossval_side *side)
{
    static const char *const say[] = {"is for a command",
                                      "is for an engine: write it into the words of the command",
                                      "is for a side that is run"};
    bool preloaded = side->kind == TT_SIDE_COMMAND && side->records == TT_RECORDS_PRELOAD;
    for (size_t i = SIDE_MODEL; i < SIDE_KEYS; i++) {
        if (!o->raw[i]) continue;
        if (side->kind == TT_SIDE_TRACE)
            tt_cv_diagnose(r, o->shown, side_keys[i].key, "%s", say[2]);
        else if (side->kind == TT_SIDE_ENGINE && (i == SIDE_RECORDS || i == SIDE_PRINTS))
            tt_cv_diagnose(r, o->shown, side_keys[i].key, "%s", say[0]);
        else if (side->kind == TT_SIDE_COMMAND && i >= SIDE_THREADS &&
                 !(preloaded && i == SIDE_MODE))
            tt_cv_diagnose(r, o->shown, side_keys[i].key, "%s", say[1]);
    }
}

static int64_t integer(const tt_cv_object *o, size_t key)
{
    return o->has[key] ? o->values[key].integer : 0;
}

static const char *text(const tt_cv_object *o, size_t key)
{
    return o->has[key] ? o->values[key].text : NULL;
}

void tt_cv_side_read(tt_cv_reading *r, json_t *v, const char *name, tt_crossval_side *side)
{
    tt_cv_object o = {.shown = ""};
    (void)snprintf(o.shown, sizeof o.shown, "sides.%s", name);
    if (!tt_cv_object_read(r, side_keys, SIDE_KEYS, v, &o)) return;
    if (!!o.raw[SIDE_ENGINE] + !!o.raw[SIDE_COMMAND] + !!o.raw[SIDE_TRACE] > 1)
        tt_cv_diagnose(r, o.shown, NULL, "engine, command and trace exclude each other");
    side->kind = o.raw[SIDE_COMMAND] ? TT_SIDE_COMMAND
                 : o.raw[SIDE_TRACE] ? TT_SIDE_TRACE
                                     : TT_SIDE_ENGINE;
    side->label = text(&o, SIDE_LABEL);
    side->engine = text(&o, SIDE_ENGINE);
    side->trace = text(&o, SIDE_TRACE);
    if (o.has[SIDE_MODEL]) side->model = text(&o, SIDE_MODEL);
    if (o.has[SIDE_STAGES]) side->stages = text(&o, SIDE_STAGES);
    const char *records = text(&o, SIDE_RECORDS);
    side->records = !records || strcmp(records, "trace") == 0 ? TT_RECORDS_TRACE
                    : strcmp(records, "bitnet") == 0          ? TT_RECORDS_BITNET
                                                              : TT_RECORDS_PRELOAD;
    side->prints_ids = o.has[SIDE_PRINTS] && strcmp(text(&o, SIDE_PRINTS), "ids") == 0;
    side->mode = text(&o, SIDE_MODE);
    side->flash_attention = text(&o, SIDE_FLASH);
    side->threads = integer(&o, SIDE_THREADS);
    side->context_tokens = integer(&o, SIDE_CONTEXT);
    side->batch_tokens = integer(&o, SIDE_BATCH);
    side->ubatch_tokens = integer(&o, SIDE_UBATCH);
    side->no_mmap = o.has[SIDE_MMAP] && !integer(&o, SIDE_MMAP);
    side->no_repack = o.has[SIDE_REPACK] && !integer(&o, SIDE_REPACK);
    read_command(r, &o, side);
    read_environment(r, &o, side);
    check_keys(r, &o, side);
    if (side->kind == TT_SIDE_ENGINE && !side->model && !o.raw[SIDE_MODEL])
        tt_diagnose(r->reader.diagnostics, "%s.model is missing, and so is model", o.shown);
}
