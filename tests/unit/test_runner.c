#include "tests.h"

#include "runner/elf_file.h"
#include "runner/engine_find.h"
#include "runner/engine_load.h"
#include "runner/engine_probe.h"
#include "runner/program_probe.h"
#include "runner/runner.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- parameter blobs: defaults of real releases, as bytes ---- */

typedef struct image {
    const char *hex; /* two digits a byte, ".." for padding the engine leaves alone */
} image;

static const image model_b4234 = {"0000000000000000000000000100000000000000........0000000000000000"
                                  "0000000000000000000000000000000000000000000000000000000000000000"
                                  "00010000"};
static const image model_b6673 = {"00000000000000000000000000000000e70300000100000000000000........"
                                  "0000000000000000000000000000000000000000000000000000000000000000"
                                  "0001000001"};
static const image model_b8352 = {"00000000000000000000000000000000ffffffff0100000000000000........"
                                  "0000000000000000000000000000000000000000000000000000000000000000"
                                  "0001000000010000"};
static const image model_v050 = {"00000000000000000000000000000000ffffffff01000000ffffffff01000000"
                                 "00000000........000000000000000000000000000000000000000000000000"
                                 "0000000000000000000001000000"};
static const image context_b4234 = {
    "000200000008000000020000010000000400000004000000ffffffffffffffff"
    "ffffffff0000000000000000000080bf0000803f000000420000803f00000000"
    "000080bf........000000000000000000000000000000000100000001000000"
    "0000010001......00000000000000000000000000000000"};
static const image context_b6673 = {
    "000200000008000000020000010000000400000004000000ffffffffffffffff"
    "ffffffffffffffff0000000000000000000080bf000080bf000080bf000080bf"
    "00000000000080bf000000000000000000000000000000000100000001000000"
    "00000000000000000000000000000000000101010100"};
static const image context_v050 = {
    "0002000000080000000200000100000000000000000000000100000004000000"
    "0400000000000000ffffffffffffffffffffffffffffffff0000000000000000"
    "000080bf000080bf000080bf000080bf00000000000080bf0000000000000000"
    "0000000000000000010000000100000000000000000000000000000000000000"
    "000101010100....000000000000000000000000000000000000000000000000"};
/* Between the two: booleans at the end, flash_attn still one of them. */
static const image context_mid_2025 = {
    "000200000008000000020000010000000400000004000000ffffffffffffffff"
    "ffffffff0000000000000000000080bf0000803f000000420000803f00000000"
    "000080bf........000000000000000000000000000000000100000001000000"
    "00000000000000000000000000000000000100010101"};

static void load(tt_engine_params *p, image from)
{
    memset(p, 0, sizeof *p);
    for (size_t i = 0; from.hex[2 * i]; i++) {
        unsigned v = 0;
        if (from.hex[2 * i] == '.') continue;
        assert_int_equal(sscanf(from.hex + 2 * i, "%2x", &v), 1);
        p->blob.u.bytes[i] = (uint8_t)v;
        p->written[i] = 1;
    }
}

static void mmap_is_found(void **state)
{
    (void)state;
    static tt_engine_params p;
    load(&p, model_b4234);
    assert_int_equal(tt_engine_params_mmap(&p), 65);
    load(&p, model_b6673);
    assert_int_equal(tt_engine_params_mmap(&p), 65);
    load(&p, model_b8352);
    assert_int_equal(tt_engine_params_mmap(&p), 65);
    load(&p, model_v050);
    assert_true(tt_engine_params_mmap(&p) == TT_PARAM_NOT_FOUND);
    assert_int_equal(tt_engine_params_load_mode(&p), 24);
}

static void mmap_in_doubt_is_not_found(void **state)
{
    (void)state;
    static tt_engine_params p;
    load(&p, model_b8352);
    p.blob.u.bytes[49] = 1; /* a second place looks the same */
    assert_true(tt_engine_params_mmap(&p) == TT_PARAM_NOT_FOUND);
    load(&p, model_b8352);
    p.blob.u.bytes[66] = 1;
    assert_true(tt_engine_params_mmap(&p) == TT_PARAM_NOT_FOUND);
    load(&p, model_v050);
    p.blob.u.bytes[24] = 7; /* no mode we know */
    assert_true(tt_engine_params_load_mode(&p) == TT_PARAM_NOT_FOUND);
    memset(&p, 0, sizeof p);
    assert_true(tt_engine_params_mmap(&p) == TT_PARAM_NOT_FOUND);
    assert_true(tt_engine_params_load_mode(&p) == TT_PARAM_NOT_FOUND);
    assert_true(tt_engine_params_extra_bufts(&p, true) == TT_PARAM_NOT_FOUND);
}

