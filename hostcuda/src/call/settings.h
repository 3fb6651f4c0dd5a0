/* The variables of the environment that change how the host device works; read once, at the first call. */
#ifndef HOSTCUDA_SETTINGS_H
#define HOSTCUDA_SETTINGS_H

#include <stdbool.h>

/* False: one has a value that is not allowed, and a sentence on stderr says so. Every call then fails. */
bool hc_settings_read(void);

#endif
