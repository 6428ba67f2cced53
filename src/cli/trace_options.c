#include "cli/trace_options.h"

#include "cli/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void tt_trace_take_layer(void *layer, char *arg, tt_parse *p)
{
    if (!tt_layer_read(arg, layer))
        tt_parse_refuse(p,
                        "\"%.40s\" is not a layer: a number, a stack with a number (\"enc 3\"), or "
                        "none",
                        arg);
}

const tt_option_name tt_trace_phases[TT_TRACE_PHASES] = {{"prompt", TT_PHASE_PROMPT},
                                                         {"generate", TT_PHASE_GENERATE},
                                                         {"mixed", TT_PHASE_MIXED},
                                                         {"warmup", TT_PHASE_WARMUP}};

const tt_option_name tt_trace_units[TT_TRACE_UNITS] = {
    {"page", TT_WHATIF_PAGE}, {"tensor", TT_WHATIF_TENSOR}, {"expert", TT_WHATIF_EXPERT}};

void tt_trace_check_page(tt_parse *p, uint64_t bytes)
{
    if (bytes & (bytes - 1))
        tt_parse_error(p, "--page-size: %" PRIu64 " bytes are not a power of two", bytes);
}

const tt_option tt_filter_options[] = {
    TT_FILTER_BATCH(tt_filter, , "N[..M]", 2),
    {"layer", 'l', "N", TT_LAYER_ABOUT, 2, TT_FILTER_LAYER(tt_filter, )},
    {"op", 'o', "NAME", "Only this op", 2, TT_TEXT(tt_filter, op)},
    {"tensor", 'T', "GLOB", "Only ops whose node or a source has such a name", 2,
     TT_TEXT(tt_filter, tensor)},
    TT_FILTER_PHASE(tt_filter, , 2),
    TT_FILTER_MODEL(tt_filter, , 2),
    {0},
};

void tt_trace_note_cut(const tt_model *m)
{
    if (!m->trace.complete)
        tt_report_note("the trace was cut off at byte %" PRIu64 ": %s; what is before is shown",
                       m->trace.end_bytes, m->trace.cut.message);
    if (m->meta_damage.status != TT_OK)
        tt_report_note("damaged at byte %" PRIu64 ": %s; runs described behind it are not shown",
                       m->meta_damage.offset, m->meta_damage.message);
}

void tt_trace_note_damage(const tt_model *m)
{
    tt_error damage;
    size_t n = tt_pieces_damaged(m->pieces, &damage);
    if (n > 0)
        tt_report_note("%zu damaged OPS chunk%s left out; the first at byte %" PRIu64 ": %s", n,
                       n == 1 ? " is" : "s are", damage.offset, damage.message);
}

void tt_trace_note_more(uint64_t rows)
{
    tt_report_note("there %s more than %" PRIu64 " row%s; --limit 0 shows all",
                   rows == 1 ? "is" : "are", rows, rows == 1 ? "" : "s");
}

char *tt_trace_text(char *out, size_t room, const char *text)
{
    size_t n = 0;
    for (; text[n] && n + 1 < room; n++)
        out[n] = (unsigned char)text[n] < 0x20 || text[n] == 0x7f ? '?' : text[n];
    out[n] = '\0';
    return out;
}
