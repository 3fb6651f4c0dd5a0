/* Ops of N floats, for tests where it does not matter what an op does. A program that includes this has them all: its
 * own ops have other names. */
#ifndef BG_TESTS_OPS_H
#define BG_TESTS_OPS_H

#include "tests/support/support.h"

/* y = factor x */
BG_DECLARE_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
/* y += x */
BG_DECLARE_OP(sum, BG_IN(x), BG_INOUT(y))
/* z = x + y */
BG_DECLARE_OP(plus, BG_IN(x), BG_IN(y), BG_OUT(z))
/* x *= factor, at a break */
BG_DECLARE_OP(eager_scale, BG_INOUT(x), BG_VALUE(float, factor))
/* x *= 2, at a break */
BG_DECLARE_OP(twice, BG_INOUT(x))

#endif
