/* Host memory that copy nodes read, and whether it has changed between two launches ("host-source-changed"). */
#ifndef BG_ATTACH_HOST_SOURCES_H
#define BG_ATTACH_HOST_SOURCES_H

#include "debug/graph/nodes.h"

typedef struct bg__host_sources bg__host_sources;

/* Adds the source of a copy node if it is pinned host memory. *sources is NULL at first. Errors: OUT_OF_MEMORY. */
bg_status bg__host_sources_add(bg__host_sources **sources, const bg__node *node, const bg__node_range *source);
/* Compares the sources before a launch. running: the host has not waited for the previous launch. `sources` NULL does
 * nothing. */
void bg__host_sources_check(bg__host_sources *sources, const char *graph, bool running);
void bg__host_sources_free(bg__host_sources *sources);

#endif
