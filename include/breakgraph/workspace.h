/* Device memory that belongs to an owner: any object of the program, such as a library handle. The object's address
 * identifies the owner. For inline helpers such as breakgraph/cublas.h.
 * Threads: callable from any thread; workspaces in a pool only from the pool's thread. */
#ifndef BREAKGRAPH_WORKSPACE_H
#define BREAKGRAPH_WORKSPACE_H

#include <breakgraph/memory.h>
#include <breakgraph/status.h>

BG_BEGIN_C_

/* Returns in *ptr the owner's workspace on the current device, of that many bytes. The first call allocates it; later
 * calls return the same memory, so that captured graphs may hold it. The library owns it.
 * Errors: INVALID_ARGUMENT (a NULL, 0 bytes, more bytes than at the first call), OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_workspace(const void *owner, size_t bytes, void **ptr);

/* The same in a pool: one kept block for each owner and pool, which is freed with the pool at the latest. pool NULL:
 * as bg_workspace.
 * Errors: as for bg_workspace, INVALID_ARGUMENT (another device than the pool's). */
BG_API bg_status bg_workspace_in(const void *owner, bg_pool *pool, size_t bytes, void **ptr);

/* Frees all workspaces of an owner, those in pools too. Call it before the owner is destroyed. Graphs that use them
 * must not be replayed again. */
BG_API void bg_workspace_release(const void *owner);

BG_END_C_

#endif
