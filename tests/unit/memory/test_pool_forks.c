/* Blocks of a capture's bucket where several streams take part: what is released is reused after the next break. */
#include "tests/support/runner/pool_graphs.h"

typedef struct forked {
    fixture *f;
    bg_pool *pool;
    bg_tensor x, left, right;
    cudaEvent_t early;
    bool breaks;
    void *reused[3], *at_break[3];
} forked;

static forked make_forked(fixture *f)
{
    forked p = {.f = f, .pool = pool_make(POOL_RESERVE, 0)};
    p.x = pool_keep(p.pool, LARGEST);
    p.left = pool_keep(p.pool, LARGEST);
    p.right = pool_keep(p.pool, LARGEST);
    pool_fill(&p.x, 1);
    return p;
}

static void end_forked(const forked *p)
{
    bg_pool_destroy(p->pool);
}
#define OWNED_FORKED(name) __attribute__((cleanup(end_forked))) forked name = make_forked(f)

static bg_graph *capture(forked *p, bg_forward pass)
{
    bg_graph *graph;
    EXPECT_OK(bg_capture_forward(&graph, pass, p, p->f->stream, OPTIONS(.pool = p->pool)));
    return graph;
}

/* left = 6 x, right = 7 x, at capture and in replays. */
static void expect_both(forked *p, bg_forward pass)
{
    OWNED_GRAPH(graph);

    graph = capture(p, pass);
    for (int i = 0; i < 3; i++) {
        pool_expect(&p->left, 6);
        pool_expect(&p->right, 7);
        pool_fill(&p->left, -1);
        pool_fill(&p->right, -1);
        EXPECT_OK(bg_replay(graph, p->f->stream));
    }
}

/* What the origin released is still read there while the fork writes. left = 6 x, right = 7 x */
static bg_status forked_pass(void *user, cudaStream_t stream)
{
    forked *p = user;
    bg_tensor a = p->x, b = p->x;
    TRY_BG(bg_stream_wait_stream(p->f->other, stream));
    TRY_BG(bg_pool_alloc(p->pool, bg_tensor_bytes(&p->x), &a.data));
    TRY_BG(BG_CALL(pool_scale, stream, .x = p->x, .y = a, .factor = 2));
    TRY_BG(BG_CALL(pool_scale, stream, .x = a, .y = p->left, .factor = 3));
    bg_pool_release(p->pool, a.data);
    TRY_BG(bg_pool_alloc(p->pool, bg_tensor_bytes(&p->x), &b.data));
    TRY_BG(BG_CALL(pool_scale, p->f->other, .x = p->x, .y = b, .factor = 7));
    TRY_BG(BG_CALL(pool_scale, p->f->other, .x = b, .y = p->right, .factor = 1));
    TRY_BG(bg_stream_wait_stream(stream, p->f->other));
    p->reused[0] = a.data == b.data ? a.data : NULL;
    TRY_BG(bg_break(stream));
    TRY_BG(bg_pool_alloc(p->pool, bg_tensor_bytes(&p->x), &b.data));
    p->reused[1] = a.data == b.data ? a.data : NULL;
    return BG_OK;
}

FIXTURE_TEST(test_forked_streams_wait_for_the_break)
{
    OWNED_FORKED(p);

    expect_both(&p, forked_pass);
    assert_null(p.reused[0]);
    assert_non_null(p.reused[1]);
}

/* The fork leaves from before what the origin does with a, though it is told of only afterwards. left = 6 x, right = 7
 * x
 */
static bg_status forked_from_earlier(void *user, cudaStream_t stream)
{
    forked *p = user;
    bg_tensor a = p->x, b = p->x;
    TRY_BG(bg_event_record(p->early, stream));
    if (p->breaks)
        TRY_BG(bg_break(stream)); /* the fork then leaves from here */
    TRY_BG(bg_pool_alloc(p->pool, bg_tensor_bytes(&p->x), &a.data));
    TRY_BG(BG_CALL(pool_scale, stream, .x = p->x, .y = a, .factor = 2));
    TRY_BG(BG_CALL(pool_scale, stream, .x = a, .y = p->left, .factor = 3));
    bg_pool_release(p->pool, a.data);
    TRY_BG(bg_pool_alloc(p->pool, bg_tensor_bytes(&p->x), &b.data));
    TRY_BG(bg_stream_wait_event(p->f->other, p->early));
    TRY_BG(BG_CALL(pool_scale, p->f->other, .x = p->x, .y = b, .factor = 7));
    TRY_BG(BG_CALL(pool_scale, p->f->other, .x = b, .y = p->right, .factor = 1));
    TRY_BG(bg_stream_wait_stream(stream, p->f->other));
    p->reused[0] = a.data == b.data ? a.data : NULL;
    return BG_OK;
}

