/* Hooks on the other functions that use a context: reading outputs, and removing, copying and
 * moving sequences in the engine's memory. The phases of later tokens depend on both.
 *
 * The memory functions were llama_kv_cache_*, then llama_kv_self_* of a context; since 2025 they
 * are llama_memory_* of its memory. In some engines the older ones call the newer ones, through
 * the hooks or not; a change that would count twice is counted once. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/batches.h"
#include "adapter/ggml/contexts.h"
#include "adapter/ggml/owner.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/tokens.h"
#include "base/checksum.h"
#include "base/clock.h"

static void leave(void)
{
    (void)pthread_mutex_unlock(&tt_process_lock);
}

/* The context of the handle, which is a context or a memory; NULL if unknown. If found,
 * tt_process_lock is held until `leave` is called. */
static tt_context *enter(const void *handle)
{
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_context *c = tt_contexts_find(handle);
    if (!c) (void)pthread_mutex_unlock(&tt_process_lock);
    return c;
}

/* --- outputs are read --- */

enum { WAITS, GETS_EMBEDDINGS, CHOOSES };

static void read_outputs(const void *context, int what)
{
    tt_context *c = enter(context);
    if (!c) return;
    tt_phases *p = &c->phases;
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

/* In some engines one of these functions calls another one: only the outermost counts, whose frame
 * this is. One at or below a new frame was left by an exception: the stack grows down. */
static __thread const void *changing __attribute__((tls_model("initial-exec")));

static bool begin_change(const void *frame)
{
    if (changing && (uintptr_t)changing > (uintptr_t)frame) return false;
    changing = frame;
    return true;
}

static void apply(tt_phases *p, const tt_meta_sequences *r)
{
    switch (r->kind) {
    case TT_SEQUENCES_REMOVED:
        tt_phases_remove(p, r->sequence, r->from, r->to);
        tt_batches_tell_fates(p);
        break;
    case TT_SEQUENCES_COPIED:
        tt_phases_copy(p, r->source, r->sequence, r->from, r->to);
        break;
    case TT_SEQUENCES_KEPT:
        tt_phases_keep(p, r->sequence);
        break;
    case TT_SEQUENCES_MOVED:
        tt_phases_add(p, r->sequence, r->from, r->to, r->by);
        break;
    case TT_SEQUENCES_DIVIDED:
        tt_phases_divide(p, r->sequence, r->from, r->to, r->by);
        break;
    case TT_SEQUENCES_RESTORED:
        if (r->flags & TT_SEQUENCES_HELD) tt_phases_restore(p, r->sequence, r->held_last);
        break;
    default:
        break;
    }
}

static void record(const tt_context *c, tt_meta_sequences *r)
{
    tt_recorder *to = tt_owner_is_self() ? tt_process_recorder_if_open() : NULL;
    tt_bytes payload;
    if (!to || !tt_batches_go_on(to)) return;
    r->context = c->id;
    r->ticks = tt_ticks();
    tt_bytes_init(&payload, 128);
    tt_meta_put_sequences(&payload, r);
    (void)tt_process_put(to, TT_META_SEQUENCES, &payload);
}

/* Of the outermost function, when it has returned. */
static void end_change(bool is_outermost, const void *handle, tt_meta_sequences *r)
{
    if (!is_outermost) return;
    changing = NULL;
    tt_context *c = enter(handle);
    if (!c) return;
    if (!(r->flags & TT_SEQUENCES_REFUSED)) apply(&c->phases, r);
    record(c, r);
    leave();
}

/* Asks the engine which positions it holds of a sequence, which must be one of the memory's: engines
 * stop the program for others. */
static void ask_held(const void *memory, const void *caller, tt_meta_sequences *r)
{
    static tt_real real_min = {.name = "llama_memory_seq_pos_min"},
                   real_max = {.name = "llama_memory_seq_pos_max"};
    int32_t (*first)(const void *, int32_t), (*last)(const void *, int32_t);
    *(void **)&first = tt_real_get(&real_min, caller);
    *(void **)&last = tt_real_get(&real_max, caller);
    if (!memory || !first || !last) return;
    r->held_first = first(memory, r->sequence);
    r->held_last = last(memory, r->sequence);
    r->flags |= TT_SEQUENCES_HELD;
}

static void ask_before(const void *memory, const void *caller, tt_meta_sequences *r)
{
    const tt_context *c = enter(memory);
    if (!c) return;
    const bool is_valid = tt_phases_has(&c->phases, r->sequence);
    leave();
    if (is_valid) ask_held(memory, caller, r);
}

/* asks: the handle is a memory, which can say what it holds. */
#define REMOVE(function, asks)                                                                     \
    bool function(void *handle, int32_t sequence, int32_t from, int32_t to);                       \
    TT_EXPORT bool function(void *handle, int32_t sequence, int32_t from, int32_t to)              \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        bool (*real)(void *, int32_t, int32_t, int32_t);                                           \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        tt_meta_sequences r = {.sequence = sequence, .from = from, .to = to};                      \
        const bool is_outermost = begin_change(__builtin_frame_address(0));                        \
        if (is_outermost && (asks)) ask_before(handle, TT_CALLER, &r);                             \
        const bool done = real && real(handle, sequence, from, to);                                \
        if (!done) r.flags |= TT_SEQUENCES_REFUSED;                                                \
        end_change(is_outermost, handle, &r);                                                      \
        return done;                                                                               \
    }
