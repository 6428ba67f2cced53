/* Bytes as a trace with right checksums, exported in the formats that are one file; a byte of the
 * file header chooses which (of the time of creation: nothing looks at it). */
#include "../golden/rechecksum.h"
#include "export/dot/dot.h"
#include "export/perfetto/perfetto.h"
#include "export/records/bin64.h"
#include "export/records/per_op.h"
#include "limits.h"

#include <stdlib.h>

#define CHOICE_AT 32u
#define SIZE_MAX_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void export(const tt_model *m, uint8_t choice)
{
    const tt_export_format *formats[] = {&tt_format_perfetto, &tt_format_bin64, &tt_format_bin256,
                                         &tt_format_bin1024};
    const tt_filter filter = {.phase = choice & 2 ? TT_PHASE_GENERATE : 0};
    const tt_export_options options = {.filter = &filter,
                                       .threads = 1,
                                       .force = true,
                                       .flows = choice & 4,
                                       .compress =
                                           choice & 8 ? TT_COMPRESS_GZIP : TT_COMPRESS_NONE};
    tt_error err = {.status = TT_OK};
    tt_status status =
        formats[(choice & 1) + (choice >> 4 & 2)]->write(m, "/dev/null", &options, &err);
    if (status != err.status || (status != TT_OK && !err.message[0])) abort();
    FILE *graphs = fopen("/dev/null", "w");
    for (uint32_t i = 0; graphs && choice & 16 && i < m->n_graphs; i++)
        (void)tt_graph_print_ggml(&m->graphs[i], graphs);
    if (graphs) (void)fclose(graphs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tt_model *m;
    tt_error err;
    if (size > SIZE_MAX_BYTES || size <= TT_FILE_HEADER_BYTES) return 0;
    uint8_t *copy = malloc(size);
    if (!copy) return 0;
    memcpy(copy, data, size);
    rechecksum(copy, size);
    limits_begin();
    if (tt_model_open_memory(copy, size, &m, &err) == TT_OK) export(m, copy[CHOICE_AT]);
    tt_model_close(m);
    limits_check(allocations_allowed(size) + LIMITS_ANSWER_BYTES);
    free(copy);
    return 0;
}
