#include "study/study.h"

#include "base/path.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>

/* --- a run --- */

TT_COLUMN_GET(get_folder, tt_study_run, r, tt_cell_text(cell, r->result->folder);)
TT_COLUMN_GET(get_model, tt_study_run, r, tt_cell_text(cell, r->result->model_file);)
TT_COLUMN_SHOW(show_model, tt_study_run, r,
               tt_cell_text_copy(out, room, tt_base_name(r->result->model_file));)
TT_COLUMN_GET(get_condition, tt_study_run, r, tt_cell_text(cell, r->result->condition);)
TT_COLUMN_GET(get_domain, tt_study_run, r, tt_cell_text(cell, tt_study_domain(r->result));)
TT_COLUMN_SHOW(show_domain, tt_study_run, r, char text[TT_RESULT_SHOWN + 8];
               tt_cell_text_copy(out, room,
                                 tt_result_short(text, sizeof text, tt_study_domain(r->result)));)
TT_COLUMN_GET(get_ending, tt_study_run, r, tt_cell_text(cell, r->result->ending);)
TT_COLUMN_GET(get_unmet, tt_study_run, r, tt_cell_text(cell, r->result->unmet);)
/* What there is of: outlier, left out, killed, not as asked for. */
static void get_notes(const void *context, const void *row, tt_cell *cell)
{
    const tt_study_run *r = row;
    const char *const all[] = {r->is_outlier ? "outlier" : NULL, r->unread, r->result->ending,
                               r->result->unmet};
    const char *notes[5] = {"", "", "", "", ""};
    size_t n = 0;
    (void)context;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) notes[n++] = all[i];
    tt_cell_format(cell, "%s%s%s%s%s%s%s", notes[0], n > 1 ? "; " : "", notes[1], n > 2 ? "; " : "",
                   notes[2], n > 3 ? "; " : "", notes[3]);
}

TT_COLUMN_KNOWN(has_rate, tt_study_run, r, r->tokens_per_s > 0)
TT_COLUMN_KNOWN(has_prompt_rate, tt_study_run, r, r->prompt_tokens_per_s > 0)
TT_COLUMN_KNOWN(has_first, tt_study_run, r, r->first_token_ns > 0)
TT_COLUMN_KNOWN(has_io, tt_study_run, r, r->has_io)
TT_COLUMN_KNOWN(has_all_io, tt_study_run, r, r->has_all_io)
TT_COLUMN_KNOWN(has_faults, tt_study_run, r, r->has_faults)
TT_COLUMN_KNOWN(has_reads, tt_study_run, r, r->has_reads)
TT_COLUMN_KNOWN(has_repeated, tt_study_run, r, r->has_repeated)
TT_COLUMN_KNOWN(has_parts, tt_study_run, r, r->has_major_parts)
TT_COLUMN_KNOWN(has_weights, tt_study_run, r, r->batch_weights_bytes > 0)
TT_COLUMN_KNOWN(has_steps, tt_study_run, r, r->has_steps)
TT_COLUMN_KNOWN(has_jumps, tt_study_run, r, r->has_steps && r->jump_bytes > 0)
TT_COLUMN_KNOWN(has_loading, tt_study_run, r, r->has_loading)
TT_COLUMN_KNOWN(has_vain, tt_study_run, r, r->has_vain)
TT_COLUMN_KNOWN(has_residency, tt_study_run, r, r->has_residency)
TT_COLUMN_KNOWN(has_kv, tt_study_run, r, r->has_kv)
TT_COLUMN_KNOWN(has_available, tt_study_run, r, r->has_available)
TT_COLUMN_KNOWN(has_fragments, tt_study_run, r, r->fragments > 0)

#define RUN(key_, title_, unit_, about_, has_, ...)                                                \
    TT_COLUMN(#key_, title_, unit_, about_, .nullable = true, .known = has_,                       \
              TT_MEMBER(tt_study_run, key_), __VA_ARGS__)

