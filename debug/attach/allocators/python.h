/* The allocators of PyTorch and CuPy. */
#ifndef BG_ATTACH_PYTHON_H
#define BG_ATTACH_PYTHON_H

#include "debug/attach/shim/shim.h"

void bg__python_begin(const bg__attach_shim *shim);
/* Whether the program has an interpreter that can be asked. */
bool bg__python_is_there(void);
/* A capture has begun: lets the program's interpreter, if it has one, tell from soon on what its allocators do. */
void bg__python_watch(void);
/* A graph was instantiated or updated: lets it say soon what they hold, too. */
void bg__python_snapshot(void);

#endif
