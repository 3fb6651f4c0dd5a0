/* A pass for tests of errors, with an op that fails where it is told to. */
#ifndef BG_TESTS_FRAGILE_PASS_H
#define BG_TESTS_FRAGILE_PASS_H

#include "ops.h"

#include <stdbool.h>

/* x = 2 x, eagerly; or fails, with BG_ERROR_TIMEOUT. */
BG_DECLARE_OP(fragile, BG_INOUT(x))
extern bool fragile_fails;

/* The fixture's, with an op that does not fail. */
int fragile_setup(void **state);
#define FRAGILE_TEST(name) TEST_F(name, fragile_setup, fixture_teardown, fixture *f)
/* y = 30 x, with a break. user: the fixture. */
bg_status fragile_pass(void *user, cudaStream_t stream);
/* It can be captured and replayed now. */
void expect_works(fixture *f);

#endif
