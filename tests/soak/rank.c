#include "rank.h"

#ifdef SOAK_NCCL
#include <nccl.h>

#include "tests/support/ranks/fork_ranks.h"
#include "kernels/model/kernels.h"

#include <stdarg.h>
#include <stdio.h>

/* Every value is a small integer, exact in a float: at most 8 sums of 4 ranks lie between a reset and a look. */
enum { FLOATS = 576, PATTERNS = 7 };
_Static_assert((BREAKS_MAX + 1) * TIMES_MAX <= 8, "sums between a reset and a look");

bool rank_complain(const rank *r, const char *format, ...)
{
    char text[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "soak_ranks: rank %d of %d: %s\n", r->rank, r->size, text);
    if (r->comm != NULL)
        bg_comm_abort(r->comm, text);
    return false;
}

/* ---- the pass ------------------------------------------------------------------------------------------------- */

BG_OP(soak_add, BG_INOUT(x), BG_IN(one))
{
    return bgk_add(args->x.data, args->x.data, args->one.data, FLOATS, stream) == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

BG_OP(soak_sum, BG_INOUT(x), BG_VALUE(ncclComm_t, comm))
{
    return ncclAllReduce(args->x.data, args->x.data, FLOATS, ncclFloat, ncclSum, args->comm, stream) == ncclSuccess
               ? BG_OK
               : BG_ERROR_NCCL;
}

static bg_status forward(void *user, cudaStream_t stream)
{
    const struct made *made = user;
    const rank *r = made->rank;
    bg_status status = BG_OK;

    for (int section = 0; section <= made->shape.breaks && status == BG_OK; section++) {
        bool last = section == made->shape.breaks;
        status = BG_CALL(soak_add, stream, .x = r->x, .one = r->one);
        if (status == BG_OK && !(last && made->shape.eager))
            status = BG_CALL(soak_sum, stream, .x = r->x, .comm = bg_comm_nccl(r->comm));
        if (status == BG_OK && !last && !made->shape.eager)
            status = bg_break(stream);
    }
    return status;
}

static float input_of(int rank, long round, int at)
{
    return (float)(1 + (round * (rank + 1) + at) % PATTERNS);
}

/* What the rank finds at `at` after so many passes, by another way. */
static float expected_at(const rank *r, shape s, int passes, int at)
{
    float value[FORK_RANKS_MAX];
    for (int i = 0; i < r->size; i++)
        value[i] = input_of(i, r->round, at);
    for (int section = 0; section < passes * (s.breaks + 1); section++) {
        float sum = 0;
        for (int i = 0; i < r->size; i++)
            sum += ++value[i];
        for (int i = 0; i < r->size && !(s.eager && section % (s.breaks + 1) == s.breaks); i++)
            value[i] = sum;
    }
    return value[r->rank];
}

bool rank_capture(rank *r, struct made *made, shape s, bool launch)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    char name[32];

    snprintf(name, sizeof name, "%s sums, %d breaks", s.eager ? "eager" : "captured", s.breaks);
    *made = (struct made){.rank = r, .shape = s};
    options.name = name;
    options.ranks = bg_comm_ranks(r->comm);
    options.eager_ops = s.eager ? "soak_sum" : NULL;
    options.launch_segments = launch;
    GOOD(bg_capture_forward(&made->graph, forward, made, r->stream, &options));
    GOOD(bg_graph_get_info(made->graph, &info));
    if (info.breaks != s.breaks || info.segments != s.breaks + 1)
        return rank_complain(r, "%d breaks and %d segments for %s; is BG_DEBUG, BG_EAGER_OPS or BG_BREAKABLE set?",
                             info.breaks, info.segments, name);
    return true;
}

/* So many replays at once from other inputs, and all that is found afterwards. */
bool rank_replay(rank *r, const struct made *made, int times)
{
    float host[FLOATS];

    for (int i = 0; i < FLOATS; i++)
        host[i] = input_of(r->rank, r->round, i);
    GOOD_CUDA(cudaMemcpyAsync(r->x.data, host, sizeof host, cudaMemcpyHostToDevice, r->stream));
    for (int i = 0; i < times; i++)
        GOOD(bg_replay(made->graph, r->stream));
    GOOD_CUDA(cudaMemcpyAsync(host, r->x.data, sizeof host, cudaMemcpyDeviceToHost, r->stream));
    GOOD_CUDA(cudaStreamSynchronize(r->stream));
    if (r->round == r->spoilt_round)
        host[FLOATS - 1]++;
    for (int i = 0; i < FLOATS; i++) {
        float expected = expected_at(r, made->shape, times, i);
        if (host[i] == expected)
            continue;
        GOOD(bg_comm_check(r->comm)); /* sums that were given up are wrong */
        return rank_complain(r, "round %ld, %s sums, %d breaks: x[%d] is %.9g, expected %.9g", r->round,
                             made->shape.eager ? "eager" : "captured", made->shape.breaks, i, host[i], expected);
    }
    r->round++;
    return true;
}

/* ---- a rank's beginning and end ------------------------------------------------------------------------------- */

bool rank_open(rank *r, const bg_comm_options *options)
{
    *r = (rank){.rank = options->rank, .size = options->size, .spoilt_round = -1};
    GOOD(bg_comm_create(&r->comm, options));
    GOOD_CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
    GOOD_CUDA(cudaMalloc((void **)&r->memory, 2 * FLOATS * sizeof(float)));
    r->x = bg_tensor_1d(r->memory, BG_F32, FLOATS);
    r->one = bg_tensor_1d(r->memory + FLOATS, BG_F32, FLOATS);
    GOOD_CUDA(bgk_fill(r->memory, 1, (size_t)2 * FLOATS, r->stream));
    return true;
}

void rank_close(rank *r)
{
    for (int i = 0; i < GRAPHS; i++)
        bg_graph_destroy(r->made[i].graph);
    bg_comm_destroy(r->comm);
    cudaFree(r->memory);
    if (r->stream != NULL)
        cudaStreamDestroy(r->stream);
}
#else
typedef int soak_rank_needs_nccl;
#endif
