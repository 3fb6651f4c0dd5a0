/* How long the host device waits for the program. */
#ifndef HOSTCUDA_PATIENCE_H
#define HOSTCUDA_PATIENCE_H

#include <stdbool.h>

/* HOSTCUDA_PROGRESS: milliseconds; NULL or empty: by the seed. False, with a sentence: it is none. */
bool hc_patience_read(const char *text);
/* Milliseconds without a call after which work goes on, and that a call waits for a host function; 0: for ever. */
unsigned hc_patience(void);

#endif
