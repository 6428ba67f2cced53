/* Sparsity of the experts, and reads from disk. */
#include "report/sections.h"

#include "analyze/lacking.h"

#include <math.h>
#include <string.h>

#define LAYERS_SHOWN 24u
#define LAYERS_DRAWN 64u
#define EXPERTS_DRAWN 128u
#define TOKENS_DRAWN 2000u
#define RESIDENT_DRAWN 2000u
#define MIB 1048576.0

/* --- experts --- */

static void plot_experts(tt_page *p, const tt_router_layer *layers, size_t n)
{
    uint32_t experts = 0;
    size_t drawn = n < LAYERS_DRAWN ? n : LAYERS_DRAWN;
    for (size_t i = 0; i < drawn; i++)
        if (layers[i].n_experts > experts) experts = layers[i].n_experts;
    if (experts > EXPERTS_DRAWN) experts = EXPERTS_DRAWN;
    tt_plot *plot =
        tt_page_plot(p, "How often each expert was chosen, layer by layer", "expert", "layer");
    tt_series *s = tt_plot_series(plot, "", TT_SERIES_CELLS, 1, drawn * experts);
    if (!plot) return;
    for (size_t i = 0; i < drawn; i++) {
        uint32_t count;
        uint64_t most = 1;
        const tt_expert_use *uses = tt_router_uses(layers[i].router, &count);
        for (uint32_t k = 0; k < count; k++)
            if (uses[k].count > most) most = uses[k].count;
        const double y = tt_layer_on_axis(layers[i].layer_id, layers[n - 1].layer_id, i);
        plot->y_max = fmax(plot->y_max, y + 0.6);
        for (uint32_t k = 0; k < count && k < experts; k++)
            tt_series_add(s, k, y, (double)uses[k].count / (double)most, 0);
    }
    plot->has_x = plot->has_y = plot->x_integers = plot->y_integers = true;
    plot->x_min = plot->y_min = -0.6;
    plot->x_max = experts - 0.4;
    plot->height = 90 + (drawn < 8 ? 28 : drawn < 20 ? 20 : 12) * (unsigned)drawn;
    tt_plot_describe(plot, "A cell for each expert of each layer: the darker (in dark colours: the "
                           "brighter), the more often it was chosen, relative to the layer's "
                           "favourite. The table has each layer's sums.");
}

static void experts_table(tt_page *p, const tt_router_layer *layers, size_t n)
{
    const size_t shown = n < LAYERS_SHOWN ? n : LAYERS_SHOWN;
    tt_layer_experts *rows = tt_page_take(p, shown * sizeof *rows);
    if (!rows) return;
    for (size_t i = 0; i < shown; i++)
        rows[i] = tt_layer_experts_of(&layers[i]);
    const tt_rowset set = TT_ROWSET(&tt_layer_experts_schema, 0, NULL, rows, shown);
    (void)tt_page_rows(p, "Experts by layer", &set, &(tt_listing_wish){.text = true});
    if (n > LAYERS_SHOWN)
        tt_page_add(p, TT_BLOCK_NOTE, "%zu more layers: tensortrace routing shows all.",
                    n - LAYERS_SHOWN);
}

void tt_section_experts(tt_page *p, const tt_analysis *a)
{
    size_t n = 0;
    double evenness = 0, kept = 0, picked = 0, experts = 0, unused = 0, token = 0, all = 0;
    unsigned with_evenness = 0, with_kept = 0;
    tt_page_section_begin(p, "experts", "How sparse are the experts?");
    const tt_router_layer *layers = a->routers ? tt_routers_layers(a->routers, &n) : NULL;
    if (n == 0) {
        tt_page_add(p, TT_BLOCK_ANSWER, "%s",
                    a->summary.records == 0 ? "Not observed: the trace holds no ops."
                    : a->expert_nodes == 0  ? "There are none: no op of the trace chooses experts."
                                            : "Not observed: the model has experts, but the trace "
                                              "does not hold which ones were chosen.");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        tt_router_sum s;
        tt_router_sum_up(layers[i].router, &s);
        experts += s.experts;
        picked += s.chosen_most;
        unused += s.unused;
        token += s.working_set[0] > 0 ? s.working_set[0] * (double)layers[i].expert_bytes : 0;
        all += (double)s.experts * (double)layers[i].expert_bytes;
        if (!isnan(s.evenness)) evenness += s.evenness, with_evenness++;
        if (!isnan(s.stickiness)) kept += s.stickiness, with_kept++;
    }
    tt_page_add(p, TT_BLOCK_ANSWER,
                "A token uses %.3g of %.4g experts in a layer, %.1f %% of them%s; %s of the %s "
                "experts of all layers %s chosen at least once.",
                picked / (double)n, experts / (double)n, 100 * picked / experts,
                all > 0 ? tt_page_format(p, " (%s of %s)", tt_format_bytes(p, token),
                                         tt_format_bytes(p, all))
                        : "",
                unused > 0 ? tt_format_count(p, experts - unused) : "each",
                tt_format_count(p, experts), unused > 0 && experts - unused != 1 ? "were" : "was");
    tt_page_add(
        p, TT_BLOCK_TEXT, "%s%s",
        with_evenness
            ? tt_page_format(
                  p, "Choices are spread with an evenness of %.1f %% (100 %%: all experts alike). ",
                  100 * evenness / with_evenness)
            : "",
        with_kept ? tt_page_format(p,
                                   "Of a token's experts %.1f %% were the token before's, too; by "
                                   "chance it would be %.1f %%.",
                                   100 * kept / with_kept, 100 * picked / experts)
                  : "");
    plot_experts(p, layers, n);
    experts_table(p, layers, n);
}

