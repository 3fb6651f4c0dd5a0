/* How long the host device waits for a call of the program (HOSTCUDA_PROGRESS). */
#ifndef HOSTCUDA_PROGRESS_TIMEOUT_H
#define HOSTCUDA_PROGRESS_TIMEOUT_H

#include <stdbool.h>

/* Reads HOSTCUDA_PROGRESS, in milliseconds; NULL or "": a default that depends on the seed. Returns false, with a
 * message, if it is not a number. */
bool hc_progress_timeout_read(const char *text);
/* Returns a time in milliseconds: queued work goes on after that time without a call, and a call waits that long for a
 * host function. 0: no limit. */
unsigned hc_progress_timeout(void);

#endif
