/* What was captured besides the ops, and the buffers by kind. */
#include "answer/info.h"

#include <stdio.h>
#include <string.h>

tt_info_capture tt_info_find_capture(const tt_model *m, unsigned i)
{
    static const char *const names[TT_INFO_CAPTURES] = {"experts", "text",    "faults", "residency",
                                                        "io",      "devices", "values"};
    static const char none[] = "not observed";
    char key[32];
    (void)snprintf(key, sizeof key, "capture_%s", names[i]);
    const char *value = tt_model_environment(m, key);
    tt_info_capture c = {.name = names[i], .state = value};
    if (value && strcmp(names[i], "values") == 0 && strcmp(value, "off") != 0 &&
        strncmp(value, none, sizeof none - 1) != 0) {
        c.state = "on";
        c.asked = value;
    }
    if (!value || strncmp(value, none, sizeof none - 1) != 0) return c;
    value += sizeof none - 1;
    c.state = none;
    c.reason = value + strspn(value, ": ");
    return c;
}

const char *tt_info_end_state(const tt_model_file *f)
{
    static const char *const names[] = {[TT_MODEL_SAME] = "same",
                                        [TT_MODEL_CHANGED] = "changed",
                                        [TT_MODEL_REPLACED] = "replaced",
                                        [TT_MODEL_GONE] = "removed"};
    if (!f->checked_at_end) return NULL;
    return f->end_state < sizeof names / sizeof *names ? names[f->end_state] : "changed";
}

void tt_info_capture_json(tt_json *j, const tt_info *info)
{
    tt_json_key(j, "captured");
    tt_json_object(j);
    for (unsigned i = 0; i < TT_INFO_CAPTURES; i++) {
        tt_info_capture c = tt_info_find_capture(info->m, i);
        tt_json_key(j, c.name);
        if (!c.state) {
            tt_json_null(j);
            continue;
        }
        tt_json_object(j);
        tt_json_kv_string(j, "state", c.state);
        if (c.reason) tt_json_kv_string(j, "reason", c.reason);
        if (c.asked) tt_json_kv_string(j, "asked", c.asked);
        tt_json_object_end(j);
    }
    tt_json_object_end(j);
    tt_json_key(j, "buffers");
    tt_json_array(j);
    for (unsigned i = 0; i <= TT_BUFFER_OUTPUT; i++) {
        if (info->summary.buffers[i].count == 0) continue;
        tt_json_object(j);
        tt_json_kv_string(j, "kind", tt_buffer_kind_name((tt_buffer_kind)i));
        tt_json_kv_u64(j, "count", info->summary.buffers[i].count);
        tt_json_kv_u64(j, "size_bytes", info->summary.buffers[i].size_bytes);
        tt_json_kv_u64(j, "peak_count", info->peaks[i].count);
        tt_json_kv_u64(j, "peak_bytes", info->peaks[i].bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}
