/* experiment.json: what was run, where and when. */
#include "base/bytes.h"
#include "base/idmap.h"
#include "base/path.h"
#include "export/damage.h"
#include "export/dataset/parts.h"

#include <string.h>

/* --- the prompt --- */

/* The tokens of a prompt: all of one sequence, in consecutive batches. */
typedef struct prompt {
    const tt_model *m;
    tt_bytes text;
    int32_t last_position;
    bool begun;
    int32_t sequence;
    const char *unknown; /* why the prompt is unknown; NULL: it is known */
} prompt;

#define PROMPT_MAX ((size_t)64 << 20)

static bool is_bos(const tt_model *m, int32_t token)
{
    const tt_file_kv *kv = tt_model_file_kv(m, "tokenizer.ggml.bos_token_id");
    char text[16];
    (void)snprintf(text, sizeof text, "%d", (int)token);
    return kv && strcmp(kv->value, text) == 0;
}

static void add_token(prompt *p, const tt_batch *b, uint32_t i)
{
    size_t n;
    bool sequences = b->sequences && b->sequence_first[i] < b->sequence_first[i + 1];
    int32_t sequence = sequences ? b->sequences[b->sequence_first[i]] : 0;
    /* A batch that starts again follows a warm-up, or another prompt. */
    if (p->begun && b->positions[i] <= p->last_position && sequence == p->sequence)
        tt_bytes_clear(&p->text);
    else if (p->begun && sequence != p->sequence)
        p->unknown = "there were several at once";
    p->begun = true;
    p->sequence = sequence;
    p->last_position = b->positions[i];
    if (b->positions[i] == 0 && is_bos(p->m, b->tokens[i])) return; /* not part of the text */
    const char *text = tt_model_token_text(p->m, b->vocabulary, b->tokens[i], &n);
    if (!text)
        p->unknown = "the text of its tokens was not recorded";
    else
        tt_bytes_put(&p->text, text, n);
}

/* The text that the first context got before it generated anything. */
static void read_prompt(prompt *p)
{
    const tt_model *m = p->m;
    tt_bytes_init(&p->text, PROMPT_MAX);
    for (uint32_t i = 0; i < m->n_batches && !p->unknown; i++) {
        const tt_batch *b = &m->batches[i];
        if (b->context != m->batches[0].context) continue;
        if (b->phase == TT_PHASE_WARMUP) continue;
        if (b->phase != TT_PHASE_PROMPT) break;
        if (!b->tokens || !b->positions) p->unknown = "its tokens were not observed";
        for (uint32_t k = 0; k < b->n_tokens && !p->unknown; k++)
            add_token(p, b, k);
    }
    if (m->front.present || m->batches[0].number != 0)
        p->unknown = "the trace does not begin with the run";
    if (!p->unknown && !p->begun) p->unknown = "the trace holds no batch of the prompt";
    if (!p->unknown && p->text.failed) p->unknown = "it is larger than 64 MiB";
}

/* The space that SentencePiece-like tokenizers add in front of a text, and remove again. */
static size_t added_space(const tt_model *m, const tt_bytes *text)
{
    const tt_file_kv *kind = tt_model_file_kv(m, "tokenizer.ggml.model");
    const tt_file_kv *adds = tt_model_file_kv(m, "tokenizer.ggml.add_space_prefix");
    bool added =
        kind && strcmp(kind->value, "llama") == 0 && (!adds || strcmp(adds->value, "false") != 0);
    return added && text->size > 0 && text->data[0] == ' ';
}

static void put_prompt(tt_dataset *d, tt_json *j)
{
    prompt p = {.m = d->m};
    read_prompt(&p);
    tt_json_key(j, "prompt");
    if (p.unknown) {
        tt_json_null(j);
        tt_dataset_note(d, "the prompt is null in experiment.json: %s", p.unknown);
    } else {
        size_t skip = added_space(d->m, &p.text);
        tt_json_string_n(j, p.text.size ? (const char *)p.text.data + skip : "",
                         p.text.size - skip);
    }
    tt_bytes_free(&p.text);
}

/* --- counts --- */

/* Stores the batch's phase for its context; *next: the stored phase of the context's next batch, or
 * TT_NONE. False if out of memory. */
static bool pass_batch(tt_idmap *phases, const tt_batch *b, uint32_t *next)
{
    return tt_idmap_add(phases, b->context, b->phase, next) &&
           (*next == TT_NONE || tt_idmap_set(phases, b->context, b->phase));
}

/* Tokens that the engine was asked to predict: one per sequence for each generating batch (and one
 * for each draft that was right), and one for the end of the prompt. *known: false if not observed.
 */
