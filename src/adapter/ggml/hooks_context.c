/* Hooks on the other functions that use a context: reading outputs, and removing, copying and
 * moving sequences in the engine's memory. The phases of later tokens depend on both.
 *
 * The memory functions were llama_kv_cache_*, then llama_kv_self_* of a context; since 2025 they
 * are llama_memory_* of its memory. In some engines the older ones call the newer ones, through
 * the hooks or not; a change that would count twice is counted once. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/batches.h"
#include "adapter/ggml/contexts.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/tokens.h"

static void leave(void)
{
    (void)pthread_mutex_unlock(&tt_process_lock);
}

/* The phases of the handle, which is a context or a memory; NULL if unknown. If found,
 * tt_process_lock is held until `leave` is called. */
static tt_phases *enter(const void *handle)
{
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_phases *p = tt_contexts_phases(handle);
    if (!p) (void)pthread_mutex_unlock(&tt_process_lock);
    return p;
}

/* --- outputs are read --- */

enum { WAITS, GETS_EMBEDDINGS, CHOOSES };

static void read_outputs(const void *context, int what)
{
    tt_phases *p = enter(context);
    if (!p) return;
    p->was_read = true;
    p->was_fetched |= what != WAITS;
    p->was_chosen_from |= what == CHOOSES;
    leave();
}

/* A function that returns outputs of the context's last call. */
#define READER(type, function, what)                                                               \
    type function(void *context);                                                                  \
    TT_EXPORT type function(void *context)                                                         \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        type (*real)(void *);                                                                      \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        read_outputs(context, what);                                                               \
        return real ? real(context) : (type)0;                                                     \
    }
#define READER_OF(type, function, what)                                                            \
    type function(void *context, int32_t index);                                                   \
    TT_EXPORT type function(void *context, int32_t index)                                          \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        type (*real)(void *, int32_t);                                                             \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        read_outputs(context, what);                                                               \
        return real ? real(context, index) : (type)0;                                              \
    }

READER(float *, llama_get_logits, CHOOSES)
READER_OF(float *, llama_get_logits_ith, CHOOSES)
READER(float *, llama_get_embeddings, GETS_EMBEDDINGS)
READER_OF(float *, llama_get_embeddings_ith, GETS_EMBEDDINGS)
READER_OF(float *, llama_get_embeddings_seq, GETS_EMBEDDINGS)
READER_OF(int32_t, llama_get_sampled_token_ith, CHOOSES)
READER_OF(float *, llama_get_sampled_probs_ith, CHOOSES)
READER_OF(float *, llama_get_sampled_logits_ith, CHOOSES)
READER_OF(int32_t *, llama_get_sampled_candidates_ith, CHOOSES)

int32_t llama_sampler_sample(void *sampler, void *context, int32_t index);
TT_EXPORT int32_t llama_sampler_sample(void *sampler, void *context, int32_t index)
{
    static tt_real real_sample = {.name = "llama_sampler_sample"};
    int32_t (*real)(void *, void *, int32_t);
    *(void **)&real = tt_real_get(&real_sample, TT_CALLER);
    read_outputs(context, CHOOSES);
    return real ? real(sampler, context, index) : -1;
}

/* Benchmarks wait for outputs and generate tokens without reading them. */
void llama_synchronize(void *context);
TT_EXPORT void llama_synchronize(void *context)
{
    static tt_real real_synchronize = {.name = "llama_synchronize"};
    void (*real)(void *);
    *(void **)&real = tt_real_get(&real_synchronize, TT_CALLER);
    read_outputs(context, WAITS);
    if (real) real(context);
}

/* --- the engine's memory --- */

static void removed(const void *handle, int32_t sequence, int32_t from, int32_t to)
{
    tt_phases *p = enter(handle);
    if (!p) return;
    tt_phases_remove(p, sequence, from, to);
    tt_batches_tell_fates(p);
    leave();
}

static void copied(const void *handle, int32_t source, int32_t target, int32_t from, int32_t to)
{
    tt_phases *p = enter(handle);
    if (!p) return;
    tt_phases_copy(p, source, target, from, to);
    leave();
}

static void kept(const void *handle, int32_t sequence)
{
    tt_phases *p = enter(handle);
    if (!p) return;
    tt_phases_keep(p, sequence);
    leave();
}

/* Only the outermost function moves positions; applying the others above twice does no harm. */
static __thread bool is_moving __attribute__((tls_model("initial-exec")));

