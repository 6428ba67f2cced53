#include "base/digits.h"

void tt_digits_make(tt_digits *d)
{
    for (uint32_t i = 0; i < 10000; i++) {
        const char text[4] = {(char)('0' + i / 1000), (char)('0' + i / 100 % 10),
                              (char)('0' + i / 10 % 10), (char)('0' + i % 10)};
        memcpy(&d->four[i], text, sizeof text);
    }
}

/* value > 0, so that a zero-filled front matches no number. */
void tt_digits_set_front(tt_digits_front *front, uint64_t value, const tt_digits *d)
{
    char *end = front->text;
    if (value >= 100000000) {
        end = tt_digits_put_short(end, (uint32_t)(value / 100000000), d);
        end = tt_digits_put_eight(end, (uint32_t)(value % 100000000), d);
    } else {
        end = tt_digits_put_short(end, (uint32_t)value, d);
    }
    front->n = (size_t)(end - front->text);
    front->value = value;
}
