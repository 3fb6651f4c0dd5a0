/* What the programs of the zoo share (README.md). None of it is linked with breakgraph: zoo_ops.h is for programs that
 * are. */
#ifndef ZOO_H
#define ZOO_H

#include "tests/zoo/zoo_kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Exit statuses. */
enum { ZOO_RIGHT, ZOO_WRONG, ZOO_ERROR, ZOO_HANG };

/* Ends the program with ZOO_ERROR if a call of CUDA fails. */
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_));                   \
            exit(ZOO_ERROR);                                                                                           \
        }                                                                                                              \
    } while (0)

/* What zoo_begin sets. */
extern struct zoo {
    bool correct;              /* --correct: be the twin */
    bool eager;                /* --eager: zoo_replay calls the pass in place of launching the graph */
    cudaStream_t stream, side; /* both non-blocking: work on them is not ordered with the legacy stream */
} zoo;

/* Reads the options and makes the streams. After a minute, or ZOO_SECONDS, the program ends with ZOO_HANG. */
void zoo_begin(int argc, char **argv);

/* What the program begins with: a number of the environment (ZOO_VALUE), or the usual one. For values that a graph
 * freezes, which a check finds by another one (needs: vary=A,B). */
int zoo_value(int usual);

/* Waits for the device and compares n floats in device memory with one value, or with an array. Prints the first that
 * differs. Returns ZOO_RIGHT or ZOO_WRONG, for main to return. */
int zoo_end(const float *y, int n, float value);
int zoo_end_with(const float *y, const float *expected, int n);

/* ---- a caching allocator: blocks that are given back stay mapped, and are given out again by size -----------------
 * It tells the tools of --attach what it does, as PyTorch's allocator is asked by them: the reports are of programs
 * that use that one. */
void *zoo_alloc(size_t bytes, const char *name);
void zoo_free(void *memory);
/* From now on it reports to these instead. zoo_ledger() of zoo_ops.h sets this. */
void zoo_allocator_reports(void (*alloc)(void *memory, size_t bytes, const char *name), void (*free)(void *memory));

/* Tells the tools of --attach that `live` of `rows` rows at memory are a batch's (bg_attach_rows). */
void zoo_rows(const void *memory, size_t row_bytes, int rows, int live, bool floats);

/* ---- a graph of plain CUDA calls, for programs to which it does not matter how it is captured ----------------------
 */
typedef void zoo_pass(void *user, cudaStream_t stream);
typedef struct zoo_graph {
    zoo_pass *pass;
    void *user;
    cudaGraphExec_t exec;
} zoo_graph;
/* Captures pass(user, zoo.stream), in the global mode. */
void zoo_capture(zoo_graph *graph, zoo_pass *pass, void *user);
void zoo_replay(const zoo_graph *graph);
void zoo_destroy(zoo_graph *graph);

#endif
