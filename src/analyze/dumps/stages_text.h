/* The built-in map: the bytes of stages/llama.cpp.map, converted to C by the build. */
#ifndef TT_ANALYZE_DUMPS_STAGES_TEXT_H
#define TT_ANALYZE_DUMPS_STAGES_TEXT_H

#include <stddef.h>

extern const unsigned char tt_stages_text[];
extern const size_t tt_stages_text_size;

#endif
