/* What tests of pools share: pools whose blocks are checked after each step. */
#ifndef BG_TESTS_POOL_SUPPORT_H
#define BG_TESTS_POOL_SUPPORT_H

#include "tests/support/runner/shared.h"

#include "memory/memory.h"

enum { KIB = 1024, MIB = 1024 * 1024 };
#define RESERVE ((size_t)256 * MIB)

bg_pool *pool_make(size_t reserve, size_t limit);
/* A pool of RESERVE bytes that goes with its scope. */
#define MADE_POOL(name) __attribute__((cleanup(destroy_owned_pool), unused)) bg_pool *name = pool_make(RESERVE, 0)
bg_pool_stats pool_stats(const bg_pool *pool);

/* Each succeeds, or fails the test; no two blocks overlap afterwards. */
char *pool_take(bg_pool *pool, size_t bytes);
char *pool_pin(bg_pool *pool, size_t bytes);
void pool_release(bg_pool *pool, void *ptr);
void pool_begin(bg_pool *pool, const char *bucket);
bg__bucket_stats pool_end(bg_pool *pool);

/* The page size: what the first byte costs. */
size_t pool_page(void);

/* The device's free memory, with all work done. */
size_t free_device_memory(void);
/* As much is free as before. A GPU's driver keeps some of what is freed, for what comes next. */
void expect_given_back(size_t before);

#endif