#define CHANGE(function, parameters, arguments, ...)                                               \
    void function parameters;                                                                      \
    TT_EXPORT void function parameters                                                             \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        void(*real) parameters;                                                                    \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        const bool is_outermost = begin_change(__builtin_frame_address(0));                        \
        if (real) real arguments;                                                                  \
        tt_meta_sequences r = {__VA_ARGS__};                                                       \
        end_change(is_outermost, handle, &r);                                                      \
    }
#define MOVE(function, kind_)                                                                      \
    CHANGE(function, (void *handle, int32_t sequence, int32_t from, int32_t to, int32_t by),       \
           (handle, sequence, from, to, by), .kind = (kind_), .sequence = sequence, .from = from,  \
           .to = to, .by = by)
#define CLEARED .kind = TT_SEQUENCES_REMOVED, .sequence = -1, .from = -1, .to = -1
#define FAMILY(prefix, asks)                                                                       \
    REMOVE(prefix##_seq_rm, asks)                                                                  \
    CHANGE(prefix##_seq_cp,                                                                        \
           (void *handle, int32_t source, int32_t target, int32_t from, int32_t to),               \
           (handle, source, target, from, to), .kind = TT_SEQUENCES_COPIED, .sequence = target,    \
           .source = source, .from = from, .to = to)                                               \
    CHANGE(prefix##_seq_keep, (void *handle, int32_t sequence), (handle, sequence),                \
           .kind = TT_SEQUENCES_KEPT, .sequence = sequence)                                        \
    MOVE(prefix##_seq_add, TT_SEQUENCES_MOVED)                                                     \
    MOVE(prefix##_seq_div, TT_SEQUENCES_DIVIDED)

FAMILY(llama_memory, true)
FAMILY(llama_kv_self, false)
FAMILY(llama_kv_cache, false)
CHANGE(llama_memory_clear, (void *handle, bool data), (handle, data), CLEARED)
CHANGE(llama_kv_self_clear, (void *handle), (handle), CLEARED)
CHANGE(llama_kv_cache_clear, (void *handle), (handle), CLEARED)

/* --- saved states --- */

#define STATE_ENDS 4096u
#define STATE_PARTIAL 1u /* of the flags, the one with which the state is all in the buffer */

/* By its size, begin and end: these hold its positions, and values of its last layer. */
static uint64_t state_of(const uint8_t *state, size_t n, uint32_t flags)
{
    const size_t end = n < STATE_ENDS ? n : STATE_ENDS;
    if (!state || !n || flags & ~STATE_PARTIAL) return 0;
    return tt_hash_mix(tt_hash_mix(tt_checksum(state, end), tt_checksum(state + n - end, end)), n);
}

/* After the engine restored the state of a sequence, or (-1) of all. */
static void ask_restored(void *context, const void *caller, tt_meta_sequences *r)
{
    static tt_real real_memory = {.name = "llama_get_memory"};
    const void *(*memory)(const void *);
    if (r->sequence < 0) return;
    *(void **)&memory = tt_real_get(&real_memory, caller);
    if (memory) ask_held(memory(context), caller, r);
}

/* Older forms without a size pass the sequence in its place: fewer bytes than were copied. */
#define STATE(function, kind_, qualifier, parameters, arguments, flags_)                           \
    size_t function parameters;                                                                    \
    TT_EXPORT size_t function parameters                                                           \
    {                                                                                              \
        static tt_real real_function = {.name = #function};                                        \
        size_t(*real) parameters;                                                                  \
        *(void **)&real = tt_real_get(&real_function, TT_CALLER);                                  \
        const bool is_outermost = begin_change(__builtin_frame_address(0));                        \
        const size_t n = real ? real arguments : 0;                                                \
        tt_meta_sequences r = {.kind = (kind_), .sequence = sequence};                             \
        if (is_outermost && n && n <= size) {                                                      \
            r.state = state_of(state, n, (flags_));                                                \
            if ((kind_) == TT_SEQUENCES_RESTORED) ask_restored(handle, TT_CALLER, &r);             \
            end_change(true, handle, &r);                                                          \
        } else if (is_outermost)                                                                   \
            changing = NULL;                                                                   \
        return n;                                                                                  \
    }
#define STATES(name, kind, qualifier)                                                              \
    STATE(name, kind, qualifier,                                                                   \
          (void *handle, qualifier uint8_t *state, size_t size, int32_t sequence),                 \
          (handle, state, size, sequence), 0u)                                                     \
    STATE(name##_ext, kind, qualifier,                                                             \
          (void *handle, qualifier uint8_t *state, size_t size, int32_t sequence, uint32_t flags), \
          (handle, state, size, sequence, flags), flags)

STATES(llama_state_seq_get_data, TT_SEQUENCES_SAVED, )
STATES(llama_state_seq_set_data, TT_SEQUENCES_RESTORED, const)

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
