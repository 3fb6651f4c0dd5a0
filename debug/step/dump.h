/* Dumps tensors of op calls as .npy files, with an index. */
#ifndef BG_DEBUG_DUMP_H
#define BG_DEBUG_DUMP_H

#include "capture/inspect.h"

typedef struct bg__dump bg__dump;

/* Creates the directory if needed. Errors: INVALID_ARGUMENT if it has an index; IO, OUT_OF_MEMORY. */
bg_status bg__dump_create(bg__dump **dump, const char *directory, const char *graph);
/* Writes all tensors of args. Waits for stream. */
bg_status bg__dump_call(bg__dump *dump, const bg__call *call, const void *args, cudaStream_t stream);
/* Writes the index. complete: all calls of the pass are in it. */
bg_status bg__dump_finish(bg__dump *dump, bool complete);
/* Takes NULL. */
void bg__dump_free(bg__dump *dump);
/* INVALID_ARGUMENT if directory has an index. */
bg_status bg__dump_check(const char *directory);

#endif