static const tt_column run_columns[] = {
    TT_COLUMN("folder", "FOLDER", NONE, "name of its folder", .type = TT_CELL_NAME,
              .show = TT_SHOW_KEY, .get = get_folder),
    TT_COLUMN("model_file", "MODEL", NONE, "the model's file", .type = TT_CELL_NAME,
              .show = TT_SHOW_ASKED, .get = get_model, .text = show_model),
    TT_COLUMN("condition", NULL, NONE, "what it was run under", .type = TT_CELL_NAME,
              .nullable = true, .get = get_condition),
    TT_COLUMN("differs", "CONDITION", NONE, "of its condition, what not all runs have",
              .show = TT_SHOW_WRAP, TT_MEMBER(tt_study_run, differs)),
    TT_COLUMN("domain", "DOMAIN", NONE, "of its prompt, else its label, else the prompt",
              .type = TT_CELL_NAME, .show = TT_SHOW_CUT, .get = get_domain, .text = show_domain),
    RUN(tokens_per_s, "TOKENS/S", NONE, "rate of generation", has_rate, .show = TT_SHOW_DASH),
    RUN(prompt_tokens_per_s, "PROMPT TOKENS/S", NONE, "of the prompt", has_prompt_rate,
        .show = TT_SHOW_ASKED),
    RUN(first_token_ns, "FIRST TOKEN", NS, "time in the batches of the prompt", has_first,
        .show = TT_SHOW_DASH),
    RUN(token_read_bytes, "READ A TOKEN", BYTES, "by the process from its disks, a generated token",
        has_io, .show = TT_SHOW_DASH),
    RUN(read_bytes, NULL, BYTES, "by the process from its disks, in all batches", has_all_io),
    RUN(token_major, "MAJOR A TOKEN", NONE, "major faults, a generated token", has_faults,
        .show = TT_SHOW_DASH),
    RUN(token_minor, NULL, NONE, "minor faults, a generated token", has_faults),
    RUN(batch_weights_bytes, "WEIGHTS A BATCH", BYTES,
        "distinct bytes of weights that ops of a generated batch read", has_weights),
    RUN(touched_bytes, NULL, BYTES, "of the model, read by any op", has_reads),
    RUN(adjacent, NULL, SHARE,
        "of steps from one read to the next continue where the previous one ended", has_steps),
    RUN(in_sequence, "IN SEQUENCE", SHARE,
        "of requests of 128 KiB that continue where the last one ended", has_steps),
    RUN(forward, NULL, SHARE, "of jumps lead forward", has_steps),
    RUN(jump_bytes, NULL, BYTES, "median length of jumps forward", has_jumps),
    RUN(sweeps, NULL, NONE, "through the file, a batch", has_steps),
    RUN(every, NULL, SHARE, "of the model is read in every batch", has_reads),
    RUN(never, NULL, SHARE, "of the model is never read", has_reads),
    RUN(hottest, NULL, SHARE, "of the weights that half of the bytes are read of", has_reads),
    RUN(repeated, NULL, SHARE, "of what a token reads the one before it read, too", has_repeated),
    RUN(read_batches, NULL, COUNT, "batches, the first, that reads and their order are of",
        has_reads),
    RUN(major_experts, NULL, SHARE, "of major faults in ops that generate: in experts", has_parts),
    RUN(major_layers, NULL, SHARE, "likewise: in the rest of the layers", has_parts),
    RUN(major_others, NULL, SHARE, "likewise: outside of layers", has_parts),
    RUN(loaded_bytes, "LOADED", BYTES, "fetched before the first batch", has_loading),
    RUN(vain_bytes, "IN VAIN", BYTES, "of it not read by any op, or evicted before", has_vain),
    RUN(first_batch_bytes, "RESIDENT", BYTES, "of the model in RAM at the first batch",
        has_residency),
    RUN(kv_bytes, NULL, BYTES, "of the KV cache written at the end", has_kv),
    RUN(kv_token_bytes, "KV A TOKEN", BYTES, "of it that each further token writes", has_kv),
    RUN(available_bytes, "AVAILABLE", BYTES, "memory of the machine before", has_available),
    RUN(available_end_bytes, "AFTER", BYTES, "memory of the machine at the end", has_available),
    RUN(fragments, "FRAGMENTS", COUNT, "of the first model file on its disk", has_fragments),
    TT_COLUMN("is_outlier", NULL, NONE, "far from the others of its condition",
              TT_MEMBER(tt_study_run, is_outlier)),
    TT_COLUMN("ending", NULL, NONE, "how the system killed it", .type = TT_CELL_NAME,
              .nullable = true, .get = get_ending),
    TT_COLUMN("unmet", NULL, NONE, "of its condition what the system did not let",
              .type = TT_CELL_NAME, .nullable = true, .get = get_unmet),
    TT_COLUMN("notes", "NOTES", NONE, "outlier; left out; killed; what was not as asked for",
              .type = TT_CELL_NAME, .show = TT_SHOW_TEXT | TT_SHOW_KNOWN, .get = get_notes),
};

