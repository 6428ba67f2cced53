/* The part of synth_trace.c (which includes it) that a plan with `memory` adds: what the traced
 * program did to memory, made up so that totals and parts fit together. */

#define SYNTH_PAGE_BYTES 4096u
#define SYNTH_DEVICE 2049u
#define SYNTH_VOCABULARY 1u
#define SYNTH_I32 26u
#define SYNTH_I64 27u
#define SYNTH_USAGE_FLAGS 8u       /* combinations of TT_USAGE_* */
#define SYNTH_INCOMPLETE_EVERY 97u /* slots */
#define SYNTH_DETAILS_DROPPED 3u   /* before the first detail of ring 0 */

static uint32_t synth_memory_below(maker *k, uint32_t n)
{
    k->memory_random = k->memory_random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(k->memory_random >> 33) % n;
}

static void synth_put_capture_environment(maker *k)
{
    const tt_meta_pair pairs[] = {
        {span("capture_text"), span("on")},
        {span("capture_experts"), span("on")},
        {span("capture_faults"), span(k->plan->no_faults ? "off" : "on")},
        {span("capture_residency"), span(k->plan->no_usage ? "off" : "on")},
        {span("capture_io"), span("not observed: permission denied")},
        {span("capture_io"), span("on")}};
    tt_meta_put_pairs(&k->scratch, pairs, sizeof pairs / sizeof *pairs);
    put_record(k, TT_META_ENVIRONMENT);
}

/* Seen at its first use, in memory of which nothing could be told. */
static void synth_put_strange_buffer(maker *k)
{
    tt_meta_buffer b = {.id = 5,
                        .ticks = FIRST_TICK,
                        .name = string_id(k, "CPU"),
                        .flags = TT_BUFFER_HOST | TT_BUFFER_PLACE_UNKNOWN,
                        .base = MAP_BASE - (1ull << 32),
                        .size_bytes = 1 << 16,
                        .allocator = string_id(k, "libggml-base.so")};
    tt_meta_put_buffer(&k->scratch, &b);
    put_record(k, TT_META_BUFFER);
}

/* Of the prompt's graph the last two nodes were not observed. */
static void synth_put_backends(maker *k, uint32_t graph)
{
    uint32_t cpu = string_id(k, "CPU"), blas = string_id(k, "BLAS");
    tt_bytes_varint(&k->scratch, graph == 1 ? 2 : 1);
    tt_bytes_varint(&k->scratch, cpu);
    tt_bytes_varint(&k->scratch, graph == 1 ? k->n_nodes - 5 : k->n_nodes);
    if (graph != 1) return;
    tt_bytes_varint(&k->scratch, blas);
    tt_bytes_varint(&k->scratch, 3);
}

/* Some tokens are the first part of a character, some hold a NUL. */
static void synth_put_token_texts(maker *k, const int32_t *tokens, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char text[32];
        uint32_t token = (uint32_t)tokens[i] % k->plan->vocab;
        if (k->has_text[token]) continue;
        k->has_text[token] = true;
        int length = snprintf(text, sizeof text, token % 5 ? " t%u" : "\xe2\x96", token);
        if (token % 5 == 1) text[1] = '\0';
        tt_meta_put_token_text(
            &k->scratch, &(tt_meta_token_text){SYNTH_VOCABULARY, tokens[i],
                                               (tt_span){(const uint8_t *)text, (size_t)length}});
        put_record(k, TT_META_TOKEN_TEXT);
    }
}

/* The row numbers that the leaf `name` holds in a run. */
static void synth_put_indices(maker *k, uint32_t run, const char *name, const int32_t *values,
                              uint32_t n)
{
    uint32_t id = string_id(k, name), tensor = k->n_nodes;
    while (tensor < k->n_tensors && k->tensors[tensor].name != id)
        tensor++;
    tt_meta_indices x = {run, tensor, n};
    tt_meta_put_indices(&k->scratch, &x);
    for (uint32_t i = 0; i < n; i++)
        tt_bytes_zigzag(&k->scratch, (int64_t)values[i] - (i ? values[i - 1] : 0));
    put_record(k, TT_META_INDICES);
}

static void synth_put_usage(maker *k, uint32_t batch, enum tt_moment moment)
{
    if (k->plan->no_usage) return;
    tt_meta_usage u = {
        .batch = batch,
        .moment = (uint8_t)moment,
        .ticks = k->tick,
        .flags = (uint8_t)(SYNTH_USAGE_FLAGS - 1 - batch % SYNTH_USAGE_FLAGS),
        .minor = 5000 + k->minor,
        .major = 7 + k->major,
        .user_ns = 90000000 + k->cpu_ns,
        .system_ns = 40000000 + 2000 * (k->minor + k->major),
        .read_bytes = 8192 + k->read_bytes,
        .rchar = 123456 + k->read_bytes / 2,
        .n_devices = 2,
        .devices = {{SYNTH_DEVICE, (1ull << 40) + 2 * k->read_bytes, 5000000 + k->major},
                    {64768, 77 << 20, 4444}}};
    /* The program itself does a little beside the ops. */
    k->minor += 3;
    k->cpu_ns += 1500;
    tt_meta_put_usage(&k->scratch, &u);
    put_record(k, TT_META_USAGE);
}

