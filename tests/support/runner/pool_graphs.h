/* Graphs of any size, that share a pool or have memory of their own. */
#ifndef BG_TESTS_POOL_GRAPHS_H
#define BG_TESTS_POOL_GRAPHS_H

#include "pool_support.h"

/* y = factor x */
BG_DECLARE_OP(pool_scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))

extern size_t pool_more_scratch; /* that an eager op of the pass asks for */

/* A pass: out = 22 factor x, with bridge buffers, scratch, and blocks that are released and reused on the way. */
typedef struct pool_sized {
    bg_pool *pool; /* NULL: blocks lie in `spare`, which holds three */
    float *spare;
    int64_t count;
    float factor;
    bg_tensor x, out;
    void *first;                                              /* block of the pass, when it has run */
    bg_status (*at_break)(bg_tensor *x, cudaStream_t stream); /* NULL, or called in the middle */
} pool_sized;

bg_status pool_pass(void *user, cudaStream_t stream);
bg_graph *pool_capture(pool_sized *s, const char *name, cudaStream_t stream);

enum { LARGEST = 40000, GRAPHS_MAX = 11 };
#define POOL_RESERVE ((size_t)64 * MIB)

/* A kept block. */
bg_tensor pool_keep(bg_pool *pool, int64_t count);
/* All elements; waits for the device. */
void pool_fill(const bg_tensor *tensor, float value);
void pool_expect(const bg_tensor *tensor, float value);

/* A pool, a kept input that is 1, and graphs of it of several sizes with kept outputs. */
typedef struct pool_graphs {
    bg_pool *pool;
    bg_tensor x;
    int count;
    pool_sized passes[GRAPHS_MAX];
    bg_graph *graphs[GRAPHS_MAX];
} pool_graphs;

pool_graphs pool_graphs_make(void);
/* The next pass, with a kept output; its graph; both. */
pool_sized *pool_graphs_next(pool_graphs *h, int64_t count, float factor);
bg_graph *pool_graphs_capture(pool_graphs *h, cudaStream_t stream);
bg_graph *pool_graphs_add(pool_graphs *h, int64_t count, float factor, cudaStream_t stream);
/* The output is what the pass computes; so it is after another replay. */
void pool_graphs_expect(const pool_graphs *h, int index);
void pool_graphs_replay(const pool_graphs *h, int index, cudaStream_t stream);
/* Destroys all. */
void pool_graphs_end(const pool_graphs *h);
#define OWNED_POOL_GRAPHS(name) __attribute__((cleanup(pool_graphs_end), unused)) pool_graphs name = pool_graphs_make()

#endif
