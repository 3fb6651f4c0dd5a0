/* What begins with the tools: their subscribers, and the functions of breakgraph/attach.h for the program. */
#ifndef BG_ATTACH_ATTACH_INTERFACE_H
#define BG_ATTACH_ATTACH_INTERFACE_H

#include "debug/attach/events/event.h"

extern const bg__subscriber *const bg__attach_subscribers[];

void bg__interface_begin(void);

#endif
