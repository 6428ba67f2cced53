#include "base/units.h"
#include "experiment/keys.h"
#include "experiment/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *tt_setting_key(tt_setting setting)
{
    return tt_keys[setting].key;
}

const char *tt_setting_section(tt_setting setting)
{
    return tt_keys[setting].section;
}

bool tt_setting_is_swept(tt_setting setting)
{
    return setting < TT_SET_PROGRAM_ARGUMENTS;
}

const char *tt_setting_show(tt_setting setting, const tt_setting_value *value,
                            char out[TT_SETTING_TEXT])
{
    if (value->text) return value->text;
    if (tt_keys[setting].type == TT_KEY_BOOL)
        (void)snprintf(out, TT_SETTING_TEXT, "%s", value->integer ? "true" : "false");
    else if (tt_keys[setting].type == TT_KEY_NUMBER)
        (void)tt_decimal_write(value->number, out);
    else
        (void)snprintf(out, TT_SETTING_TEXT, "%" PRId64, value->integer);
    return out;
}

/* Steele, Lea and Flood 2014: SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void tt_settings_order(size_t *order, size_t n, bool as_given, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; !as_given && i > 1; i--) {
        const size_t other = (size_t)(next_random(&seed) % i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

size_t tt_settings_experiments(const tt_settings *s)
{
    size_t n = 1;
    for (size_t i = 0; i < TT_SET_COUNT; i++)
        if (tt_setting_is_swept((tt_setting)i) && s->of[i].n > 1 &&
            __builtin_mul_overflow(n, s->of[i].n, &n))
            return SIZE_MAX;
    return n;
}

void tt_settings_experiment(const tt_settings *s, size_t number, tt_experiment *e)
{
    memset(e, 0, sizeof *e);
    for (size_t i = TT_SET_COUNT; i-- > 0;) {
        const tt_setting_values *list = &s->of[i];
        if (list->n == 0) continue;
        bool swept = tt_setting_is_swept((tt_setting)i);
        e->of[i] = &list->values[swept ? number % list->n : 0];
        if (swept) number /= list->n;
    }
    if (!s->prompts) return;
    const tt_prompt *p = &s->prompts[e->of[TT_SET_PROMPT]->integer];
    if (p->label.text) e->of[TT_SET_LABEL] = &p->label;
    if (p->domain.text) e->of[TT_SET_DOMAIN] = &p->domain;
    if (p->has_tokens) e->of[TT_SET_TOKENS_TO_GENERATE] = &p->tokens;
}

static bool is_same(const tt_setting_value *a, const tt_setting_value *b)
{
    if (a->text && b->text && strcmp(a->text, b->text) != 0) return false;
    return !a->text == !b->text && a->integer == b->integer &&
           memcmp(&a->number, &b->number, sizeof a->number) == 0;
}

size_t tt_settings_first_like(const tt_settings *s, size_t number)
{
    size_t first = 0, weight = 1;
    for (size_t i = TT_SET_COUNT; i-- > 0;) {
        const tt_setting_values *list = &s->of[i];
        size_t at = 0;
        if (!tt_setting_is_swept((tt_setting)i) || list->n == 0) continue;
        while (!is_same(&list->values[at], &list->values[number % list->n]))
            at++;
        first += at * weight;
        weight *= list->n;
        number /= list->n;
    }
    return first;
}
