#include "analyze/memory/memory_layout.h"

#include "analyze/ranges.h"
#include "analyze/residency.h"

#include <stdlib.h>
#include <string.h>

/* The records of a file's sample are [first, end) of tt_model.residencies. */
typedef struct sample {
    uint32_t first, end;
} sample;

static bool is_before(const tt_model *m, const tt_residency *r, const tt_memory_moment *moment)
{
    if (moment->has_ns && tt_model_ns(m, r->begin_ticks) > moment->ns) return false;
    if (!moment->has_batch) return true;
    if (r->batch != TT_NONE) return tt_model_batch_number(m, r->batch) <= moment->token;
    return r->moment != TT_AT_END;
}

/* As samples are told apart by tt_residency_walk. */
static bool goes_on(const tt_residency *r, const tt_residency *before)
{
    return r->file == before->file && r->batch == before->batch && r->moment == before->moment &&
           r->first_page > before->first_page;
}

static void find_samples(const tt_model *m, const tt_memory_moment *moment, sample *of_file)
{
    for (uint32_t i = 0; i < m->n_residencies; i++) {
        const tt_residency *r = &m->residencies[i];
        if (r->file >= m->n_files || !is_before(m, r, moment)) continue;
        sample *s = &of_file[r->file];
        if (s->end == i && i > 0 && goes_on(r, r - 1))
            s->end = i + 1;
        else
            *s = (sample){i, i + 1};
    }
}

static void measure_unit(tt_unit_residency *u, const tt_ranges *observed, const tt_ranges *present,
                         uint64_t begin, uint64_t end, uint64_t offset)
{
    if (__builtin_add_overflow(begin, offset, &begin) || __builtin_add_overflow(end, offset, &end))
        return;
    u->observed_bytes = tt_ranges_within(observed, begin, end);
    u->resident_bytes = tt_ranges_within(present, begin, end);
}

static void measure_segment(const tt_memory_layout *s, const tt_memory_segment *of,
                            const tt_ranges *observed, const tt_ranges *present,
                            tt_unit_residency *units)
{
    const uint64_t offset = of->is_file ? 0 : of->mapped_offset_bytes;
    for (uint32_t i = of->first_region; i < of->first_region + of->n_regions; i++) {
        const tt_region *r = &s->regions[i];
        measure_unit(&units[i], observed, present, r->begin, r->end, offset);
        for (uint32_t k = 0; k < r->n_slices; k++) {
            uint64_t begin, end;
            tt_region_slice(r, k, &begin, &end);
            measure_unit(&units[r->first_slice + k], observed, present, begin, end, offset);
        }
    }
}

/* False without memory. */
static bool measure_file(const tt_model *m, const tt_memory_layout *s, uint32_t file,
                         const sample *from, tt_unit_residency *units)
{
    tt_ranges observed = {0}, present = {0};
    for (uint32_t i = from->first; i < from->end; i++)
        tt_residency_add(&m->residencies[i], m->files[file].size_bytes, &observed, &present);
    tt_ranges_merge(&observed);
    tt_ranges_merge(&present);
    const bool ok = !observed.failed && !present.failed;
    for (uint32_t i = 0; ok && i < s->n_segments; i++) {
        const tt_memory_segment *of = &s->segments[i];
        if (of->is_file ? of->index == file : of->mapped_file == file)
            measure_segment(s, of, &observed, &present, units);
    }
    tt_ranges_free(&observed);
    tt_ranges_free(&present);
    return ok;
}

tt_status tt_memory_residency_find(const tt_model *m, const tt_memory_layout *s,
                                   const tt_memory_moment *moment, tt_memory_residency *out,
                                   tt_error *err)
{
    sample *of_file = calloc((size_t)m->n_files + 1, sizeof *of_file);
    memset(out, 0, sizeof *out);
    out->units = calloc((size_t)s->n_units + 1, sizeof *out->units);
    out->samples = calloc((size_t)m->n_files + 1, sizeof *out->samples);
    bool ok = of_file && out->units && out->samples;
    if (ok) find_samples(m, moment, of_file);
    for (uint32_t i = 0; ok && i < m->n_files; i++) {
        out->samples[i] = of_file[i].end ? of_file[i].first : TT_NONE;
        if (of_file[i].end && i < TT_MEMORY_SEGMENTS_MAX)
            ok = measure_file(m, s, i, &of_file[i], out->units);
    }
    free(of_file);
    if (ok) return TT_OK;
    return tt_error_memory(err, "the pages in RAM");
}

void tt_memory_residency_free(tt_memory_residency *r)
{
    free(r->units);
    free(r->samples);
    memset(r, 0, sizeof *r);
}
