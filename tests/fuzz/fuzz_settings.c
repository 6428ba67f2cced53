/* Bytes as settings.json, and as the run.json of a result. */
#include "experiment/results.h"
#include "experiment/settings.h"

#include <stdlib.h>
#include <string.h>

#define EXPERIMENTS_TRIED 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A prompt of a file has its own label, domain and number of tokens. */
static bool is_of_a_prompt(const tt_settings *s, const tt_setting_value *value)
{
    const char *at = (const char *)value, *begin = (const char *)s->prompts;
    return s->prompts && at >= begin && at < begin + s->n_prompts * sizeof *s->prompts;
}

static void try_experiment(const tt_settings *s, size_t number)
{
    tt_experiment e;
    char shown[TT_SETTING_TEXT];
    size_t length = 0;
    tt_settings_experiment(s, number, &e);
    for (size_t i = 0; i < TT_SET_COUNT; i++) {
        if (e.of[i] && is_of_a_prompt(s, e.of[i])) continue;
        if ((e.of[i] != NULL) != (s->of[i].n > 0)) abort();
        if (e.of[i] && (e.of[i] < s->of[i].values || e.of[i] >= s->of[i].values + s->of[i].n))
            abort();
        if (e.of[i]) length += strlen(tt_setting_show((tt_setting)i, e.of[i], shown));
    }
    if (length == 0) abort(); /* there is a model at least */
}

static void check_settings(const tt_settings *s)
{
    size_t n = tt_settings_experiments(s);
    if (n == 0 || n > TT_SETTINGS_EXPERIMENTS_MAX) abort();
    if (!s->output || s->output[0] != '/') abort();
    if (s->of[TT_SET_MODEL_PATH].n == 0 || s->of[TT_SET_MODEL_PATH].values->text[0] != '/') abort();
    for (size_t i = 0; i < n && i < EXPERIMENTS_TRIED; i++)
        try_experiment(s, i * (n / EXPERIMENTS_TRIED + 1) % n);
}

static void check_diagnostics(const tt_diagnostics *diagnostics)
{
    size_t at = 0;
    const char *text;
    while ((text = tt_diagnostics_next(diagnostics, &at)) != NULL)
        for (; *text; text++)
            if ((unsigned char)*text < 0x20) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tt_settings s;
    tt_result r;
    tt_diagnostics diagnostics = {.n = 0};
    tt_error err = {.status = TT_OK};
    /* Behind a NUL there are prompts. */
    const uint8_t *end = memchr(data, 0, size);
    const size_t n = end ? (size_t)(end - data) : size;
    tt_status status = tt_settings_parse(&s, (const char *)data, n, "settings.json", "/folder", end,
                                         &diagnostics, &err);
    if (status == TT_OK && end)
        status = tt_settings_add_prompts(&s, (const char *)end + 1, size - n - 1, "prompts.json",
                                         &diagnostics, &err);
    if (status == TT_OK && (end || !s.of[TT_SET_PROMPTS_FILE].n))
        check_settings(&s);
    else if (status == TT_OK)
        ; /* its prompts are to follow */
    else if (err.status != status || !err.message[0])
        abort();
    if ((status == TT_OK && diagnostics.n) || (status == TT_E_USAGE && !diagnostics.n)) abort();
    check_diagnostics(&diagnostics);
    tt_diagnostics_free(&diagnostics);
    tt_settings_free(&s);
    (void)tt_result_parse(&r, (const char *)data, size, "run.json", &err);
    tt_result_free(&r);
    return 0;
}
