#include "experiment/keys.h"

#define TOKENS_MAX (1 << 24)
#define EXPERIMENT "experiment"
#define CONDITIONS "conditions"
#define CAPTURE "capture"
#define DATASET "dataset"
#define PATHS "paths"

const tt_key tt_keys[TT_SET_COUNT] = {
    [TT_SET_MODEL_PATH] = {EXPERIMENT, "model_path", TT_KEY_MODEL, 0, 0, NULL, true},
    [TT_SET_ENGINE_PATH] = {EXPERIMENT, "engine_path", TT_KEY_PATH, 0, 0, NULL, false},
    [TT_SET_PROMPT] = {EXPERIMENT, "prompt", TT_KEY_TEXT, 0, 0, NULL, false},
    [TT_SET_PROMPT_FILE] = {EXPERIMENT, "prompt_file", TT_KEY_PATH, 0, 0, NULL, false},
    [TT_SET_TOKENS_TO_GENERATE] = {EXPERIMENT, "tokens_to_generate", TT_KEY_INTEGER, -1, TOKENS_MAX,
                                   NULL, true},
    [TT_SET_THREADS] = {EXPERIMENT, "threads", TT_KEY_INTEGER, 1, 512, NULL, false},
    [TT_SET_CONTEXT_TOKENS] = {EXPERIMENT, "context_tokens", TT_KEY_INTEGER, 1, TOKENS_MAX, NULL,
                               false},
    [TT_SET_BATCH_TOKENS] = {EXPERIMENT, "batch_tokens", TT_KEY_INTEGER, 1, TOKENS_MAX, NULL,
                             false},
    [TT_SET_UBATCH_TOKENS] = {EXPERIMENT, "ubatch_tokens", TT_KEY_INTEGER, 1, TOKENS_MAX, NULL,
                              false},
    [TT_SET_TEMPERATURE] = {EXPERIMENT, "temperature", TT_KEY_NUMBER, 0, 100, NULL, false},
    [TT_SET_SEED] = {EXPERIMENT, "seed", TT_KEY_INTEGER, 0, UINT32_MAX - 1, NULL, false},
    [TT_SET_FLASH_ATTENTION] = {EXPERIMENT, "flash_attention", TT_KEY_CHOICE, 0, 0, "on off auto",
                                false},
    [TT_SET_MMAP] = {EXPERIMENT, "mmap", TT_KEY_BOOL, 0, 0, NULL, false},
    [TT_SET_REPACK] = {EXPERIMENT, "repack", TT_KEY_BOOL, 0, 0, NULL, false},
    [TT_SET_IGNORE_EOS] = {EXPERIMENT, "ignore_eos", TT_KEY_BOOL, 0, 0, NULL, false},
    [TT_SET_MEMORY_LIMIT] = {CONDITIONS, "memory_limit", TT_KEY_SIZE, 4096, 100, NULL, false},
    [TT_SET_COLD_START] = {CONDITIONS, "cold_start", TT_KEY_BOOL, 0, 0, NULL, false},
    [TT_SET_READAHEAD] = {CONDITIONS, "readahead", TT_KEY_SIZE, 0, 0, NULL, false},
    [TT_SET_SWAPPINESS] = {CONDITIONS, "swappiness", TT_KEY_INTEGER, 0, 200, NULL, false},
    [TT_SET_MLOCK] = {CONDITIONS, "mlock", TT_KEY_BOOL, 0, 0, NULL, false},
    [TT_SET_REPETITIONS] = {EXPERIMENT, "repetitions", TT_KEY_COUNT, 1, 1000, NULL, false},
    [TT_SET_PROGRAM_ARGUMENTS] = {EXPERIMENT, "program_arguments", TT_KEY_TEXTS, 0, 0, NULL, false},
    [TT_SET_LABEL] = {EXPERIMENT, "label", TT_KEY_TEXT, 0, 0, NULL, false},
    [TT_SET_DOMAIN] = {EXPERIMENT, "domain", TT_KEY_TEXT, 0, 0, NULL, false},
    [TT_SET_CAPTURE_MODE] = {CAPTURE, "mode", TT_KEY_CHOICE, 0, 0, "auto hook callback", false},
    [TT_SET_CAPTURE_TOKENS] = {CAPTURE, "tokens", TT_KEY_TEXT, 0, 0, NULL, false},
    [TT_SET_CAPTURE_EVERY] = {CAPTURE, "every", TT_KEY_INTEGER, 1, INT32_MAX, NULL, false},
    [TT_SET_CAPTURE_LIMIT_BYTES] = {CAPTURE, "limit_bytes", TT_KEY_INTEGER, 64 << 10, INT64_MAX,
                                    NULL, false},
    [TT_SET_CAPTURE_THREAD_MEMORY_BYTES] = {CAPTURE, "thread_memory_bytes", TT_KEY_INTEGER, 8 << 10,
                                            1 << 30, NULL, false},
    [TT_SET_CAPTURE_FAULTS] = {CAPTURE, "faults", TT_KEY_BOOL, 0, 0, NULL, false},
    [TT_SET_CAPTURE_RESIDENCY_EVERY] = {CAPTURE, "residency_every", TT_KEY_INTEGER, 1, INT32_MAX,
                                        NULL, false},
    [TT_SET_CAPTURE_VALUES] = {CAPTURE, "values", TT_KEY_TEXT, 0, 0, NULL, false},
    [TT_SET_CAPTURE_TEXT] = {CAPTURE, "text", TT_KEY_BOOL, 0, 0, NULL, false},
    [TT_SET_DATASET_EXPERTS] = {DATASET, "experts", TT_KEY_BOOL, 0, 0, NULL, false},
    [TT_SET_DATASET_COMPRESS] = {DATASET, "compress", TT_KEY_CHOICE, 0, 0, "none zstd gzip", false},
    [TT_SET_DATASET_COPIES] = {DATASET, "count_copies_as_file", TT_KEY_BOOL, 0, 0, NULL, false},
    [TT_SET_ORDER] = {CONDITIONS, "order", TT_KEY_CHOICE, 0, 0, "random given", false},
    [TT_SET_ORDER_SEED] = {CONDITIONS, "order_seed", TT_KEY_INTEGER, 0, INT64_MAX, NULL, false},
    [TT_SET_DATASET_THREADS] = {DATASET, "threads", TT_KEY_INTEGER, 1, 64, NULL, false},
    [TT_SET_EXPERIMENT_NAME] = {EXPERIMENT, "experiment_name", TT_KEY_TEXT, 0, 0, NULL, false},
    [TT_SET_DESCRIPTION] = {EXPERIMENT, "description", TT_KEY_TEXT, 0, 0, NULL, false},
    [TT_SET_PROMPTS_FILE] = {EXPERIMENT, "prompts_file", TT_KEY_PATH, 0, 0, NULL, false},
    [TT_SET_LLAMA_CPP_DIR] = {PATHS, "llama_cpp_dir", TT_KEY_PATH, 0, 0, NULL, false},
    [TT_SET_LLAMA_BINARY] = {PATHS, "llama_binary", TT_KEY_BINARY, 0, 0, NULL, false},
    [TT_SET_WEBUI_DATA_DIR] = {PATHS, "webui_data_dir", TT_KEY_PATH, 0, 0, NULL, false},
};

const char *const tt_key_sections[] = {
    EXPERIMENT, CONDITIONS, CAPTURE, DATASET, PATHS, TT_KEY_IGNORED_SECTION, NULL};
