#include "cli/complete.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What files an argument names, by the first of these texts that its name begins with. */
static const struct {
    const char *arg, *files;
} kinds[] = {
    {"MODEL", ":files .gguf"}, {"TRACE", ":files .ttrace"}, {"SETTINGS", ":files .json"},
    {"DIR", ":folders"},       {"FILE", ":files"},          {"OUTPUT", ":files"},
    {"PATH", ":files"},
};
/* An argument that is no option. */
#define TRACES ":files .ttrace .part"

/* Where the last word is. */
typedef struct spot {
    const tt_option *value; /* it is the value of this option; NULL: of none */
    const char *word;       /* without --NAME= */
    unsigned n_words;       /* the arguments before it that are no options */
    bool is_option;
    bool after_options; /* all that follows is arguments */
} spot;

static const char *columns;

const char *tt_complete_columns(void)
{
    return columns;
}

/* --- where the last word is --- */

/* The option with this name of n bytes, or else with this letter; for a former name the row above.
 */
static const tt_option *find(const tt_options *command, const char *name, size_t n, int letter)
{
    for (size_t i = 0; i < TT_OPTION_SETS_MAX; i++)
        for (const tt_option *o = command->sets[i].options; o && (o->name || o->about); o++) {
            const bool named =
                name && o->name && strlen(o->name) == n && memcmp(o->name, name, n) == 0;
            if (named || (letter && o->letter == letter))
                return o->kind == TT_OPTION_FORMER ? o - 1 : o;
        }
    return NULL;
}

/* The option that the word gives without its value; *takes: the next word is the value. */
static const tt_option *option_of(const tt_options *command, const char *word, bool *takes)
{
    const tt_option *o = NULL;
    *takes = false;
    if (word[1] == '-') {
        o = find(command, word + 2, strlen(word + 2), 0);
        *takes = o && o->arg && !(o->flags & TT_OPTION_OPTIONAL);
        return o;
    }
    for (const char *letter = word + 1; *letter; letter++) {
        o = find(command, NULL, 0, (unsigned char)*letter);
        if (!o || !o->arg) continue;
        *takes = !letter[1] && !(o->flags & TT_OPTION_OPTIONAL);
        return o;
    }
    return NULL;
}

/* An option at argv[i], which is not the last word: where the next word to look at is. bash gives
 * --NAME=VALUE as three words. */
static int pass_option(const tt_options *command, int argc, char **argv, int i, spot *at)
{
    bool takes = false;
    const bool three = strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i + 1], "=") == 0;
    const tt_option *o = strchr(argv[i], '=') ? NULL : option_of(command, argv[i], &takes);
    if (three && i + 1 == argc - 1) {
        at->value = o;
        at->word = "";
        return argc;
    }
    if (!three && !takes) return i + 1;
    const int value = three ? i + 2 : i + 1;
    if (value == argc - 1) {
        at->value = o;
        at->word = argv[value];
    }
    return value + 1;
}

static spot find_spot(const tt_options *command, int argc, char **argv)
{
    spot at = {0};
    for (int i = 1; i < argc;) {
        char *word = argv[i];
        const bool last = i == argc - 1, option = word[0] == '-' && !at.after_options;
        if (last) {
            const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
            at.word = word;
            at.is_option = option;
            if (option && equals) {
                at.value = find(command, word + 2, (size_t)(equals - word) - 2, 0);
                at.word = equals + 1;
                at.is_option = false;
            }
            break;
        }
        if (option && strcmp(word, "--") == 0) {
            at.after_options = true;
            i++;
        } else if (option && word[1]) {
            i = pass_option(command, argc, argv, i, &at);
        } else {
            at.n_words++;
            if (command->in_order) at.after_options = true;
            i++;
        }
    }
    return at;
}

/* --- what may be there --- */

static void print_options(const tt_options *command, bool letters)
{
    for (size_t i = 0; i < TT_OPTION_SETS_MAX; i++)
        for (const tt_option *o = command->sets[i].options; o && (o->name || o->about); o++) {
            if (!o->name || o->kind == TT_OPTION_FORMER || o->flags & TT_OPTION_HIDDEN) continue;
            printf("--%s\t%s\n", o->name, o->about);
            if (letters && o->letter) printf("-%c\t%s\n", o->letter, o->about);
        }
    /* argp's own */
    puts("--help\tPrint the options\n--usage\tPrint the options in one line");
}

