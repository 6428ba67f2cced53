/* The keys of a dataset's files: docs/dataset.md. */
#include "dataset/shape.h"

#define TEXT TT_IS_STRING
#define COUNT TT_IS_COUNT
#define NUMBER TT_IS_NUMBER
#define ARRAY TT_IS_ARRAY
#define OBJECT TT_IS_OBJECT
#define BOOL TT_IS_BOOL
#define NONE TT_IS_NULL

#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }

static const char *const categories[] = {"input",  "attention", "ffn", "norm",
                                         "output", "other",     NULL};
static const char *const usages[] = {"ANY", "WEIGHTS", "COMPUTE", NULL};
static const char *const events[] = {"alloc", "dealloc", NULL};
static const char *const phases[] = {"PROMPT", "GENERATE", NULL};
static const char *const places[] = {"DISK", "BUFFER", NULL};
static const char *const versions[] = {"tensortrace-1", NULL};

static const tt_shape_key engine[] = {{.name = "name", .kinds = TEXT},
                                      {.name = "version", .kinds = TEXT | NONE},
                                      {.name = "commit", .kinds = TEXT | NONE},
                                      END};

static const tt_shape_key model_file[] = {
    {.name = "file", .kinds = TEXT}, {.name = "size_bytes", .kinds = COUNT}, END};

const tt_shape_key tt_shape_experiment[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "timestamp_start", .kinds = TEXT | NONE},
    {.name = "model_file", .kinds = TEXT},
    {.name = "model_name", .kinds = TEXT},
    {.name = "model_files", .kinds = ARRAY, .inside = model_file, .optional = true},
    {.name = "prompt", .kinds = TEXT | NONE},
    {.name = "num_tokens_generated", .kinds = COUNT | NONE},
    {.name = "num_batches", .kinds = COUNT, .optional = true},
    {.name = "threads", .kinds = COUNT | NONE},
    {.name = "engine", .kinds = OBJECT, .inside = engine},
    {.name = "tensortrace_version", .kinds = TEXT | NONE},
    {.name = "command", .kinds = TEXT | NONE},
    {.name = "host", .kinds = TEXT | NONE},
    END};

static const tt_shape_key map_metadata[] = {{.name = "n_layers", .kinds = COUNT | NONE},
                                            {.name = "n_vocab", .kinds = COUNT | NONE},
                                            {.name = "n_embd", .kinds = COUNT | NONE},
                                            {.name = "n_heads", .kinds = COUNT | NONE},
                                            {.name = "n_tensors", .kinds = COUNT},
                                            {.name = "source", .kinds = TEXT},
                                            END};

static const tt_shape_key map_tensor[] = {{.name = "name", .kinds = TEXT},
                                          {.name = "file", .kinds = TEXT, .optional = true},
                                          {.name = "offset_start", .kinds = COUNT},
                                          {.name = "offset_end", .kinds = COUNT},
                                          {.name = "size_bytes", .kinds = COUNT},
                                          {.name = "shape", .kinds = ARRAY, .elements = COUNT},
                                          {.name = "dtype", .kinds = TEXT},
                                          {.name = "layer_id", .kinds = COUNT | NONE},
                                          {.name = "category", .kinds = TEXT, .words = categories},
                                          {.name = "component", .kinds = TEXT},
                                          {.name = "component_type", .kinds = TEXT},
                                          {.name = "expert_id", .kinds = COUNT, .optional = true},
                                          END};

const tt_shape_key tt_shape_memory_map[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "model_name", .kinds = TEXT},
    {.name = "total_size_bytes", .kinds = COUNT},
    {.name = "num_tensors", .kinds = COUNT},
    {.name = "metadata", .kinds = OBJECT, .inside = map_metadata},
    {.name = "tensors", .kinds = ARRAY, .inside = map_tensor},
    END};

static const tt_shape_key usage_breakdown[] = {
    {.name = "ANY", .kinds = COUNT, .optional = true},
    {.name = "WEIGHTS", .kinds = COUNT, .optional = true},
    {.name = "COMPUTE", .kinds = COUNT, .optional = true},
    END};

static const tt_shape_key buffers_metadata[] = {
    {.name = "total_events", .kinds = COUNT},
    {.name = "total_buffers", .kinds = COUNT},
    {.name = "peak_occupancy_bytes", .kinds = COUNT},
    {.name = "peak_occupancy_mb", .kinds = NUMBER},
    {.name = "duration_ms", .kinds = NUMBER},
    {.name = "usage_breakdown", .kinds = OBJECT, .inside = usage_breakdown},
    END};

static const tt_shape_key buffer[] = {{.name = "id", .kinds = COUNT},
                                      {.name = "name", .kinds = TEXT},
                                      {.name = "size", .kinds = COUNT},
                                      {.name = "backend", .kinds = TEXT},
                                      {.name = "usage", .kinds = COUNT},
                                      {.name = "usage_name", .kinds = TEXT, .words = usages},
                                      {.name = "layer", .kinds = COUNT},
                                      {.name = "alloc_time_ms", .kinds = NUMBER},
                                      {.name = "dealloc_time_ms", .kinds = NUMBER | NONE},
                                      END};

