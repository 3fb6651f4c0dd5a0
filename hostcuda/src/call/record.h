/* A record of the program's calls, in order. */
#ifndef HOSTCUDA_RECORD_H
#define HOSTCUDA_RECORD_H

#include <stdbool.h>
#include <stddef.h>

/* Starts a new record, or stops. The old record stays until the next start. */
void hc_record_set_enabled(bool on);
bool hc_recording(void);
/* Adds a name, which must be a literal, if calls are recorded. If there is no memory, recording stops with a message.
 */
void hc_record_add(const char *name);
/* Returns NULL if there is no such index. */
const char *hc_record_name(size_t index);
/* Returns how many calls of this name were recorded; NULL: of all names. */
size_t hc_record_count(const char *name);

#endif
