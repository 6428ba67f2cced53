#include "base/json.h"
#include "cli/doctor/doctor.h"

#include <string.h>

/* A text that may be unknown: then null, never "". */
static void put_text(tt_json *j, const char *key, const char *text)
{
    tt_json_kv_string(j, key, text && text[0] ? text : NULL);
}

static void put_engine(tt_json *j, const tt_doctor *d)
{
    const tt_engine_probe *p = d->probe;
    tt_json_key(j, "engine");
    if (!p) {
        tt_json_null(j);
        return;
    }
    const tt_engine_answer *a = &p->answer;
    tt_json_object(j);
    tt_json_kv_string(j, "dir", p->engine.dir);
    tt_json_kv_string(j, "source", tt_engine_source_name(p->engine.source));
    put_text(j, "llama", p->engine.llama);
    put_text(j, "release", p->engine.release);
    tt_json_kv_bool(j, "is_loadable", a->loaded && !a->failure[0]);
    put_text(j, "ggml_version", a->ggml_version);
    put_text(j, "ggml_commit", a->ggml_commit);
    put_text(j, "system_info", a->system_info);
    put_text(j, "cpu_library", p->cpu ? p->cpu->file : NULL);
    put_text(j, "threads", !p->cpu ? NULL : p->cpu->uses_openmp ? "openmp" : "own");
    if (a->tensor_overhead) tt_json_kv_u64(j, "tensor_overhead_bytes", a->tensor_overhead);
    tt_json_kv_bool(j, "is_layout_known", p->is_layout_known);
    tt_json_object_end(j);
}

static void put_libraries(tt_json *j, const tt_engine_probe *p)
{
    tt_json_key(j, "libraries");
    tt_json_array(j);
    for (size_t i = 0; p && i < p->n_libraries; i++) {
        const tt_probe_library *l = &p->libraries[i];
        tt_json_object(j);
        tt_json_kv_string(j, "file", l->file);
        tt_json_kv_string(j, "dir", l->dir);
        tt_json_kv_string(j, "role", tt_library_role_name(l->role));
        put_text(j, "soname", tt_elf_soname(l->elf));
        tt_json_kv_bool(j, "uses_openmp", l->uses_openmp);
        if (l->has_score) tt_json_kv_i64(j, "score", l->score);
        if (l->role & TT_LIBRARY_CPU) tt_json_kv_bool(j, "is_chosen", l->is_chosen);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_hooks(tt_json *j, const tt_engine_probe *p)
{
    tt_json_key(j, "hooks");
    tt_json_array(j);
    for (size_t i = 0; p && i < p->n_hooks; i++) {
        const tt_probe_hook *h = &p->hooks[i];
        tt_json_object(j);
        tt_json_kv_string(j, "name", h->name);
        put_text(j, "library", h->library ? h->library->file : NULL);
        tt_json_kv_bool(j, "is_defined", h->is_defined);
        tt_json_kv_bool(j, "is_called", h->is_called);
        tt_json_kv_bool(j, "is_known", h->is_known);
        tt_json_kv_bool(j, "is_needed", h->is_needed);
        tt_json_kv_string(j, "gives", h->gives);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_findings(tt_json *j, const tt_engine_probe *p)
{
    tt_json_key(j, "findings");
    tt_json_array(j);
    for (size_t i = 0; p && i < p->n_findings; i++) {
        tt_json_object(j);
        tt_json_kv_bool(j, "is_warning", p->findings[i].is_warning);
        tt_json_kv_string(j, "text", p->findings[i].text);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_host(tt_json *j, const tt_doctor *d)
{
    const tt_doctor_host *h = &d->host;
    tt_json_key(j, "host");
    tt_json_object(j);
    put_text(j, "cpu", h->cpu);
    tt_json_kv_i64(j, "cpus", h->cpus);
    tt_json_kv_bool(j, "is_virtual", h->is_virtual);
    tt_json_kv_bool(j, "has_invariant_tsc", h->has_invariant_tsc);
    tt_json_kv_string(j, "kernel", h->kernel.release);
    tt_json_kv_bool(j, "has_shm", h->has_shm);
    tt_json_kv_u64(j, "shm_free_bytes", h->shm_free_bytes);
    tt_json_object_end(j);
    tt_json_key(j, "hook_library");
    tt_json_string(j, d->has_hook ? d->hook_path : NULL);
}

static void put_program(tt_json *j, const tt_program_probe *p)
{
    tt_json_key(j, "program");
    if (!p) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_string(j, "path", p->path);
    put_text(j, "script", p->script);
    tt_json_kv_bool(j, "is_static", p->is_static);
    tt_json_kv_bool(j, "is_secure", p->is_secure);
    tt_json_kv_bool(j, "defines_ggml", p->defines_ggml);
    tt_json_kv_bool(j, "mentions_ggml", p->mentions_ggml);
    put_text(j, "engine_dir", p->engine_dir);
    tt_json_key(j, "libraries");
    tt_json_array(j);
    for (size_t i = 0; i < p->n_libraries; i++) {
        tt_json_object(j);
        tt_json_kv_string(j, "name", p->libraries[i].name);
        put_text(j, "path", p->libraries[i].path);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_kv_string(j, "can_be_traced", tt_program_verdict_name(p->verdict));
    tt_json_kv_string(j, "why", p->why);
    tt_json_object_end(j);
}

static void put_tried(tt_json *j, const char *line)
{
    tt_json_key(j, "tried");
    tt_json_array(j);
    while (*line) {
        size_t n = strcspn(line, "\n");
        tt_json_string_n(j, line, n);
        line += n + (line[n] == '\n');
    }
    tt_json_array_end(j);
}

bool tt_doctor_print_json(const tt_doctor *d, FILE *out)
{
    tt_json j;
    tt_json_begin(&j, out, 2);
    tt_json_object(&j);
    tt_json_kv_bool(&j, "can_trace", d->can_trace);
    tt_json_kv_string(&j, "mode", d->mode);
    tt_json_kv_string(&j, "verdict", d->verdict);
    put_engine(&j, d);
    put_tried(&j, d->engine.tried);
    put_libraries(&j, d->probe);
    put_hooks(&j, d->probe);
    put_findings(&j, d->probe);
    put_host(&j, d);
    put_program(&j, d->program);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}
