/* How large a dataset will be: each token has the text of its graphs again, so that a small trace
 * may fill a disk. */
#include "analyze/topology.h"
#include "base/units.h"
#include "export/dataset/parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* What they have at least, names aside, as measured: rather too little, as a dataset that might fit
 * is not refused. */
#define NODE_BYTES 125.0
#define EDGE_BYTES 55.0
#define ENTRY_BYTES 400.0
#define LANE_BYTES 80.0

#define NOTED_BYTES ((double)((uint64_t)1 << 30))

static double graph_bytes(const tt_graph *g)
{
    tt_edge edges[TT_EDGES_MAX];
    double sum = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tt_tensor *t = &g->tensors[i];
        size_t texts = strlen(t->name) + strlen(t->op_name) + strlen(t->place.category);
        sum += NODE_BYTES + (double)texts + EDGE_BYTES * tt_topology_edges(g, i, edges);
    }
    return sum;
}

/* Of a run's records it is not known beforehand how many there are, only of all runs. */
static double traces_bytes(const tt_model *m, uint64_t runs_written)
{
    uint32_t threads = 1;
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (m->runs[i].threads > threads) threads = m->runs[i].threads;
    double records = (double)tt_pieces_records(m->pieces);
    if (m->n_runs) records *= (double)runs_written / m->n_runs;
    return records * (LANE_BYTES + ENTRY_BYTES / threads);
}

bool tt_dataset_estimate(const tt_dataset *d, double *bytes)
{
    const tt_model *m = d->m;
    double *graphs = malloc(((size_t)m->n_graphs + 1) * sizeof *graphs);
    uint64_t runs = 0;
    *bytes = 0;
    if (!graphs) return false;
    for (uint32_t i = 0; i < m->n_graphs; i++)
        graphs[i] = graph_bytes(&m->graphs[i]);
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        if (r->batch == TT_NONE || r->graph == TT_NONE) continue;
        *bytes += graphs[r->graph];
        runs++;
    }
    free(graphs);
    *bytes += traces_bytes(m, runs);
    return true;
}

static const char *say(char text[TT_UNITS_TEXT], double bytes)
{
    return tt_units_bytes(text, bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX);
}

tt_status tt_dataset_check_room(const tt_dataset *d, tt_error *err)
{
    char size[TT_UNITS_TEXT], left[TT_UNITS_TEXT];
    struct statvfs fs;
    double bytes;
    if (!tt_dataset_estimate(d, &bytes))
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the dataset");
    bool packed = d->options->compress != TT_COMPRESS_NONE;
    /* How well it will be compressed is not known; of some file systems, how much is free. */
    if (!packed && statvfs(d->folder.temporary, &fs) == 0 && fs.f_blocks > 0) {
        double there = (double)fs.f_bavail * (double)fs.f_frsize;
        if (bytes > there)
            return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                                "%s: the dataset will take %s or more, and %s are free there; "
                                "name another place, or compress it (zstd)",
                                d->folder.path, say(size, bytes), say(left, there));
    }
    if (bytes > NOTED_BYTES)
        tt_dataset_note(d, "the dataset will take about %s%s", say(size, bytes),
                        packed ? " before it is compressed" : "; compressed (zstd) far less");
    return TT_OK;
}
