/* The allocators of PyTorch and CuPy. */
#ifndef BG_ATTACH_PYTHON_H
#define BG_ATTACH_PYTHON_H

#include "debug/attach/shim/shim.h"

void bg__python_begin(const bg__attach_shim *shim);
/* Whether the program has an interpreter that can run the script. */
bool bg__python_is_available(void);
/* A capture has begun: lets the interpreter, if there is one, report allocations and frees from soon on. */
void bg__python_request_events(void);
/* A graph was instantiated or updated: lets the interpreter also report all live blocks soon. */
void bg__python_request_snapshot(void);

#endif
