/* Functions of the host device beyond CUDA, for test programs. A program that also runs on a GPU declares these weak,
 * or looks them up with dlsym, and does not call them where they are missing. */
#ifndef HOSTCUDA_H
#define HOSTCUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the seed of the order of work, as HOSTCUDA_SEED does, from now on. Graphs instantiated under seed 0 keep their
 * order of issue. Call it while no work is queued; the same calls after it then run in the same order each time. */
void hostcuda_seed(unsigned long long seed);

/* Makes calls fail, as HOSTCUDA_FAIL does, from now on, counting from here. faults is a list separated by commas; NULL
 * or "" clears it. Each fault has one of the forms
 *   NAME@N=CODE   the N-th call of NAME, from 1, does nothing and returns CODE, which becomes the thread's last error
 *   NAME@N~CODE   it succeeds; the device fails with CODE at the next call that waits or queries, and from then on
 * NAME is a function as a program writes it, or * for any; calls of all threads count. CODE is a number, or a name as
 * cudaGetErrorName or cuGetErrorName returns it. For NAME@N=CODE with a function of cuBLAS it is a name of
 * cublasGetStatusName, and with one of NCCL a name of nccl.h. If NAME is *, CODE is a CUDA error, which cuBLAS
 * translates and NCCL reports as ncclUnhandledCudaError.
 * Functions that only read or name an error (cudaGetLastError, cudaGetErrorName), cuDriverGetVersion, cuGetProcAddress,
 * ncclGetVersion and ncclGroupStart cannot fail, and are not counted; ncclMemAlloc and ncclMemFree count as cudaMalloc
 * and cudaFree. tools:NAME are calls of NAME by tools (hostcuda_tool), all others those by the program. Faults that
 * have not happened when the program ends are printed to stderr. Returns 0, or another value where the list is
 * malformed: then nothing is set, and the reason is printed to stderr. A malformed HOSTCUDA_FAIL makes every call fail,
 * and prints the reason to stderr. */
int hostcuda_fail(const char *faults);

/* The calling thread's calls are from now on those of a tool that stands between the program and CUDA (1), or of the
 * program again (0); it nests. A tool's errors are not the program's last error, and the other way round; its calls are
 * not recorded, and do not run queued work early. Returns 1 where the program's call of the runtime, in which the tool
 * stands, is to fail: the tool may not answer it in CUDA's place. */
int hostcuda_tool(int on);

/* Returns the number of faults that have happened. */
size_t hostcuda_faults(void);

/* Starts a new record of the program's calls (1), or stops recording (0). Names are as for hostcuda_fail. Calls that
 * only report errors are not recorded. */
void hostcuda_record(int on);

/* Returns the name of the index-th recorded call, from 0; NULL beyond the last. */
const char *hostcuda_call(size_t index);

/* Returns the number of recorded calls of this name; NULL: of all. */
size_t hostcuda_calls(const char *name);

/* What the program holds: allocations, including those of graphs' memory nodes, and handles. */
struct hostcuda_live {
    size_t blocks, streams, events, graphs, execs;
};

/* Returns the current numbers of these. */
struct hostcuda_live hostcuda_count_live(void);

#ifdef __cplusplus
}
#endif

#endif
