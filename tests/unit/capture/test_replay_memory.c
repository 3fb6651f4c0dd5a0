/* Replays ask the C library for no memory: calls at breaks, calls nested in them, whole passes under BG_DEBUG=forward.
 * The bodies queue no work, so that all that is counted is this library's. */
#include "tests/support/support.h"

#include <stdlib.h>

/* A sanitizer's allocator is not to be replaced. */
#if defined(__SANITIZE_ADDRESS__)
enum { CAN_COUNT = 0 };
static unsigned long counted;
#else
enum { CAN_COUNT = 1 };
static _Thread_local unsigned long counted;
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *malloc(size_t bytes)
{
    counted++;
    return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
    counted++;
    return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes)
{
    counted++;
    return __libc_realloc(memory, bytes);
}
#endif

typedef struct bulky {
    char bytes[3000];
} bulky;

BG_OP(rm_open, BG_IN(x), BG_OUT(y))
{
    (void)args;
    (void)stream;
    return BG_OK;
}

BG_OP(rm_bulky, BG_IN(x), BG_OUT(y), BG_VALUE(bulky, value))
{
    (void)args;
    (void)stream;
    return BG_OK;
}

static bg_status shape_of_open(void *args)
{
    rm_open_args *a = args;
    a->y = a->x;
    return BG_OK;
}

static bg_status shape_of_bulky(void *args)
{
    rm_bulky_args *a = args;
    a->y = a->x;
    return BG_OK;
}

static bg_status call_all(bg_tensor x, cudaStream_t stream)
{
    rm_open_args open = {.x = x};
    rm_bulky_args large = {.x = x};
    TRY_BG(BG_CALL_ARGS(rm_open, stream, &open));
    TRY_BG(BG_CALL_ARGS(rm_bulky, stream, &large));
    return open.y.data != NULL && large.y.data != NULL ? BG_OK : BG_ERROR_MISMATCH;
}

BG_EAGER_OP(rm_outer, BG_IN(x), BG_OUT(y))
{
    void *scratch;
    TRY_BG(bg_scratch(args, 1000, &scratch));
    return call_all(args->x, stream);
}

FIXTURE_PASS(pass)
{
    rm_outer_args bridged = {.x = f->x, .y = bg_tensor_1d(NULL, BG_F32, N)};
    TRY_BG(BG_CALL_ARGS(rm_outer, stream, &bridged));
    TRY_BG(BG_CALL(rm_outer, stream, .x = bridged.y, .y = f->y));
    return call_all(f->x, stream);
}

FIXTURE_TEST(test_replays_allocate_nothing)
{
    static const bg_debug modes[] = {BG_DEBUG_OPS, BG_DEBUG_FORWARD};
    if (!CAN_COUNT) {
        print_message("skipped: a sanitizer counts allocations itself\n");
        skip();
    }
    EXPECT_OK(bg_op_set_attributes("rm_open", ATTRIBUTES(.shape = shape_of_open)));
    EXPECT_OK(bg_op_set_attributes("rm_bulky", ATTRIBUTES(.shape = shape_of_bulky)));
    for (int i = 0; i < 2; i++) {
        unsigned long before = counted;
        CAPTURED_GRAPH(graph, pass, f, f->stream, OPTIONS(.debug = modes[i]));
        assert_true(counted > before); /* it does count */
        EXPECT_OK(bg_replay(graph, f->stream));
        before = counted;
        for (int k = 0; k < 10; k++)
            EXPECT_OK(bg_replay(graph, f->stream));
        assert_int_equal(counted - before, 0);
    }
}
