/* Shadow: who is at fault, and who is not. Branches on side streams, calls without an order, ops with a state. */
#include "tests/support/finding_support.h"

#include <breakgraph/shadow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hostcuda/hostcuda.h>

#pragma weak hostcuda_seed

enum { SEEDS = 31 };

BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

BG_OP(sum, BG_IN(x), BG_INOUT(y))
{
    return from_cuda(bgk_add(args->y.data, args->y.data, args->x.data, N, stream));
}

typedef struct model {
    fixture *f;
    int passes, line;
} model;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        bg_status status_ = (call);                                                                                    \
        if (status_ != BG_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

static void set_seed(int seed)
{
    if (hostcuda_seed != NULL)
        hostcuda_seed((uint64_t)seed);
}

/* What BG_SHADOW=calls says of one replay of a new graph of forward. */
static char *shadow(model *m, bg_forward forward, char *text, size_t bytes)
{
    bg_graph *graph = NULL;
    FILE *file;
    assert_int_equal(setenv("BG_SHADOW", "calls", 1), 0);
    EXPECT_OK(bg_capture_forward(&graph, forward, m, m->f->stream, NULL));
    assert_int_equal(unsetenv("BG_SHADOW"), 0);
    file = keep_errors();
    EXPECT_OK(bg_replay(graph, m->f->stream));
    bg_graph_destroy(graph);
    return kept_errors(file, text, bytes);
}

/* Each finding of text, but those of the kind mismatch, which says only which value is wrong, is of call. */
static void expect_only(const char *text, const char *call, int seed)
{
    char here[80];
    int found = 0;
    snprintf(here, sizeof here, "] %s at ", call);
    for (const char *at = strstr(text, "fault ["); at != NULL; at = strstr(at + 1, "fault [")) {
        const char *end = strchr(at, ']');
        assert_non_null(end);
        if (strncmp(at, "fault [mismatch] ", strlen("fault [mismatch] ")) == 0)
            continue;
        if (strncmp(end, here, strlen(here)) != 0)
            fail_msg("seed %d blames a call other than %s:\n%s", seed, call, text);
        found++;
    }
    if (found == 0)
        fail_msg("seed %d blames no call:\n%s", seed, text);
}

/* ---- branches ---- */

static bg_status fork_and_join(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;

    TRY(bg_stream_wait_stream(f->other, stream));
    TRY(BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 2));
    TRY(BG_CALL(scale, f->other, .x = f->y, .y = f->y, .factor = 3));
    m->line = __LINE__ + 1;
    TRY(BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = (float)++m->passes));
    TRY(bg_stream_wait_stream(stream, f->other));
    return BG_CALL(sum, stream, .x = f->y, .y = f->z);
}

static void test_branches(void **state)
{
    fixture *f = *state;
    put(&f->x, 3);
    for (int seed = 0; seed < SEEDS; seed++) {
        model m = {.f = f};
        char text[8192];
        set_seed(seed);
        put(&f->y, 7);
        put(&f->z, 11);
        expect_only(shadow(&m, fork_and_join, text, sizeof text), "scale#2", seed);
    }
    set_seed(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_branches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