static tt_status count_generated(const tt_model *m, uint64_t *n, bool *known, tt_error *err)
{
    tt_idmap phases = {0}; /* by context, of the following batch */
    bool memory = true;
    *n = 0;
    *known = true;
    for (uint32_t i = m->n_batches; i-- > 0 && *known;) {
        const tt_batch *b = &m->batches[i];
        uint32_t next;
        if (b->phase == TT_PHASE_WARMUP || b->drafts) continue;
        memory = pass_batch(&phases, b, &next);
        if (!memory) break;
        /* The next token was sampled from a prompt's batch if that is the context's last one before
         * it generates, or at all. */
        if (b->phase == TT_PHASE_PROMPT && next != TT_NONE && next != TT_PHASE_GENERATE &&
            next != TT_PHASE_MIXED)
            continue;
        *known = b->phase != TT_PHASE_UNKNOWN && b->n_outputs_plus_1 != 0;
        uint64_t outputs = *known ? b->n_outputs_plus_1 - 1 : 0;
        /* Programs that score a text request an output at each of its tokens. */
        *n += b->phase == TT_PHASE_PROMPT && outputs > 1 ? 1
              : b->n_drafted                             ? tt_model_delivered(b)
                                                         : outputs;
    }
    tt_idmap_free(&phases);
    return memory ? TT_OK
                  : tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the dataset");
}

static uint32_t most_threads(const tt_model *m)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (m->runs[i].threads > most) most = m->runs[i].threads;
    return most;
}

/* --- the document --- */

static void put_engine(tt_json *j, const tt_model *m)
{
    bool llama = false;
    for (uint32_t i = 0; i < m->n_environment; i++)
        llama |= strncmp(m->environment[i].key, "engine_library_", 15) == 0 &&
                 strstr(m->environment[i].value, "libllama") != NULL;
    tt_json_key(j, "engine");
    tt_json_object(j);
    tt_json_kv_string(j, "name", llama ? "llama.cpp" : "ggml");
    tt_json_kv_string(j, "version", tt_model_environment(m, "engine_version"));
    tt_json_kv_string(j, "commit", tt_model_environment(m, "engine_ggml_commit"));
    tt_json_kv_string(j, "ggml_version", tt_model_environment(m, "engine_ggml_version"));
    tt_json_object_end(j);
}

static void put_model(tt_json *j, const tt_dataset *d)
{
    const tt_file_kv *name = tt_model_file_kv(d->m, "general.name");
    const char *path = d->model.main_path;
    tt_json_kv_string(j, "model_file", path);
    tt_json_kv_string(j, "model_name", name ? name->value : tt_base_name(path));
    tt_json_key(j, "model_files");
    tt_json_array(j);
    for (uint32_t i = 0; i < d->m->n_files; i++) {
        const char *file = tt_dataset_file_name(d, i), *at = d->m->files[i].path;
        tt_json_object(j);
        tt_json_kv_string(j, "file", file ? file : tt_base_name(at));
        tt_json_kv_string(j, "path", at);
        tt_json_kv_u64(j, "size_bytes", d->m->files[i].size_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

/* Ranges of batches that were not selected. */
static void put_left_out(tt_json *j, const tt_dataset *d)
{
    tt_json_key(j, "tokens_left_out");
    tt_json_array(j);
    for (uint32_t i = 0, next = 0; i <= d->n_tokens; i++) {
        const uint32_t token = i < d->n_tokens ? d->tokens[i] : d->m->n_batches;
        if (token > next) {
            tt_json_object(j);
            tt_json_kv_u64(j, "first", next);
            tt_json_kv_u64(j, "last", token - 1);
            tt_json_object_end(j);
        }
        next = token + 1;
    }
    tt_json_array_end(j);
}

static void put_trace(tt_json *j, const tt_model *m, uint64_t damaged)
{
    tt_json_key(j, "trace");
    tt_json_object(j);
    tt_json_kv_bool(j, "complete", tt_damage_is_complete(m, damaged));
    tt_json_kv_u64(j, "dropped_records", m->losses_total);
    tt_json_kv_u64(j, "damaged_chunks", damaged);
    tt_json_object_end(j);
}

tt_status tt_dataset_experiment(tt_dataset *d, tt_dataset_sum *sum, tt_error *err)
{
    tt_dataset_json file;
    tt_json *j = &file.json;
    const tt_model *m = d->m;
    char time[TT_DATASET_TIME_TEXT];
    uint64_t generated, damaged;
    bool counted;
    tt_status status = tt_damage_count(m, &damaged, err);
    if (status == TT_OK) status = count_generated(m, &generated, &counted, err);
    if (status == TT_OK) status = tt_dataset_json_open(d, &file, "experiment.json", err);
    if (status != TT_OK) return status;
    tt_json_object(j);
    tt_json_kv_string(j, "experiment_id", d->id);
    bool timed = tt_dataset_time(m->trace.header.created_unix_ns, time);
    tt_json_kv_string(j, "timestamp_start", timed ? time : NULL);
    put_model(j, d);
    put_prompt(d, j);
    tt_dataset_known(j, "num_tokens_generated", counted, generated);
    tt_json_kv_u64(j, "num_batches", d->n_tokens);
    put_left_out(j, d);
    tt_dataset_known(j, "threads", most_threads(m) > 0, most_threads(m));
    put_engine(j, m);
    tt_json_kv_string(j, "tensortrace_version", tt_model_environment(m, "tensortrace_version"));
    tt_json_kv_string(j, "command", tt_model_environment(m, "command"));
    tt_json_kv_string(j, "host", tt_model_environment(m, "host"));
    if (d->options->command) tt_json_kv_string(j, "export_command", d->options->command);
    put_trace(j, m, damaged);
    tt_json_object_end(j);
    return tt_dataset_json_close(d, &file, 1, sum, err);
}
