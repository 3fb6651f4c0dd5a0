/* Tests of what only the host device has. */
#ifndef BG_TESTS_HOST_ONLY_H
#define BG_TESTS_HOST_ONLY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* On a GPU, puts in the place of each test one that is skipped and says that `what` belongs to the host device; in
 * setup it could not be. */
void skip_on_gpu(struct CMUnitTest *tests, size_t count, const char *what);

#endif
