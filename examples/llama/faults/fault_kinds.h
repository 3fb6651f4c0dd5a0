/* How a planted call goes wrong. */
#ifndef LLAMA_FAULT_KINDS_H
#define LLAMA_FAULT_KINDS_H
#include "faults.h"

/* One call of the pass. Its memory is made when it is planted: bodies that are captured allocate nothing. */
typedef struct llama_planted {
    llama_fault kind;
    const char *op;
    int call;
    char name[32];
    float factor;       /* of CANCEL */
    int number;         /* what the body keeps on the host */
    cudaStream_t aside; /* takes part in no capture */
    float *buffer;      /* of the size of the largest row */
    float *host;        /* as large, pageable */
    int *counter;       /* on the device */
} llama_planted;

bg_status llama_planted_run(llama_planted *planted, const bg_op *op, void *args, bg_op_body right, cudaStream_t stream);
#endif
