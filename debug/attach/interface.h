/* What the program may ask for (breakgraph/attach.h). */
#ifndef BG_ATTACH_INTERFACE_H
#define BG_ATTACH_INTERFACE_H

#include "debug/attach/shim/shim.h"

void bg__interface_begin(const bg__attach_shim *shim);

#endif
