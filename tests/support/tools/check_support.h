/* What tests of checks share. */
#ifndef BG_TESTS_CHECK_SUPPORT_H
#define BG_TESTS_CHECK_SUPPORT_H

#include "finding_support.h"

/* The check finds nothing, or one thing. */
#define EXPECT_CLEAN(graph, what)      EXPECT_NO_FINDING(check_graph(graph, what))
#define EXPECT_FOUND(graph, what, ...) EXPECT_FINDING(check_graph(graph, what), __VA_ARGS__)
bg_report *check_graph(bg_graph *graph, unsigned what);

/* Frees memory, and allocates as much at the same address. The test is skipped where the device does not do that. */
void reuse(void *memory, size_t bytes);

#endif
