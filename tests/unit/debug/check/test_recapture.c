/* One pass captured twice: what differs is frozen in a graph. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"
#include "tests/support/ops.h"

#include <breakgraph/cublas.h>
#include <breakgraph/check.h>
#include <string.h>

/* ---- ops ---- */

BG_EAGER_OP(pick, BG_INOUT(x), BG_VALUE(int, k))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, (float)args->k, N, stream));
}

/* The value is made in the body. */
BG_OP(halve, BG_INOUT(x), BG_VALUE(int, steps))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, 1.0f / (float)(1 << args->steps), N, stream));
}

/* The kernel's size follows the tensor's. */
BG_OP(zero, BG_OUT(x))
{
    return from_cuda(bgk_fill(args->x.data, 0, (size_t)args->x.dim[0], stream));
}

/* What the argument does not show. */
static struct hidden {
    bool often;
    float value;
    float *memory;
} hidden;
BG_OP(secret, BG_INOUT(x))
{
    TRY_BG(from_cuda(bgk_scale(args->x.data, args->x.data, hidden.value, N, stream)));
    for (int i = 0; i <= hidden.often; i++)
        TRY_BG(from_cuda(bgk_add(args->x.data, args->x.data, hidden.memory, N, stream)));
    return BG_OK;
}

BG_OP(with_scratch, BG_INOUT(x))
{
    void *scratch;
    TRY_BG(bg_scratch(args, N * sizeof(float), &scratch));
    TRY_BG(from_cuda(bgk_scale(scratch, args->x.data, 2, N, stream)));
    return from_cuda(bgk_add(args->x.data, args->x.data, scratch, N, stream));
}

BG_EAGER_OP(produce, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

BG_EAGER_OP(produce_two, BG_IN(x), BG_OUTS(parts, 2))
{
    TRY_BG(from_cuda(bgk_scale(args->parts[0].data, args->x.data, 2, N, stream)));
    return from_cuda(bgk_scale(args->parts[1].data, args->x.data, 3, N, stream));
}

/* The body must run at capture, to give z a shape, and leaves y elsewhere. */
BG_EAGER_OP(produce_open, BG_IN(x), BG_OUT(y), BG_OUT(z))
{
    void *scratch;
    TRY_BG(bg_scratch(args, N * sizeof(float), &scratch));
    args->y.data = hidden.memory;
    args->z = bg_tensor_1d(scratch, BG_F32, N);
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream)));
    return from_cuda(bgk_scale(scratch, args->x.data, 3, N, stream));
}

BG_OP(around, BG_IN(x), BG_INOUT(y))
{
    TRY_BG(BG_CALL(sum, stream, .x = args->x, .y = args->y));
    return BG_CALL(scale, stream, .x = args->y, .y = args->y, .factor = 2);
}

/* Its size is 12, with padding after first and last. */
typedef struct padded {
    char first;
    int middle;
    char last;
} padded;

BG_EAGER_OP(pick_padded, BG_INOUT(x), BG_VALUE(padded, p))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, (float)args->p.middle, N, stream));
}

/* Without padding: its size tells that the first byte of each int is none. */
typedef struct three {
    int of[3];
} three;

BG_EAGER_OP(pick_three, BG_INOUT(x), BG_VALUE(three, p))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, (float)args->p.of[2], N, stream));
}

BG_EAGER_OP(pick_named, BG_INOUT(x), BG_VALUE(const char *, name))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, (float)strlen(args->name), N, stream));
}

BG_OP(scale_padded, BG_INOUT(x), BG_VALUE(padded, p))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, (float)args->p.middle, N, stream));
}

/* ---- passes ---- */

enum { WIDE = 1 << 16 }; /* elements of a kernel of several blocks */
static char names[2][2][4] = {{"abc", "abc"}, {"abc", "abd"}};

typedef struct model {
    fixture *f;
    int kind, turn;       /* what the pass does; turn changes */
    int line, other_line; /* of the calls that are at fault */
    bg_status fails;
    cublasHandle_t cublas;
    float alpha;
    cudaEvent_t events[2];
    int priority; /* other than that of a stream */
} model;

