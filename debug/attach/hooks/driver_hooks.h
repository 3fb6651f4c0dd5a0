/* Hooks of the program's driver calls. */
#ifndef BG_ATTACH_DRIVER_HOOKS_H
#define BG_ATTACH_DRIVER_HOOKS_H

#include <cuda.h>

#include "debug/attach/events/event.h"

/* Whether a launch into stream makes a node. */
bool bg__stream_is_captured(CUstream stream);
/* The calling thread has launched into stream: if it is captured, records the stack for the new node. */
void bg__record_captured_launch(CUstream stream);

/* Enables the hooks of launches outside of captures, too. */
void bg__enable_launch_hooks(void);

void bg__hook_captures(void);
void bg__hook_graphs(void);
void bg__hook_memory(void);
void bg__hook_work(void);

#endif
