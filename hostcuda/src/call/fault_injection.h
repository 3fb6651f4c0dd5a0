/* Calls that fail because HOSTCUDA_FAIL or hostcuda_fail asks for it. All functions except hc_fault_read need the lock.
 */
#ifndef HOSTCUDA_FAULT_INJECTION_H
#define HOSTCUDA_FAULT_INJECTION_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the value of HOSTCUDA_FAIL; NULL or "" means none. Returns false, with a message, if it is malformed. */
bool hc_fault_read(const char *text);
/* Replaces the faults; calls are counted from here on. Returns false, and sets nothing, if text is malformed. */
bool hc_fault_set(const char *text);
/* Returns how many faults have happened. */
size_t hc_fault_count(void);
/* Starts a new record of calls, or stops recording. */
void hc_fault_set_recording(bool on);

struct hc_fault {
    int code; /* 0: the call is not to fail */
    bool any; /* the fault is for any call, so `code` is CUDA's; otherwise `code` is the called library's */
};

/* Counts and records an API call. Returns the fault with which the call is to fail. Stores a fault for a later wait in
 * the device. */
struct hc_fault hc_fault_match_call(const char *function);

/* Whether the program's next call of the function is to fail. */
bool hc_fault_matches_next_call(const char *function);

/* Whether calls have to be counted or recorded. If not, calls skip that work. */
extern bool hc_fault_watching;

#endif
