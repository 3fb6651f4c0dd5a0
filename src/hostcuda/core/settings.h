/* The variables that change how the host device works; read once, at the first call. */
#ifndef HOSTCUDA_SETTINGS_H
#define HOSTCUDA_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* False: one has a value that is not allowed, and a sentence on stderr says so. Every call then fails. */
bool hc_settings_read(void);

/* The whole of text (to end) as a number from 0 to limit. */
bool hc_settings_number(const char *text, const char *end, uint64_t limit, uint64_t *number);

#endif