/* Nothing at first, then more and more. */
static bool synth_is_present(const maker *k, uint64_t page)
{
    /* Some go again, and come back. */
    if (k->plan->loading && page % 9 == 1 && k->residencies >= 3 && k->residencies < 7)
        return false;
    return page % 16 < 3ull * k->residencies || (page * 7 + 3) % 11 < k->residencies;
}

static void synth_put_pages(maker *k, tt_meta_residency r)
{
    tt_bytes lengths;
    uint64_t length = 0;
    bool present = false;
    tt_bytes_init(&lengths, 1 << 20);
    for (uint64_t page = r.first_page; page < r.first_page + r.n_pages; page++) {
        if (synth_is_present(k, page) != present) {
            tt_bytes_varint(&lengths, length);
            r.n_intervals++;
            length = 0;
            present = !present;
        }
        length++;
    }
    tt_bytes_varint(&lengths, length);
    r.n_intervals++;
    tt_meta_put_residency(&k->scratch, &r);
    tt_bytes_put(&k->scratch, lengths.data, lengths.size);
    k->scratch.failed |= lengths.failed;
    put_record(k, TT_META_RESIDENCY);
    tt_bytes_free(&lengths);
}

/* A record's bytes are limited; a page that is there beside one that is not takes one. */
#define PAGES_OF_RECORD (1u << 18)

/* In two records of half the file each; a large file in more. */
static void synth_put_residency(maker *k, uint32_t batch, enum tt_moment moment)
{
    if (k->plan->no_usage) return;
    const uint64_t pages = (k->file_size + SYNTH_PAGE_BYTES - 1) / SYNTH_PAGE_BYTES;
    const uint64_t least = pages / PAGES_OF_RECORD + 1, n = least > 2 ? least : 2;
    tt_meta_residency r = {.model = 1,
                           .batch = batch,
                           .moment = (uint8_t)moment,
                           .begin_ticks = k->tick,
                           .end_ticks = k->tick + 40,
                           .page_bytes = SYNTH_PAGE_BYTES};
    k->tick += 50;
    for (uint64_t i = 0; i < n; i++) {
        r.first_page = pages * i / n;
        r.n_pages = pages * (i + 1) / n - r.first_page;
        synth_put_pages(k, r);
    }
    k->residencies++;
}

/* A step of 1,000 ticks; what it read is all that was read so far. */
static void synth_put_load_step(maker *k, tt_meta_load_step s)
{
    s.begin_ticks = k->tick;
    k->tick += 1000;
    s.end_ticks = k->tick;
    s.flags = TT_USAGE_FAULTS | TT_USAGE_IO;
    s.minor = 4000 + k->minor;
    s.major = 5 + k->major;
    s.read_bytes = 4096 + k->read_bytes;
    s.rchar = 65536 + k->read_bytes / 2;
    k->minor += s.call_minor;
    k->major += s.call_major;
    k->read_bytes += s.call_read_bytes;
    tt_meta_put_load_step(&k->scratch, &s);
    put_record(k, TT_META_LOAD_STEP);
}

static void synth_put_loading(maker *k)
{
    const tt_meta_load_step advised = {
        .model = 1, .kind = TT_LOAD_FILE_ADVICE, .what = TT_ADVICE_SEQUENTIAL};
    const tt_meta_load_step mapped = {.model = 1,
                                      .kind = TT_LOAD_MAP,
                                      .size_bytes = k->file_size,
                                      .what = TT_MAP_POPULATE | TT_MAP_SHARED,
                                      .call_minor = 40,
                                      .call_major = 2,
                                      .call_read_bytes = 81920};
    const tt_meta_load_step will_need = {.model = 1,
                                         .kind = TT_LOAD_MAP_ADVICE,
                                         .size_bytes = k->file_size,
                                         .what = TT_ADVICE_WILL_NEED,
                                         .error = 22};
    synth_put_load_step(k, advised);
    synth_put_residency(k, 0, TT_AT_MAP_BEGIN);
    synth_put_load_step(k, mapped);
    synth_put_residency(k, 0, TT_AT_MAP_END);
    synth_put_load_step(k, will_need);
}

/* Two reads that ended since the last one: of a weight, long requested and awaited; and of the next
 * bytes, thrown away or failed in turn. */
