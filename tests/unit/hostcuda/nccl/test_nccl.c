/* NCCL: every collective, type and reduction against plain C, and groups; ranks as threads, as processes, and all
 * driven by one thread. */
#include "tests/support/ranks/nccl_ranks.h"

#ifdef TEST_NCCL
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements: integers as they are, floats as doubles -------------------------------------------------------- */

struct type {
    const char *name;
    size_t size;
    ncclDataType_t type;
    int fraction; /* bits, of a float; 0: an integer */
    int smallest; /* exponent of the smallest normal float */
    bool is_signed;
};
static const struct type types[] = {
    {"int8", 1, ncclInt8, 0, 0, true},
    {"uint8", 1, ncclUint8, 0, 0, false},
    {"int32", 4, ncclInt32, 0, 0, true},
    {"uint32", 4, ncclUint32, 0, 0, false},
    {"int64", 8, ncclInt64, 0, 0, true},
    {"uint64", 8, ncclUint64, 0, 0, false},
    {"float16", 2, ncclFloat16, 10, -14, true},
    {"bfloat16", 2, ncclBfloat16, 7, -126, true},
    {"float32", 4, ncclFloat32, 23, -126, true},
    {"float64", 8, ncclFloat64, 52, -1022, true},
#if NCCL_VERSION_CODE >= 22400
    {"float8e4m3", 1, ncclFloat8e4m3, 3, -6, true},
    {"float8e5m2", 1, ncclFloat8e5m2, 2, -14, true},
#endif
};
enum { TYPES = sizeof types / sizeof types[0] };

/* Small numbers, whose bits a format of this fraction has. */
static uint64_t encode(double value, const struct type *type)
{
    int exponent = 0;
    uint64_t sign = signbit(value) ? (uint64_t)1 << (type->size * 8 - 1) : 0;
    if (value == 0)
        return sign;
    double fraction = frexp(fabs(value), &exponent) * 2 - 1; /* 1.fraction * 2^(exponent - 1) */
    uint64_t code = (uint64_t)(exponent - type->smallest) << type->fraction;
    return sign | (code + (uint64_t)ldexp(fraction, type->fraction));
}

static double decode(uint64_t bits, const struct type *type)
{
    uint64_t sign = (uint64_t)1 << (type->size * 8 - 1), code = bits & (sign - 1);
    uint64_t steps = (uint64_t)1 << type->fraction, exponent = code >> type->fraction, fraction = code % steps;
    double magnitude = exponent ? (double)(steps + fraction) : (double)fraction;
    magnitude = ldexp(magnitude, (exponent ? (int)exponent - 1 : 0) + type->smallest - type->fraction);
    return bits & sign ? -magnitude : magnitude;
}

static void store(void *buffer, size_t i, const struct type *type, uint64_t integer, double real)
{
    uint64_t bits = type->fraction ? encode(real, type) : integer;
    memcpy((char *)buffer + i * type->size, &bits, type->size); /* little-endian, as all that CUDA runs on */
}

static uint64_t load_integer(const void *buffer, size_t i, const struct type *type)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)buffer + i * type->size, type->size);
    if (type->is_signed && type->size < 8 && bits >> (type->size * 8 - 1))
        bits |= ~(uint64_t)0 << (type->size * 8);
    return bits;
}

static double load_real(const void *buffer, size_t i, const struct type *type)
{
    return decode(load_integer(buffer, i, type), type);
}

/* Element i of a rank's input: integers of all sizes, or -3 to 3, which every float has. A mean of integers that
 * wrapped around says nothing. */
static uint64_t integer_of(int rank, size_t i, ncclRedOp_t op)
{
    uint64_t mixed = ((uint64_t)i * 1000003u + (uint64_t)rank * 7919u + 1) * 0x9e3779b97f4a7c15u;
    return op == ncclAvg ? mixed >> 60 : mixed ^ mixed >> 32;
}

static double real_of(int rank, size_t i)
{
    return (double)((i * 31 + (size_t)rank * 17) % 7) - 3;
}

/* ---- reductions in plain C ------------------------------------------------------------------------------------ */

static uint64_t narrow(uint64_t value, const struct type *type)
{
    char bytes[8];
    memcpy(bytes, &value, sizeof bytes);
    return load_integer(bytes, 0, type);
}

