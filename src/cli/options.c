#include "cli/options.h"

#include "base/units.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/table.h"

#include <argp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define OPTIONS_MAX 96
#define KEY_FIRST 0x1000 /* of options without a letter */
#define NAMES_TEXT 400
#define INDENT 2 /* of continuation lines */

typedef struct taken {
    const tt_option *option;
    char *member, *base;
    char *arg;
} taken;

struct tt_parse {
    const tt_options *command;
    char *input;
    struct argp_state *state;
    const tt_option *now;
    size_t n;
    struct argp_option table[OPTIONS_MAX + 1];
    const tt_option *options[OPTIONS_MAX]; /* of table; for a former name, the row above */
    char *bases[OPTIONS_MAX];
    bool given[OPTIONS_MAX];
    taken *taken;
    size_t n_taken;
};

static bool lists;

void tt_options_list(void)
{
    lists = true;
}

_Noreturn static void fail(tt_parse *p, const char *option, const char *fmt, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, args) < 0) text = NULL;
    argp_error(p->state, "%s%s%s%s", option ? "--" : "", option ? option : "", option ? ": " : "",
               text ? text : "out of memory");
    abort(); /* argp_error has ended the process */
}

void tt_parse_refuse(tt_parse *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(p, p->now->name, fmt, args);
}

void tt_parse_error(tt_parse *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(p, NULL, fmt, args);
}

bool tt_parse_given(const tt_parse *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->given[i] && strcmp(p->options[i]->name, name) == 0) return true;
    return false;
}

char **tt_parse_rest(tt_parse *p)
{
    char **rest = p->state->argv + p->state->next - 1;
    p->state->next = p->state->argc;
    return rest;
}

/* --- values --- */

static void store(const tt_option *o, void *member, int64_t v)
{
    switch (o->bytes) {
    case 1:
        *(uint8_t *)member = (uint8_t)v;
        break;
    case 2:
        *(uint16_t *)member = (uint16_t)v;
        break;
    case 4:
        *(uint32_t *)member = (uint32_t)v;
        break;
    default:
        *(uint64_t *)member = (uint64_t)v;
    }
}

static int64_t whole(tt_parse *p, const char *arg)
{
    char option[64];
    tt_error err;
    int64_t v = 0;
    (void)snprintf(option, sizeof option, "--%s", p->now->name);
    if (tt_units_parse_int(arg, option, p->now->least, p->now->most, &v, &err) != TT_OK)
        tt_parse_error(p, "%s", err.message);
    return v;
}

static uint64_t size(tt_parse *p, const char *arg)
{
    const tt_option *o = p->now;
    char least[TT_UNITS_TEXT], most[TT_UNITS_TEXT];
    tt_error err;
    uint64_t v = 0;
    if ((o->kind == TT_OPTION_SIZE ? tt_units_parse_size : tt_units_parse_amount)(arg, &v, &err) !=
        TT_OK)
        tt_parse_refuse(p, "%s", err.message);
    if (v < (uint64_t)o->least || v > (uint64_t)o->most)
        tt_parse_refuse(p, "%.40s is out of range (%s to %s)", arg,
                        tt_units_bytes(least, (uint64_t)o->least),
                        tt_units_bytes(most, (uint64_t)o->most));
    return v;
}

/* The row with that name. */
static const void *find_row(tt_parse *p, const char *arg)
{
    const tt_option *o = p->now;
    char names[NAMES_TEXT] = "";
    size_t used = 0;
    for (size_t i = 0; i < o->n_rows; i++) {
        const char *row = (const char *)o->rows + i * o->row_bytes, *name;
        memcpy(&name, row, sizeof name);
        const bool former = strcmp(name, "batch") == 0 && strcasecmp(arg, "token") == 0;
        if (former || strcasecmp(arg, name) == 0) return row;
        const char *between = i == 0 ? "" : i + 1 == o->n_rows ? " or " : ", ";
        int wrote = snprintf(names + used, sizeof names - used, "%s%s", between, name);
        if (wrote > 0 && (size_t)wrote < sizeof names - used) used += (size_t)wrote;
    }
    tt_parse_refuse(p, "\"%.40s\" is not %s", arg, names);
}