static void repacking_is_found(void **state)
{
    (void)state;
    static tt_engine_params p;
    load(&p, model_b4234);
    assert_true(tt_engine_params_extra_bufts(&p, false) == TT_PARAM_NOT_FOUND);
    load(&p, model_b6673);
    assert_int_equal(tt_engine_params_extra_bufts(&p, false), 68);
    load(&p, model_b8352);
    assert_int_equal(tt_engine_params_extra_bufts(&p, false), 69);
    load(&p, model_v050);
    assert_int_equal(tt_engine_params_extra_bufts(&p, true), 74);
}

static void flash_is_found(void **state)
{
    (void)state;
    static tt_engine_params p;
    size_t at;
    load(&p, context_b4234);
    assert_int_equal(tt_engine_params_flash(&p, &at), TT_FLASH_FIELD_BOOL);
    assert_int_equal(at, 99);
    load(&p, context_mid_2025);
    assert_int_equal(tt_engine_params_flash(&p, &at), TT_FLASH_FIELD_BOOL);
    assert_int_equal(at, 114);
    load(&p, context_b6673);
    assert_int_equal(tt_engine_params_flash(&p, &at), TT_FLASH_FIELD_TYPE);
    assert_int_equal(at, 36);
    load(&p, context_v050);
    assert_int_equal(tt_engine_params_flash(&p, &at), TT_FLASH_FIELD_TYPE);
    assert_int_equal(at, 52);
    memset(p.blob.u.bytes + 56, 0xff, 4); /* five in a row: who knows */
    assert_int_equal(tt_engine_params_flash(&p, &at), TT_FLASH_FIELD_NONE);
    assert_true(at == TT_PARAM_NOT_FOUND);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    static tt_engine_params p;
    const image good[] = {context_b4234, context_mid_2025, context_b6673, context_v050};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        load(&p, good[i]);
        assert_true(tt_engine_params_sizes_ok(&p));
    }
    tt_engine_params_set_u32(&p, 0, UINT32_MAX); /* a seed was first once */
    assert_false(tt_engine_params_sizes_ok(&p));
    load(&p, context_v050);
    tt_engine_params_set_u32(&p, 8, 4096); /* n_ubatch > n_batch */
    assert_false(tt_engine_params_sizes_ok(&p));
}

typedef struct padded {
    uint64_t first;
    uint8_t flag; /* seven bytes of padding behind it */
    uint64_t last[4];
} padded;

/* Field by field, as a compiler that leaves padding alone would. */
static padded padded_defaults(void)
{
    padded d;
    d.first = 0x1122334455667788;
    d.flag = 1;
    for (int i = 0; i < 4; i++)
        d.last[i] = 0;
    return d;
}

static void defaults_are_fetched(void **state)
{
    (void)state;
    static tt_engine_params p;
    tt_engine_params_fetch(&p, (void (*)(void))padded_defaults);
    assert_int_equal(tt_engine_params_u32(&p, 0), 0x55667788);
    assert_int_equal(p.blob.u.bytes[offsetof(padded, flag)], 1);
    assert_true(p.written[0] && p.written[offsetof(padded, last)]);
    for (size_t i = sizeof(padded); i < TT_ABI_BLOB_SIZE; i++) {
        assert_false(p.written[i]);
        assert_int_equal(p.blob.u.bytes[i], 0);
    }
}

/* ---- finding an engine ---- */

static char root[64];

