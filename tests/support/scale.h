/* The op that tests call where it does not matter what an op does. */
#ifndef BG_TESTS_SCALE_H
#define BG_TESTS_SCALE_H

#include "support.h"

/* y = factor x, of N floats. */
BG_DECLARE_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))

#endif
