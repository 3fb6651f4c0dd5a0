/* What a test program may ask of the host device beyond CUDA. A program that also runs on a GPU declares these weak, or
 * looks them up with dlsym, and leaves them alone where they are missing. */
#ifndef HOSTCUDA_H
#define HOSTCUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As HOSTCUDA_SEED, from now on. Graphs instantiated under seed 0 keep their order of issue. Call it while no work is
 * queued, and the same calls after it run in the same order each time. */
void hostcuda_seed(unsigned long long seed);

/* As HOSTCUDA_FAIL, from now on, counting from here; NULL or "" for none. 0: well-formed; else nothing is set, and a
 * sentence on stderr says why. */
int hostcuda_fail(const char *faults);
/* How many of them have happened. */
size_t hostcuda_faults(void);

/* Records the program's calls from now on, anew (1), or no longer (0): names as HOSTCUDA_FAIL takes them. Calls that
 * only report errors are left out. */
void hostcuda_record(int on);
/* The index-th call recorded, from 0; NULL beyond the last. */
const char *hostcuda_call(size_t index);
/* How many were recorded of this name; NULL: in all. */
size_t hostcuda_calls(const char *name);

/* What the program holds: allocations, those of graphs' memory nodes included, and handles. */
struct hostcuda_live {
    size_t blocks, streams, events, graphs, execs;
};
struct hostcuda_live hostcuda_count_live(void);

#ifdef __cplusplus
}
#endif

#endif