enum {
    CLEAN,
    VALUE,
    DERIVED,
    SHAPE,
    EAGER_VALUE,
    PADDING,
    PADDED_VALUE,
    THREE,
    STRINGS,
    EQUAL_STRINGS,
    BRANCH,
    EXTRA,
    BREAK,
    BESIDE,
    AROUND,
    POINTER,
    ARRAY,
    COPY,
    FILL,
    HIDDEN,
    MEMORY,
    CUBLAS,
    COOPERATIVE,
    CLUSTER,
    PRIORITY,
    EDGES,
    FAILS
};

/* In the second turn a kernel of two blocks gets an attribute that it does not have in the first one. */
static bg_status change_attribute(const model *m, cudaStream_t stream)
{
    static const cudaLaunchAttributeID ids[] = {[COOPERATIVE - COOPERATIVE] = cudaLaunchAttributeCooperative,
                                                [CLUSTER - COOPERATIVE] = cudaLaunchAttributeClusterDimension,
                                                [PRIORITY - COOPERATIVE] = cudaLaunchAttributePriority};
    cudaLaunchAttributeValue value = {.cooperative = 1};
    enum cudaStreamCaptureStatus status;
    const cudaGraphNode_t *nodes = NULL;
    const cudaGraphEdgeData *edges;
    size_t count = 0;

    TRY_BG(from_cuda(bgk_fill(hidden.memory, 0, WIDE, stream)));
    TRY_BG(from_cuda(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, &edges, &count)));
    assert_int_equal(count, 1);
    if (m->kind == CLUSTER) {
        value.clusterDim.x = 2;
        value.clusterDim.y = value.clusterDim.z = 1;
    } else if (m->kind == PRIORITY) {
        value.priority = m->priority;
    }
    return m->turn == 0 ? BG_OK
                        : from_cuda(cudaGraphKernelNodeSetAttribute(nodes[0], ids[m->kind - COOPERATIVE], &value));
}

/* The second fill waits for the first one only if the fork comes after it. */
static bg_status fork_fills(const model *m, cudaStream_t stream)
{
    const fixture *f = m->f;

    if (m->turn == 0)
        TRY_BG(from_cuda(cudaEventRecord(m->events[0], stream)));
    TRY_BG(from_cuda(cudaMemsetAsync(f->y.data, 0, 16, stream)));
    if (m->turn > 0)
        TRY_BG(from_cuda(cudaEventRecord(m->events[0], stream)));
    TRY_BG(from_cuda(cudaStreamWaitEvent(f->other, m->events[0], 0)));
    TRY_BG(from_cuda(cudaMemsetAsync(f->z.data, 0, 16, f->other)));
    TRY_BG(from_cuda(cudaEventRecord(m->events[1], f->other)));
    return from_cuda(cudaStreamWaitEvent(stream, m->events[1], 0));
}

static bg_status memory_pass(const fixture *f, cudaStream_t stream)
{
    bg_tensor y = {.dtype = BG_F32, .rank = 1, .dim = {N}};
    produce_args produced = {.x = f->x, .y = y};
    void *own = NULL;
    TRY_BG(BG_CALL_ARGS(produce, stream, &produced));
    TRY_BG(BG_CALL(sum, stream, .x = produced.y, .y = f->y));
    TRY_BG(BG_CALL(with_scratch, stream, .x = f->y));
    TRY_BG(from_cuda(cudaMallocAsync(&own, N * sizeof(float), stream)));
    TRY_BG(from_cuda(bgk_scale(own, f->x.data, 2, N, stream)));
    return from_cuda(cudaFreeAsync(own, stream));
}

/* Its padding holds something else in each turn. An assignment need not copy padding. */
static void fill_padded(padded *p, const model *m, int middle)
{
    char bytes[sizeof *p];
    memset(bytes, 17 * (m->turn + 1), sizeof bytes);
    bytes[offsetof(padded, first)] = 1;
    memcpy(bytes + offsetof(padded, middle), &middle, sizeof middle);
    bytes[offsetof(padded, last)] = 3;
    memcpy(p, bytes, sizeof bytes);
}

static bg_status call_padded(model *m, cudaStream_t stream)
{
    pick_padded_args args = {.x = m->f->x};
    fill_padded(&args.p, m, 2);
    return CALL_ARGS_AT(m->line, pick_padded, stream, &args);
}