static void take(tt_parse *p, const taken *t)
{
    const tt_option *o = p->now = t->option;
    tt_error err;
    if (o->given) *(bool *)(t->base + o->given - 1) = true;
    switch (o->kind) {
    case TT_OPTION_SET:
        store(o, t->member, o->least);
        break;
    case TT_OPTION_TEXT:
        *(const char **)t->member = o->rows ? *(const char *const *)find_row(p, t->arg) : t->arg;
        break;
    case TT_OPTION_WHOLE:
        store(o, t->member, t->arg ? whole(p, t->arg) : o->least);
        break;
    case TT_OPTION_SIZE:
    case TT_OPTION_AMOUNT:
        *(uint64_t *)t->member = size(p, t->arg);
        break;
    case TT_OPTION_RATE:
        if (tt_units_parse_rate(t->arg, (double *)t->member, &err) != TT_OK)
            tt_parse_refuse(p, "%s", err.message);
        break;
    case TT_OPTION_TIME:
        if (!tt_units_parse_time(t->arg, (double *)t->member))
            tt_parse_refuse(p, "\"%.40s\" is not a time: write 12.5ms, 300us, 4000ns or 2s",
                            t->arg);
        break;
    case TT_OPTION_RANGE:
        if (!tt_units_parse_range(t->arg, (uint32_t *)t->member, (uint32_t *)(t->base + o->last)))
            tt_parse_refuse(p, "\"%.40s\" is not a number or a range like 3..9", t->arg);
        break;
    case TT_OPTION_NAME:
        store(o, t->member, ((const tt_option_name *)find_row(p, t->arg))->value);
        break;
    case TT_OPTION_ROW:
        *(const void **)t->member = find_row(p, t->arg);
        break;
    case TT_OPTION_TAKE:
        o->take(t->member, t->arg, p);
        break;
    default:
        break;
    }
}

/* --- relations of options --- */

/* The first given one of the names, which are separated by blanks; or all: "--dot or --svg". */
static bool any_given(const tt_parse *p, const char *names, char out[NAMES_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *at = names; *at; at += strspn(at, " ")) {
        char name[64];
        const size_t n = strcspn(at, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)n, at);
        if (tt_parse_given(p, name)) {
            (void)snprintf(out, NAMES_TEXT, "--%s", name);
            return true;
        }
        used += (size_t)snprintf(out + used, NAMES_TEXT - used, "%s--%s", used ? " or " : "", name);
        at += n;
    }
    return false;
}

static void check(tt_parse *p)
{
    char names[NAMES_TEXT];
    for (size_t i = 0; i < p->n; i++) {
        const tt_option *o = p->options[i];
        if (!p->given[i]) continue;
        if (o->excludes && any_given(p, o->excludes, names))
            tt_parse_error(p, "--%s and %s exclude each other", o->name, names);
        if (o->needs && !any_given(p, o->needs, names))
            tt_parse_error(p, "--%s goes with %s", o->name, names);
    }
    /* A command's own options come first, and a missing FILE is reported before. */
    for (size_t i = TT_OPTION_SETS_MAX; i-- > 0;)
        if (p->command->sets[i].check)
            p->command->sets[i].check(p->input + p->command->sets[i].at, p);
    for (size_t i = 0; i < TT_OPTION_SETS_MAX; i++)
        if (p->command->sets[i].last)
            p->command->sets[i].last(p->input + p->command->sets[i].at, p);
}

static void take_all(tt_parse *p)
{
    static const unsigned turns[] = {TT_OPTION_FIRST, TT_OPTION_SECOND, 0};
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++)
        for (size_t i = 0; i < p->n_taken; i++)
            if ((p->taken[i].option->flags & (TT_OPTION_FIRST | TT_OPTION_SECOND)) == turns[turn])
                take(p, &p->taken[i]);
}

/* --- argp's part --- */

/* argp ends the process after --help without checking its output. */
static bool parsing;

/* argp's message about wrong usage is kept until then: argp appends two lines on where to look, and
 * one is enough. */
static struct {
    FILE *stream;
    char *text;
    size_t size;
    const char *name;
} wrong;

static void finish_wrong(void)
{
    if (!wrong.stream) return;
    const bool whole = fclose(wrong.stream) == 0;
    wrong.stream = NULL;
    char *hint = whole ? strstr(wrong.text, "Try `") : NULL;
    if (hint) *hint = '\0';
    if (whole && wrong.text[0]) tt_table_text(stderr, INDENT, wrong.text);
    if (hint) fprintf(stderr, "See %s --help\n", wrong.name);
    free(wrong.text);
}

