#include "answer/diff.h"

#include <string.h>

static void phases(tt_json *j, const tt_diff *d)
{
    tt_json_key(j, "phases");
    tt_json_array(j);
    for (size_t i = 0; i < TT_DIFF_PHASES; i++) {
        const tt_rowset phase = tt_diff_phases(d, i, 1);
        if (d->phases[i].pairs.n == 0) continue;
        tt_json_object(j);
        tt_rowset_json(j, &phase, phase.rows);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void around(tt_json *j, const tt_diff_around *x)
{
    const tt_rowset settings = tt_diff_settings(x), buffers = tt_diff_buffers(x),
                    faults = tt_diff_faults(x), routing = tt_diff_routing(x);
    tt_rowset_json_rows(j, "settings", &settings, NULL);
    tt_rowset_json_rows(j, "buffers", &buffers, tt_diff_has_buffers);
    if (x->has_faults)
        tt_rowset_json_rows(j, "faults", &faults, NULL);
    else
        tt_json_kv_string(j, "faults", NULL);
    tt_rowset_json_rows(j, "routing", &routing, NULL);
}

static void verdict(tt_json *j, const tt_diff_view *v)
{
    char text[TT_DIFF_SENTENCE];
    const tt_diff_phase *p = tt_diff_main(v->d);
    bool timed = p && tt_diff_common(v->d) > 0 && !v->d->options.structure_only;
    tt_json_key(j, "verdict");
    tt_json_object(j);
    tt_json_kv_bool(j, "differs", tt_diff_outcome_of(v) != TT_DIFF_ALIKE);
    tt_json_kv_bool(j, "structure_differs", tt_diff_common(v->d) == 0 || tt_diff_changes(v->d) > 0);
    tt_json_kv_string(j, "times", timed ? tt_diff_verdict_name(p->verdict) : NULL);
    tt_json_kv_string(j, "phase", p ? tt_phase_name(p->phase) : NULL);
    tt_json_kv_string(j, "text", tt_diff_say_times(v, text));
    tt_json_kv_string(j, "structure_text", tt_diff_say_structure(v, text));
    tt_json_object_end(j);
}

static void files(tt_json *j, const tt_diff_view *v, const char *key, size_t from, size_t to)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (size_t f = from; f < to; f++)
        tt_json_string(j, v->paths[f]);
    tt_json_array_end(j);
}

void tt_diff_json(tt_json *j, const tt_diff_view *v)
{
    const tt_diff *d = v->d;
    char text[TT_DIFF_SENTENCE];
    tt_json_object(j);
    files(j, v, "files_a", 0, d->n_a);
    files(j, v, "files_b", d->n_a, d->n_files);
    tt_json_kv_double(j, "threshold", d->options.threshold);
    tt_json_kv_double(j, "level", d->options.level);
    verdict(j, v);
    tt_json_key(j, "notes");
    tt_json_array(j);
    for (unsigned i = 0; i < TT_DIFF_NOTES; i++)
        if (tt_diff_note(v, i, text)) tt_json_string(j, text);
    tt_json_array_end(j);
    phases(j, d);
    around(j, &d->around);
    tt_json_kv_u64(j, "records", d->records);
    tt_json_kv_u64(j, "orphan_records", d->orphan);
    tt_json_object_end(j);
}
