/* The machine's memory and limits, and the disks of model files, from a trace or the system. */
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

/* Rows: tt_file_extents; JSON includes its fragments. */
extern const tt_schema tt_extents_schema;

/* As recorded. What was not observed is unknown. */
void tt_system_of(const tt_model *m, tt_host_system *system);
void tt_disk_of(const tt_model *m, const tt_model_file *file, tt_host_disk *disk);

/* Objects: "system" of the trace; "disk" of a model file. */
void tt_system_json(tt_json *j, const tt_model *m);
void tt_disk_json(tt_json *j, const tt_model *m, const tt_model_file *file);

/* Calls `each` for every known fact, with its title and its value for people. */
typedef void tt_fact_each(void *context, const char *title, const char *value);
void tt_system_facts(const tt_model *m, tt_fact_each *each, void *context);
/* The same for a model file: its file system, its disk, and its location there. */
void tt_storage_facts(const tt_model *m, const tt_model_file *file, tt_fact_each *each,
                      void *context);

#endif
