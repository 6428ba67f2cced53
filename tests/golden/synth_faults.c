/* Part of synth_trace.c: page faults one by one. */

#define SYNTH_FAULTS 24u /* of a batch */

static uint32_t synth_fault_random(maker *k, uint32_t n)
{
    k->fault_random = k->fault_random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(k->fault_random >> 33) % n;
}

static void synth_put_mapping(maker *k, tt_meta_mapping r)
{
    r.ticks = FIRST_TICK;
    tt_meta_put_mapping(&k->scratch, &r);
    put_record(k, TT_META_MAPPING);
}

/* The model file, memory that grows, and a library. */
static void synth_begin_page_faults(maker *k)
{
    const tt_meta_pair pairs[] = {{span("capture_faults"), span("on")},
                                  {span("capture_page_faults"), span("on")},
                                  {span("page_bytes"), span("4096")}};
    tt_meta_put_pairs(&k->scratch, pairs, sizeof pairs / sizeof *pairs);
    put_record(k, TT_META_ENVIRONMENT);
    if (!k->plan->memory) synth_put_usage(k, 0, TT_AT_BEGIN);
    synth_put_mapping(k, (tt_meta_mapping){.id = 1,
                                           .address = MAP_BASE,
                                           .size_bytes = (k->file_size + 4095) / 4096 * 4096,
                                           .device = SYNTH_DEVICE,
                                           .inode = 77,
                                           .path = span("/models/synth.gguf")});
    for (uint64_t pages = 16; pages <= 64; pages *= 4)
        synth_put_mapping(k, (tt_meta_mapping){.id = 2,
                                               .address = MAP_BASE + (1ull << 32),
                                               .size_bytes = pages * 4096,
                                               .path = span("[heap]")});
    synth_put_mapping(k, (tt_meta_mapping){.id = 3,
                                           .address = MAP_BASE + (2ull << 32),
                                           .size_bytes = 1 << 20,
                                           .file_offset_bytes = 8192,
                                           .device = SYNTH_DEVICE + 1,
                                           .inode = 78,
                                           .path = span("/usr/lib/libggml.so")});
    k->fault_ticks = FIRST_TICK;
}

static tt_page_fault synth_page_fault(maker *k, uint64_t ticks)
{
    tt_page_fault f = {.ticks = ticks,
                       .thread = 100 + synth_fault_random(k, k->plan->lanes + 1),
                       .mapping = synth_fault_random(k, 4) & 3u,
                       .major = synth_fault_random(k, 5) == 0};
    const uint64_t sizes[] = {1ull << 40, k->file_size, 64 * 4096, 1 << 20};
    f.address = MAP_BASE + (f.mapping == 1 ? 0 : (f.mapping - 1ull) << 32);
    if (f.mapping == 0) f.address = 4096;
    f.address += synth_fault_random(k, (uint32_t)(sizes[f.mapping] - 1));
    return f;
}

/* Those since the record before, in two records; of the third batch some were lost. */
static void synth_put_page_faults(maker *k, uint32_t batch)
{
    tt_page_fault faults[SYNTH_FAULTS];
    const uint64_t begin = k->fault_ticks, length = k->tick - begin;
    uint64_t middle = 0;
    for (uint32_t i = 0; i < SYNTH_FAULTS; i++)
        faults[i] = synth_page_fault(k, begin + length * i / SYNTH_FAULTS);
    middle = faults[SYNTH_FAULTS / 2].ticks;
    tt_page_faults_put(&k->scratch, begin, middle, faults, SYNTH_FAULTS / 2);
    put_record(k, TT_META_PAGE_FAULTS);
    if (batch == 3) {
        const tt_meta_page_fault_loss lost = {middle - length / 8, middle, 7};
        tt_meta_put_page_fault_loss(&k->scratch, &lost);
        put_record(k, TT_META_PAGE_FAULT_LOSS);
        k->faults_lost += lost.lost;
    }
    tt_page_faults_put(&k->scratch, middle, k->tick, faults + SYNTH_FAULTS / 2, SYNTH_FAULTS / 2);
    put_record(k, TT_META_PAGE_FAULTS);
    k->faults += SYNTH_FAULTS;
    k->fault_ticks = k->tick;
}
