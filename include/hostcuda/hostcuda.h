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

/* HOSTCUDA_FAIL makes calls fail: faults with commas between, each of the form
 *   NAME@N=CODE   the N-th call of NAME, from 1, does nothing and returns CODE, which becomes the thread's last error
 *   NAME@N~CODE   it succeeds, and the device fails with CODE at the next call that waits or queries, and ever after
 * NAME is a function as a program writes it, or * for any. CODE is a name as cudaGetErrorName or cuGetErrorName gives
 * it, with = of cuBLAS's functions as cublasGetStatusName does and of NCCL's as nccl.h has it, or a number; in a fault
 * of any call, an error of CUDA's, which cuBLAS translates and NCCL calls ncclUnhandledCudaError. Functions that report
 * errors, cuDriverGetVersion, cuGetProcAddress, ncclGetVersion and ncclGroupStart cannot fail, and do not count;
 * ncclMemAlloc and ncclMemFree count as cudaMalloc and cudaFree. Calls of all threads count. An ill-formed value makes
 * every call fail, with a sentence on stderr; a fault that has not happened when the program ends is told there, too.
 *
 * As HOSTCUDA_FAIL, from now on, counting from here; NULL or "" for none. 0: well-formed; else nothing is set, and a
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