const tt_schema tt_study_run_schema = TT_SCHEMA("runs", "a run of a study", run_columns);

/* --- a median --- */

TT_COLUMN_KNOWN(has_value, tt_study_median, m, m->n > 0)

static const tt_column median_columns[] = {
    TT_FIELD("n", "runs", TT_MEMBER(tt_study_median, n)),
    TT_FIELD("median", "of them", .nullable = true, .known = has_value,
             TT_MEMBER(tt_study_median, value)),
    TT_FIELD("low", "of the interval, or the least", .nullable = true, .known = has_value,
             TT_MEMBER(tt_study_median, low)),
    TT_FIELD("high", "of the interval, or the largest", .nullable = true, .known = has_value,
             TT_MEMBER(tt_study_median, high)),
    TT_FIELD("is_interval", "low and high cover the median with 95 %; else least and largest",
             TT_MEMBER(tt_study_median, is_interval)),
};

static const tt_schema median_schema = TT_SCHEMA("median", "a median over runs", median_columns);

TT_COLUMN_KNOWN(ratio_known, tt_study_ratio, r, r->known)
TT_COLUMN_KNOWN(ratio_tested, tt_study_ratio, r, r->tested)

static const tt_column ratio_columns[] = {
    TT_FIELD("ratio", "each prompt compared with itself", .nullable = true, .known = ratio_known,
             TT_MEMBER(tt_study_ratio, value)),
    TT_FIELD("low", "of the interval that covers it with 95 %", .nullable = true,
             .known = ratio_tested, TT_MEMBER(tt_study_ratio, low)),
    TT_FIELD("high", "of the interval that covers it with 95 %", .nullable = true,
             .known = ratio_tested, TT_MEMBER(tt_study_ratio, high)),
    TT_FIELD("p_value", "of no difference", .nullable = true, .known = ratio_tested,
             TT_MEMBER(tt_study_ratio, p_value)),
    TT_FIELD("p_corrected", "of it, corrected for all of the study's", .nullable = true,
             .known = ratio_tested, TT_MEMBER(tt_study_ratio, p_corrected)),
};

static const tt_schema ratio_schema = TT_SCHEMA("ratio", "two groups compared", ratio_columns);

/* Three significant digits, without powers of ten. */
static const char *number(char out[TT_UNITS_TEXT], double v)
{
    if (fabs(v) >= 999.5 && fabs(v) < 1e15) return tt_units_count(out, (uint64_t)llround(fabs(v)));
    (void)snprintf(out, TT_UNITS_TEXT, "%.3g", v);
    return out;
}

/* "2.3 (2.1 to 2.6)" */
static void show_median(const tt_study_median *m, char *out, size_t room)
{
    char value[TT_UNITS_TEXT], low[TT_UNITS_TEXT], high[TT_UNITS_TEXT];
    if (m->n == 0)
        (void)snprintf(out, room, "-");
    else if (m->n == 1)
        (void)snprintf(out, room, "%s", number(value, m->value));
    else
        (void)snprintf(out, room, "%s (%s to %s)", number(value, m->value), number(low, m->low),
                       number(high, m->high));
}

static void show_bytes(const tt_study_median *m, char *out, size_t room)
{
    char text[TT_UNITS_TEXT];
    (void)snprintf(out, room, "%s",
                   m->n == 0 ? "-" : tt_units_bytes(text, (uint64_t)fmax(0, m->value)));
}

static void show_time(const tt_study_median *m, char *out, size_t room)
{
    char text[TT_UNITS_TEXT];
    (void)snprintf(out, room, "%s", m->n == 0 ? "-" : tt_units_ns(text, m->value));
}