static bg_status call_scale_padded(model *m, cudaStream_t stream)
{
    scale_padded_args args = {.x = m->f->x};
    fill_padded(&args.p, m, m->turn + 1);
    return CALL_ARGS_AT(m->line, scale_padded, stream, &args);
}

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;
    bg_tensor part = bg_tensor_1d(f->x.data, BG_F32, m->turn == 0 ? N : N / 2);

    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
    switch (m->kind) {
    case VALUE: CALL_AT(m->line, scale, stream, .x = f->x, .y = f->y, .factor = m->turn == 0 ? 0.5f : 0.25f); break;
    case DERIVED: CALL_AT(m->line, halve, stream, .x = f->x, .steps = m->turn); break;
    case SHAPE: CALL_AT(m->line, zero, stream, .x = part); break;
    case EAGER_VALUE: CALL_AT(m->line, pick, stream, .x = f->x, .k = m->turn); break;
    case PADDING: call_padded(m, stream); break;
    case PADDED_VALUE: call_scale_padded(m, stream); break;
    case THREE: CALL_AT(m->line, pick_three, stream, .x = f->x, .p = {{1, 2, m->turn}}); break;
    case STRINGS:
    case EQUAL_STRINGS:
        CALL_AT(m->line, pick_named, stream, .x = f->x, .name = names[m->kind == STRINGS][m->turn]);
        break;
    case BRANCH:
        if (m->turn == 0)
            CALL_AT(m->line, sum, stream, .x = f->x, .y = f->y);
        else
            CALL_AT(m->other_line, scale, stream, .x = f->x, .y = f->y, .factor = 3);
        break;
    case EXTRA:
        if (m->turn == 1)
            CALL_AT(m->line, sum, stream, .x = f->x, .y = f->y);
        break;
    case BREAK:
        if (m->turn == 1)
            bg_break(stream);
        break;
    case BESIDE:
        BG_CALL(produce_open, stream, .x = f->x, .y = f->z, .z = {.dtype = BG_F32});
        if (m->turn == 1)
            CALL_AT(m->line, pick, stream, .x = f->y, .k = 2);
        break;
    case AROUND:
        if (m->turn == 0)
            CALL_AT(m->line, around, stream, .x = f->x, .y = f->y);
        BG_CALL(around, stream, .x = f->y, .y = f->z);
        break;
    case ARRAY: {
        bg_tensor own = f->y;
        own.data = hidden.memory;
        CALL_AT(m->line, produce_two, stream, .x = f->x, .parts = {f->y, m->turn == 0 ? f->z : own});
        break;
    }
    case POINTER: CALL_AT(m->line, sum, stream, .x = m->turn == 0 ? f->x : f->z, .y = f->y); break;
    case COPY:
        (void)cudaMemcpyAsync(f->y.data, m->turn == 0 ? f->x.data : f->z.data, 16, cudaMemcpyDeviceToDevice, stream);
        break;
    case FILL: (void)cudaMemsetAsync(f->y.data, m->turn, 16, stream); break;
    case HIDDEN: CALL_AT(m->line, secret, stream, .x = f->y); break;
    case MEMORY: memory_pass(f, stream); break;
    case CUBLAS: TRY_BG(multiply(m->cublas, m->alpha, &f->x, &f->y, stream)); break;
    case COOPERATIVE:
    case CLUSTER:
    case PRIORITY: TRY_BG(change_attribute(m, stream)); break;
    case EDGES: TRY_BG(fork_fills(m, stream)); break;
    case FAILS: return m->turn == 0 ? BG_OK : m->fails;
    default: break;
    }
    return BG_CALL(sum, stream, .x = f->x, .y = f->y);
}

static void turn(void *user)
{
    model *m = user;
    m->turn++;
}

static bg_report *recapture_with(model *m, void (*change)(void *user))
{
    bg_report *report = NULL;
    EXPECT_OK(bg_check_recapture(forward, m, change, m->f->stream, &report));
    return report;
}

static bg_report *recapture(model *m)
{
    return recapture_with(m, turn);
}

/* ---- tests ---- */

FIXTURE_TEST(test_clean)
{
    model m = {.f = f, .kind = CLEAN};
    put(&f->x, 3);
    put(&f->y, 4);
    EXPECT_NO_FINDING(recapture(&m));
    assert_true(get(&f->x) == 3 && get(&f->y) == 4); /* nothing ran */
}

/* One finding, on the call that the pass marks. */
static void expect_one(fixture *f, int kind, const char *finding, const char *call, const char *words,
                       const char *severity)
{
    model m = {.f = f, .kind = kind};
    bg_report *report = recapture(&m);
    EXPECT_FINDING(report, finding, call, m.line, words, .severity = severity);
}

