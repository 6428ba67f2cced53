/* What is behind the public tt_reader. */
#ifndef TT_API_READER_H
#define TT_API_READER_H

#include "analyze/values/outputs.h"
#include "model/model.h"

#include <tensortrace/read.h>

struct tt_reader {
    tt_model *m;
    tt_outputs outputs; /* of the run whose values were walked last */
};

/* TT_E_USAGE when the trace has no run of that index. */
tt_status tt_reader_need_run(const tt_reader *reader, uint32_t run, tt_error *err);

#endif