/* --- disk --- */

static void plot_disk(tt_page *p, const tt_faults_row *rows, size_t n)
{
    const size_t step = n / TOKENS_DRAWN + 1;
    tt_plot *plot = tt_page_plot(p, "Read from disk while each batch was computed", "batch", "MiB");
    tt_series *s = tt_plot_series(plot, "", TT_SERIES_COLUMNS, 1, TOKENS_DRAWN + 1);
    if (!plot) return;
    plot->has_y = true;
    for (size_t i = 0; i < n; i += step) {
        double bytes = 0;
        for (size_t k = i; k < n && k < i + step; k++)
            bytes += (double)rows[k].counts.read_bytes / (double)step;
        tt_series_add(s, (double)rows[i].number, 0, 0, bytes / MIB);
        plot->y_max = fmax(plot->y_max, bytes / MIB * 1.08);
    }
    if (plot->y_max <= 0) plot->n_series = 0;
    plot->height = 240;
    tt_plot_describe(plot, "A column a batch: how many bytes its ops read from the device. The "
                           "sums are in the table.");
}

static void plot_resident(tt_page *p, const tt_analysis *a)
{
    const tt_model *m = a->m;
    const size_t step = m->n_residencies / RESIDENT_DRAWN + 1;
    tt_plot *plot =
        tt_page_plot(p, "The model file's pages in RAM", "ms since the first batch", "MiB");
    tt_series *s = tt_plot_series(plot, "in RAM", TT_SERIES_LINE, 1, RESIDENT_DRAWN + 1);
    for (size_t i = 0; i < m->n_residencies; i += step) {
        const tt_residency *r = &m->residencies[i];
        uint64_t pages = 0;
        if (r->first_page != 0 || r->file != 0) continue; /* of one file, whole */
        for (uint32_t k = 1; k < r->n_intervals; k += 2)
            pages += r->intervals[k];
        tt_series_add(s, tt_model_ns(m, r->begin_ticks) / 1e6, 0, 0, 0);
        if (!s || s->n == 0) continue;
        s->y[s->n - 1] = (double)pages * r->page_bytes / MIB;
        plot->y_max = fmax(plot->y_max, s->y[s->n - 1] * 1.08);
    }
    if (plot) plot->height = 240;
    if (plot) plot->has_y = plot->y_max > 0;
    tt_plot_describe(
        plot, "How much of the first model file was in RAM each time its pages were looked at.");
}

static void disk_rows(tt_page *p, const tt_analysis *a)
{
    const tt_kernel_sum *k = &a->kernel_batches, *all = &a->kernel_recording;
    const char *titles[] = {"What the kernel counted", "While batches were computed>",
                            "The whole recording>"};
    tt_page_table *t = tt_page_table_begin(p, "Page faults and reads of the process", 3, titles);
    const char *bound = k->missing ? "at least " : "";
    if (k->has_faults) {
        const char *major[] = {
            "page faults that waited for a device",
            tt_page_format(p, "%s%s", bound, tt_format_count(p, (double)k->major)),
            all->has_faults ? tt_format_count(p, (double)all->major) : ""};
        const char *minor[] = {
            "page faults that did not",
            tt_page_format(p, "%s%s", bound, tt_format_count(p, (double)k->minor)),
            all->has_faults ? tt_format_count(p, (double)all->minor) : ""};
        tt_page_table_row(p, t, major);
        tt_page_table_row(p, t, minor);
    }
    if (k->has_io) {
        const char *cells[] = {
            "read from devices",
            tt_page_format(p, "%s%s", bound, tt_format_bytes(p, (double)k->read_bytes)),
            all->has_io ? tt_format_bytes(p, (double)all->read_bytes) : ""};
        tt_page_table_row(p, t, cells);
    }
    for (uint32_t i = 0; i < k->n_devices; i++) {
        const char *cells[] = {
            "read from the model's device by all its users",
            tt_page_format(p, "%s%s", bound, tt_format_bytes(p, (double)k->devices[i].read_bytes)),
            i < all->n_devices ? tt_format_bytes(p, (double)all->devices[i].read_bytes) : ""};
        tt_page_table_row(p, t, cells);
    }
}

static double batch_seconds(const tt_analysis *a)
{
    return (a->summary.prompt.total_ns + a->summary.generate.total_ns + a->summary.mixed.total_ns +
            a->summary.warmup.total_ns + a->summary.unknown.total_ns) /
           1e9;
}

/* What came into RAM before the first batch, and whether it was used. */
static void write_loading(tt_page *p, const tt_analysis *a)
{
    const tt_rowset set = tt_loading_rowset(&a->loading);
    const tt_listing_wish wish = {
        .columns = "phase,model,duration_ns,resident_bytes,read_bytes,major_faults,fetched_bytes,"
                   "used_bytes,unused_bytes,evicted_bytes,fetched_again_bytes",
        .text = true};
    if (a->loading.n == 0) return;
    (void)tt_page_rows(p, "How the model was loaded", &set, &wish);
    tt_page_add(p, TT_BLOCK_NOTE,
                "Used, unused, evicted and again are of the bytes that a phase fetched (in the row "
                "opened: of those that were in RAM already): read by ops in the mapping, never "
                "read, gone before an op read them, and fetched again.");
}

void tt_section_disk(tt_page *p, const tt_analysis *a)
{
    const tt_kernel_sum *k = &a->kernel_batches;
    tt_page_section_begin(p, "disk", "How much of the disk's bandwidth was used?");
    if (!a->faults && !k->has_faults && !k->has_io) {
        char how[TT_LACKING_TEXT];
        tt_page_add(p, TT_BLOCK_ANSWER, "Page faults and reads were not recorded: %s.",
                    tt_lacking_how(a->m, "--faults", how));
        write_loading(p, a);
        return;
    }
    const tt_faults_row *total = a->faults ? tt_faults_total(a->faults) : NULL;
    const bool ops = total && total->counts.observed_reads > 0;
    const double seconds = batch_seconds(a);
    if (k->has_io && seconds > 0 && !k->missing)
        tt_page_add(
            p, TT_BLOCK_ANSWER,
            "%s was read from devices in the %s in which batches were computed: %s on average%s.",
            tt_format_bytes(p, (double)k->read_bytes), tt_format_ns(p, seconds * 1e9),
            tt_format_rate(p, (double)k->read_bytes / seconds), "");
    else if (ops)
        tt_page_add(p, TT_BLOCK_ANSWER, "The ops read %s%s from devices.",
                    total->counts.observed_reads < total->counts.observed ? "at least " : "",
                    tt_format_bytes(p, (double)total->counts.read_bytes));
    else if (k->has_io)
        tt_page_add(
            p, TT_BLOCK_ANSWER,
            "%s%s was read from devices while batches were computed; how long that took was "
            "not observed.",
            k->missing ? "At least " : "", tt_format_bytes(p, (double)k->read_bytes));
    else
        tt_page_add(
            p, TT_BLOCK_ANSWER,
            "Bytes were not observed; %s page faults waited for a device while batches were "
            "computed.",
            tt_format_count(p, k->has_faults ? (double)k->major : (double)total->counts.major));
    if (ops && total->counts.read_bytes > 0) {
        double rate = tt_faults_rate(total), more = tt_faults_amplification(total);
        tt_page_add(
            p, TT_BLOCK_TEXT,
            "The ops that had to wait read at %s%s; threads were without the processor in counted "
            "ops for %s.",
            isnan(rate) ? "an unknown rate" : tt_format_rate(p, rate),
            isnan(more) ? "" : tt_page_format(p, ", %.2f bytes for each byte that they used", more),
            tt_format_ns(p, tt_faults_off_cpu_ns(total)));
    }
    if (a->faults && a->timed) {
        size_t n;
        const tt_faults_row *rows = tt_faults_rows(a->faults, &n);
        if (ops && total->counts.read_bytes > 0) plot_disk(p, rows, n);
    }
    if (a->m->n_residencies > 0 && a->timed) plot_resident(p, a);
    disk_rows(p, a);
    write_loading(p, a);
    if (k->missing)
        tt_page_add(
            p, TT_BLOCK_NOTE,
            "For %s batches the kernel's totals were not observed; they are not in these sums.",
            tt_format_count(p, k->missing));
    if (k->overlap)
        tt_page_add(p, TT_BLOCK_NOTE, "Batches overlap: what happened then counts more than once.");
}
