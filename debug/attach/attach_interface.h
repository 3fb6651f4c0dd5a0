/* The functions of breakgraph/attach.h, for the program. */
#ifndef BG_ATTACH_ATTACH_INTERFACE_H
#define BG_ATTACH_ATTACH_INTERFACE_H

#include "debug/attach/shim/shim.h"

void bg__interface_begin(const bg__attach_shim *shim);

#endif