static bool begin_moving(const void *handle, int32_t sequence, int32_t from, int32_t to, int32_t by,
                         void (*move)(tt_phases *, int32_t, int32_t, int32_t, int32_t))
{
    tt_phases *p = is_moving ? NULL : enter(handle);
    if (!p) return false;
    move(p, sequence, from, to, by);
    leave();
    is_moving = true;
    return true;
}

#define REMOVE(function)                                                                           \
    bool function(void *handle, int32_t sequence, int32_t from, int32_t to);                       \
    TT_EXPORT bool function(void *handle, int32_t sequence, int32_t from, int32_t to)              \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        bool (*real)(void *, int32_t, int32_t, int32_t);                                           \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        bool done = real && real(handle, sequence, from, to);                                      \
        if (done) removed(handle, sequence, from, to);                                             \
        return done;                                                                               \
    }
#define COPY(function)                                                                             \
    void function(void *handle, int32_t source, int32_t target, int32_t from, int32_t to);         \
    TT_EXPORT void function(void *handle, int32_t source, int32_t target, int32_t from,            \
                            int32_t to)                                                            \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        void (*real)(void *, int32_t, int32_t, int32_t, int32_t);                                  \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        if (real) real(handle, source, target, from, to);                                          \
        copied(handle, source, target, from, to);                                                  \
    }
#define KEEP(function)                                                                             \
    void function(void *handle, int32_t sequence);                                                 \
    TT_EXPORT void function(void *handle, int32_t sequence)                                        \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        void (*real)(void *, int32_t);                                                             \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        if (real) real(handle, sequence);                                                          \
        kept(handle, sequence);                                                                    \
    }
#define MOVE(function, move)                                                                       \
    void function(void *handle, int32_t sequence, int32_t from, int32_t to, int32_t by);           \
    TT_EXPORT void function(void *handle, int32_t sequence, int32_t from, int32_t to, int32_t by)  \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        void (*real)(void *, int32_t, int32_t, int32_t, int32_t);                                  \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        bool is_outermost = begin_moving(handle, sequence, from, to, by, move);                    \
        if (real) real(handle, sequence, from, to, by);                                            \
        if (is_outermost) is_moving = false;                                                       \
    }
#define FAMILY(prefix)                                                                             \
    REMOVE(prefix##_seq_rm)                                                                        \
    COPY(prefix##_seq_cp)                                                                          \
    KEEP(prefix##_seq_keep)                                                                        \
    MOVE(prefix##_seq_add, tt_phases_add)                                                          \
    MOVE(prefix##_seq_div, tt_phases_divide)

FAMILY(llama_memory)
FAMILY(llama_kv_self)
FAMILY(llama_kv_cache)

void llama_memory_clear(void *memory, bool data);
TT_EXPORT void llama_memory_clear(void *memory, bool data)
{
    static tt_real real_clear = {.name = "llama_memory_clear"};
    void (*real)(void *, bool);
    *(void **)&real = tt_real_get(&real_clear, TT_CALLER);
    if (real) real(memory, data);
    removed(memory, -1, -1, -1);
}

#define CLEAR(function)                                                                            \
    void function(void *context);                                                                  \
    TT_EXPORT void function(void *context)                                                         \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        void (*real)(void *);                                                                      \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        if (real) real(context);                                                                   \
        removed(context, -1, -1, -1);                                                              \
    }

CLEAR(llama_kv_self_clear)
CLEAR(llama_kv_cache_clear)

/* --- training --- */

void llama_opt_epoch(void *context, void *data, void *of_training, void *of_evaluation,
                     int64_t n_training, void (*on_training)(void), void (*on_evaluation)(void));
TT_EXPORT void llama_opt_epoch(void *context, void *data, void *of_training, void *of_evaluation,
                               int64_t n_training, void (*on_training)(void),
                               void (*on_evaluation)(void))
{
    static tt_real real_epoch = {.name = "llama_opt_epoch"};
    void (*real)(void *, void *, void *, void *, int64_t, void (*)(void), void (*)(void));
    *(void **)&real = tt_real_get(&real_epoch, TT_CALLER);
    tt_tokens_set_training(true);
    if (real)
        real(context, data, of_training, of_evaluation, n_training, on_training, on_evaluation);
    tt_tokens_set_training(false);
}

/* --- its end --- */

void llama_free(void *context);
TT_EXPORT void llama_free(void *context)
{
    static tt_real real_free = {.name = "llama_free"};
    void (*real)(void *);
    *(void **)&real = tt_real_get(&real_free, TT_CALLER);
    /* The address may be reused for another context, which is not in warm-up. */
    tt_tokens_set_warmup(context, false);
    if (real) real(context);
}