static bool less(uint64_t a, uint64_t b, const struct type *type)
{
    return type->is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t reduce_integers(int ranks, size_t i, const struct type *type, ncclRedOp_t op)
{
    uint64_t result = narrow(integer_of(0, i, op), type);
    for (int rank = 1; rank < ranks; rank++) {
        uint64_t x = narrow(integer_of(rank, i, op), type);
        if (op == ncclProd)
            result = narrow(result * x, type);
        else if (op == ncclMin)
            result = less(x, result, type) ? x : result;
        else if (op == ncclMax)
            result = less(result, x, type) ? x : result;
        else
            result = narrow(result + x, type);
    }
    return op == ncclAvg ? result / (uint64_t)ranks : result;
}

static double reduce_reals(int ranks, size_t i, ncclRedOp_t op)
{
    double result = real_of(0, i);
    for (int rank = 1; rank < ranks; rank++) {
        double x = real_of(rank, i);
        if (op == ncclProd)
            result *= x;
        else if (op == ncclMin)
            result = fmin(result, x);
        else if (op == ncclMax)
            result = fmax(result, x);
        else
            result += x;
    }
    return op == ncclAvg ? result / ranks : result;
}

/* ---- one collective ------------------------------------------------------------------------------------------- */

enum kind { ALL_REDUCE, REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, KINDS };
static const char *const kind_names[] = {"all-reduce", "reduce", "all-gather", "reduce-scatter", "broadcast"};

struct trial {
    enum kind kind;
    const struct type *type;
    ncclRedOp_t op;
    size_t count;
    int root;
    bool in_place;
};

static bool reduces(enum kind kind)
{
    return kind == ALL_REDUCE || kind == REDUCE || kind == REDUCE_SCATTER;
}

static ncclResult_t call(const struct trial *t, const void *send, void *receive, ncclComm_t comm, cudaStream_t stream)
{
    ncclDataType_t type = t->type->type;
    switch (t->kind) {
    case ALL_REDUCE: return ncclAllReduce(send, receive, t->count, type, t->op, comm, stream);
    case REDUCE: return ncclReduce(send, receive, t->count, type, t->op, t->root, comm, stream);
    case ALL_GATHER: return ncclAllGather(send, receive, t->count, type, comm, stream);
    case REDUCE_SCATTER: return ncclReduceScatter(send, receive, t->count, type, t->op, comm, stream);
    default:
        if (t->in_place)
            return ncclBcast(receive, t->count, type, t->root, comm, stream);
        return ncclBroadcast(send, receive, t->count, type, t->root, comm, stream);
    }
}

/* Elements that a rank gives and gets. */
static size_t given(const struct trial *t, int ranks)
{
    return t->kind == REDUCE_SCATTER ? t->count * (size_t)ranks : t->count;
}

static size_t gotten(const struct trial *t, int ranks)
{
    return t->kind == ALL_GATHER ? t->count * (size_t)ranks : t->count;
}

/* Element i of the result on a rank comes from element `at` of all ranks, or of rank `of`. */
static void compare(const struct trial *t, const struct rank *r, const void *result, size_t i)
{
    size_t at = t->kind == ALL_GATHER ? i % t->count : t->kind == REDUCE_SCATTER ? (size_t)r->rank * t->count + i : i;
    int of = t->kind == ALL_GATHER ? (int)(i / t->count) : t->root;
    if (!t->type->fraction) {
        uint64_t found = load_integer(result, i, t->type);
        uint64_t expected = reduces(t->kind) ? reduce_integers(r->ranks, at, t->type, t->op)
                                             : narrow(integer_of(of, at, t->op), t->type);
        if (found != expected)
            RANK_FAIL("%s of %s, op %d, %d ranks: element %zu is %lld, not %lld", kind_names[t->kind], t->type->name,
                      (int)t->op, r->ranks, i, (long long)found, (long long)expected);
        return;
    }
    double found = load_real(result, i, t->type);
    double expected = reduces(t->kind) ? reduce_reals(r->ranks, at, t->op) : real_of(of, at);
    /* one rounding here, one a rank on a GPU */
    double allowed = fabs(expected) * ldexp(on_host() ? 0.5 : r->ranks, -t->type->fraction);
    if (fabs(found - expected) > allowed)
        RANK_FAIL("%s of %s, op %d, %d ranks: element %zu is %g, not %g", kind_names[t->kind], t->type->name,
                  (int)t->op, r->ranks, i, found, expected);
}

/* NCCL has no means of 8-bit floats on one rank. */
static bool refused(const struct trial *t, int ranks)
{
    return ranks == 1 && reduces(t->kind) && t->op == ncclAvg && t->type->fraction && t->type->size == 1;
}

/* One buffer on the device: what is given, a gap, what is gotten; in place, the one lies inside the other. */
static void run_trial(const struct trial *t, struct rank *r)
{
    enum { GAP = 64, UNTOUCHED = 0x5a };
    size_t size = t->type->size, give = given(t, r->ranks) * size, get = gotten(t, r->ranks) * size;
    size_t to = (give + GAP + 255) / 256 * 256, from = 0;
    if (t->in_place && t->kind == ALL_GATHER)
        from = to + (size_t)r->rank * give;
    else if (t->in_place)
        to = t->kind == REDUCE_SCATTER ? (size_t)r->rank * get : 0;
    size_t bytes = give + get + 2 * GAP + 512;
    unsigned char *host = malloc(bytes);
    char *device = NULL;
    EXPECT(host);
    EXPECT_CUDA(cudaMalloc((void **)&device, bytes));
    memset(host, UNTOUCHED, bytes);
    for (size_t i = 0; i < given(t, r->ranks); i++)
        store(host + from, i, t->type, integer_of(r->rank, i, t->op), real_of(r->rank, i));
    EXPECT_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, r->stream));
    bool is_refused = refused(t, r->ranks);
    EXPECT_NCCL(call(t, device + from, device + to, r->comm, r->stream),
                is_refused ? ncclInvalidArgument : ncclSuccess);
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    EXPECT_CUDA(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
    if (!is_refused && (t->kind != REDUCE || r->rank == t->root))
        for (size_t i = 0; i < gotten(t, r->ranks); i++)
            compare(t, r, host + to, i);
    else if (!t->in_place)
        for (size_t i = 0; i < get; i++)
            EXPECT(host[to + i] == UNTOUCHED);
    for (size_t i = 0; !t->in_place && i < GAP; i++)
        EXPECT(host[to + get + i] == UNTOUCHED);
    EXPECT_CUDA(cudaFree(device));
    free(host);
}

