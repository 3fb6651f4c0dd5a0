/* Calls that fail because the program asked for it (HOSTCUDA_FAIL), and a record of the calls that it made. */
#ifndef HOSTCUDA_FAULT_H
#define HOSTCUDA_FAULT_H

#include <stdbool.h>

/* False: HOSTCUDA_FAIL is ill-formed, and a sentence on stderr says so. */
bool hc_fault_read(void);

/* Notes a call of the API and gives the code that it is to fail with, 0 for none; a code of cuBLAS's or
 * NCCL's for their calls. With the lock. A fault that comes later is put on its way. */
int hc_fault_call(const char *function);

/* Whether any call is to be noted: the only thing that a call looks at where none is. */
extern bool hc_fault_watching;

#endif
