/* Bytes as a GGUF file. */
#include "gguf_looks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_gguf(data, size);
    return 0;
}
