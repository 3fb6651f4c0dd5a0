/* soak_passes: a pass that takes blocks of a pool and gives none back, with bridge buffers, scratch and a fork, run
 * over and over: replayed under BG_DEBUG=forward, replayed under BG_SHADOW=1, and by bg_forward_run. Neither host nor
 * device memory may grow, nor what is in use of the pool, nor a result differ. Prints its figures. */
#include "tests/support/growth.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/model/kernels.h"

/* Growth is from the first look, a tenth into the run, to the last. */
enum { LOOKS = 10, COUNT = 256 };

static bg_status checked(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK
                                : bg_report_failure(BG_ERROR_CUDA, "a kernel", cudaGetErrorName(error), "see there");
}

/* y = factor x */
BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return checked(bgk_scale(args->y.data, args->x.data, args->factor, COUNT, stream));
}

/* y = 2 x, left in scratch. */
BG_EAGER_OP(twice, BG_IN(x), BG_OUT(y))
{
    void *memory;
    bg_status status = bg_scratch(args, COUNT * sizeof(float), &memory);
    if (status == BG_OK)
        status = checked(bgk_scale(memory, args->x.data, 2, COUNT, stream));
    args->y.data = memory;
    return status;
}

typedef struct soak {
    cudaStream_t stream, fork;
    bg_pool *pool;
    bg_tensor x, y;
    bool leaks;
} soak;

/* y = 30 x */
static bg_status forward(void *user, cudaStream_t stream)
{
    const soak *s = user;
    bg_tensor block = s->x;
    scale_args bridged = {.y = {.dtype = BG_F32, .rank = 1, .dim = {COUNT}}, .factor = 3};
    bg_status status = bg_pool_alloc(s->pool, COUNT * sizeof(float), &block.data);

    if (status == BG_OK)
        status = bg_stream_wait_stream(s->fork, stream);
    if (status == BG_OK)
        status = BG_CALL(scale, s->fork, .x = s->x, .y = block, .factor = 5);
    bridged.x = block;
    if (status == BG_OK)
        status = BG_CALL(twice, stream, .x = block, .y = block);
    if (status == BG_OK)
        status = BG_CALL_ARGS(scale, stream, &bridged);
    return status == BG_OK ? BG_CALL(scale, stream, .x = bridged.y, .y = s->y, .factor = 1) : status;
}

static bool fails(const char *what, long run, bg_status status)
{
    if (status != BG_OK)
        fprintf(stderr, "soak_passes: %s, run %ld: %s: %s\n", what, run, bg_status_name(status), bg_last_error());
    return status != BG_OK;
}

static bg_status check_result(const soak *s)
{
    float found[COUNT];
    bg_status status = checked(cudaMemcpyAsync(found, s->y.data, sizeof found, cudaMemcpyDeviceToHost, s->stream));
    if (status == BG_OK)
        status = checked(cudaStreamSynchronize(s->stream));
    for (int i = 0; i < COUNT && status == BG_OK; i++)
        if (found[i] != 30)
            status = bg_report_failure(BG_ERROR_MISMATCH, "y", "not 30", "the pass gives 30 x, x is 1");
    return status;
}

static bg_status run_once(const soak *s, bg_graph *graph, const bg_capture_options *options)
{
    void *lost;
    bg_status status = checked(cudaMemsetAsync(s->y.data, 0, COUNT * sizeof(float), s->stream));
    if (status == BG_OK)
        status = graph != NULL ? bg_replay(graph, s->stream) : bg_forward_run(forward, (void *)s, s->stream, options);
    if (status == BG_OK && s->leaks)
        status = bg_pool_alloc(s->pool, COUNT, &lost);
    return status == BG_OK ? check_result(s) : status;
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
        if (fails(what, i, run_once(s, graph, options)))
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
    good = !fails(mode->what, 0, status) && go_on(s, mode->what, graph, &options, mode->runs);
    bg_graph_destroy(graph);
    return good;
}

static bool setup(soak *s)
{
    bg_pool_options options = BG_POOL_OPTIONS_INIT;
    bg_status status;

    options.reserve_bytes = (size_t)64 << 20;
    status = checked(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    if (status == BG_OK)
        status = checked(cudaStreamCreateWithFlags(&s->fork, cudaStreamNonBlocking));
    if (status == BG_OK)
        status = bg_pool_create(&s->pool, &options);
    s->x = s->y = bg_tensor_1d(NULL, BG_F32, COUNT);
    if (status == BG_OK)
        status = bg_pool_alloc(s->pool, COUNT * sizeof(float), &s->x.data);
    if (status == BG_OK)
        status = bg_pool_alloc(s->pool, COUNT * sizeof(float), &s->y.data);
    if (status == BG_OK)
        status = checked(bgk_fill(s->x.data, 1, COUNT, s->stream));
    return !fails("the setup", 0, status);
}

static bool parse(int argc, char **argv, soak *s, long *least)
{
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        if (strcmp(argv[i], "--plant") == 0 && i + 1 < argc && strcmp(argv[i + 1], "pool") == 0) {
            s->leaks = true;
            i++;
            continue;
        }
        errno = 0;
        *least = strtol(argv[i], &end, 10);
        if (errno != 0 || end == argv[i] || *end != '\0' || *least < LOOKS)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    soak s = {.leaks = false};
    long runs = 10000;
    bool good;

    if (!parse(argc, argv, &s, &runs)) {
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
