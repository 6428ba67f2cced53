/* Page faults of ops: counted for each op, or, if they were recorded as events, counted here by
 * thread and time. */
#ifndef TT_MODEL_FAULTS_H
#define TT_MODEL_FAULTS_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPU time that was not observed: FAULTS details derived from events have none, nor bytes read
 * (UINT64_MAX). */
#define TT_FAULTS_NO_CPU UINT64_MAX

/* Whether ops have fault counts, of either kind. */
bool tt_model_has_faults(const tt_model *m);
/* Whether they are derived from events. */
bool tt_model_faults_are_events(const tt_model *m);
/* The FAULTS details of a run (index in tt_model.runs), by ascending node and lane. Derived from
 * events, each op has one (zero without faults) if its time was observed without losses. The list
 * is valid until the next call, which also walks the run's pieces and so invalidates results of
 * tt_pieces_get. */
tt_status tt_model_faults_of_run(const tt_model *m, uint32_t run, const tt_detail **list, size_t *n,
                                 tt_error *err);
/* The OS thread that recorded into the OPS stream at that time; false: not known. */
bool tt_model_thread_of(const tt_model *m, uint32_t stream, uint64_t ticks, uint32_t *thread);
/* The fault events of a thread from ticks `first` to `last`: an interval of `by_thread`, which is
 * in time order. */
void tt_model_faults_between(const tt_model *m, uint32_t thread, uint64_t first, uint64_t last,
                             uint32_t *begin, uint32_t *end);
/* The model file of the fault, and the offset in it; TT_NONE: other memory. */
uint32_t tt_model_fault_file(const tt_model *m, const tt_page_fault *f, uint64_t *offset_bytes);
/* Whether the model has every fault of that time. */
bool tt_model_faults_known(const tt_model *m, uint64_t first, uint64_t last);

#endif
