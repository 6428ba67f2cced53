/* Numbers as Rust's serde_json writes them: the shortest decimal that reads back as the same
 * number, the closest of those, laid out like the crate ryu (https://docs.rs/ryu). Private to
 * this directory. */
#ifndef TT_BITNET_NUMBER_H
#define TT_BITNET_NUMBER_H

#include <stddef.h>

#define TT_BITNET_NUMBER 32 /* bytes, NUL included */

/* v is finite. Returns the length; works in any locale. */
size_t tt_bitnet_number_f64(double v, char out[TT_BITNET_NUMBER]);
size_t tt_bitnet_number_f32(float v, char out[TT_BITNET_NUMBER]);

#endif
