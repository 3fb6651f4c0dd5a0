/* soak_passes: a pass that takes blocks of a pool and gives none back, with bridge buffers, scratch and a fork, run
 * over and over: replayed under BG_DEBUG=forward, replayed under BG_SHADOW=1, and by bg_forward_run. Neither host nor
 * device memory may grow, nor what is in use of the pool, nor a result differ. Prints its figures. */
#include "soak.h"

#include "tests/support/growth.h"

#include <breakgraph/breakgraph.h>

#include "base/base.h"
#include "kernels/model/kernels.h"

enum { COUNT = 256 };

/* y = factor x */
BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    bg_status status = BG_OK;
    BG__TRY_CUDA(bgk_scale(args->y.data, args->x.data, args->factor, COUNT, stream));
done:
    return status;
}

/* y = 2 x, left in scratch. */
BG_EAGER_OP(twice, BG_IN(x), BG_OUT(y))
{
    bg_status status;
    BG__TRY(bg_scratch(args, COUNT * sizeof(float), &args->y.data));
    BG__TRY_CUDA(bgk_scale(args->y.data, args->x.data, 2, COUNT, stream));
done:
    return status;
}

typedef struct soak {
    cudaStream_t stream, fork;
    bg_pool *pool;
    bg_tensor x, y;
    const char *plant; /* "pool": lose a block in each run */
} soak;

/* y = 30 x */
static bg_status forward(void *user, cudaStream_t stream)
{
    const soak *s = user;
    bg_tensor block = s->x;
    scale_args bridged = {.y = {.dtype = BG_F32, .rank = 1, .dim = {COUNT}}, .factor = 3};
    bg_status status;

    BG__TRY(bg_pool_alloc(s->pool, COUNT * sizeof(float), &block.data));
    BG__TRY(bg_stream_wait_stream(s->fork, stream));
    BG__TRY(BG_CALL(scale, s->fork, .x = s->x, .y = block, .factor = 5));
    bridged.x = block;
    BG__TRY(BG_CALL(twice, stream, .x = block, .y = block));
    BG__TRY(BG_CALL_ARGS(scale, stream, &bridged));
    status = BG_CALL(scale, stream, .x = bridged.y, .y = s->y, .factor = 1);
done:
    return status;
}

static bg_status check_result(const soak *s)
{
    float found[COUNT];
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaMemcpyAsync(found, s->y.data, sizeof found, cudaMemcpyDeviceToHost, s->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(s->stream));
    for (int i = 0; i < COUNT; i++)
        if (found[i] != 30)
            BG__FAIL(BG_ERROR_MISMATCH, "y[%d] is %g: the pass gives 30 x, x is 1", i, found[i]);
done:
    return status;
}

static bg_status run_once(const soak *s, bg_graph *graph, const bg_capture_options *options)
{
    void *lost;
    bg_status status;
    BG__TRY_CUDA(cudaMemsetAsync(s->y.data, 0, COUNT * sizeof(float), s->stream));
    BG__TRY(graph != NULL ? bg_replay(graph, s->stream) : bg_forward_run(forward, (void *)s, s->stream, options));
    if (s->plant != NULL)
        BG__TRY(bg_pool_alloc(s->pool, COUNT, &lost));
    status = check_result(s);
done:
    return status;
}

static size_t in_use(const bg_pool *pool)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    return bg_pool_get_stats(pool, &stats) == BG_OK ? stats.in_use : 0;
}

static bool go_on(const soak *s, const char *what, bg_graph *graph, const bg_capture_options *options, long runs)
{
    growth_look first = {0}, last = {0};
    size_t used = 0;
    bool grew;

    for (long i = 0; i < runs; i++) {
        if (soak_fails(what, i, run_once(s, graph, options)))
            return false;
        if (i + 1 == runs / LOOKS) {
            used = in_use(s->pool);
            if (!growth_take(&first))
                return false;
        }
    }
    if (!growth_take(&last))
        return false;
    printf("%ld runs, %s: all results as computed by hand\n", runs, what);
    grew = growth_tell(&first, &last);
    printf("%-24s %12zu bytes at first, %11zu at the end%s\n", "in use of the pool", used, in_use(s->pool),
           in_use(s->pool) > used ? "  GREW" : "");
    return !grew && in_use(s->pool) <= used;
}

typedef struct mode {
    const char *what, *variable, *value; /* variable NULL: bg_forward_run */
    long runs;
} mode;

static bool run_mode(const soak *s, const mode *mode)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph = NULL;
    bg_status status = BG_OK;
    bool good;

    options.pool = s->pool;
    if (mode->variable != NULL) {
        if (setenv(mode->variable, mode->value, 1) != 0)
            return false;
        status = bg_capture_forward(&graph, forward, (void *)s, s->stream, &options);
        if (unsetenv(mode->variable) != 0)
            return false;
    }
    good = !soak_fails(mode->what, 0, status) && go_on(s, mode->what, graph, &options, mode->runs);
    bg_graph_destroy(graph);
    return good;
}

static bool setup(soak *s)
{
    bg_pool_options options = BG_POOL_OPTIONS_INIT;
    bg_status status;

    options.reserve_bytes = (size_t)64 << 20;
    BG__TRY_CUDA(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    BG__TRY_CUDA(cudaStreamCreateWithFlags(&s->fork, cudaStreamNonBlocking));
    BG__TRY(bg_pool_create(&s->pool, &options));
    s->x = s->y = bg_tensor_1d(NULL, BG_F32, COUNT);
    BG__TRY(bg_pool_alloc(s->pool, COUNT * sizeof(float), &s->x.data));
    BG__TRY(bg_pool_alloc(s->pool, COUNT * sizeof(float), &s->y.data));
    BG__TRY_CUDA(bgk_fill(s->x.data, 1, COUNT, s->stream));
done:
    return !soak_fails("the setup", 0, status);
}

int main(int argc, char **argv)
{
    static const char *const plants[] = {"pool", NULL};
    soak s = {.plant = NULL};
    long runs = 10000;
    bool good;

    if (!soak_parse(argc, argv, plants, &s.plant, &runs)) {
        fprintf(stderr,
                "usage: soak_passes [--plant pool] [RUNS]   RUNS: of BG_SHADOW=1, from %d on, and ten times as many of "
                "the others; --plant: a defect that must be found\n",
                LOOKS);
        return 2;
    }
    good = setup(&s) && run_mode(&s, &(mode){"replays under BG_DEBUG=forward", "BG_DEBUG", "forward", 10 * runs}) &&
           run_mode(&s, &(mode){"replays under BG_SHADOW=1", "BG_SHADOW", "1", runs}) &&
           run_mode(&s, &(mode){"bg_forward_run", NULL, NULL, 10 * runs});
    bg_pool_destroy(s.pool);
    for (cudaStream_t *stream = (cudaStream_t[]){s.stream, s.fork, NULL}; *stream != NULL; stream++)
        if (cudaStreamDestroy(*stream) != cudaSuccess)
            good = false;
    return good ? 0 : 1;
}