static int make_root(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/tt-runner-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

/* A file below the root, with its folders. */
static const char *put(const char *name, const char *content)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

static const char *below(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void names_of_libllama(void **state)
{
    (void)state;
    static const char *const good[] = {
        "libllama.so",        "libllama.so.0",        "libllama.so.0.0.1",     "libllama.b6673.so",
        "libllama.v0.5.0.so", "libllama-1a2b3c4d.so", "libllama-1a2b3c4d.so.0"};
    static const char *const bad[] = {"libllama-common.so", "libllama.a",    "libllama",
                                      "libllamafile.so",    "llama.so",      "libllama.sock",
                                      "libllama-.so",       "libggml.so",    "",
                                      "libllama-1a2b3c.so", "libllama.sox.0"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(tt_engine_is_llama_name(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(tt_engine_is_llama_name(bad[i]));
}

static void release_is_read(void **state)
{
    (void)state;
    char out[8];
    static const char text[] = "{\"llamaCpp\":{\"repo\":\"x\",\"release\" : \"b6673\"}}";
    assert_true(tt_engine_release_of(text, sizeof text - 1, out, sizeof out));
    assert_string_equal(out, "b6673");
    static const char *const bad[] = {"",
                                      "{\"release\"",
                                      "{\"release\":",
                                      "{\"release\":7}",
                                      "{\"release\":\"b66",
                                      "{\"release\":\"\"}",
                                      "{\"release\":\"far-too-long\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(tt_engine_release_of(bad[i], strlen(bad[i]), out, sizeof out));
}

static void engine_is_found_in_each_layout(void **state)
{
    (void)state;
    static tt_engine_found e;
    put("flat/libllama-common.so", "x");
    assert_false(tt_engine_find_in(below("flat"), &e));
    put("flat/libllama.b77.so", "x");
    assert_true(tt_engine_find_in(below("flat"), &e));
    assert_string_equal(e.release, "b77");
    put("flat/_nlcBuildMetadata.json", "{\"release\":\"b78\"}");
    assert_true(tt_engine_find_in(below("flat"), &e));
    assert_string_equal(e.release, "b78");
    put("tree/build/bin/libllama.so.0", "x");
    put("tree/build/bin/libllama.so", "x");
    assert_true(tt_engine_find_in(below("tree"), &e));
    assert_string_equal(strrchr(e.llama, '/'), "/libllama.so");
    assert_string_equal(strrchr(e.dir, '/'), "/bin");
    put("wheel/lib/libllama.so", "x");
    assert_true(tt_engine_find_in(below("wheel"), &e));
    assert_false(tt_engine_find_in(below("nowhere"), &e));
#if defined(__x86_64__)
    put("npm/bins/linux-x64/libllama.so", "x");
    assert_true(tt_engine_find_in(below("npm"), &e));
    /* As Debian installs it: the number of the interface is no version. */
    put("usr/lib/x86_64-linux-gnu/libllama.so.0", "x");
    assert_true(tt_engine_find_in(below("usr"), &e));
    assert_string_equal(e.release, "");
    put("usr/lib/x86_64-linux-gnu/libllama.so.0.7.0", "x");
    assert_int_equal(unlink(below("usr/lib/x86_64-linux-gnu/libllama.so.0")), 0);
    assert_int_equal(symlink("libllama.so.0.7.0", below("usr/lib/x86_64-linux-gnu/libllama.so.0")),
                     0);
    assert_true(tt_engine_find_in(below("usr"), &e));
    assert_string_equal(e.release, "0.7.0");
#endif
}

static void named_places_are_final(void **state)
{
    (void)state;
    static tt_engine_found e;
    tt_error err;
    put("good/libllama.so", "x");
    put("empty/readme", "x");
    assert_int_equal(setenv(TT_ENGINE_ENV, below("good"), 1), 0);
    assert_int_equal(tt_engine_find(NULL, &e, &err), TT_OK);
    assert_int_equal(e.source, TT_ENGINE_ENVIRONMENT);
    assert_int_equal(tt_engine_find(below("empty"), &e, &err), TT_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "--engine"));
    assert_non_null(strstr(e.tried, "no libllama in it"));
    assert_int_equal(setenv(TT_ENGINE_ENV, below("missing"), 1), 0);
    assert_int_equal(tt_engine_find(NULL, &e, &err), TT_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "no such folder"));
    assert_int_equal(tt_engine_find(below("good"), &e, &err), TT_OK);
    assert_int_equal(e.source, TT_ENGINE_OPTION);
    assert_int_equal(unsetenv(TT_ENGINE_ENV), 0);
}

/* ---- the engine's log ---- */

static void last_errors_are_kept(void **state)
{
    (void)state;
    static tt_engine_log log;
    char text[400], line[32];
    tt_engine_log_init(&log, NULL, NULL);
    tt_engine_log_errors(&log, text, sizeof text);
    assert_string_equal(text, "");
    for (int i = 0; i < 5; i++) {
        (void)snprintf(line, sizeof line, "error %d\n", i);
        tt_engine_log_callback(TT_ENGINE_LOG_ERROR, line, &log);
        tt_engine_log_callback(2, "only information\n", &log);
    }
    tt_engine_log_callback(TT_ENGINE_LOG_ERROR, "\n", &log);
    tt_engine_log_errors(&log, text, sizeof text);
    assert_string_equal(text, "error 2; error 3; error 4");
    tt_engine_log_errors(&log, text, 12);
    assert_string_equal(text, "error 2; er");
}

static void options_are_confirmed_by_the_log(void **state)
{
    (void)state;
    static tt_engine_log log;
    tt_engine_log_init(&log, NULL, NULL);
    tt_engine_log_callback(2, "llama_context: flash_attn    = enabled\n", &log);
    assert_string_equal(log.flash_attn, "enabled");
    assert_false(log.is_repacking);
    tt_engine_log_callback(2, "load_tensors:   CPU_REPACK model buffer size = 1 MiB\n", &log);
    assert_true(log.is_repacking);
}

/* ---- ELF files and programs ---- */

static void own_program_is_read(void **state)
{
    (void)state;
    tt_elf_file *elf = NULL;
    assert_int_equal(tt_elf_open("/proc/self/exe", &elf, NULL), TT_OK);
    assert_true(tt_elf_interpreter(elf)[0] == '/');
    bool has_libc = false;
    for (size_t i = 0; i < tt_elf_n_needed(elf); i++)
        has_libc = has_libc || strncmp(tt_elf_needed(elf, i), "libc.so", 7) == 0;
    assert_true(has_libc);
    assert_int_equal(tt_elf_symbol_flags(elf, "ggml_barrier"), 0);
    tt_elf_close(elf);
}

static void what_is_no_elf_file_is_refused(void **state)
{
    (void)state;
    tt_elf_file *elf = NULL;
    tt_error err;
    assert_int_equal(tt_elf_open(below("missing"), &elf, &err), TT_E_IO);
    assert_int_equal(tt_elf_open(put("text", "no library\n"), &elf, &err), TT_E_FORMAT);
    assert_int_equal(tt_elf_open(put("empty.so", ""), &elf, &err), TT_E_FORMAT);
    assert_int_equal(tt_elf_open(put("cut.so", "\177ELF\2\1\1"), &elf, &err), TT_E_FORMAT);
    assert_null(elf);
}

static void programs_are_judged(void **state)
{
    (void)state;
    tt_program_probe *p = NULL;
    tt_error err;
    assert_int_equal(tt_program_probe_new("sh", &p, &err), TT_OK);
    assert_int_equal(p->verdict, TT_PROGRAM_LATE);
    assert_string_equal(p->engine_dir, "");
    free(p);
    assert_int_equal(tt_program_probe_new(put("script", "#!/usr/bin/env -S sh -e\n"), &p, &err),
                     TT_OK);
    assert_non_null(strstr(p->script, "script"));
    free(p);
    assert_int_equal(tt_program_probe_new("no-such-program-here", &p, &err), TT_E_NOT_FOUND);
    assert_int_equal(tt_program_probe_new("/tmp", &p, &err), TT_E_FORMAT);
    assert_int_equal(tt_program_probe_new(put("note.txt", "hello"), &p, &err), TT_E_FORMAT);
}

static void roles_come_from_names(void **state)
{
    (void)state;
    assert_int_equal(tt_library_role_of("libggml-base.so"), TT_LIBRARY_BASE);
    assert_int_equal(tt_library_role_of("libggml-cpu-haswell.so"), TT_LIBRARY_CPU);
    assert_int_equal(tt_library_role_of("libggml-cpu.so"), TT_LIBRARY_CPU);
    assert_int_equal(tt_library_role_of("libggml.b6673.so"), TT_LIBRARY_GGML);
    assert_int_equal(tt_library_role_of("libggml-684d824a.so.0.13.1"), TT_LIBRARY_GGML);
    assert_int_equal(tt_library_role_of("libggml-blas.so"), TT_LIBRARY_BACKEND);
    assert_int_equal(tt_library_role_of("libllama.so"), TT_LIBRARY_LLAMA);
    assert_int_equal(tt_library_role_of("libllama-common.so"), TT_LIBRARY_OTHER);
}

/* ---- the runner, as far as it goes without an engine ---- */

static void unusable_models_are_named(void **state)
{
    (void)state;
    static tt_runner_result result;
    tt_runner_events events = {0};
    tt_runner_options options = {0};
    tt_error err;
    assert_int_equal(tt_runner_run(&options, &events, &result, &err), TT_E_USAGE);
    options.model = below("missing.gguf");
    assert_int_equal(tt_runner_run(&options, &events, &result, &err), TT_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "missing.gguf"));
    options.model = put("bad.gguf", "GGU");
    assert_int_equal(tt_runner_run(&options, &events, &result, &err), TT_E_FORMAT);
    options.model = root;
    assert_int_equal(tt_runner_run(&options, &events, &result, &err), TT_E_IO);
    assert_true(tt_runner_cpus() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mmap_is_found),
        cmocka_unit_test(mmap_in_doubt_is_not_found),
        cmocka_unit_test(repacking_is_found),
        cmocka_unit_test(flash_is_found),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(defaults_are_fetched),
        cmocka_unit_test(names_of_libllama),
        cmocka_unit_test(release_is_read),
        cmocka_unit_test(engine_is_found_in_each_layout),
        cmocka_unit_test(named_places_are_final),
        cmocka_unit_test(last_errors_are_kept),
        cmocka_unit_test(options_are_confirmed_by_the_log),
        cmocka_unit_test(own_program_is_read),
        cmocka_unit_test(what_is_no_elf_file_is_refused),
        cmocka_unit_test(programs_are_judged),
        cmocka_unit_test(roles_come_from_names),
        cmocka_unit_test(unusable_models_are_named),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