static int every_collective(struct rank *r)
{
    static const ncclRedOp_t ops[] = {ncclSum, ncclProd, ncclMin, ncclMax, ncclAvg};
    /* The last takes many chunks. It is one that the 18 blocks of NCCL 2.28's one-rank mean cover: their shares are
     * rounded down first, and of 70001 floats the last 17 are never written (onerank.cu). */
    static const size_t counts[] = {1, 1001, 70003};
    /* many runs take the small ones */
    size_t sizes = getenv("HOSTCUDA_SEED") != NULL ? 2 : (size_t)by_size(2, 2, 3);
    for (size_t n = 0; n < sizes; n++) {
        for (int k = 0; k < KINDS; k++) {
            for (int i = 0; i < TYPES * 5 * 2; i++) {
                struct trial trial = {k, &types[i / 10], ops[i / 2 % 5], counts[n], (i + k) % r->ranks, i % 2 == 1};
                bool small = counts[n] < 2000 || trial.type->type == ncclInt8 || trial.type->type == ncclFloat32;
                if (trial.op == ncclSum || (reduces(k) && small))
                    run_trial(&trial, r);
            }
        }
    }
    return 0;
}

TEST(test_collectives_of_threads)
{
    run_ranks_from(1, AS_THREADS, every_collective);
}

TEST(test_collectives_of_processes)
{
    run_ranks_from(1, AS_PROCESSES, every_collective);
}

/* ---- order ---------------------------------------------------------------------------------------------------- */

/* Sums of these depend on the order; it is that of the ranks, whichever comes first. */
static int rank_order(struct rank *r)
{
    static const float parts[RANKS_MAX] = {1e8f, 1.0f, -1e8f, 0.25f};
    enum { COUNT = 3 };
    float host[COUNT];
    volatile float expected = parts[0];
    for (int rank = 1; rank < r->ranks; rank++)
        expected += parts[rank];
    for (int i = 0; i < COUNT; i++)
        host[i] = parts[r->rank];
    EXPECT_CUDA(cudaMemcpyAsync(r->x, host, sizeof host, cudaMemcpyHostToDevice, r->stream));
    EXPECT_NCCL(ncclAllReduce(r->x, r->x, COUNT, ncclFloat, ncclSum, r->comm, r->stream), ncclSuccess);
    rank_get(r, host, sizeof host);
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == expected);
    return 0;
}

TEST(test_rank_order)
{
    need_host("the order of a GPU's sums is its own");
    run_ranks_from(1, AS_THREADS, rank_order);
}

/* ---- groups --------------------------------------------------------------------------------------------------- */

enum { BIG = 100003 };

