/* The environment variables that change how the host device works. They are read once, in the first call. */
#ifndef HOSTCUDA_ENVIRONMENT_SETTINGS_H
#define HOSTCUDA_ENVIRONMENT_SETTINGS_H

#include <stdbool.h>

/* Returns false, with a message on stderr, if a variable has a value that is not allowed. Every call then fails. */
bool hc_settings_read(void);

#endif
