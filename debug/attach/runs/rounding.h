/* Sums of the same numbers in two orders. */
#ifndef BG_ATTACH_ROUNDING_H
#define BG_ATTACH_ROUNDING_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a and b hold floats of one format that differ by rounding alone. Nobody knows of what type memory is: so all
 * that differs must be numbers that programs compute with. false also where nothing differs. */
bool bg__differ_by_rounding(const void *a, const void *b, size_t bytes);

#endif
