/* The list of the tools' subscribers, and the function that offers the functions of breakgraph/attach.h to the
 * program. */
#ifndef BG_ATTACH_ATTACH_INTERFACE_H
#define BG_ATTACH_ATTACH_INTERFACE_H

#include "debug/attach/events/event.h"

extern const bg__subscriber *const bg__attach_subscribers[];

void bg__interface_begin(void);

#endif
