/* loop THREADS [stay] [inner]: computes a graph of ten ops and a reshape three times, with
 * loop_engine.c. inner: the first ops are such that have a barrier inside.
 *
 * With LOOP_ATTACH: loop THREADS TRACE...: three times before, and while it records itself to each
 * of the traces, and three times after each. */
#include "loop_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LOOP_ATTACH
#include <tensortrace/attach.h>
#endif

#define N 11
#define ROUNDS 3

static int compute(struct ggml_cgraph *graph, struct ggml_cplan *plan)
{
    for (int i = 0; i < ROUNDS; i++)
        if (ggml_graph_compute(graph, plan) != 0) return 1;
    return 0;
}

#ifdef LOOP_ATTACH
static int complain(const char *what, const tt_error *err)
{
    (void)fprintf(stderr, "%s: %s\n", what, err->message);
    return 1;
}

/* It records itself to `path`; what is wrong is refused before and meanwhile. */
static int record(const char *path, struct ggml_cgraph *graph, struct ggml_cplan *plan)
{
    static const char *const wrong[] = {"modes=hook", NULL}, *const right[] = {"mode=hook", NULL};
    tt_error err = {.message = ""};
    if (tt_detach(&err) != TT_E_USAGE) return complain("detached before", &err);
    if (tt_attach(path, wrong, &err) != TT_E_USAGE) return complain("a wrong option", &err);
    if (tt_attach("/nonsense/x.ttrace", NULL, &err) != TT_E_IO) return complain("nowhere", &err);
    if (tt_attach(path, right, &err) != TT_OK) return complain("attach", &err);
    if (tt_attach(path, right, &err) != TT_E_USAGE) return complain("attached twice", &err);
    if (compute(graph, plan) != 0) return 1;
    if (tt_detach(&err) != TT_OK) return complain("detach", &err);
    if (tt_attach(path, NULL, &err) != TT_E_EXISTS) return complain("it exists", &err);
    const char *at = strrchr(tt_attach_path(), '/');
    if (!at || strcmp(at + 1, path) != 0) return complain(tt_attach_path(), &err);
    return tt_attach_unseen()[0] ? complain(tt_attach_unseen(), &err) : 0;
}
#endif

int main(int argc, char **argv)
{
    static struct {
        struct ggml_tensor tensor;
        char name_goes_on[LOOP_NAME_BYTES];
    } tensors[N];
    static struct ggml_tensor *nodes[N];
    static const int ops[N] = {LOOP_ADD,     LOOP_MUL_MAT, LOOP_ADD,    LOOP_MUL_MAT,
                               LOOP_MUL_MAT, LOOP_ADD,     LOOP_ADD,    LOOP_RESHAPE,
                               LOOP_ADD,     LOOP_MUL_MAT, LOOP_MUL_MAT};
    struct ggml_cgraph graph = {N, nodes};
    if (argc < 2) return 64;
    struct ggml_cplan plan = {.n_threads = atoi(argv[1]),
                              .stay = argc > 2 && strcmp(argv[2], "stay") == 0};
    bool inner = strcmp(argv[argc - 1], "inner") == 0;
    for (int i = 0; i < N; i++) {
        struct ggml_tensor *t = nodes[i] = &tensors[i].tensor;
        /* As long as they may be, different at the end alone. */
        char name[LOOP_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s%0*d", "node-",
                       LOOP_NAME_BYTES > 64 ? LOOP_NAME_BYTES - 6 : 1, i);
        (void)ggml_set_name((char *)t, name);
        t->op = inner && i < 3 ? LOOP_MUL_MAT : ops[i];
        t->ne[0] = 8;
        t->ne[1] = t->ne[2] = t->ne[3] = 1;
        t->src[0] = i ? nodes[i - 1] : NULL;
        if (ops[i] == LOOP_RESHAPE) t->view_src = nodes[i - 1];
    }
    int failed = compute(&graph, &plan);
#ifdef LOOP_ATTACH
    for (int i = 2; i < argc && !failed; i++)
        failed = record(argv[i], &graph, &plan) || compute(&graph, &plan);
#endif
    return failed;
}
