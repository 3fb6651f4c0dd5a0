/* Lanes: which nodes of a graph come before which, beside a search along its edges; and the orders that they allow. */
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#include "debug/graph/lanes.h"
#include "debug/graph/node_order.h"

enum { NODES = 300, EDGES_MAX = 4 };

typedef struct drawn {
    cudaGraph_t graph;
    cudaGraphNode_t *nodes;
    size_t count, capacity;
} drawn;

static drawn draw(size_t capacity)
{
    drawn d = {.nodes = calloc(capacity, sizeof *d.nodes), .capacity = capacity};
    assert_non_null(d.nodes);
    EXPECT_CUDA(cudaGraphCreate(&d.graph, 0));
    return d;
}

static void erase(drawn *d)
{
    EXPECT_CUDA(cudaGraphDestroy(d->graph));
    free(d->nodes);
}

/* A node that waits for others, by their places; gives its place back. */
static size_t add(drawn *d, const size_t *after, size_t count)
{
    cudaGraphNode_t waits[EDGES_MAX];
    assert_true(count <= EDGES_MAX && d->count < d->capacity);
    for (size_t i = 0; i < count; i++)
        waits[i] = d->nodes[after[i]];
    EXPECT_CUDA(cudaGraphAddEmptyNode(&d->nodes[d->count], d->graph, waits, count));
    return d->count++;
}

static void find_lanes(const drawn *d, bg__lanes *lanes)
{
    bg__layout layout = {0};
    EXPECT_OK(bg__layout_read(&layout, d->graph));
    EXPECT_OK(bg__lanes_find(lanes, &layout));
    bg__layout_free(&layout);
}

/* Up to three earlier nodes, most of them near. */
static void add_random(drawn *d, bool before[NODES][NODES])
{
    size_t after[3] = {0}, count = d->count == 0 ? 0 : (size_t)rand() % 4, place, used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t near = d->count < 12 ? d->count : 12, at = d->count - 1 - (size_t)rand() % near;
        bool twice = false;
        for (size_t k = 0; k < used; k++)
            twice |= after[k] == at;
        if (!twice)
            after[used++] = at;
    }
    place = add(d, after, used);
    for (size_t i = 0; i < used; i++) {
        before[after[i]][place] = true;
        for (size_t k = 0; k < place; k++)
            before[k][place] |= before[k][after[i]];
    }
}

TEST(test_random)
{
    static bool before[NODES][NODES];
    for (unsigned seed = 1; seed <= 20; seed++) {
        drawn d = draw(NODES);
        bg__lanes lanes = {0};
        srand(seed);
        memset(before, 0, sizeof before);
        for (int i = 0; i < NODES; i++)
            add_random(&d, before);
        find_lanes(&d, &lanes);
        for (size_t a = 0; a < NODES; a++)
            for (size_t b = 0; b < NODES; b++)
                if (bg__lanes_is_before(&lanes, a, b) != before[a][b])
                    fail_msg("seed %u: node %zu before node %zu: not %d", seed, a, b, before[a][b]);
        bg__lanes_free(&lanes);
        erase(&d);
    }
}

/* Streams that fork and join again and again have the lanes of the first time. */
TEST(test_forks)
{
    enum { LAYERS = 1000, STREAMS = 4 };
    drawn d = draw(LAYERS * (STREAMS + 1));
    bg__lanes lanes = {0};
    size_t join, last[STREAMS];

    join = add(&d, NULL, 0);
    for (int layer = 1; layer < LAYERS; layer++) {
        for (int i = 0; i < STREAMS; i++)
            last[i] = add(&d, &join, 1);
        join = add(&d, last, STREAMS);
    }
    find_lanes(&d, &lanes);
    assert_int_equal(lanes.count, STREAMS);
    assert_true(lanes.entry_count < 3 * d.count);
    assert_true(bg__lanes_is_before(&lanes, 0, join));
    assert_true(bg__lanes_is_before(&lanes, 1, last[STREAMS - 1]));
    assert_false(bg__lanes_is_before(&lanes, last[0], last[1]));
    bg__lanes_free(&lanes);
    erase(&d);
}

/* Thousands of streams, each joined by a node of its own: the lanes that a node waits for have no room any more. */
TEST(test_wide)
{
    enum { WIDTH = 4200 };
    drawn d = draw(2 * WIDTH);
    bg__lanes lanes = {0};

    for (int i = 0; i < WIDTH; i++)
        add(&d, NULL, 0);
    size_t joined = add(&d, (const size_t[]){0, 1}, 2);
    for (size_t i = 2; i < WIDTH; i++)
        joined = add(&d, (const size_t[]){joined, i}, 2);
    find_lanes(&d, &lanes);
    assert_true(lanes.searched);
    assert_true(bg__lanes_is_before(&lanes, 7, joined));
    assert_true(bg__lanes_is_before(&lanes, WIDTH - 1, joined));
    assert_false(bg__lanes_is_before(&lanes, WIDTH - 1, joined - 1));
    assert_false(bg__lanes_is_before(&lanes, joined, 7));
    bg__lanes_free(&lanes);
    erase(&d);
}

/* The places that steps have in an order; each step has one. */
static void find_places(const size_t *steps, size_t *places)
{
    bool seen[NODES] = {false};
    for (size_t i = 0; i < NODES; i++) {
        assert_true(steps[i] < NODES && !seen[steps[i]]);
        seen[steps[i]] = true;
        places[steps[i]] = i;
    }
}

/* The order that leaves that lane for last; -1: the first one. */
static void list_order(const bg__order *order, const int *lanes, int last, size_t *places)
{
    uint64_t keys[NODES];
    size_t steps[NODES];
    for (size_t i = 0; i < NODES; i++)
        keys[i] = lanes[i] == last;
    EXPECT_OK(bg__order_sort(order, keys, steps));
    find_places(steps, places);
}

static void take_order(const drawn *d, bg__order *order)
{
    bg__nodes nodes = {0};
    OWNED_GRAPH(graph);
    EXPECT_OK(bg_graph_wrap(&graph, d->graph, NULL, "orders"));
    EXPECT_OK(bg__nodes_read(graph, &nodes));
    EXPECT_OK(bg__order_read(order, d->graph, &nodes));
    assert_int_equal(order->count, NODES);
    for (size_t i = 0; i < NODES; i++)
        assert_ptr_equal(order->nodes[i]->handle, d->nodes[i]);
    bg__nodes_free(&nodes);
}

/* Each keeps the dependencies, and all of them together have any two nodes without an order both ways. */
TEST(test_orders)
{
    static bool before[NODES][NODES], met[NODES][NODES];
    for (unsigned seed = 1; seed <= 5; seed++) {
        drawn d = draw(NODES);
        bg__order order = {0};
        int lane[NODES], lanes;
        size_t places[NODES];
        srand(seed);
        memset(before, 0, sizeof before);
        memset(met, 0, sizeof met);
        for (int i = 0; i < NODES; i++)
            add_random(&d, before);
        take_order(&d, &order);
        EXPECT_OK(bg__order_find_lanes(&order, lane, &lanes));
        for (int last = -1; last < lanes; last++) {
            list_order(&order, lane, last, places);
            for (size_t a = 0; a < NODES; a++)
                for (size_t b = 0; b < NODES; b++)
                    met[a][b] |= places[a] < places[b];
        }
        for (size_t a = 0; a < NODES; a++)
            for (size_t b = 0; b < NODES; b++)
                if (a != b && met[a][b] == before[b][a])
                    fail_msg("seed %u: node %zu runs before node %zu: %d", seed, a, b, met[a][b]);
        bg__order_free(&order);
        erase(&d);
    }
}