FIXTURE_TEST(test_value)
{
    model m = {.f = f, .kind = VALUE, .turn = 1}; /* and is 0.25 ever after */
    expect_one(f, VALUE, "frozen-value", "scale#1",
               "field factor differs between two captures: 0.5 in the first, 0.25 in the second", NULL);
    EXPECT_NO_FINDING(recapture(&m));
}

FIXTURE_TEST(test_derived_value)
{
    expect_one(f, DERIVED, "frozen-value", "halve#0", "; field steps of the call differs, too", NULL);
}

FIXTURE_TEST(test_shape)
{
    model m = {.f = f, .kind = SHAPE};
    OWN_REPORT(report, recapture(&m));
    EXPECT_EACH(report, "frozen-value", "zero#0", m.line, "; field x of the call differs, too");
}

FIXTURE_TEST(test_eager_value)
{
    expect_one(f, EAGER_VALUE, "frozen-value", "pick#0",
               "field k differs between two captures: 0 in the first, 1 in the second", NULL);
}

/* Padding is no fault; an int of a struct is one, and its value is told, not that of the first bytes. */
FIXTURE_TEST(test_struct)
{
    expect_one(f, PADDING, "frozen-value", "pick_padded#0",
               "field p (12 bytes) at offset 0 differs between two captures: ", "note");
    expect_one(f, THREE, "frozen-value", "pick_three#0",
               "field p (12 bytes) at offset 8 differs between two captures: 0 in the first, 1 in the second; a "
               "replay uses the captured value",
               "fault");
    expect_one(f, PADDED_VALUE, "frozen-value", "scale_padded#0", "; field p of the call differs, too", "fault");
}

/* Another address in host memory is no fault, and nothing where the same string is there. */
FIXTURE_TEST(test_string)
{
    model m = {.f = f, .kind = EQUAL_STRINGS};
    EXPECT_NO_FINDING(recapture(&m));
    expect_one(f, STRINGS, "unstable-pointer", "pick_named#0", "field name differs between two captures: 0x", "note");
}

FIXTURE_TEST(test_branch)
{
    model m = {.f = f, .kind = BRANCH};
    bg_report *report = recapture(&m);
    EXPECT_FINDINGS(report, FINDING("frozen-control-flow", "sum#0", m.line),
                    FINDING("frozen-control-flow", "scale#1", m.other_line));
    EXPECT_NO_FINDING(recapture(&m)); /* both after the turn */
}

/* One more call renumbers those after it, which are the same calls all the same. */
FIXTURE_TEST(test_extra_call)
{
    expect_one(f, EXTRA, "frozen-control-flow", "sum#0", "sum#0 is called only in the second capture", NULL);
}

/* The write-back of the eager call before it is a node only where no other eager call follows. */
FIXTURE_TEST(test_branch_beside_an_eager_call)
{
    OWN_MEMORY(char, memory, allocate(N * sizeof(float)));
    hidden.memory = (float *)memory;
    expect_one(f, BESIDE, "frozen-control-flow", "pick#0", "pick#0 is called only in the second capture", NULL);
}

/* The next call of the same op has inner calls of the same lines. */
FIXTURE_TEST(test_branch_around_calls)
{
    expect_one(f, AROUND, "frozen-control-flow", "around#0", "around#0 is called only in the first capture", NULL);
}

FIXTURE_TEST(test_break)
{
    expect_one(f, BREAK, "frozen-control-flow", "",
               "1 segment and 0 breaks in the first capture, 2 and 1 in the second", NULL);
}

FIXTURE_TEST(test_pointer)
{
    expect_one(f, POINTER, "unstable-pointer", "sum#0", "field x differs between two captures: 0x", NULL);
}

FIXTURE_TEST(test_pointer_in_an_array)
{
    OWN_MEMORY(char, memory, allocate(N * sizeof(float)));
    hidden.memory = (float *)memory;
    expect_one(f, ARRAY, "unstable-pointer", "produce_two#0", "field parts[1] differs between two captures: at 0x",
               NULL);
}

FIXTURE_TEST(test_copy)
{
    expect_one(f, COPY, "unstable-pointer", "", "the node's source differs between two captures: 0x", NULL);
}

