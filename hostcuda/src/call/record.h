/* A record of the program's calls, in the order they came. */
#ifndef HOSTCUDA_RECORD_H
#define HOSTCUDA_RECORD_H

#include <stdbool.h>
#include <stddef.h>

/* Begins anew, or ends. What was recorded stays until the next begin. */
void hc_record_switch(bool on);
bool hc_recording(void);
/* A literal; kept where calls are recorded. Without memory, the record ends, and a sentence says so. */
void hc_record_add(const char *name);
/* NULL: beyond the last. */
const char *hc_record_name(size_t index);
/* How many were recorded of this name; NULL: in all. */
size_t hc_record_count(const char *name);

#endif