/* To each neighbour at every distance, oneself included. */
static int ring(struct rank *r)
{
    int *device = NULL, *host = malloc(BIG * sizeof *host);
    EXPECT(host);
    EXPECT_CUDA(cudaMalloc((void **)&device, 2 * BIG * sizeof *device));
    for (int shift = 0; shift < r->ranks; shift++) {
        int next = (r->rank + shift) % r->ranks, previous = (r->rank + r->ranks - shift) % r->ranks;
        for (int i = 0; i < BIG; i++)
            host[i] = r->rank * BIG + i + shift;
        EXPECT_CUDA(cudaMemcpy(device, host, BIG * sizeof *host, cudaMemcpyHostToDevice));
        EXPECT_NCCL(ncclGroupStart(), ncclSuccess);
        EXPECT_NCCL(ncclSend(device, BIG, ncclInt, next, r->comm, r->stream), ncclSuccess);
        EXPECT_NCCL(ncclRecv(device + BIG, BIG, ncclInt, previous, r->comm, r->stream), ncclSuccess);
        EXPECT_NCCL(ncclGroupEnd(), ncclSuccess);
        EXPECT_CUDA(cudaStreamSynchronize(r->stream));
        EXPECT_CUDA(cudaMemcpy(host, device + BIG, BIG * sizeof *host, cudaMemcpyDeviceToHost));
        for (int i = 0; i < BIG; i++)
            EXPECT(host[i] == previous * BIG + i + shift);
    }
    EXPECT_CUDA(cudaFree(device));
    free(host);
    return 0;
}

TEST(test_send_and_receive)
{
    run_ranks_from(1, AS_THREADS, ring);
    run_ranks_from(1, AS_PROCESSES, ring);
}

/* Several calls in one group, on two streams: both come after what was issued to either, and before what follows. Not
 * so on one rank, where each is a copy on its own stream. */
static int mixed_group(struct rank *r)
{
    int host[4] = {r->rank + 1, 10 * (r->rank + 1), 0, 0}, *x = r->x, sum = r->ranks * (r->ranks + 1) / 2;
    cudaStream_t other = NULL;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaMemcpyAsync(x, host, sizeof host, cudaMemcpyHostToDevice, other));
    EXPECT_NCCL(ncclGroupStart(), ncclSuccess);
    EXPECT_NCCL(ncclGroupStart(), ncclSuccess);
    EXPECT_NCCL(ncclAllReduce(x, x + 2, 1, ncclInt, ncclSum, r->comm, r->stream), ncclSuccess);
    EXPECT_NCCL(ncclGroupEnd(), ncclSuccess);
    EXPECT_NCCL(ncclAllReduce(x + 1, x + 3, 1, ncclInt, ncclSum, r->comm, other), ncclSuccess);
    EXPECT_NCCL(ncclGroupEnd(), ncclSuccess);
    EXPECT_CUDA(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, other));
    EXPECT_CUDA(cudaStreamSynchronize(other));
    EXPECT(host[2] == sum && host[3] == 10 * sum);
    EXPECT_CUDA(cudaStreamDestroy(other));
    return 0;
}

TEST(test_group_on_two_streams)
{
    run_ranks_from(2, AS_THREADS, mixed_group);
    run_ranks_from(2, AS_PROCESSES, mixed_group);
}

/* ---- one thread drives all ranks ------------------------------------------------------------------------------ */

struct driven {
    ncclComm_t comms[RANKS_MAX];
    cudaStream_t streams[RANKS_MAX];
    float *buffers[RANKS_MAX]; /* DRIVEN given, DRIVEN gotten */
    cudaGraph_t graphs[RANKS_MAX];
    cudaGraphExec_t execs[RANKS_MAX]; /* NULL: the calls are made again in each round */
};
enum { DRIVEN = 5000 };

static void drive_begin(struct driven *d, int ranks)
{
    EXPECT_NCCL(ncclCommInitAll(d->comms, ranks, NULL), ncclSuccess);
    for (int i = 0; i < ranks; i++) {
        int count = 0, rank = -1, device = -1;
        EXPECT_NCCL(ncclCommCount(d->comms[i], &count), ncclSuccess);
        EXPECT_NCCL(ncclCommUserRank(d->comms[i], &rank), ncclSuccess);
        EXPECT_NCCL(ncclCommCuDevice(d->comms[i], &device), ncclSuccess);
        EXPECT(count == ranks && rank == i && device == i);
        EXPECT_CUDA(cudaSetDevice(i));
        EXPECT_CUDA(cudaStreamCreateWithFlags(&d->streams[i], cudaStreamNonBlocking));
        EXPECT_CUDA(cudaMalloc((void **)&d->buffers[i], 2 * DRIVEN * sizeof(float)));
    }
}

