/* Prints the runners of a report as text. */
#ifndef BG_DEBUG_RUNNERS_TEXT_H
#define BG_DEBUG_RUNNERS_TEXT_H

#include <cjson/cJSON.h>
#include <stdio.h>

/* Prints the counters, the histogram of batch sizes and the schedules of each runner. rows may be NULL. */
void bg__runners_print(const cJSON *rows, FILE *out);

#endif