static void show_ratio(const tt_study_ratio *r, char *out, size_t room)
{
    char value[TT_UNITS_TEXT], low[TT_UNITS_TEXT], high[TT_UNITS_TEXT];
    if (!r->known)
        (void)snprintf(out, room, "-");
    else if (!r->tested)
        (void)snprintf(out, room, "%sx", number(value, r->value));
    else
        (void)snprintf(out, room, "%sx (%s to %s)", number(value, r->value), number(low, r->low),
                       number(high, r->high));
}

/* --- a group --- */

TT_COLUMN_SHOW(show_group_model, tt_study_group, g,
               tt_cell_text_copy(out, room, tt_base_name(g->model_file));)
TT_COLUMN_KNOWN(has_limit, tt_study_group, g, g->memory_limit_bytes > 0)
TT_COLUMN_KNOWN(has_share, tt_study_group, g, g->memory_share > 0)
TT_COLUMN_SHOW(show_rate, tt_study_group, g, show_median(&g->tokens_per_s, out, room);)
TT_COLUMN_SHOW(show_read, tt_study_group, g, show_bytes(&g->token_read_bytes, out, room);)
TT_COLUMN_SHOW(show_weights, tt_study_group, g, show_bytes(&g->batch_weights_bytes, out, room);)
TT_COLUMN_SHOW(show_first, tt_study_group, g, show_time(&g->first_token_ns, out, room);)
TT_COLUMN_SHOW(show_major, tt_study_group, g,
               if (g->token_major.n == 0)(void) snprintf(out, room, "-");
               else(void) snprintf(out, room, "%.4g", g->token_major.value);)
TT_COLUMN_SHOW(show_slowdown, tt_study_group, g, show_ratio(&g->slowdown, out, room);)

