/* A small language-model engine that records itself with tensortrace: see README.md. */
#include "engine.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensortrace/record.h>

#define TOKENS_MAX 4096u

struct ids {
    uint32_t list[TOKENS_MAX], n;
};

struct options {
    const char *model, *trace;
    struct ids prompt, then;
    uint32_t n_generate;
    engine_settings engine;
};

enum { OPT_THEN = 256, OPT_KV, OPT_BUG, OPT_HELP };

static const struct option option_table[] = {
    {"model", required_argument, NULL, 'm'},     {"tokens", required_argument, NULL, 'p'},
    {"then", required_argument, NULL, OPT_THEN}, {"n-predict", required_argument, NULL, 'n'},
    {"threads", required_argument, NULL, 't'},   {"kv", required_argument, NULL, OPT_KV},
    {"bug", required_argument, NULL, OPT_BUG},   {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, OPT_HELP},       {0},
};

static void print_help(void)
{
    puts("Usage: example-engine -m MODEL.gguf --tokens=IDS [OPTION...]\n"
         "Computes a model of the Llama architecture and prints the ids of the tokens it chooses.\n"
         "\n"
         "  -m, --model=FILE      GGUF model: F32 F16 BF16 Q8_0 Q4_0 Q4_K Q6_K\n"
         "  -p, --tokens=IDS      Ids of the text to continue: 1,15,7\n"
         "      --then=IDS        Go on with these, whatever is chosen\n"
         "  -n, --n-predict=N     Tokens to choose (default: 1, and one after each of --then)\n"
         "  -t, --threads=N       Threads (default: 1)\n"
         "      --kv=f16|f32      How keys and values are kept (default: f16)\n"
         "  -o, --output=FILE     Record a trace (or set TENSORTRACE=FILE)\n"
         "      --bug=NAME[=LAYER[:VALUE]]  Make a mistake (in layer 1):");
    for (unsigned i = 0; bug_name(i); i++)
        printf("                          %-18s %s\n", bug_name(i), bug_summary(i));
}

static int usage(const char *what, const char *text)
{
    fprintf(stderr, "example-engine: %s: \"%s\"; see --help\n", what, text);
    return 2;
}

static bool parse_number(const char *text, uint32_t max, uint32_t *out)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(text, &end, 10);
    if (errno || end == text || *end || v < 1 || v > max) return false;
    *out = (uint32_t)v;
    return true;
}

static bool parse_ids(const char *text, struct ids *ids)
{
    ids->n = 0;
    if (!*text) return true;
    while (ids->n < TOKENS_MAX) {
        char *end;
        errno = 0;
        unsigned long v = strtoul(text, &end, 10);
        if (errno || end == text || v > UINT32_MAX) return false;
        ids->list[ids->n++] = (uint32_t)v;
        if (!*end) return true;
        if (*end != ',') return false;
        text = end + 1;
    }
    return false;
}

/* 0, or the exit code. */
static int parse_option(int key, const char *text, struct options *o)
{
    switch (key) {
    case 'm':
        o->model = text;
        return 0;
    case 'o':
        o->trace = text;
        return 0;
    case 'p':
        return parse_ids(text, &o->prompt) ? 0 : usage("not a list of token ids", text);
    case OPT_THEN:
        return parse_ids(text, &o->then) ? 0 : usage("not a list of token ids", text);
    case 'n':
        if (parse_number(text, TOKENS_MAX, &o->n_generate)) return 0;
        return usage("not a number of tokens", text);
    case 't':
        if (parse_number(text, TEAM_MAX, &o->engine.n_threads)) return 0;
        return usage("not a number of threads", text);
    case OPT_KV:
        o->engine.kv_f16 = strcmp(text, "f16") == 0;
        return o->engine.kv_f16 || strcmp(text, "f32") == 0 ? 0 : usage("not f16 or f32", text);
    case OPT_BUG:
        return bug_parse(text, &o->engine.bug) ? 0 : usage("no such bug", text);
    default:
        return 2; /* getopt has said what is wrong */
    }
}

/* The likeliest; of several, the first. */
static uint32_t choose(const float *logits, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static int generate(engine *e, const struct options *o)
{
    const float *logits = engine_decode(e, o->prompt.list, o->prompt.n);
    for (uint32_t i = 0; logits; i++) {
        uint32_t chosen = choose(logits, e->m->n_vocab);
        printf(i ? ",%u" : "%u", chosen);
        if (i + 1 == o->n_generate) {
            putchar('\n');
            return 0;
        }
        if (i < o->then.n) chosen = o->then.list[i];
        logits = engine_decode(e, &chosen, 1);
    }
    fputs("example-engine: a token is not in the vocabulary, or the text is too long\n", stderr);
    return 1;
}

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "example-engine: %s: %s\n", what, why);
    return 1;
}

static int run_model(const model *m, const struct options *o)
{
    tt_error error;
    engine e;
    /* Where each weight is in the file is found out by its name. */
    if (tt_record_model(o->model, &error) != TT_OK) failed(o->model, error.message);
    tt_buffer_add("model file", m->file.map, m->file.size, TT_BUFFER_USE_WEIGHTS);
    tt_buffer_add("decoded weights", m->decoded, m->n_decoded * sizeof(float),
                  TT_BUFFER_USE_WEIGHTS);
    const char *wrong = engine_open(&e, m, &o->engine);
    int code = wrong ? failed(o->model, wrong) : generate(&e, o);
    if (!wrong) engine_close(&e);
    tt_buffer_remove(m->decoded);
    tt_buffer_remove(m->file.map);
    return code;
}

static int run(const struct options *o)
{
    tt_error error;
    tt_record_options record = {.path = o->trace, .engine = "example-engine 1", .replace = 1};
    if (o->trace && tt_record_start(&record, &error) != TT_OK)
        return failed(o->trace, error.message);
    model m;
    const char *wrong = model_open(&m, o->model);
    int code = wrong ? failed(o->model, wrong) : run_model(&m, o);
    if (!wrong) model_close(&m);
    if (tt_record_stop(&error) != TT_OK) code = failed("the trace", error.message);
    return code;
}

int main(int argc, char **argv)
{
    static struct options o = {.engine = {.n_threads = 1, .kv_f16 = true}};
    int key;
    while ((key = getopt_long(argc, argv, "m:p:n:t:o:", option_table, NULL)) != -1) {
        if (key == OPT_HELP) {
            print_help();
            return 0;
        }
        int code = parse_option(key, optarg, &o);
        if (code) return code;
    }
    if (optind < argc) return usage("not an option", argv[optind]);
    if (!o.model || !o.prompt.n) return usage("a model and the ids of a text are needed", "");
    if (!o.n_generate) o.n_generate = o.then.n + 1;
    o.engine.n_batch = o.prompt.n;
    o.engine.n_positions = o.prompt.n + o.n_generate - 1;
    return run(&o);
}
