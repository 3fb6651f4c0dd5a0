/* NCCL where something is wrong: arguments, ranks that disagree, abort, die or never come. */
#include "tests/support/ranks/nccl_ranks.h"

#ifdef TEST_NCCL
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_ONLY "a GPU's ranks wait for ever where the host device gives an error"

/* The communicator has failed, with a sentence that holds the text. It takes no more work and can be destroyed, and the
 * device is as it was. */
static void expect_over(struct rank *r, ncclResult_t expected, const char *text)
{
    ncclResult_t error = ncclSuccess;
    EXPECT_NCCL(ncclCommGetAsyncError(r->comm, &error), ncclSuccess);
    if (error != expected || !strstr(ncclGetLastError(r->comm), text))
        RANK_FAIL("the communicator's error is %d, \"%s\", not %d, \"%s\"", (int)error, ncclGetLastError(r->comm),
                  (int)expected, text);
    EXPECT_NCCL(ncclAllReduce(r->x, r->x, 1, ncclInt, ncclSum, r->comm, r->stream), expected);
    EXPECT_CUDA(cudaMemsetAsync(r->x, 0, sizeof *r->x, r->stream));
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
}

/* ---- arguments ------------------------------------------------------------------------------------------------ */

RANK_TEST(test_wrong_calls, 1, NULL)
{
    int *x = r->x;
    ncclComm_t comm = r->comm;
    EXPECT_NCCL(ncclAllReduce(x, x, 1, ncclNumTypes, ncclSum, comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclAllReduce(x, x, 1, (ncclDataType_t)-1, ncclSum, comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclAllReduce(x, x, 1, ncclInt, (ncclRedOp_t)-1, comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclReduce(x, x, 1, ncclInt, ncclSum, 1, comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclReduce(x, x, 1, ncclInt, ncclSum, -1, comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclBroadcast(x, x, 1, ncclInt, 1, comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclSend(x, 1, ncclInt, 1, comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclRecv(x, 1, ncclInt, -1, comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclAllReduce(x, x, 1, ncclInt, ncclSum, NULL, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclGetUniqueId(NULL), ncclInvalidArgument);
    EXPECT_NCCL(ncclGetVersion(NULL), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommCount(comm, NULL), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommInitRank(&comm, 0, r->id, 0), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommInitRank(&comm, 1, r->id, 1), ncclInvalidArgument);
    EXPECT_NCCL(ncclGroupEnd(), ncclInvalidUsage);
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
}

/* A wrong call in a group is the group's error, and nothing of it runs: but on one rank, where a collective is a copy
 * that does not wait for the group's end. */
static int wrong_in_group(struct rank *r)
{
    int *x = r->x, host[2] = {7, 0};
    EXPECT_CUDA(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_NCCL(ncclGroupStart(), ncclSuccess);
    EXPECT_NCCL(ncclAllReduce(x, x + 1, 1, ncclInt, ncclSum, r->comm, r->stream), ncclSuccess);
    EXPECT_NCCL(ncclBroadcast(x, x, 1, ncclInt, 9, r->comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclGroupEnd(), ncclInvalidArgument);
    rank_get(r, host, sizeof host);
    EXPECT(host[1] == (r->ranks == 1 ? 7 : 0));
    EXPECT_NCCL(ncclAllReduce(x, x + 1, 1, ncclInt, ncclSum, r->comm, r->stream), ncclSuccess);
    rank_get(r, host, sizeof host);
    EXPECT(host[1] == 7 * r->ranks);
    return 0;
}

TEST(test_wrong_call_in_group)
{
    need_ranks(1);
    for (int ranks = 1; ranks <= 2 && ranks <= ranks_possible(); ranks++)
        run_ranks(AS_THREADS, ranks, wrong_in_group, NULL);
}

/* What only the host device looks at: buffers, streams, ids, devices. */
RANK_TEST(test_careful, 1, "a GPU looks at none of this")
{
    int *x = r->x; /* of 16 numbers */
    cudaStream_t elsewhere = NULL;
    ncclComm_t comm = NULL, pair[2] = {NULL, NULL};
    ncclUniqueId id = {{0}};
    const int twice[] = {1, 1}, none[] = {0, 64};
    EXPECT_NCCL(ncclAllReduce(x, NULL, 1, ncclInt, ncclSum, r->comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclAllReduce(NULL, x, 1, ncclInt, ncclSum, r->comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclAllReduce((char *)x + 1, x, 1, ncclInt, ncclSum, r->comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclAllReduce(x, x, 17, ncclInt, ncclSum, r->comm, r->stream), ncclInvalidArgument);
    EXPECT_NCCL(ncclAllReduce(x, x, SIZE_MAX / 2, ncclInt, ncclSum, r->comm, r->stream), ncclInvalidArgument);
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_CUDA(cudaStreamCreate(&elsewhere));
    EXPECT_NCCL(ncclAllReduce(x, x, 1, ncclInt, ncclSum, r->comm, elsewhere), ncclUnhandledCudaError);
    EXPECT_NCCL(ncclAllReduce(x, x, 1, ncclInt, ncclSum, r->comm, NULL), ncclSuccess); /* the communicator's device's */
    EXPECT_CUDA(cudaStreamDestroy(elsewhere));
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_NCCL(ncclAllReduce(x, x, 1, ncclInt, ncclSum, r->comm, elsewhere), ncclUnhandledCudaError);
    EXPECT_NCCL(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommInitRank(&comm, 1, r->id, 0), ncclInvalidUsage); /* taken */
    EXPECT_NCCL(ncclCommInitRank(&comm, 2, r->id, 1), ncclInvalidArgument);
    EXPECT_NCCL(ncclGetUniqueId(&id), ncclSuccess);
    EXPECT_NCCL(ncclCommInitRank(&comm, 1000, id, 0), ncclInvalidArgument);
    EXPECT_NCCL(ncclCommInitAll(pair, 2, twice), ncclInvalidUsage);
    EXPECT_NCCL(ncclCommInitAll(pair, 2, none), ncclInvalidUsage);
    EXPECT_NCCL(ncclGroupStart(), ncclSuccess);
    EXPECT_NCCL(ncclCommInitRank(&pair[0], 2, id, 0), ncclSuccess);
    EXPECT_NCCL(ncclCommInitRank(&pair[1], 2, id, 1), ncclSuccess);
    EXPECT_NCCL(ncclGroupEnd(), ncclInvalidUsage); /* both on device 0 */
    EXPECT(!pair[0] && !pair[1]);
    EXPECT_NCCL(ncclCommDestroy((ncclComm_t)(void *)x), ncclInvalidArgument);
}

/* ---- ranks that disagree -------------------------------------------------------------------------------------- */

enum difference { COUNT, TYPE, OP, ROOT, CALL, SENT, AGAINST_RECEIVE, RECEIVES, DIFFERENCES };

static ncclResult_t differ(struct rank *r, enum difference difference)
{
    bool odd = r->rank == r->ranks - 1;
    int *x = r->x;
    switch (difference) {
    case COUNT: return ncclAllReduce(x, x, odd ? 3 : 4, ncclInt, ncclSum, r->comm, r->stream);
    case TYPE: return ncclAllReduce(x, x, 4, odd ? ncclFloat : ncclInt, ncclSum, r->comm, r->stream);
    case OP: return ncclAllReduce(x, x, 4, ncclInt, odd ? ncclMax : ncclSum, r->comm, r->stream);
    case ROOT: return ncclBroadcast(x, x, 4, ncclInt, odd ? 1 : 0, r->comm, r->stream);
    case CALL:
        return odd ? ncclBroadcast(x, x, 4, ncclInt, 0, r->comm, r->stream)
                   : ncclAllReduce(x, x, 4, ncclInt, ncclSum, r->comm, r->stream);
    case SENT:
        return odd ? ncclSend(x, 3, ncclInt, 0, r->comm, r->stream)
                   : ncclRecv(x, 4, ncclInt, r->ranks - 1, r->comm, r->stream);
    case AGAINST_RECEIVE:
        return odd ? ncclRecv(x, 4, ncclInt, 0, r->comm, r->stream)
                   : ncclAllReduce(x, x, 4, ncclInt, ncclSum, r->comm, r->stream);
    default: return ncclRecv(x, 4, ncclInt, (r->rank + 1) % r->ranks, r->comm, r->stream);
    }
}

/* Each gets the error, whoever saw it first, and no stream hangs. */
static int disagree(struct rank *r)
{
    enum difference difference = *(const enum difference *)r->argument;
    const char *text = difference < AGAINST_RECEIVE ? "the ranks disagree" : "deadlock: the ranks wait for each other";
    ncclResult_t error = ncclSuccess;
    EXPECT_NCCL(differ(r, difference), ncclSuccess);
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    while (!error) /* a sender is done before the receiver compares */
        EXPECT_NCCL(ncclCommGetAsyncError(r->comm, &error), ncclSuccess);
    expect_over(r, ncclInvalidUsage, text);
    return 0;
}

TEST(test_disagreement)
{
    need_host(HOST_ONLY);
    for (enum difference difference = COUNT; difference < DIFFERENCES; difference++)
        for (int ranks = 2; ranks <= (difference == SENT ? 2 : 3); ranks++)
            run_both_ways(ranks, disagree, &difference);
}

/* ---- abort ---------------------------------------------------------------------------------------------------- */

struct aborter {
    ncclComm_t comm;
    sem_t issued;
    ncclResult_t result;
};

static void *abort_when_issued(void *data)
{
    struct aborter *a = data;
    a->result = sem_wait(&a->issued) == 0 ? ncclCommAbort(a->comm) : ncclSystemError;
    return NULL;
}

/* A rank waits for one that never calls; another thread of it aborts. What was issued behind runs. */
static int aborted_while_waiting(struct rank *r)
{
    struct aborter a = {.comm = r->comm};
    pthread_t thread;
    int host = 0;
    r->comm = NULL;
    if (r->rank > 0) {
        EXPECT_NCCL(ncclCommAbort(a.comm), ncclSuccess);
        return 0;
    }
    EXPECT(sem_init(&a.issued, 0, 0) == 0);
    EXPECT(pthread_create(&thread, NULL, abort_when_issued, &a) == 0);
    EXPECT_NCCL(ncclAllReduce(r->x, r->x, 1, ncclInt, ncclSum, a.comm, r->stream), ncclSuccess);
    EXPECT_CUDA(cudaMemsetAsync(r->x, 1, sizeof *r->x, r->stream));
    EXPECT(sem_post(&a.issued) == 0);
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT_NCCL(a.result, ncclSuccess);
    rank_get(r, &host, sizeof host);
    EXPECT(host == 0x01010101);
    return 0;
}

TEST(test_abort_while_waiting)
{
    need_ranks(2);
    need_host("a GPU's first collective waits for the other rank while it connects, and no abort ends that");
    run_both_ways(2, aborted_while_waiting, NULL);
}

/* The others see a rank go, whatever way it takes. */
static int left_alone(struct rank *r)
{
    bool aborts = *(const bool *)r->argument;
    ncclComm_t comm = r->comm;
    if (r->rank == r->ranks - 1) {
        r->comm = NULL;
        EXPECT_NCCL(aborts ? ncclCommAbort(comm) : ncclCommDestroy(comm), ncclSuccess);
        return 0;
    }
    ncclResult_t issued = ncclAllReduce(r->x, r->x, 4, ncclInt, ncclSum, comm, r->stream);
    EXPECT(issued == ncclSuccess || issued == ncclRemoteError); /* another rank may have seen it already */
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    expect_over(r, ncclRemoteError, aborts ? "has aborted its communicator" : "has destroyed its communicator");
    return 0;
}

TEST(test_left_alone)
{
    need_host(HOST_ONLY);
    for (int aborts = 0; aborts < 2; aborts++) {
        run_ranks(AS_THREADS, 3, left_alone, &(bool){aborts});
        run_ranks(AS_PROCESSES, 2, left_alone, &(bool){aborts});
    }
}

/* A destroyed communicator's captured work is refused when it runs. */
RANK_TEST(test_replayed_too_late, 2, "undefined on a GPU")
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    ncclComm_t comm = r->comm;
    EXPECT_CUDA(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_NCCL(ncclAllReduce(r->x, r->x, 1, ncclInt, ncclSum, comm, r->stream), ncclSuccess);
    EXPECT_CUDA(cudaStreamEndCapture(r->stream, &graph));
    EXPECT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    r->comm = NULL;
    EXPECT_NCCL(ncclCommDestroy(comm), ncclSuccess);
    EXPECT_CUDA(cudaGraphLaunch(exec, r->stream));
    EXPECT(cudaStreamSynchronize(r->stream) == cudaErrorLaunchFailure);
    r->x = NULL; /* which the device can no longer free */
    EXPECT_CUDA(cudaGraphExecDestroy(exec));
    EXPECT_CUDA(cudaGraphDestroy(graph));
}

/* ---- processes that end --------------------------------------------------------------------------------------- */

enum { LARGE = 1 << 20 };

/* The last rank dies before its call, or in the middle of it: one step gives what there is room for, and the others
 * take that later. */
static int killed(struct rank *r)
{
    bool in_the_middle = *(const bool *)r->argument;
    bool dies = r->rank == r->ranks - 1;
    char byte;
    int *x = NULL;
    EXPECT_CUDA(cudaMalloc((void **)&x, LARGE * sizeof *x));
    if (in_the_middle && !dies)
        EXPECT(read(r->last_ends, &byte, 1) == 0);
    ncclResult_t issued = ncclSuccess;
    if (!dies || in_the_middle)
        issued = ncclAllReduce(x, x, LARGE, ncclInt, ncclSum, r->comm, r->stream);
    EXPECT(issued == ncclSuccess || (!dies && issued == ncclRemoteError)); /* another rank may have seen it already */
    if (dies) {
        EXPECT(!in_the_middle || cudaStreamQuery(r->stream) == cudaErrorNotReady);
        raise(SIGKILL);
    }
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    EXPECT_CUDA(cudaFree(x));
    expect_over(r, ncclRemoteError, "has ended (its process no longer runs)");
    return 0;
}

TEST(test_killed_peer)
{
    need_host(HOST_ONLY);
    for (int middle = 0; middle < 2; middle++) {
        run_ranks_one_killed(2, killed, &(bool){middle});
        run_ranks_one_killed(4, killed, &(bool){middle});
    }
}

/* ---- ranks that never come ------------------------------------------------------------------------------------ */

/* The other rank is alive and does something else, until the first has given up and ended. */
static int keeps_waiting(struct rank *r)
{
    char byte;
    if (r->rank > 0) {
        EXPECT(read(r->first_ends, &byte, 1) == 0);
        return 0;
    }
    EXPECT_NCCL(ncclAllReduce(r->x, r->x, 4, ncclInt, ncclSum, r->comm, r->stream), ncclSuccess);
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    expect_over(r, ncclRemoteError, "rank 0 timed out after 1 s in ncclAllReduce, waiting for rank 1 (process");
    return 0;
}

static int never_joined(struct rank *r)
{
    ncclComm_t comm = NULL;
    EXPECT_NCCL(ncclGetUniqueId(&r->id), ncclSuccess);
    EXPECT_NCCL(ncclCommInitRank(&comm, 2, r->id, 0), ncclRemoteError);
    EXPECT(!comm && strstr(ncclGetLastError(NULL), "in ncclCommInitRank, waiting for rank 1"));
    return 0;
}

TEST(test_bounded_wait)
{
    need_host(HOST_ONLY);
    assert_int_equal(setenv("HOSTCUDA_NCCL_TIMEOUT", "1", 1), 0);
    run_ranks(AS_PROCESSES, 2, keeps_waiting, NULL);
    run_alone(1, never_joined, NULL);
    assert_int_equal(unsetenv("HOSTCUDA_NCCL_TIMEOUT"), 0);
}

/* The call's result, once the communicator is no longer at it. */
static ncclResult_t end_of(ncclComm_t comm, ncclResult_t state)
{
    while (state == ncclInProgress)
        if (ncclCommGetAsyncError(comm, &state) != ncclSuccess)
            return ncclInternalError;
    return state;
}

/* Calls that do not wait: the rank asks until the others are there. */
static int not_blocking(struct rank *r)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t comm = NULL;
    int host = r->rank + 1;
    config.blocking = 0;
    ncclResult_t begun = ncclCommInitRankConfig(&comm, r->ranks, r->id, r->rank, &config);
    EXPECT(begun == ncclSuccess || begun == ncclInProgress);
    EXPECT_NCCL(end_of(comm, ncclInProgress), ncclSuccess);
    EXPECT_CUDA(cudaMemcpy(r->x, &host, sizeof host, cudaMemcpyHostToDevice));
    EXPECT_NCCL(end_of(comm, ncclAllReduce(r->x, r->x, 1, ncclInt, ncclSum, comm, r->stream)), ncclSuccess);
    rank_get(r, &host, sizeof host);
    EXPECT(host == r->ranks * (r->ranks + 1) / 2);
    EXPECT_NCCL(end_of(comm, ncclCommFinalize(comm)), ncclSuccess);
    EXPECT_NCCL(ncclCommDestroy(comm), ncclSuccess);
    return 0;
}

TEST(test_not_blocking)
{
    need_ranks(1);
    for (int ranks = 1; ranks <= ranks_possible(); ranks++) {
        run_ranks_without(AS_THREADS, ranks, not_blocking, NULL);
        run_ranks_without(AS_PROCESSES, ranks, not_blocking, NULL);
    }
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif
