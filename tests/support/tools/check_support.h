/* What tests of checks share: a graph without findings, or with one that is told in full. */
#ifndef BG_TESTS_CHECK_SUPPORT_H
#define BG_TESTS_CHECK_SUPPORT_H

#include "tests/support/support.h"

/* The check finds nothing. */
#define EXPECT_CLEAN(graph, what) expect_clean(graph, what, __FILE__, __LINE__)
void expect_clean(bg_graph *graph, unsigned what, const char *file, int line);

/* The only finding is of that kind, of that call ("": none) at that line of the test, about that address. words: what
 * its message has in it, with '|' between. */
typedef struct expected {
    const char *kind;
    const char *call;
    int line;
    const void *address;
    const char *words;
} expected;
#define EXPECT_FOUND(graph, what, ...) expect_found(graph, what, &(const expected){__VA_ARGS__}, __FILE__, __LINE__)
void expect_found(bg_graph *graph, unsigned what, const expected *e, const char *file, int line);

/* Memory of the device, of a size that no other test has. */
char *allocate(size_t bytes);

/* Frees memory, and allocates as much at the same address. The test is skipped where the device does not do that. */
void reuse(void *memory, size_t bytes);

#endif
