/* Streams and memory for all random programs of this process, and what they leave in it. */
#ifndef RANDOM_MACHINE_H
#define RANDOM_MACHINE_H

#include "program.h"

typedef uint32_t tensor_data[ELEMENTS];
typedef tensor_data results[PASSES][CELLS];

typedef struct machine {
    cudaStream_t streams[STREAMS], extra;
    cudaEvent_t bare[EVENTS], order;
    /* On the device: BUFFERS, LENGTH, PASSES, PASSES. */
    tensor_data *buffers, *blocks, (*inputs)[BUFFERS], (*found)[CELLS];
    const bg_op *ops[OP_KINDS][2];
    results expected, seen; /* on the host */
    tensor_data host_inputs[PASSES][BUFFERS];
} machine;
extern machine the_machine;

/* Says on stderr what could not be released. */
void released(cudaError_t error, const char *what);

#endif
