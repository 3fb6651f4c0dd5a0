/* Host memory that copy nodes read, and whether it has changed between two launches ("host-source-changed"). */
#ifndef BG_ATTACH_HOST_SOURCES_H
#define BG_ATTACH_HOST_SOURCES_H

#include "debug/graph/nodes.h"

typedef struct bg__host_sources bg__host_sources;

/* The source of a copy node; *sources, NULL at first, is made where it is host memory. Errors: OUT_OF_MEMORY. */
bg_status bg__host_sources_add(bg__host_sources **sources, const bg__node *node, const bg__end *source);
/* Before a launch. running: nobody has waited for the one before. NULL does nothing. */
void bg__host_sources_look(bg__host_sources *sources, const char *graph, bool running);
void bg__host_sources_free(bg__host_sources *sources);

#endif