#define GROUP(key_, title_, unit_, about_, ...)                                                    \
    TT_COLUMN(#key_, title_, unit_, about_, TT_MEMBER(tt_study_group, key_), __VA_ARGS__)
#define MEDIAN(key_, about_)                                                                       \
    TT_FIELD(#key_, about_, TT_MEMBER_OBJECT(tt_study_group, key_, &median_schema))
/* The same in text. */
#define SHOWN(key_, title_, show_)                                                                 \
    TT_COLUMN(#key_ "_text", title_, NONE, "its median, and interval or range",                    \
              .type = TT_CELL_NAME, .show = TT_SHOW_TEXT | TT_SHOW_RIGHT, .get = get_nothing,      \
              .text = show_)

TT_COLUMN_GET(get_nothing, tt_study_group, g, (void)g; tt_cell_text(cell, "");)

static const tt_column group_columns[] = {
    GROUP(model_file, "MODEL", NONE, "the model's file", .text = show_group_model),
    GROUP(condition, NULL, NONE, "what the runs were made under"),
    GROUP(differs, "CONDITION", NONE, "of that, what not all runs have", .show = TT_SHOW_WRAP),
    GROUP(n_runs, "RUNS", COUNT, "of it"),
    GROUP(n_killed, "KILLED", COUNT, "by the system"),
    GROUP(n_outliers, NULL, COUNT, "far from the others"),
    GROUP(n_unmet, NULL, COUNT, "under other conditions than asked for"),
    GROUP(memory_limit_bytes, "LIMIT", BYTES, "memory that a run could have", .nullable = true,
          .known = has_limit),
    GROUP(memory_share, NULL, SHARE, "the limit, of the model's size", .nullable = true,
          .known = has_share),
    MEDIAN(tokens_per_s, "rate of generation"),
    SHOWN(tokens_per_s, "TOKENS/S", show_rate),
    MEDIAN(prompt_tokens_per_s, "of the prompt"),
    MEDIAN(first_token_ns, "time in the batches of the prompt"),
    SHOWN(first_token, "FIRST TOKEN", show_first),
    MEDIAN(token_read_bytes, "from the disks, a generated token"),
    SHOWN(token_read, "READ A TOKEN", show_read),
    MEDIAN(batch_weights_bytes, "distinct bytes of weights that a generated batch reads"),
    SHOWN(token_weights, "WEIGHTS", show_weights),
    MEDIAN(read_bytes_per_s, "from the disks while generating"),
    MEDIAN(token_major, "major faults a generated token"),
    SHOWN(token_major, "MAJOR", show_major),
    MEDIAN(loaded_bytes, "fetched before the first batch"),
    MEDIAN(vain_bytes, "of it not read by any op, or evicted before"),
    TT_FIELD("slowdown", "how many times as long a token takes as without a memory limit",
             TT_MEMBER_OBJECT(tt_study_group, slowdown, &ratio_schema)),
    SHOWN(slowdown, "SLOWER", show_slowdown),
};

const tt_schema tt_study_group_schema =
    TT_SCHEMA("conditions", "runs of a model under one condition", group_columns);

/* --- an effect --- */

TT_COLUMN_SHOW(show_effect_model, tt_study_effect, e,
               tt_cell_text_copy(out, room, tt_base_name(e->model_file));)
TT_COLUMN_SHOW(show_effect, tt_study_effect, e, show_ratio(&e->tokens_per_s, out, room);)
TT_COLUMN_SHOW(show_effect_read, tt_study_effect, e, show_ratio(&e->token_read, out, room);)

#define EFFECT(key_, title_, about_, ...)                                                          \
    TT_COLUMN(#key_, title_, NONE, about_, TT_MEMBER(tt_study_effect, key_), __VA_ARGS__)

static const tt_column effect_columns[] = {
    EFFECT(model_file, "MODEL", "the model's file", .text = show_effect_model),
    EFFECT(setting, "SETTING", "the only one that differs"),
    EFFECT(from, "FROM", "its value on one side"),
    EFFECT(to, "TO", "on the other"),
    EFFECT(others, "OTHERS", "the settings that both have", .show = TT_SHOW_WRAP),
    TT_FIELD("tokens_per_s", "of `to` / of `from`",
             TT_MEMBER_OBJECT(tt_study_effect, tokens_per_s, &ratio_schema)),
    TT_COLUMN("tokens_per_s_text", "TOKENS/S", NONE, "with `to` against `from`",
              .type = TT_CELL_NAME, .show = TT_SHOW_TEXT | TT_SHOW_RIGHT, .get = get_nothing,
              .text = show_effect),
    TT_FIELD("token_read_bytes", "bytes from the disks a token, of `to` / of `from`",
             TT_MEMBER_OBJECT(tt_study_effect, token_read, &ratio_schema)),
    TT_COLUMN("token_read_text", "READ", NONE, "likewise", .type = TT_CELL_NAME,
              .show = TT_SHOW_TEXT | TT_SHOW_RIGHT, .get = get_nothing, .text = show_effect_read),
    TT_COLUMN("is_unmet", NULL, NONE, "the system did not let it be set",
              TT_MEMBER(tt_study_effect, is_unmet)),
};

const tt_schema tt_study_effect_schema =
    TT_SCHEMA("effects", "two conditions that differ in one setting", effect_columns);

/* --- an answer --- */

const char *tt_study_verdict_name(tt_study_verdict verdict)
{
    static const char *const names[] = {"answered", "holds", "fails", "open"};
    return names[verdict];
}

TT_COLUMN_GET(get_verdict, tt_study_answer, a,
              tt_cell_text(cell, tt_study_verdict_name(a->verdict));)
TT_COLUMN_SHOW(show_verdict, tt_study_answer, a,
               (void)snprintf(out, room, "%s",
                              a->verdict == TT_STUDY_OPEN ? "these runs cannot tell"
                                                          : tt_study_verdict_name(a->verdict));)

#define ANSWER(key_, title_, about_, ...)                                                          \
    TT_COLUMN(#key_, title_, NONE, about_, TT_MEMBER(tt_study_answer, key_), __VA_ARGS__)

static const tt_column answer_columns[] = {
    ANSWER(id, "ID", "of the question: H for a hypothesis, Q for a question"),
    ANSWER(question, "QUESTION", "or what is supposed"),
    TT_COLUMN("verdict", "VERDICT", NONE,
              "answered; of a hypothesis holds or fails; open: these runs cannot tell",
              .type = TT_CELL_NAME, .get = get_verdict, .text = show_verdict),
    ANSWER(answer, "ANSWER", "with the figure, its interval, or why there is none"),
    ANSWER(runs, "RUNS", "that stand behind it"),
};

const tt_schema tt_study_answer_schema =
    TT_SCHEMA("answers", "a question of the study and its answer", answer_columns);
