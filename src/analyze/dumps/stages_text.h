/* The map that is built in: the bytes of stages/llama.cpp.map, made into C by the build. */
#ifndef TT_ANALYZE_DUMPS_STAGES_TEXT_H
#define TT_ANALYZE_DUMPS_STAGES_TEXT_H

#include <stddef.h>

extern const unsigned char tt_stages_text[];
extern const size_t tt_stages_text_size;

#endif
