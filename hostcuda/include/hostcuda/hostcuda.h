/* Functions of the host device that CUDA does not have, for test programs. A program that also runs on a GPU declares
 * them weak, or looks them up with dlsym, and does not call them if they are missing. */
#ifndef HOSTCUDA_H
#define HOSTCUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the seed of the order in which queued work runs, as HOSTCUDA_SEED does. Seed 0 is the order of issue. Call this
 * function while no work is queued: work of later calls then runs in an order that depends only on the seed and these
 * calls. Graphs instantiated under seed 0 keep the order of issue. */
void hostcuda_seed(unsigned long long seed);

/* Makes calls fail, as HOSTCUDA_FAIL does; calls are counted from here on. `faults` is a list separated by commas. It
 * replaces earlier faults; NULL or "" clears them. Each fault has one of these forms:
 *   NAME@N=CODE   the N-th call of NAME, from 1, does nothing and returns CODE, which becomes the thread's last error
 *   NAME@N~CODE   the N-th call succeeds; the device fails with CODE at the next call that waits or queries, and stays
 *                 failed
 * NAME is a function's name as programs write it, or * for any function. Calls of all threads count. tools:NAME counts
 * only calls by tools (hostcuda_tool); a plain NAME counts only calls by the program.
 * CODE is a number, or a name as cudaGetErrorName or cuGetErrorName returns it. In NAME@N=CODE, CODE is a name of
 * cublasGetStatusName for a function of cuBLAS, and a name of nccl.h for a function of NCCL. If NAME is *, CODE is a
 * CUDA error, which cuBLAS translates and NCCL reports as ncclUnhandledCudaError.
 * Functions that only read or name an error (cudaGetLastError, cudaGetErrorName), cuDriverGetVersion, cuGetProcAddress,
 * ncclGetVersion and ncclGroupStart cannot fail and are not counted. ncclMemAlloc and ncclMemFree count as cudaMalloc
 * and cudaFree. At process exit, faults that have not happened are printed to stderr.
 * Returns 0. Returns another value, changes nothing and prints the reason to stderr if the list is malformed. A
 * malformed HOSTCUDA_FAIL prints the reason, too, and makes every call fail. */
int hostcuda_fail(const char *faults);

/* With 1, marks the calling thread's following calls as calls of a tool between the program and CUDA; with 0, as calls
 * of the program again. Calls of this function nest. A tool's errors do not change the program's last error, and the
 * program's errors do not change the tool's. A tool's calls are not recorded and do not run queued work early. Returns
 * 1 if the program's current runtime call is going to fail with an injected fault: the tool must then pass the call on
 * to CUDA and not answer the call itself. Returns 0 otherwise. */
int hostcuda_tool(int on);

/* Returns the number of faults that have been injected. */
size_t hostcuda_faults(void);

/* Starts a new record of the program's calls (1), or stops recording (0). Calls that only report errors are not
 * recorded. Names have the form that hostcuda_fail takes. */
void hostcuda_record(int on);

/* Returns the name of the recorded call with this index, from 0; NULL if there is none. */
const char *hostcuda_call(size_t index);

/* Returns the number of recorded calls of this name, or of all calls if name is NULL. */
size_t hostcuda_calls(const char *name);

/* The program's live handles and allocations. `blocks` includes allocations of graphs' memory nodes. */
struct hostcuda_live {
    size_t blocks, streams, events, graphs, execs;
};

/* Returns the current numbers of live handles and allocations. */
struct hostcuda_live hostcuda_count_live(void);

#ifdef __cplusplus
}
#endif

#endif