static void drive_end(struct driven *d, int ranks)
{
    EXPECT_NCCL(ncclGroupStart(), ncclSuccess);
    for (int i = 0; i < ranks; i++)
        EXPECT_NCCL(ncclCommFinalize(d->comms[i]), ncclSuccess);
    EXPECT_NCCL(ncclGroupEnd(), ncclSuccess);
    for (int i = 0; i < ranks; i++) {
        EXPECT_NCCL(ncclCommDestroy(d->comms[i]), ncclSuccess);
        EXPECT_CUDA(cudaSetDevice(i));
        EXPECT_CUDA(cudaFree(d->buffers[i]));
        EXPECT_CUDA(cudaStreamDestroy(d->streams[i]));
    }
}

static void drive_issue(struct driven *d, int ranks)
{
    EXPECT_NCCL(ncclGroupStart(), ncclSuccess);
    for (int i = 0; i < ranks; i++)
        EXPECT_NCCL(ncclAllReduce(d->buffers[i], d->buffers[i] + DRIVEN, DRIVEN, ncclFloat, ncclSum, d->comms[i],
                                  d->streams[i]),
                    ncclSuccess);
    EXPECT_NCCL(ncclGroupEnd(), ncclSuccess);
}

/* Sums of other numbers than in the round before. */
static void drive_round(struct driven *d, int ranks, int round)
{
    float host[DRIVEN];
    int all = ranks * (ranks + 1) / 2;
    for (int rank = 0; rank < ranks; rank++) {
        for (int i = 0; i < DRIVEN; i++)
            host[i] = (float)((rank + 1) * (i % 100) + round);
        EXPECT_CUDA(cudaSetDevice(rank));
        EXPECT_CUDA(cudaMemcpyAsync(d->buffers[rank], host, sizeof host, cudaMemcpyHostToDevice, d->streams[rank]));
        EXPECT_CUDA(cudaStreamSynchronize(d->streams[rank]));
    }
    for (int i = 0; i < ranks && d->execs[i] != NULL; i++)
        EXPECT_CUDA(cudaGraphLaunch(d->execs[i], d->streams[i]));
    if (d->execs[0] == NULL)
        drive_issue(d, ranks);
    for (int rank = 0; rank < ranks; rank++) {
        EXPECT_CUDA(cudaSetDevice(rank));
        EXPECT_CUDA(cudaStreamSynchronize(d->streams[rank]));
        EXPECT_CUDA(cudaMemcpy(host, d->buffers[rank] + DRIVEN, sizeof host, cudaMemcpyDeviceToHost));
        for (int i = 0; i < DRIVEN; i++)
            EXPECT(host[i] == (float)(all * (i % 100) + round * ranks));
    }
}

/* All ranks in one capture each; the graphs are launched in turn and wait for each other. */
static void drive_capture(struct driven *d, int ranks)
{
    for (int i = 0; i < ranks; i++)
        EXPECT_CUDA(cudaStreamBeginCapture(d->streams[i], cudaStreamCaptureModeThreadLocal));
    drive_issue(d, ranks);
    for (int i = 0; i < ranks; i++)
        EXPECT_CUDA(cudaStreamEndCapture(d->streams[i], &d->graphs[i]));
    for (int i = 0; i < ranks; i++) {
        EXPECT_CUDA(cudaSetDevice(i));
        EXPECT_CUDA(cudaGraphInstantiate(&d->execs[i], d->graphs[i], 0));
    }
}

static int one_thread(struct rank *r)
{
    struct driven d = {0};
    const bool *captured = r->argument;
    drive_begin(&d, r->ranks);
    if (*captured)
        drive_capture(&d, r->ranks);
    for (int round = 0; round < (*captured ? 100 : 20); round++)
        drive_round(&d, r->ranks, round);
    for (int i = 0; i < r->ranks && *captured; i++) {
        EXPECT_CUDA(cudaGraphExecDestroy(d.execs[i]));
        EXPECT_CUDA(cudaGraphDestroy(d.graphs[i]));
    }
    drive_end(&d, r->ranks);
    return 0;
}

TEST(test_one_thread)
{
    need_ranks(1);
    for (int ranks = 1; ranks <= ranks_possible(); ranks++) {
        run_alone(ranks, one_thread, &(bool){false});
        run_alone(ranks, one_thread, &(bool){true});
    }
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif
