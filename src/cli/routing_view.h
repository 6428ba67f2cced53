/* The outputs of `tensortrace routing`. */
#ifndef TT_CLI_ROUTING_VIEW_H
#define TT_CLI_ROUTING_VIEW_H

#include "answer/routing.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/runs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ROUTING_FILES_MAX 64u

typedef struct tt_routing_options {
    const char *paths[TT_ROUTING_FILES_MAX]; /* more than one with overlap or domains */
    char *owned[TT_ROUTING_FILES_MAX];       /* of them: of runs of a folder */
    size_t n_owned;
    tt_where where; /* which runs of a folder of experiments */
    tt_input input; /* the one path, of one trace or of several runs */
    size_t n_paths;
    bool json;
    tt_filter filter;
    tt_list_options list;
    bool matrix;
    bool overlap;
    bool domains;
    bool transitions;
    uint64_t parts; /* over time; 0: not */
    bool ranges;
    const char *html, *tables; /* a page, and a folder of tables, for domains; NULL: none */
    bool force;
} tt_routing_options;

/* Each returns the exit code. The layers; the experts of those that pass; a map; the texts of n
 * traces whose routers have the same shape. */
int tt_routing_print_layers(const tt_routing_options *o, const tt_routing_view *v);
int tt_routing_print_experts(const tt_routing_options *o, const tt_routing_view *v);
bool tt_routing_print_matrix(const tt_routing_options *o, const tt_routing_view *v);
int tt_routing_print_overlap(const tt_routing_options *o, const tt_routing_view *v, size_t n);
/* The transitions between experts in the filter's layer; how their use changes. */
int tt_routing_print_steps(const tt_routing_options *o, const tt_routing_view *v);
int tt_routing_print_spans(const tt_routing_options *o, const tt_routing_view *v);
/* Two lists: `few`, complete, and `set`, to which the options apply, restricted to rows that pass
 * (NULL: all). The keys are those of JSON; CSV has only `set`. */
int tt_routing_print_both(const tt_routing_options *o, const char *few_key, const tt_rowset *few,
                          const char *key, const tt_rowset *set,
                          bool (*passes)(const void *context, const void *row));
/* Opens the paths itself. */
int tt_routing_show_domains(const tt_routing_options *o);

#endif
