/* The program's calls of the driver that are looked at. */
#ifndef BG_ATTACH_HOOKS_H
#define BG_ATTACH_HOOKS_H

#include <cuda.h>

#include "debug/attach/shim/shim.h"

/* Whether what is launched into stream becomes a node. */
bool bg__captures_hold(CUstream stream);
/* What was launched into stream, if that is being captured, is the calling thread's. */
void bg__captures_note(CUstream stream);

/* Launches are looked at outside of captures, too. */
void bg__hook_launches(void);

void bg__hook_captures(const bg__attach_shim *shim);
void bg__hook_graphs(const bg__attach_shim *shim);
void bg__hook_memory(const bg__attach_shim *shim);
void bg__hook_work(const bg__attach_shim *shim);

#endif