FIXTURE_TEST(test_fill)
{
    expect_one(f, FILL, "frozen-value", "", "the node's value differs between two captures: 0 in the first, ", NULL);
}

/* ---- what a launch is given besides parameters, and what a node waits for ---- */

FIXTURE_TEST(test_attributes)
{
    int least, greatest;
    OWN_MEMORY(char, memory, allocate(WIDE * sizeof(float)));
    model m = {.f = f};

    hidden.memory = (float *)memory;
    expect_one(f, COOPERATIVE, "frozen-value", "",
               "cooperative launch differs between two captures: 0 in the first, 1 in", "fault");
    expect_one(f, CLUSTER, "frozen-value", "", "clusterDim.x differs between two captures: 1 in the first, 2 in",
               "fault");
    EXPECT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    m.kind = PRIORITY;
    m.priority = greatest;
    EXPECT_FINDING(recapture(&m), "frozen-value", "", m.line,
                   "; each replay uses that of the capture, which changes no result", .severity = "note");
}

FIXTURE_TEST(test_edges)
{
    model m = {.f = f, .kind = EDGES};

    for (int i = 0; i < 2; i++)
        EXPECT_CUDA(cudaEventCreate(&m.events[i]));
    EXPECT_FINDING(recapture(&m), "frozen-control-flow", "", m.line,
                   "the nodes of segment 0 are the same in two captures, but wait for one another in another way");
    for (int i = 0; i < 2; i++)
        EXPECT_CUDA(cudaEventDestroy(m.events[i]));
}

/* ---- what no argument shows ---- */

static void change_hidden_value(void *user)
{
    (void)user;
    hidden.value = 3;
}

static void change_hidden_memory(void *user)
{
    const model *m = user;
    hidden.memory = m->f->z.data;
}

static void change_hidden_flow(void *user)
{
    (void)user;
    hidden.often = true;
}

FIXTURE_TEST(test_hidden)
{
    static const struct {
        void (*change)(void *user);
        const char *kind, *words;
    } cases[] = {{change_hidden_value, "frozen-value", "kernel parameter "},
                 {change_hidden_memory, "unstable-pointer", "kernel parameter 2 differs between two captures: 0x"},
                 {change_hidden_flow, "frozen-control-flow",
                  "secret#0 makes different nodes in two captures: 2 in the first, 3 in the second"}};
    model m = {.f = f, .kind = HIDDEN};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hidden = (struct hidden){false, 2, f->x.data};
        bg_report *report = recapture_with(&m, cases[i].change);
        EXPECT_FINDING(report, cases[i].kind, "secret#0", m.line, cases[i].words);
        EXPECT_NO_FINDING(recapture_with(&m, NULL));
    }
}

/* Bridge buffers, scratch and the stream's memory are other addresses in each capture, and nothing to tell of. */
FIXTURE_TEST(test_own_memory)
{
    model m = {.f = f, .kind = MEMORY};
    EXPECT_NO_FINDING(recapture(&m));
}

static void change_alpha(void *user)
{
    model *m = user;
    m->alpha = 3;
}

FIXTURE_TEST(test_cublas)
{
    model m = {.f = f, .kind = CUBLAS, .alpha = 2};
    assert_int_equal(cublasCreate(&m.cublas), CUBLAS_STATUS_SUCCESS);
    EXPECT_NO_FINDING(recapture(&m));
    OWN_REPORT(report, recapture_with(&m, change_alpha));
    assert_true(bg_report_count(report) > 0);
    assert_string_equal(finding_of(report, 0).kind, "frozen-value");
    EXPECT_IN(finding_of(report, 0).message, "kernel");
    bg_workspace_release(m.cublas);
    assert_int_equal(cublasDestroy(m.cublas), CUBLAS_STATUS_SUCCESS);
}

FIXTURE_TEST(test_failures)
{
    model m = {.f = f, .kind = FAILS, .fails = BG_ERROR_OP};
    bg_report *report = NULL;

    EXPECT_STATUS(bg_check_recapture(forward, &m, turn, f->stream, &report), BG_ERROR_OP);
    EXPECT_ERROR("the forward pass returned BG_ERROR_OP");
    assert_null(report);
    EXPECT_STATUS(bg_check_recapture(NULL, &m, turn, f->stream, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_check_recapture(forward, &m, turn, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_check_recapture(forward, &m, turn, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
}
