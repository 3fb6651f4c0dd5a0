/* The graphs that tests of checks of addresses look at. */
#ifndef BG_TESTS_CHECKED_GRAPHS_H
#define BG_TESTS_CHECKED_GRAPHS_H

#include "check_support.h"
#include "tests/support/ops.h"

enum { BYTES = N * sizeof(float), ADDRESSES = BG_CHECK_ADDRESSES, OVERLAP = BG_CHECK_OVERLAP };

BG_DECLARE_OP(shift, BG_IN(x), BG_OUT(y)) /* eager */
/* Touches no memory. */
BG_DECLARE_OP(touch, BG_IN(x), BG_IN(w), BG_INOUT(state))

/* Adds to x what lies in memory that no argument shows. */
BG_DECLARE_OP(sneak, BG_INOUT(x))
extern float *hidden_memory;

/* N floats at data. */
bg_tensor check_vector(void *data);

/* A capture named "decode", on the fixture's stream. */
bg_capture *check_begin(fixture *f, bg_pool *pool);

extern int scale_line, shift_line; /* of the calls of check_capture */
/* memory -> y -> z, the second call at a break. */
bg_graph *check_capture(fixture *f, void *memory);

void check_replay_times(fixture *f, bg_graph *graph, int times);

#endif
