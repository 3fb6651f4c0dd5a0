/* Numbers in settings. */
#ifndef HOSTCUDA_NUMBER_H
#define HOSTCUDA_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Parses all of [text, end) as a number from 0 to limit. Returns false if it is none. */
bool hc_number_read(const char *text, const char *end, uint64_t limit, uint64_t *number);

#endif
