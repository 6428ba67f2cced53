/* What a reader is, for the files of this room. */
#ifndef TT_API_READER_H
#define TT_API_READER_H

#include "analyze/values/outputs.h"
#include "arrow/stream.h"

#include <tensortrace/read.h>

struct tt_reader {
    tt_held_model *held;
    const tt_model *m;  /* its */
    tt_outputs outputs; /* of the run whose values were walked last */
};

#endif
