/* The argument of `run --values`: any text is understood or refused with a sentence, and what was
 * understood can be asked. */
#include "value/select.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ranges(const tt_select_range *list, uint32_t n)
{
    if (n > TT_SELECT_TERMS_MAX) abort();
    for (uint32_t i = 0; i < n; i++)
        if (list[i].first > list[i].last) abort();
}

static void check_texts(const char (*list)[TT_SELECT_TEXT_MAX], uint32_t n)
{
    if (n > TT_SELECT_TERMS_MAX) abort();
    for (uint32_t i = 0; i < n; i++)
        if (!list[i][0] || !memchr(list[i], '\0', TT_SELECT_TEXT_MAX)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX];
    tt_select s;
    tt_error err = {TT_OK, 0, ""};
    if (size >= sizeof text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (tt_select_parse(text, &s, &err) != TT_OK) {
        if (err.status != TT_E_USAGE || !err.message[0]) abort();
        return 0;
    }
    check_ranges(s.layers, s.n_layers);
    check_ranges(s.tokens, s.n_tokens);
    check_texts(s.names, s.n_names);
    check_texts(s.ops, s.n_ops);
    if (strncmp(text, tt_value_level_name(s.level), strlen(tt_value_level_name(s.level))) != 0)
        abort();
    /* Off is off, and without a term all is wanted. */
    bool any = s.n_names + s.n_ops + s.n_layers > 0;
    bool wanted = tt_select_node(&s, "ffn_out-3", "MUL_MAT", 3);
    if (s.level == TT_VALUES_OFF && wanted) abort();
    if (s.level != TT_VALUES_OFF && !any && !wanted) abort();
    if (s.n_layers && tt_select_node(&s, "x", "ADD", TT_SELECT_NO_LAYER)) abort();
    if (s.n_tokens == 0 && tt_select_token(&s, 7) != (s.level != TT_VALUES_OFF)) abort();
    return 0;
}
