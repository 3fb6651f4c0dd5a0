/* Device memory that belongs to an owner known by its address; what inline helpers for other libraries stand on.
 * Threads: callable from any thread, but for workspaces in a pool, which serves one thread at a time. */
#ifndef BREAKGRAPH_WORKSPACE_H
#define BREAKGRAPH_WORKSPACE_H

#include <breakgraph/memory.h>
#include <breakgraph/status.h>

BG_BEGIN_C_

/* The workspace that belongs to owner on the current device: bytes at *ptr, made at the first call, the same from then
 * on, so that captured graphs may hold it. The library owns it. Errors: INVALID_ARGUMENT (a NULL, 0 bytes, more than at
 * the first call), OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_workspace(const void *owner, size_t bytes, void **ptr);

/* The same in a pool: one for each owner and pool, a kept block, which goes with the pool at the latest. pool NULL: as
 * bg_workspace. More errors: INVALID_ARGUMENT (another device than the pool's). */
BG_API bg_status bg_workspace_in(const void *owner, bg_pool *pool, size_t bytes, void **ptr);

/* Gives back the workspaces of an owner that is about to go, those in pools too. Graphs that use them must not be
 * replayed again. */
BG_API void bg_workspace_release(const void *owner);

BG_END_C_

#endif
