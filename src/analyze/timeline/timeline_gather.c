/* Pictures made of the overview. */
#include "analyze/timeline/timeline_parts.h"

#include <math.h>
#include <string.h>

typedef struct gathering {
    tt_tile *tile;
    tt_tile_merged at;
    bool any;
    double kind_ns[TT_TIMELINE_KINDS_MAX + 1];
} gathering;

static bool gathered(gathering *g)
{
    uint8_t best = 0;
    if (!g->any) return true;
    for (uint32_t i = 0; i <= TT_TIMELINE_KINDS_MAX; i++)
        if (g->kind_ns[i] > g->kind_ns[best]) best = (uint8_t)i;
    g->at.kind = best;
    g->any = false;
    memset(g->kind_ns, 0, sizeof g->kind_ns);
    return tt_tile_add_merged(g->tile, g->at);
}

static bool gather_track(const tt_timeline *t, tt_tile *tile, uint32_t track)
{
    const tt_overview *o = t->overview;
    const tt_strip *s = &o->strips[track];
    const double width = (tile->to_ns - tile->from_ns) / tile->n_buckets,
                 begin = ceil((tile->from_ns - o->origin_ns) / o->bucket_ns);
    gathering g = {.tile = tile};
    for (double at = begin > 0 ? begin : 0; at < o->n_buckets; at++) {
        const double ns = o->origin_ns + at * o->bucket_ns;
        const tt_strip_cell *c = &s->cells[(uint32_t)at];
        if (ns >= tile->to_ns) break;
        if (c->count == 0 && c->busy == 0 && c->wait == 0) continue;
        uint32_t bucket = (uint32_t)((ns - tile->from_ns) / width);
        if (bucket >= tile->n_buckets) break; /* rounding */
        if (g.any && bucket != g.at.bucket && !gathered(&g)) return false;
        if (!g.any) g.at = (tt_tile_merged){.bucket = bucket, .track = (uint16_t)track};
        g.any = true;
        g.at.count += c->count;
        g.at.busy_ns += (double)c->busy * t->ns_per_tick;
        g.at.wait_ns += t->waits_known ? (double)c->wait * t->ns_per_tick : NAN;
        g.kind_ns[c->kind] += (double)c->busy + 1;
        for (uint32_t k = 0; k < TT_TIMELINE_CATEGORIES; k++)
            g.at.category_ns[k] += c->category[k] * (float)t->ns_per_tick;
    }
    return gathered(&g);
}

tt_status tt_tile_of_overview(const tt_timeline *t, const tt_tile_query *q, tt_tile *tile,
                              tt_error *err)
{
    tt_overview *o = t->overview;
    const uint32_t n_tracks = tt_timeline_tracks(t, NULL);
    bool ok = true;
    /* Where records are too many, buckets get as wide as the overview's. */
    if ((tile->to_ns - tile->from_ns) / tile->n_buckets < o->bucket_ns) {
        tile->from_ns = floor(tile->from_ns / o->bucket_ns) * o->bucket_ns;
        double n = ceil((tile->to_ns - tile->from_ns) / o->bucket_ns);
        tile->n_buckets = n < 1 ? 1 : (uint32_t)fmin(n, TT_TILE_BUCKETS_MAX);
        tile->to_ns = tile->from_ns + tile->n_buckets * o->bucket_ns;
    }
    tile->from_overview = true;
    (void)pthread_mutex_lock(&o->lock);
    for (uint32_t i = 0; i < n_tracks && ok; i++)
        if ((!q->tracks || q->tracks[i])) ok = gather_track(t, tile, i);
    if (o->next < t->n_spans) tile->until_ns = tt_timeline_ns(t, t->spans[o->next].begin);
    tile->stray = o->stray;
    (void)pthread_mutex_unlock(&o->lock);
    return ok ? TT_OK : tt_error_memory(err, "a picture of the timeline");
}