static void synth_put_pool(maker *k, uint32_t run)
{
    const tt_meta_pool p = {.ticks = k->tick,
                            .run = run,
                            .budget_bytes = 1 << 20,
                            .present_bytes = (1 << 19) + run,
                            .peak_bytes = (1 << 19) + 100,
                            .used = 20 * run,
                            .missed = 7 * run,
                            .left = run / 2,
                            .evictions = 6 * run,
                            .waited_ns = 1000000 * run,
                            .lost = run % 3 == 2,
                            .n = 2};
    const uint64_t at = 4096 * ((uint64_t)run % (k->file_size / 8192));
    const tt_meta_pool_read reads[] = {
        {1, at, 4096, -5000, 700, 2300, TT_READ_AHEAD, 0, 2, 101, 1800},
        {1, at + 4096, 4096, -900, 0, 300, (uint8_t)(run % TT_READ_CAUSES),
         run % 2 ? TT_READ_DISCARDED : TT_READ_FAILED, 0, 0, 0}};
    tt_meta_put_pool(&k->scratch, &p);
    for (uint32_t i = 0; i < p.n; i++)
        tt_meta_put_pool_read(&k->scratch, &reads[i]);
    put_record(k, TT_META_POOL);
}

static void synth_put_first_batch(maker *k)
{
    synth_put_load_step(k, (tt_meta_load_step){.kind = TT_LOAD_FIRST_BATCH});
    synth_put_residency(k, 0, TT_AT_FIRST_BATCH);
}

/* Of the first MODEL: two pieces that follow each other on the disk with a hole in between, one
 * before them, one whose place is not known. Memory and limits, and the disk. */
static void synth_put_extents(maker *k)
{
    static const tt_meta_fragment list[] = {{0, 4096, 1 << 20, 0},
                                            {8192, 4096, 0, 0},
                                            {0, 12288, -1000000, 16},
                                            {0, 100, -((int64_t)1 << 40), 1}};
    const uint32_t n = sizeof list / sizeof *list;
    const tt_meta_extents e = {.model = 1,
                               .ticks = k->tick,
                               .state = TT_EXTENTS_CUT,
                               .walked_bytes = 28772,
                               .n_extents = 9,
                               .n_fragments = n,
                               .n_backward = 1,
                               .mapped_bytes = 20580,
                               .largest_bytes = 12288,
                               .flags = 17,
                               .n_listed = n};
    const tt_meta_pair pairs[] = {{span("memory_total_bytes"), span("68719476736")},
                                  {span("memory_available_bytes"), span("60000000000")},
                                  {span("cgroup_memory_max_bytes"), span("17179869184")},
                                  {span("cgroup_memory_high_bytes"), span("unlimited")},
                                  {span("memlock_limit_bytes"), span("8388608")},
                                  {span("swappiness"), span("60")},
                                  {span("device_8:1_file_system"), span("ext4")},
                                  {span("device_8:1_disk"), span("nvme0n1")},
                                  {span("device_8:1_disk_model"), span("Fast One")},
                                  {span("device_8:1_is_rotational"), span("0")},
                                  {span("device_8:1_read_ahead_bytes"), span("131072")}};
    tt_meta_put_extents(&k->scratch, &e);
    for (uint32_t i = 0; i < n; i++)
        tt_meta_put_fragment(&k->scratch, &list[i]);
    put_record(k, TT_META_EXTENTS);
    tt_meta_put_pairs(&k->scratch, pairs, sizeof pairs / sizeof *pairs);
    put_record(k, TT_META_ENVIRONMENT);
}

static void synth_put_model_check(maker *k)
{
    tt_meta_model_check c = {1, k->tick, TT_MODEL_SAME};
    tt_meta_put_model_check(&k->scratch, &c);
    put_record(k, TT_META_MODEL_CHECK);
}

/* --- details --- */

static void synth_put_detail(maker *k, uint32_t ring, tt_detail d)
{
    synth_ring *to = &k->rings[ring];
    if (k->plan->stream) {
        k->plan->stream->detail(k->plan->stream->context, ring, &d);
        return;
    }
    if (to->n_details + 1 >= to->detail_capacity) {
        to->detail_capacity = to->detail_capacity ? to->detail_capacity * 2 : 1024;
        to->details = reallocarray(to->details, to->detail_capacity, sizeof *to->details);
        if (!to->details) abort();
    }
    to->details[to->n_details++] = d;
    k->details++;
    if (k->details % SYNTH_INCOMPLETE_EVERY != 0) return;
    to->details[to->n_details++] = (tt_detail){.place = tt_detail_place(0, 0, TT_DETAIL_NONE)};
    k->details++;
}

