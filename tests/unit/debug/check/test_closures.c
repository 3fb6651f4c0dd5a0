/* Closures of eager calls that point into the stack of functions that have returned. */
#include "tests/support/test.h"
#include "tests/support/tools/check_support.h"

#include "debug/memory/maps.h"

#include <stdlib.h>
#include <string.h>

static bg_status count(void *user, cudaStream_t stream)
{
    (void)stream;
    ++*(int *)user;
    return BG_OK;
}

static int eager_line;

static bg_status pass(void *user, cudaStream_t stream)
{
    eager_line = __LINE__ + 1;
    return bg_eager(stream, "closures_count", count, user);
}

static bg_graph *capture(fixture *f, void *user)
{
    return capture_of(pass, user, f->stream, NULL);
}

/* Its frame is larger than that of the checks, so that user is below them. */
__attribute__((noinline)) static bg_graph *capture_local(fixture *f)
{
    volatile char room[4096] = {0};
    int user = room[0];
    bg_graph *graph = capture(f, &user);
    EXPECT_CLEAN(graph, BG_CHECK_ADDRESSES); /* it lives */
    return graph;
}

FIXTURE_TEST(test_returned)
{
    OWN_GRAPH(graph, capture_local(f));
    EXPECT_FOUND(graph, BG_CHECK_ADDRESSES, "dangling", "closures_count#0", eager_line,
                 "the frame of a function that has returned");
}

FIXTURE_TEST(test_alive)
{
    static int in_data;
    int local = 0, *on_heap = calloc(1, sizeof *on_heap);
    int *const users[] = {&in_data, &local, on_heap, NULL};

    assert_non_null(on_heap);
    for (int i = 0; users[i] != NULL; i++) {
        OWN_GRAPH(graph, capture(f, users[i]));
        EXPECT_CLEAN(graph, BG_CHECK_ADDRESSES);
        EXPECT_OK(bg_replay(graph, f->stream));
        assert_int_equal(*users[i], 2);
    }
    free(on_heap);
}

/* ---- regions ---- */

static bg_status do_nothing(void *user, bg_tensor *tensors, cudaStream_t stream)
{
    (void)user;
    (void)tensors;
    (void)stream;
    return BG_OK;
}

typedef struct closure {
    char text[16];
    const void *points_to;
    int last; /* with padding behind it */
} closure;

static bg_status keep(void *user, void **kept)
{
    closure *copy = malloc(sizeof *copy);
    assert_non_null(copy);
    *copy = *(closure *)user;
    *kept = copy;
    return BG_OK;
}

typedef struct call {
    bool eager, copied, silent;
    closure *user;
} call;

static bg_status region_pass(void *user, cudaStream_t stream)
{
    const call *c = user;
    bg_region region = BG_REGION_INIT;
    region.name = c->eager ? "closures_eager" : "closures_captured";
    region.eager = c->eager;
    region.body = do_nothing;
    region.user = c->user;
    region.user_bytes = c->silent ? 0 : sizeof *c->user;
    region.keep = c->copied ? keep : NULL;
    region.destroy = free;
    return bg_region_call(&region, stream, BG_SITE);
}

__attribute__((noinline)) static bg_graph *capture_region(fixture *f, call c)
{
    volatile char room[4096] = {0};
    closure local = {.text = "text", .points_to = (const void *)room};
    c.user = &local;
    return capture_of(region_pass, &c, f->stream, NULL);
}

FIXTURE_TEST(test_closures)
{
    static const struct {
        call of;
        const char *words; /* NULL: there is no finding */
    } cases[] = {{{.eager = true, .copied = true}, "(offset 16 of its closure)"},
                 {{.eager = true}, "(offset 0 of its closure)"}, /* what is there now is not read */
                 {{.eager = true, .copied = true, .silent = true}, NULL},
                 {{.copied = true}, NULL}}; /* its body runs at capture alone */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN_GRAPH(graph, capture_region(f, cases[i].of));
        EXPECT_FINDING_IF(cases[i].words != NULL, check_graph(graph, BG_CHECK_ADDRESSES), "dangling",
                          "closures_eager#0", 0, cases[i].words);
    }
}

static bg_status keep_nothing(void *user, void **kept)
{
    (void)user;
    *kept = NULL;
    return BG_OK;
}

static void destroy_nothing(void *kept)
{
    assert_null(kept);
}

/* user: what the region keeps its user with. */
static bg_status null_pass(void *user, cudaStream_t stream)
{
    const bg_region *kept = user;
    bg_region region = BG_REGION_INIT;
    region.name = "closures_null";
    region.body = do_nothing;
    region.user_bytes = 8;
    region.keep = kept->keep;
    region.destroy = kept->destroy;
    return bg_region_call(&region, stream, BG_SITE);
}

FIXTURE_TEST(test_null)
{
    bg_region kept = BG_REGION_INIT;
    for (int i = 0; i < 2; i++) {
        OWN_GRAPH(graph, capture_of(null_pass, &kept, f->stream, NULL));
        EXPECT_CLEAN(graph, BG_CHECK_ADDRESSES);
        kept.keep = keep_nothing;
        kept.destroy = destroy_nothing;
    }
}

/* On the stack of a fiber or of a signal handler, no frame says what of the thread's own stack is in use. */
FIXTURE_TEST(test_other_stack)
{
    volatile char here = 0;
    uintptr_t address = (uintptr_t)&here;
    bg__maps maps;

    EXPECT_OK(bg__maps_read(&maps, (const void *)address));
    assert_false(bg__maps_is_dead_frame(&maps, address));
    assert_true(bg__maps_is_dead_frame(&maps, maps.own_stack));
    maps.frame = maps.own_stack_end;
    assert_false(bg__maps_is_dead_frame(&maps, address));
    maps.frame = maps.own_stack - 1;
    assert_false(bg__maps_is_dead_frame(&maps, address));
    bg__maps_free(&maps);
}

/* At the end of the capture, and before replays: said once. */
static void expect_warning(fixture *f, const char *checks)
{
    char text[2000];

    set_variable("BG_CHECK", checks);
    FILE *errors = keep_errors();
    OWN_GRAPH(graph, capture_local(f));
    set_variable("BG_CHECK", NULL);
    assert_string_equal(kept_errors(errors, text, sizeof text), "");
    EXPECT_IN(replays_say(graph, f->stream, 1), "warning [dangling] closures_count#0 at ");
    assert_string_equal(replays_say(graph, f->stream, 1), "");
}

FIXTURE_TEST(test_environment)
{
    expect_warning(f, "graph");
    expect_warning(f, "replay");
    expect_warning(f, "graph,replay");
}
