/* Describes in words what differs in a node. */
#include "analyze/diff/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add(char *out, size_t room, const char *between, const char *text)
{
    size_t used = strlen(out);
    (void)snprintf(out + used, room - used, "%s%s", used ? between : "", text);
}

static void add_shape(char *out, size_t room, const tt_tensor *a, const tt_tensor *b)
{
    char text[200];
    (void)snprintf(text, sizeof text,
                   "shape %" PRIu64 "x%" PRIu64 "x%" PRIu64 "x%" PRIu64 " -> %" PRIu64 "x%" PRIu64
                   "x%" PRIu64 "x%" PRIu64,
                   a->ne[0], a->ne[1], a->ne[2], a->ne[3], b->ne[0], b->ne[1], b->ne[2], b->ne[3]);
    add(out, room, ", ", text);
}

static void add_sources(char *out, size_t room, const tt_diff_change *c)
{
    char text[200];
    if (c->a->n_src != c->b->n_src) {
        (void)snprintf(text, sizeof text, "%u -> %u sources", c->a->n_src, c->b->n_src);
        add(out, room, ", ", text);
    }
    for (uint32_t i = 0; i < c->a->n_src && i < c->b->n_src; i++) {
        if (c->a->src[i] == TT_NONE || c->b->src[i] == TT_NONE) continue;
        const char *a = c->graph_a->tensors[c->a->src[i]].type_name;
        const char *b = c->graph_b->tensors[c->b->src[i]].type_name;
        if (strcmp(a, b) == 0) continue;
        (void)snprintf(text, sizeof text, "source %u %.40s -> %.40s", i, a, b);
        add(out, room, ", ", text);
    }
}

char *tt_diff_write_change(const tt_diff_change *c, char *out, size_t room)
{
    char text[200];
    out[0] = '\0';
    if (!c->a || !c->b) return strncat(out, c->a ? "gone" : "new", room - 1);
    if (c->what & TT_CHANGE_ORDER) add(out, room, ", ", "at another place in the order");
    if (c->what & TT_CHANGE_OP) add(out, room, ", ", "another op");
    if (c->what & TT_CHANGE_FUSION) {
        (void)snprintf(text, sizeof text, "computed by %.80s -> %.80s", c->op_a, c->op_b);
        add(out, room, ", ", text);
    }
    if (c->what & TT_CHANGE_TYPE) {
        (void)snprintf(text, sizeof text, "type %.40s -> %.40s", c->a->type_name, c->b->type_name);
        add(out, room, ", ", text);
    }
    if (c->what & TT_CHANGE_SHAPE) add_shape(out, room, c->a, c->b);
    if (c->what & TT_CHANGE_SOURCES) add_sources(out, room, c);
    if (c->what & TT_CHANGE_BACKEND) {
        (void)snprintf(text, sizeof text, "on %.40s -> %.40s", c->a->backend, c->b->backend);
        add(out, room, ", ", text);
    }
    if (c->what & TT_CHANGE_NAME) add(out, room, ", ", "another name");
    return out;
}
