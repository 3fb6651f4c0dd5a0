/* Collectives gone through node by node: each rank steps its own graph, and the ranks meet in every collective. */
#include "tests/support/test.h"
#include <stdint.h>
#include <breakgraph/breakgraph.h>
#include <string.h>

#include "tests/support/ranks/nccl_ranks.h"

#ifdef TEST_NCCL

enum { ROUNDS = 3 };

BG_OP(sum, BG_IN(x), BG_OUT(y), BG_VALUE(ncclComm_t, comm))
{
    size_t count = (size_t)args->x.dim[0];
    return ncclAllReduce(args->x.data, args->y.data, count, ncclInt, ncclSum, args->comm, stream) == ncclSuccess
               ? BG_OK
               : BG_ERROR_OP;
}

BG_OP(collect, BG_IN(x), BG_OUT(y), BG_VALUE(ncclComm_t, comm))
{
    size_t count = (size_t)args->x.dim[0];
    return ncclAllGather(args->x.data, args->y.data, count, ncclInt, args->comm, stream) == ncclSuccess ? BG_OK
                                                                                                        : BG_ERROR_OP;
}

/* To the next rank and from the one before: with one rank, too, a kernel between event nodes. */
BG_OP(shift, BG_IN(x), BG_OUT(y), BG_VALUE(ncclComm_t, comm), BG_VALUE(int, to), BG_VALUE(int, from))
{
    size_t count = (size_t)args->x.dim[0];
    bool good = ncclGroupStart() == ncclSuccess;
    good &= ncclSend(args->x.data, count, ncclInt, args->to, args->comm, stream) == ncclSuccess;
    good &= ncclRecv(args->y.data, count, ncclInt, args->from, args->comm, stream) == ncclSuccess;
    good &= ncclGroupEnd() == ncclSuccess;
    return good ? BG_OK : BG_ERROR_OP;
}

typedef struct collectives {
    struct rank *rank;
    int *device; /* the rank's number, the sum, that of the rank before, those of all */
} collectives;

static bg_status forward(void *user, cudaStream_t stream)
{
    const collectives *c = user;
    ncclComm_t comm = c->rank->comm;
    int rank = c->rank->rank, ranks = c->rank->ranks, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    bg_tensor x = bg_tensor_1d(c->device, BG_I32, 1), all = bg_tensor_1d(c->device + 3, BG_I32, ranks);
    bg_status status = BG_CALL(sum, stream, .x = x, .y = bg_tensor_1d(c->device + 1, BG_I32, 1), .comm = comm);
    if (status == BG_OK)
        status = BG_CALL(shift, stream, .x = x, .y = bg_tensor_1d(c->device + 2, BG_I32, 1), .comm = comm, .to = to,
                         .from = from);
    return status != BG_OK ? status : BG_CALL(collect, stream, .x = x, .y = all, .comm = comm);
}

#define EXPECT_BG(call)                                                                                                \
    do {                                                                                                               \
        bg_status status_ = (call);                                                                                    \
        if (status_ != BG_OK)                                                                                          \
            return rank_complain(__FILE__, __LINE__, "%s = %s: %s", #call, bg_status_name(status_), bg_last_error());  \
    } while (0)

static int check(struct rank *r, const int *device, int round)
{
    int host[3 + RANKS_MAX], total = 0;
    EXPECT_CUDA(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, r->stream));
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    for (int rank = 0; rank < r->ranks; rank++) {
        EXPECT(host[3 + rank] == round * 10 + rank);
        total += round * 10 + rank;
    }
    EXPECT(host[1] == total);
    EXPECT(host[2] == round * 10 + (r->rank + r->ranks - 1) % r->ranks);
    return 0;
}

typedef struct steps {
    int count, named; /* named: of an op call */
} steps;

static bool look(void *user, const bg_step_info *info)
{
    steps *s = user;
    s->count++;
    s->named +=
        strcmp(info->call, "sum#0") == 0 || strcmp(info->call, "shift#0") == 0 || strcmp(info->call, "collect#0") == 0;
    return true;
}

static int stepped(struct rank *r)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    collectives c = {.rank = r};
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    bg_graph *graph = NULL;

    EXPECT_CUDA(cudaMalloc((void **)&c.device, (3 + RANKS_MAX) * sizeof *c.device));
    options.launch_segments = false;
    EXPECT_BG(forward(&c, r->stream)); /* ranks find each other at the first call, which no capture bears */
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    EXPECT_BG(bg_capture_forward(&graph, forward, &c, r->stream, &options));
    EXPECT_BG(bg_graph_get_info(graph, &info));
    for (int round = 0; round < ROUNDS; round++) {
        int host[3 + RANKS_MAX] = {round * 10 + r->rank, -1, -1, -1, -1, -1, -1};
        bg_report *report = NULL;
        steps s = {0, 0};
        EXPECT_CUDA(cudaMemcpyAsync(c.device, host, sizeof host, cudaMemcpyHostToDevice, r->stream));
        EXPECT_CUDA(cudaStreamSynchronize(r->stream));
        EXPECT_BG(bg_step(graph, r->stream, look, &s, &report));
        EXPECT(bg_report_count(report) == 0);
        bg_report_destroy(report);
        EXPECT(s.count == (int)info.nodes);
        EXPECT(s.named == s.count);
        if (check(r, c.device, round))
            return 1;
    }
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(c.device));
    return 0;
}

static void for_all_ranks(enum ranks_as as)
{
    need_ranks(1);
    for (int ranks = 1; ranks <= RANKS_MAX && ranks <= ranks_possible(); ranks++)
        run_ranks(as, ranks, stepped, NULL);
    if (ranks_possible() < RANKS_MAX)
        print_message("%d ranks at most: there are no more GPUs\n", ranks_possible());
}

TEST(test_threads)
{
    for_all_ranks(AS_THREADS);
}

TEST(test_processes)
{
    for_all_ranks(AS_PROCESSES);
}

#else

static void test_threads(void **state)
{
    (void)state;
    print_message("skipped: there is no NCCL beside this toolkit\n");
    skip();
}

static void test_processes(void **state)
{
    test_threads(state);
}

#endif
