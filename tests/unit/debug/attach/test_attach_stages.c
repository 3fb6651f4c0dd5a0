/* In which order the parts of a split graph, and the nodes outside of it, are launched. */
#include "debug/attach/split/stages.h"
#include "tests/support/support.h"

#include <stdlib.h>

enum { NODES = 12 };

/* A graph of empty nodes, where edge[i][k] leads from the i-th to the k-th. */
typedef struct shape {
    bool edge[NODES][NODES];
    bool outside[NODES], first[NODES];
    cudaGraph_t graph;
    bg__layout layout;
    bg__stages stages;
    bool possible;
} shape;

static void find(shape *s, const bg__coresident_pairs *ties)
{
    cudaGraphNode_t nodes[NODES];

    EXPECT_CUDA(cudaGraphCreate(&s->graph, 0));
    for (int i = 0; i < NODES; i++) {
        cudaGraphNode_t before[NODES];
        size_t count = 0;
        for (int k = 0; k < i; k++)
            if (s->edge[k][i])
                before[count++] = nodes[k];
        EXPECT_CUDA(cudaGraphAddEmptyNode(&nodes[i], s->graph, before, count));
    }
    EXPECT_OK(bg__layout_read(&s->layout, s->graph));
    EXPECT_OK(bg__stages_assign(&s->stages, &s->layout, s->outside, s->first, ties, &s->possible));
}

static void end(shape *s)
{
    bg__stages_free(&s->stages);
    bg__layout_free(&s->layout);
    EXPECT_CUDA(cudaGraphDestroy(s->graph));
}

/* The stage that the nodes before it need, counted from them alone. */
static size_t wanted_stage(const shape *s, int node)
{
    size_t stage = 0;
    for (int k = 0; k < node; k++)
        if (s->edge[k][node] && s->stages.stage[k] > stage)
            stage = s->stages.stage[k];
    return stage + (stage % 2 != s->outside[node]);
}

/* Each stage is the first that the edges allow: so none leads back, and no path leaves a part and comes back. */
TEST(test_random)
{
    const bg__coresident_pairs none = {.tie = NULL};

    srand(7);
    for (int turn = 0; turn < 200; turn++) {
        shape s = {.graph = NULL};
        for (int i = 0; i < NODES; i++) {
            s.outside[i] = rand() % 3 == 0;
            for (int k = i + 1; k < NODES; k++)
                s.edge[i][k] = rand() % 4 == 0;
        }
        find(&s, &none);
        assert_true(s.possible);
        for (int i = 0; i < NODES; i++)
            assert_int_equal(s.stages.stage[i], wanted_stage(&s, i));
        end(&s);
    }
}

static bool is_ahead(const shape *s, int node)
{
    bool is = s->first[node];
    for (int k = node + 1; k < NODES; k++)
        is = is || (s->edge[node][k] && is_ahead(s, k));
    return is;
}

/* What the first depend on comes before all else, as early as without them. */
TEST(test_first)
{
    const bg__coresident_pairs none = {.tie = NULL};

    srand(8);
    for (int turn = 0; turn < 200; turn++) {
        shape s = {.graph = NULL};
        size_t last = 0;
        for (int i = 0; i < NODES; i++) {
            s.outside[i] = rand() % 2 == 0;
            s.first[i] = s.outside[i] && rand() % 3 == 0;
            for (int k = i + 1; k < NODES; k++)
                s.edge[i][k] = rand() % 4 == 0;
        }
        find(&s, &none);
        assert_true(s.possible);
        for (int i = 0; i < NODES; i++) {
            assert_int_equal(s.stages.ahead[i], is_ahead(&s, i));
            if (is_ahead(&s, i) && s.stages.stage[i] > last)
                last = s.stages.stage[i];
        }
        for (int i = 0; i < NODES; i++) {
            size_t wanted = wanted_stage(&s, i);
            if (!is_ahead(&s, i) && wanted < last)
                wanted = last + (last % 2 != s.outside[i]);
            assert_int_equal(s.stages.stage[i], wanted);
        }
        end(&s);
    }
}

/* Of two that wait for each other, one cannot come before the other. */
TEST(test_first_and_tie)
{
    struct bg__coresident_pair pair = {0, 3};
    shape s = {.edge[0][1] = true, .edge[3][4] = true, .outside[1] = true, .first[1] = true};

    find(&s, &(bg__coresident_pairs){.tie = &pair, .count = 1});
    assert_false(s.possible);
    end(&s);
}

/* 0 -> 1 (outside) -> 2, and 3 beside: 2 and 3 wait for each other, so both are behind 1. */
TEST(test_tie)
{
    struct bg__coresident_pair pair = {2, 3};
    shape s = {.edge[0][1] = true, .edge[1][2] = true, .edge[3][4] = true, .outside[1] = true};

    find(&s, &(bg__coresident_pairs){.tie = &pair, .count = 1});
    assert_true(s.possible);
    assert_int_equal(s.stages.stage[0], 0);
    assert_int_equal(s.stages.stage[1], 1);
    assert_int_equal(s.stages.stage[2], 2);
    assert_int_equal(s.stages.stage[3], 2);
    assert_int_equal(s.stages.stage[4], 2);
    end(&s);
}

/* 0 -> 1 (outside) -> 3 and 2 -> 4 (outside) -> 5: where 0 waits with 5, and 2 with 3, each is before itself. */
TEST(test_impossible)
{
    struct bg__coresident_pair pairs[] = {{0, 5}, {2, 3}};
    shape s = {.edge[0][1] = true,
               .edge[1][3] = true,
               .edge[2][4] = true,
               .edge[4][5] = true,
               .outside[1] = true,
               .outside[4] = true};

    find(&s, &(bg__coresident_pairs){.tie = pairs, .count = 1});
    assert_true(s.possible);
    end(&s);
    find(&s, &(bg__coresident_pairs){.tie = pairs, .count = 2});
    assert_false(s.possible);
    end(&s);
}
