/* The ops of random programs. Each has the fields that its kind needs, of these names: inputs a and b, outputs x, y, p,
 * q and parts, values k, variant, event and how. */
#ifndef RANDOM_OPS_H
#define RANDOM_OPS_H

#include "program.h"

/* How a body leaves its outputs. */
typedef struct how {
    place where;
    int own; /* whose memory of its own */
    shorter shorter;
} how;
/* Elements of the outputs in this pass. */
int rows_of(how h);

/* What bodies know of the pass that runs, beside their arguments. */
typedef struct pass {
    int number;                 /* 0: the capture */
    uint32_t ambient;           /* another one in each pass */
    uint32_t *own;              /* device memory of PLACE_OWN: LENGTH x OUTPUTS x 2 x ELEMENTS */
    cudaEvent_t events[EVENTS]; /* of the program */
    cudaEvent_t joined;         /* of bodies */
    cudaStream_t teller;        /* of bodies that leave work on it */
    cudaStream_t side;          /* of bodies that fork */
} pass;
extern pass this_pass;

#endif
