/* Tensors of op calls as .npy files, with an index. */
#ifndef BG_DEBUG_DUMP_H
#define BG_DEBUG_DUMP_H

#include "capture/inspect.h"

typedef struct bg__dump bg__dump;

/* Makes the directory where it is missing. INVALID_ARGUMENT where it has an index. */
bg_status bg__dump_create(bg__dump **dump, const char *directory, const char *graph);
/* All tensors of args. Waits for stream. */
bg_status bg__dump_call(bg__dump *dump, const bg__call *call, const void *args, cudaStream_t stream);
/* Writes the index. complete: all calls of the pass are in it. */
bg_status bg__dump_finish(bg__dump *dump, bool complete);
/* NULL is fine. */
void bg__dump_free(bg__dump *dump);
/* INVALID_ARGUMENT where directory has an index. */
bg_status bg__dump_check(const char *directory);

#endif