static void synth_put_faults(maker *k, uint32_t run, uint32_t node, uint32_t lane, uint64_t ns)
{
    tt_detail d = {.run = run, .place = tt_detail_place(node, lane, TT_DETAIL_FAULTS)};
    d.faults.minor = synth_memory_below(k, 4);
    d.faults.major = synth_memory_below(k, 6) == 0 ? 1 + synth_memory_below(k, 3) : 0;
    d.faults.cpu_ns = ns - synth_memory_below(k, (uint32_t)ns / 2);
    d.faults.read_bytes = (uint64_t)d.faults.major * 32 * SYNTH_PAGE_BYTES;
    k->minor += d.faults.minor;
    k->major += d.faults.major;
    k->cpu_ns += d.faults.cpu_ns;
    k->read_bytes += d.faults.read_bytes;
    if (lane == 1) d.faults.read_bytes = UINT64_MAX; /* not observed */
    synth_put_detail(k, lane, d);
}

/* What the router chose for one token: each expert once, with falling weights that add up to one.
 */
static void synth_put_choice(maker *k, uint32_t run, uint32_t node, uint32_t lane, uint32_t token)
{
    const uint32_t used = k->plan->experts_used, n = k->plan->experts;
    uint32_t first = synth_memory_below(k, n);
    for (uint32_t rank = 0; rank < used; rank += TT_DETAIL_EXPERTS_MAX) {
        tt_detail d = {.run = run, .place = tt_detail_place(node, lane, TT_DETAIL_EXPERTS)};
        d.experts.token = token;
        d.experts.first_rank = (uint16_t)rank;
        for (uint32_t i = rank; i < used && i < rank + TT_DETAIL_EXPERTS_MAX; i++)
            d.experts.expert[d.experts.n++] = (uint16_t)((first + i) % n);
        synth_put_detail(k, lane, d);
    }
    for (uint32_t rank = 0; rank < used; rank += TT_DETAIL_WEIGHTS_MAX) {
        tt_detail d = {.run = run, .place = tt_detail_place(node, lane, TT_DETAIL_WEIGHTS_F32)};
        d.weights.token = token;
        d.weights.first_rank = (uint16_t)rank;
        for (uint32_t i = rank; i < used && i < rank + TT_DETAIL_WEIGHTS_MAX; i++)
            d.weights.weight[d.weights.n++] = (float)(used - i) / (float)(used * (used + 1) / 2);
        synth_put_detail(k, lane, d);
    }
}

/* Of one op on all its lanes; the choices belong to the first op that uses them. */
static void synth_put_details(maker *k, uint32_t run, uint32_t node, const uint64_t *busy_ticks)
{
    const tt_meta_tensor *t = &k->tensors[node];
    for (uint32_t lane = 0; lane < k->plan->lanes && !k->plan->no_faults; lane++)
        synth_put_faults(k, run, node, lane, busy_ticks[lane] / SYNTH_TICKS_PER_NS);
    if (strncmp(k->strings[t->name], "ffn_moe_up", 10) != 0) return;
    for (uint32_t token = 0; token < t->ne[1]; token++)
        synth_put_choice(k, run, node, token % k->plan->lanes, token);
}

static void synth_put_detail_chunk(maker *k, uint32_t ring, const tt_detail *details, size_t n)
{
    tt_bytes raw;
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    (void)tt_detail_encode(&raw, details, n);
    tt_index_entry e = {.run_min = UINT64_MAX};
    for (size_t i = 0; i < n; i++) {
        if (tt_detail_kind_of(&details[i]) == TT_DETAIL_NONE) continue;
        if (details[i].run < e.run_min) e.run_min = details[i].run;
        if (details[i].run > e.run_max) e.run_max = details[i].run;
    }
    if (e.run_min > e.run_max) e.run_min = e.run_max; /* of no run */
    tt_chunk_header h = {.type = TT_CHUNK_DETAIL,
                         .stream = ring + 1,
                         .count = (uint32_t)n,
                         .position = k->detail_position[ring]};
    put_chunk(k, h, &raw, e);
    k->detail_position[ring] += n;
    tt_bytes_free(&raw);
}

static void synth_flush_details(maker *k, uint32_t ring, bool all)
{
    synth_ring *r = &k->rings[ring];
    size_t done = 0;
    while (r->n_details - done >= k->plan->chunk_records || (all && r->n_details > done)) {
        size_t n = r->n_details - done;
        if (n > k->plan->chunk_records) n = k->plan->chunk_records;
        synth_put_detail_chunk(k, ring, r->details + done, n);
        done += n;
    }
    if (done) memmove(r->details, r->details + done, (r->n_details - done) * sizeof *r->details);
    r->n_details -= done;
}

static void synth_put_detail_loss(maker *k)
{
    tt_meta_put_loss(&k->scratch, &(tt_meta_loss){0, 0, SYNTH_DETAILS_DROPPED});
    put_record(k, TT_META_DETAIL_LOSS);
}