/* An event alone: what is released waits for the next break, while a stream may still wait on the event. */
static bg_status timed(void *user, cudaStream_t stream)
{
    forked *p = user;
    void *a, *b;
    TRY_BG(bg_event_record(p->early, stream));
    for (int i = 0; i < 3; i++) {
        TRY_BG(bg_pool_alloc(p->pool, KIB, &a));
        p->at_break[i] = a;
        bg_pool_release(p->pool, a);
        TRY_BG(bg_pool_alloc(p->pool, KIB, &b));
        p->reused[i] = a == b ? a : NULL;
        if (i == 1)
            TRY_BG(bg_event_destroy(p->early));
        TRY_BG(bg_break(stream));
    }
    return BG_CALL(pool_scale, stream, .x = p->x, .y = p->left, .factor = 1);
}

FIXTURE_TEST(test_streams_that_fork_from_an_earlier_event)
{
    OWNED_FORKED(p);

    EXPECT_CUDA(cudaEventCreateWithFlags(&p.early, cudaEventDisableTiming));
    for (int k = 0; k < 2; k++) {
        p.breaks = k;
        expect_both(&p, forked_from_earlier);
        assert_null(p.reused[0]);
    }
    bg_graph_destroy(capture(&p, timed));
    assert_null(p.reused[0]);
    assert_ptr_equal(p.at_break[0], p.at_break[1]);
    assert_null(p.reused[1]);
    assert_non_null(p.reused[2]); /* nobody can wait on it any more */
}

static forked *borrower;
static void *borrowed;
BG_EAGER_OP(borrows)
{
    bg_status status = bg_pool_alloc(borrower->pool, KIB, &borrowed);
    (void)args;
    (void)stream;
    bg_pool_release(borrower->pool, borrowed);
    return status;
}

/* A body comes after what the streams did before the break, and before what they do after it, forked as they were. */
static bg_status forked_around_a_body(void *user, cudaStream_t stream)
{
    forked *p = user;
    void *a, *b, *c;
    TRY_BG(bg_stream_wait_stream(p->f->other, stream));
    TRY_BG(bg_pool_alloc(p->pool, KIB, &a));
    bg_pool_release(p->pool, a);
    TRY_BG(bg_pool_alloc(p->pool, KIB, &b));
    assert_true(b != a);
    TRY_BG(BG_CALL(borrows, stream));
    assert_ptr_equal(borrowed, a);
    TRY_BG(bg_pool_alloc(p->pool, KIB, &b));
    assert_ptr_equal(b, a);
    bg_pool_release(p->pool, b);
    TRY_BG(bg_pool_alloc(p->pool, KIB, &c));
    assert_true(c != b);
    return BG_CALL(pool_scale, stream, .x = p->x, .y = p->left, .factor = 2);
}

static bg_status alone(void *user, cudaStream_t stream)
{
    forked *p = user;
    TRY_BG(bg_pool_alloc(p->pool, KIB, &p->reused[0]));
    bg_pool_release(p->pool, p->reused[0]);
    TRY_BG(bg_pool_alloc(p->pool, KIB, &p->reused[1]));
    return BG_CALL(pool_scale, stream, .x = p->x, .y = p->left, .factor = 2);
}

static bg_status forked_alone(void *user, cudaStream_t stream)
{
    forked *p = user;
    TRY_BG(bg_stream_wait_stream(p->f->other, stream));
    return alone(user, stream);
}

/* Captures in a bucket come one after the other, each with one stream at first. */
FIXTURE_TEST(test_forks_end_with_their_capture)
{
    void *first, *second;
    OWNED_FORKED(p);

    borrower = &p;
    bg_graph_destroy(capture(&p, forked_around_a_body));
    pool_begin(p.pool, "several");
    first = pool_take(p.pool, KIB);
    pool_release(p.pool, first);
    bg_graph_destroy(capture(&p, forked_alone));
    assert_ptr_equal(p.reused[0], first); /* released before the capture */
    assert_true(p.reused[1] != first);
    bg_graph_destroy(capture(&p, alone));
    assert_ptr_equal(p.reused[0], first); /* released in the capture before */
    assert_ptr_equal(p.reused[1], first);
    bg_graph_destroy(capture(&p, forked_alone));
    pool_release(p.pool, p.reused[1]);
    second = pool_take(p.pool, KIB);
    assert_true(second == p.reused[0] || second == p.reused[1]);
    pool_end(p.pool);
}