static const tt_shape_key event[] = {{.name = "timestamp_ms", .kinds = NUMBER},
                                     {.name = "event", .kinds = TEXT, .words = events},
                                     {.name = "buffer_id", .kinds = COUNT},
                                     {.name = "buffer_name", .kinds = TEXT},
                                     {.name = "size", .kinds = COUNT},
                                     {.name = "cumulative_size", .kinds = COUNT},
                                     {.name = "num_active_buffers", .kinds = COUNT},
                                     END};

const tt_shape_key tt_shape_buffers[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "metadata", .kinds = OBJECT, .inside = buffers_metadata},
    {.name = "buffers", .kinds = ARRAY, .inside = buffer},
    {.name = "timeline", .kinds = ARRAY, .inside = event},
    END};

static const tt_shape_key trace_metadata[] = {
    {.name = "total_entries", .kinds = COUNT},
    {.name = "duration_ms", .kinds = NUMBER},
    {.name = "timestamp_start_ns", .kinds = COUNT},
    {.name = "format_version", .kinds = TEXT, .words = versions},
    END};

static const tt_shape_key source[] = {
    {.name = "name", .kinds = TEXT},
    {.name = "tensor_ptr", .kinds = TEXT | NONE},
    {.name = "size_bytes", .kinds = COUNT},
    {.name = "layer_id", .kinds = COUNT | NONE},
    {.name = "memory_source", .kinds = TEXT | NONE, .words = places},
    {.name = "disk_offset", .kinds = COUNT, .optional = true},
    {.name = "buffer_id", .kinds = COUNT | NONE, .optional = true},
    {.name = "view_of", .kinds = TEXT, .optional = true},
    {.name = "file", .kinds = TEXT, .optional = true},
    {.name = "file_offset_bytes", .kinds = COUNT, .optional = true},
    END};

static const tt_shape_key thread[] = {{.name = "thread_id", .kinds = COUNT},
                                      {.name = "start_ns", .kinds = COUNT},
                                      {.name = "arrive_ns", .kinds = COUNT | NONE},
                                      {.name = "release_ns", .kinds = COUNT | NONE},
                                      END};

static const tt_shape_key entry[] = {
    {.name = "entry_id", .kinds = COUNT},
    {.name = "timestamp_ns", .kinds = COUNT},
    {.name = "timestamp_relative_ms", .kinds = NUMBER},
    {.name = "token_id", .kinds = COUNT},
    {.name = "layer_id", .kinds = COUNT | NONE},
    {.name = "thread_id", .kinds = COUNT},
    {.name = "phase", .kinds = TEXT | NONE, .words = phases},
    {.name = "operation_type", .kinds = TEXT},
    {.name = "dst_name", .kinds = TEXT},
    {.name = "num_sources", .kinds = COUNT},
    {.name = "sources", .kinds = ARRAY, .inside = source},
    {.name = "expert_ids", .kinds = ARRAY | NONE, .elements = COUNT},
    {.name = "num_experts", .kinds = COUNT | NONE},
    {.name = "duration_ns", .kinds = COUNT | NONE},
    {.name = "node_id", .kinds = TEXT, .optional = true},
    {.name = "threads", .kinds = ARRAY, .inside = thread},
    END};

const tt_shape_key tt_shape_trace[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "token_id", .kinds = COUNT},
    {.name = "metadata", .kinds = OBJECT, .inside = trace_metadata},
    {.name = "entries", .kinds = ARRAY, .inside = entry},
    END};

static const tt_shape_key graph_metadata[] = {{.name = "total_nodes", .kinds = COUNT},
                                              {.name = "total_edges", .kinds = COUNT},
                                              {.name = "layers", .kinds = COUNT},
                                              {.name = "timestamp_generated", .kinds = TEXT | NONE},
                                              END};

static const tt_shape_key node[] = {{.name = "id", .kinds = TEXT},
                                    {.name = "address", .kinds = TEXT | NONE},
                                    {.name = "label", .kinds = TEXT},
                                    {.name = "operation", .kinds = TEXT},
                                    {.name = "shape", .kinds = ARRAY, .elements = COUNT},
                                    {.name = "dtype", .kinds = TEXT},
                                    {.name = "layer_id", .kinds = COUNT | NONE},
                                    {.name = "category", .kinds = TEXT, .words = categories},
                                    {.name = "node_type", .kinds = TEXT},
                                    END};

static const tt_shape_key edge[] = {{.name = "source", .kinds = TEXT},
                                    {.name = "target", .kinds = TEXT},
                                    {.name = "label", .kinds = TEXT},
                                    END};

const tt_shape_key tt_shape_graph[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "token_id", .kinds = COUNT},
    {.name = "metadata", .kinds = OBJECT, .inside = graph_metadata},
    {.name = "nodes", .kinds = ARRAY, .inside = node},
    {.name = "edges", .kinds = ARRAY, .inside = edge},
    END};
