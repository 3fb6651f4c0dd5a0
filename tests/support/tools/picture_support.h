/* What the tests of outlines, drawings, timelines and steps share: passes to look at, and their JSON. */
#ifndef BG_TESTS_PICTURE_SUPPORT_H
#define BG_TESTS_PICTURE_SUPPORT_H

#include "file_support.h"
#include "finding_support.h"
#include "json_support.h"

/* A fixture, a directory, and what the passes need. */
int pictures_setup(void **state);
int pictures_teardown(void **state);
#define PICTURE_TEST(name) TEST_F(name, pictures_setup, pictures_teardown, fixture *f)

/* A fill, a copy, a host function and an event node; a child graph that scales y, twice. */
BG_DECLARE_OP(mixed, BG_IN(x), BG_OUT(y))
BG_DECLARE_OP(nested, BG_INOUT(y))
BG_DECLARE_OP(move, BG_IN(x), BG_OUT(y))  /* eager */
BG_DECLARE_OP(outer, BG_IN(x), BG_OUT(y)) /* two scales in it */
extern cudaEvent_t picture_event;         /* that mixed records */
extern int picture_host_calls;            /* of the host function */

/* Forward passes; user is a fixture. */
extern void *picture_elsewhere; /* where move leaves its result; NULL: in place */
extern int picture_fails;       /* the ordinal of the run of move, from now on, that returns BG_ERROR_OP; 0: none */
/* scale#0 | move#0, eager | outer#0 with two scales in it | add#0 */
bg_status broken_pass(void *user, cudaStream_t stream);
/* scale#0 | move#0, eager */
bg_status ending_pass(void *user, cudaStream_t stream);
/* scale#0 on other, scale#1, scale#2 on other, add#0; the same again, without fork, as scale#3 to add#1. */
bg_status forked_pass(void *user, cudaStream_t stream);
/* mixed#0: a fill, a copy, a host function and an event node; nested#0: a child graph of two kernels. */
bg_status mixed_pass(void *user, cudaStream_t stream);
/* allocate#0: a memory node and a kernel | use#0 | release#0: a memory node */
bg_status memory_pass(void *user, cudaStream_t stream);

bg_graph *capture_picture(fixture *f, bg_forward pass);

#endif
