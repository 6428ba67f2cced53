#include "cli/input.h"

#include "cli/command.h"
#include "cli/report.h"
#include "cli/trace_options.h"

enum { OPT_JSON = 0x5500 };

/* The group puts --json behind a command's own options. */
static const struct argp_option option_table[] = {
    {"json", OPT_JSON, 0, 0, "Print JSON", 9},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    tt_input *input = state->input;
    const char *what = input && input->what ? input->what : "FILE";
    switch (key) {
    case OPT_JSON:
        input->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (input->path)
            argp_error(state, "one %s only%s%s", what, input->hint ? "; " : "",
                       input->hint ? input->hint : "");
        input->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!input->path) argp_error(state, "which %s?", what);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tt_input_argp = {option_table, parse_option, NULL, NULL, NULL, NULL, NULL};

int tt_input_open_trace(const tt_input *input, bool tells_damage, tt_model **m)
{
    tt_error err;
    if (tt_model_open(input->path, m, &err) != TT_OK) return tt_report_error(&err);
    if (!tells_damage) tt_trace_note_damage(*m);
    return TT_EXIT_OK;
}
