/* How a planted call goes wrong. */
#ifndef LLAMA_FAULT_KINDS_H
#define LLAMA_FAULT_KINDS_H
#include "faults.h"

/* A planted call of the pass. Its memory is allocated when it is planted, since captured bodies must not allocate. */
typedef struct llama_planted_call {
    llama_fault kind;
    const char *op;
    int call;
    char name[32];
    float factor;       /* of CANCEL */
    int number;         /* the body's state on the host */
    cudaStream_t aside; /* takes part in no capture */
    float *buffer;      /* of the size of the largest row */
    float *host;        /* as large, pageable */
    int *counter;       /* on the device */
} llama_planted_call;

bg_status llama_planted_call_run(llama_planted_call *planted, const bg_op *op, void *args, bg_op_body right,
                                 cudaStream_t stream);
#endif
