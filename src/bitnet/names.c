#include "bitnet/names.h"

#include "bitnet/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENDING ".trace"
#define NUMBER_ROOM 21u /* ".18446744073709551615" */

/* Reads digits at text. Returns their count; 0: none, or the number exceeds 32 bits. */
static size_t digits_at(const char *text, uint64_t *number)
{
    size_t n = 0;
    *number = 0;
    while (n < 10 && text[n] >= '0' && text[n] <= '9')
        *number = *number * 10 + (uint64_t)(text[n++] - '0');
    return *number > UINT32_MAX || (text[n] >= '0' && text[n] <= '9') ? 0 : n;
}

bool tt_bitnet_file_name(const char *name, uint64_t number, char file[TT_BITNET_FILE_NAME])
{
    char end[NUMBER_ROOM + sizeof ENDING];
    size_t n = strlen(name), most = TT_BITNET_FILE_NAME - NUMBER_ROOM - sizeof ENDING;
    if (n == 0) return false;
    if (n > most) {
        n = most;
        /* Do not cut inside a character. */
        while (n > 1 && ((unsigned char)name[n] & 0xc0) == 0x80)
            n--;
    }
    for (size_t i = 0; i < n; i++)
        file[i] = name[i] == '/' || name[i] == '\\' ? '_' : name[i];
    if (number > 1)
        (void)snprintf(end, sizeof end, ".%" PRIu64 ENDING, number);
    else
        (void)snprintf(end, sizeof end, ENDING);
    memcpy(file + n, end, strlen(end) + 1);
    return true;
}

uint64_t tt_bitnet_file_number(const char *file, size_t *n_base)
{
    size_t n = strlen(file), ending = sizeof ENDING - 1;
    uint64_t number;
    if (n >= ending && strcmp(file + n - ending, ENDING) == 0) n -= ending;
    *n_base = n;
    size_t at = n;
    while (at > 0 && file[at - 1] >= '0' && file[at - 1] <= '9')
        at--;
    if (at == n || at < 2 || file[at - 1] != '.' || file[at] == '0') return 1;
    if (digits_at(file + at, &number) == 0 || number < 2) return 1;
    *n_base = at - 1;
    return number;
}

void tt_bitnet_name_parts(const char *name, tt_bitnet_parts *out)
{
    static const struct {
        const char *stage;
        int32_t layer;
    } outside[] = {{"embeddings", TT_BITNET_LAYER_OUTSIDE},
                   {"all_layers_out", TT_BITNET_LAYER_ALL},
                   {"logits", TT_BITNET_LAYER_OUTSIDE}};
    uint64_t number;
    size_t n = name[0] == 't' ? digits_at(name + 1, &number) : 0;
    memset(out, 0, sizeof *out);
    if (n > 0 && name[n + 1] == '/') {
        out->has_seq = true;
        out->seq = number;
        name += n + 2;
    }
    n = strncmp(name, "blk", 3) == 0 ? digits_at(name + 3, &number) : 0;
    if (n > 0 && name[n + 3] == '/' && number <= INT32_MAX) {
        out->has_layer = true;
        out->layer = (int32_t)number;
        name += n + 4;
    }
    out->stage = name;
    for (size_t i = 0; i < sizeof outside / sizeof *outside && !out->has_layer; i++) {
        if (strcmp(name, outside[i].stage) != 0) continue;
        out->has_layer = true;
        out->layer = outside[i].layer;
    }
}