/* Words in lower case of "auto|hook|callback" or "SIZE|auto". */
static bool print_words_of(const char *arg)
{
    bool any = false;
    for (const char *at = arg; at && *at; at += strcspn(at, "|"), at += *at == '|') {
        const size_t n = strcspn(at, "|");
        size_t i = 0;
        while (i < n && (islower((unsigned char)at[i]) || at[i] == '_'))
            i++;
        if (n == 0 || i < n || !strchr(arg, '|')) continue;
        printf("%.*s\n", (int)n, at);
        any = true;
    }
    return any;
}

/* What is before the word in a list of words: up to the last comma. */
static char *head_of(const tt_option *o, const char *word)
{
    const bool list = o->flags & TT_OPTION_COLUMN || strstr(o->arg, "[,");
    const char *comma = list ? strrchr(word, ',') : NULL;
    char *head = strndup(word, comma ? (size_t)(comma - word) + 1 : 0);
    if (!head) exit(tt_report_memory());
    return head;
}

static bool print_names(const tt_option *o, const char *word)
{
    const char *name;
    char *head = head_of(o, word);
    for (size_t i = 0; i < o->n_rows; i++) {
        memcpy(&name, (const char *)o->rows + i * o->row_bytes, sizeof name);
        if (name) printf("%s%s\n", head, name);
    }
    for (size_t i = 0; o->names && (name = o->names(i)) != NULL; i++)
        printf("%s%s\n", head, name);
    free(head);
    return o->n_rows > 0 || o->names;
}

static void print_files(const char *arg)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(arg, kinds[i].arg, strlen(kinds[i].arg)) == 0) {
            puts(kinds[i].files);
            return;
        }
}

static void print_value(const tt_option *o, const char *word)
{
    if (!o->arg || print_names(o, word) || print_words_of(o->arg)) return;
    print_files(strcmp(o->name, "model") == 0 ? "MODEL" : o->arg);
}

/* An argument that is no option, by the lines of --help's "Usage:". */
static void print_argument(const tt_options *command, const spot *at)
{
    bool any = false;
    const char *words = command->words ? command->words : "";
    if (at->after_options && strstr(words, "PROGRAM")) {
        puts(at->n_words == 0 ? ":programs" : ":files");
        return;
    }
    for (const char *line = words; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *word = line + (*line == '[');
        if (*word == '-') continue;
        if (islower((unsigned char)*word)) {
            if (at->n_words == 0) printf("%.*s\n", (int)strcspn(word, " \n"), word);
        } else if (!any) {
            if (strncmp(word, "FILE", 4) == 0 || strncmp(word, "A ", 2) == 0)
                puts(TRACES);
            else
                print_files(word);
            any = true;
        }
    }
    if (!any && !at->after_options) print_options(command, false);
}

/* Prints what may follow. Does not return, but for a column of the command's list: then the words
 * are a command line, for free(), that lists them. */
static char **complete(const tt_options *command, int argc, char **argv)
{
    const spot at = find_spot(command, argc, argv);
    tt_options_complete = NULL;
    if (!at.value || !(at.value->flags & TT_OPTION_COLUMN)) {
        if (at.value)
            print_value(at.value, at.word);
        else if (at.is_option)
            print_options(command, at.word[1] != '-');
        else if (at.word)
            print_argument(command, &at);
        exit(tt_report_output(true));
    }
    /* The options before it decide what the columns are. */
    columns = head_of(at.value, at.word);
    char **words = calloc((size_t)argc + 3, sizeof *words);
    if (!words) exit(tt_report_memory());
    static char option[] = "--columns", help[] = "help";
    int end = argc - 1, n = 0;
    if (strncmp(argv[end], "--", 2) != 0) end -= 1 + (strcmp(argv[end - 1], "=") == 0);
    for (int i = 0; i < end; i++)
        if (strcmp(argv[i], "=") != 0) words[n++] = argv[i];
    words[n++] = option;
    words[n] = help;
    return words;
}

void tt_complete_options(void)
{
    tt_options_complete = complete;
}
