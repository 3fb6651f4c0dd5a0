/* Calls that fail because the program asked for it (HOSTCUDA_FAIL). With the lock, but for the first. */
#ifndef HOSTCUDA_FAULT_H
#define HOSTCUDA_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* What HOSTCUDA_FAIL has; NULL or "": none. False: it is ill-formed, and a sentence on stderr says so. */
bool hc_fault_read(const char *text);
/* The same from now on, counting from here. False: nothing is set. */
bool hc_fault_set(const char *text);
/* How many have happened. */
size_t hc_fault_count(void);
/* Records calls from now on, anew, or no longer. */
void hc_fault_record(bool on);

struct hc_fault {
    int code; /* 0: the call goes on */
    bool any; /* the code is CUDA's, of a fault for any call; else the called library's */
};

/* Notes a call of the API and gives the fault that it is to fail with. One that comes later is put on its way. */
struct hc_fault hc_fault_call(const char *function);

/* Whether the program's next call of the function is to fail at once. */
bool hc_fault_due(const char *function);

/* Whether any call is to be noted: the only thing that a call looks at where none is. */
extern bool hc_fault_watching;

#endif
