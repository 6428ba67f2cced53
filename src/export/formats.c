#include "export/bitnet.h"
#include "export/csv/csv.h"
#include "export/dataset.h"
#include "export/dot/dot.h"
#include "export/export.h"
#include "export/npy/npy.h"
#include "export/oracle/oracle.h"
#include "export/parquet/parquet.h"
#include "export/perfetto/perfetto.h"
#include "export/records/bin64.h"
#include "export/records/per_op.h"

#include <string.h>

static const tt_export_format *const formats[] = {
    &tt_format_dataset,
    &tt_format_csv,
    &tt_format_parquet,
    &tt_format_perfetto,
    &tt_format_bin64,
    &tt_format_bin256,
    &tt_format_bin1024,
    &tt_format_dot,
    &tt_format_bitnet,
    &tt_format_npy,
    &tt_format_oraclegeneral,
    &tt_format_buffer_events,
    NULL,
};

#define FORMAT_COUNT (sizeof formats / sizeof *formats - 1)

const tt_export_format *const *tt_export_formats(size_t *n)
{
    *n = FORMAT_COUNT;
    return formats;
}

const tt_export_format *tt_export_find(const char *name)
{
    for (const tt_export_format *const *f = formats; *f; f++)
        if (strcmp((*f)->name, name) == 0) return *f;
    return NULL;
}