static void finish_help(int code, void *unused)
{
    (void)unused;
    finish_wrong();
    if (parsing && code == TT_EXIT_OK && tt_report_output(true) != TT_EXIT_OK) _exit(TT_EXIT_USAGE);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    tt_parse *p = state->input;
    p->state = state;
    if (key == ARGP_KEY_INIT && wrong.stream) state->err_stream = wrong.stream;
    if (key == ARGP_KEY_END) {
        take_all(p);
        check(p);
        return 0;
    }
    for (size_t i = 0; key == ARGP_KEY_ARG && i < TT_OPTION_SETS_MAX; i++) {
        const tt_option_set *set = &p->command->sets[i];
        if (!set->word) continue;
        set->word(p->input + set->at, arg, p);
        return 0;
    }
    for (size_t i = 0; i < p->n; i++) {
        if (p->table[i].key != key || !p->table[i].name) continue;
        const tt_option *o = p->options[i];
        p->taken[p->n_taken++] = (taken){o, p->bases[i] + o->at, p->bases[i], arg};
        p->given[i] = true;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static char *filter_help(int key, const char *text, void *input)
{
    const tt_parse *p = input;
    char *more = key == ARGP_KEY_HELP_POST_DOC ? p->command->more(text) : NULL;
    return more ? more : (char *)text;
}

static void add_set(tt_parse *p, const tt_option_set *set)
{
    for (const tt_option *o = set->options; o && (o->name || o->about); o++) {
        if (p->n == OPTIONS_MAX) abort();
        const bool former = o->kind == TT_OPTION_FORMER;
        const tt_option *is = former ? o - 1 : o;
        int flags = former || o->flags & TT_OPTION_HIDDEN ? OPTION_HIDDEN : 0;
        if (o->flags & TT_OPTION_OPTIONAL) flags |= OPTION_ARG_OPTIONAL;
        const int key = !o->name ? 0 : o->letter ? o->letter : KEY_FIRST + (int)p->n;
        p->table[p->n] = (struct argp_option){o->name, key, is->arg, flags, is->about, is->group};
        p->options[p->n] = is;
        p->bases[p->n++] = p->input + set->at;
    }
}

_Noreturn static void list(const tt_parse *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct argp_option *o = &p->table[i];
        if (!o->name || o->flags & OPTION_HIDDEN) continue;
        const char letter[] = {(char)(o->key < KEY_FIRST ? o->key : '-'), '\0'};
        printf("%s\t%s\t%s%s\t%s\n", o->name, letter, o->flags & OPTION_ARG_OPTIONAL ? "?" : "",
               o->arg ? o->arg : "-", o->doc);
    }
    exit(tt_report_output(true));
}

char **(*tt_options_complete)(const tt_options *command, int argc, char **argv);

void tt_options_parse(const tt_options *command, int argc, char **argv, void *options)
{
    tt_parse p = {.command = command, .input = options};
    for (size_t i = 0; i < TT_OPTION_SETS_MAX; i++)
        add_set(&p, &command->sets[i]);
    if (lists) list(&p);
    if (tt_options_complete)
        for (argv = tt_options_complete(command, argc, argv), argc = 0; argv[argc];)
            argc++;
    size_t most = 1; /* letters may be combined in a word */
    for (int i = 0; i < argc; i++)
        most += strlen(argv[i]);
    p.taken = calloc(most, sizeof *p.taken);
    if (!p.taken) exit(tt_report_memory());
    const struct argp argp = {
        p.table, parse, command->words, command->about, NULL, command->more ? filter_help : NULL,
        NULL};
    argp_err_exit_status = TT_EXIT_USAGE;
    parsing = true;
    (void)on_exit(finish_help, NULL);
    wrong.name = argv[0];
    wrong.stream = open_memstream(&wrong.text, &wrong.size);
    error_t failed = argp_parse(&argp, argc, argv, command->in_order ? ARGP_IN_ORDER : 0, NULL, &p);
    parsing = false;
    finish_wrong();
    free(p.taken);
    if (failed) exit(tt_report_usage("%s", strerror(failed)));
}
