/* The ops of random programs. Each has the fields that its kind needs, of these names: inputs a and b, outputs x, y, p,
 * q and parts, values k, variant, where and own. */
#ifndef RANDOM_OPS_H
#define RANDOM_OPS_H

#include "program.h"

/* What bodies know of the pass that runs, beside their arguments. */
typedef struct pass {
    int number;        /* 0: the capture */
    uint32_t ambient;  /* another one in each pass */
    uint32_t *own;     /* device memory of PLACE_OWN: LENGTH x OUTPUTS x 2 x ELEMENTS */
    cudaStream_t side; /* of bodies that fork */
} pass;
extern pass this_pass;

#endif
