/* Bytes as the text of a BitNet-style file: read or refused with a reason; what was read is written
 * and reads back as the same. */
#include "bitnet/names.h"
#include "bitnet/read.h"
#include "bitnet/write.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what)
{
    if (!what) abort();
}

static bool same_values(const tt_bitnet_record *a, const tt_bitnet_record *b)
{
    if (a->n_first_values != b->n_first_values) return false;
    for (uint32_t i = 0; i < a->n_first_values; i++)
        if (a->first_values[i] != b->first_values[i] &&
            (a->first_values[i] == a->first_values[i] || b->first_values[i] == b->first_values[i]))
            return false;
    return true;
}

static bool same(const tt_bitnet_record *a, const tt_bitnet_record *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->dtype, b->dtype) == 0 &&
           a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, a->n_dims * sizeof *a->shape) == 0 &&
           a->has_blake3 == b->has_blake3 && memcmp(a->blake3, b->blake3, 32) == 0 &&
           a->has_rms == b->has_rms && a->rms == b->rms && a->n_elements == b->n_elements &&
           a->has_first_values == b->has_first_values && same_values(a, b) &&
           a->has_seq == b->has_seq && a->seq == b->seq && a->has_layer == b->has_layer &&
           a->layer == b->layer && !a->stage == !b->stage &&
           (!a->stage || strcmp(a->stage, b->stage) == 0);
}

static void write_and_read(const tt_bitnet_record *r, tt_bitnet_layout layout)
{
    tt_error err;
    tt_bytes text;
    tt_bitnet_folder again = {0};
    tt_bytes_init(&text, (size_t)64 << 20);
    tt_bitnet_put(&text, r, layout);
    must(!text.failed);
    must(layout == TT_BITNET_PRETTY || !memchr(text.data, '\n', text.size));
    must(tt_bitnet_read_text(&again, "again", 1, (const char *)text.data, text.size, &err) ==
         TT_OK);
    must(again.n == 1 && same(r, &again.items[0].record));
    tt_bitnet_free(&again);
    tt_bytes_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tt_error err = {0};
    tt_bitnet_folder f = {0};
    tt_status status = tt_bitnet_read_text(&f, "file", 1, (const char *)data, size, &err);
    must(status == TT_OK || (err.message[0] && memchr(err.message, '\0', sizeof err.message)));
    for (size_t i = 0; i < f.n && i < 16; i++) {
        char file[TT_BITNET_FILE_NAME];
        must(tt_bitnet_file_name(f.items[i].record.name, i, file));
        must(strlen(file) < sizeof file && !strchr(file, '/'));
        write_and_read(&f.items[i].record, TT_BITNET_PRETTY);
        write_and_read(&f.items[i].record, TT_BITNET_ONE_LINE);
    }
    tt_bitnet_free(&f);
    return 0;
}
