/* A made-up vocabulary for synthetic models, like SentencePiece ("llama" tokenizer): every piece
 * is unique, any text can be tokenised, and generated text looks like words. */
#ifndef TT_GGUF_VOCAB_H
#define TT_GGUF_VOCAB_H

#include "base/status.h"
#include "gguf/writer.h"

#include <stdint.h>

#define TT_VOCAB_MIN 354u /* 3 special tokens, 256 bytes, the space mark, 94 characters */
#define TT_VOCAB_MAX 1000000u

/* Adds the tokenizer.ggml.* pairs for `n` tokens (TT_VOCAB_MIN to TT_VOCAB_MAX). The same n
 * gives the same tokens, and a smaller vocabulary is a prefix of a larger one. */
tt_status tt_vocab_write(tt_gguf_writer *w, uint32_t n, tt_error *err);

#endif
