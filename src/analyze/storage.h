/* The machine's memory and limits, and where model files lie, as a trace or the system says it. */
#ifndef TT_ANALYZE_STORAGE_H
#define TT_ANALYZE_STORAGE_H

#include "host/disk.h"
#include "host/system.h"
#include "model/model.h"
#include "table/table.h"

/* Rows: tt_host_system. */
extern const tt_schema tt_system_schema;
/* Rows: tt_host_disk. */
extern const tt_schema tt_disk_schema;

/* As the recorder found it. What was not observed is unknown. */
void tt_system_of(const tt_model *m, tt_host_system *system);
void tt_disk_of(const tt_model *m, const tt_model_file *file, tt_host_disk *disk);

#endif
