/* Variables of kernels: copied to and from by their symbol, at once, on streams, in captures and by nodes of graphs. */
#include "tests/support/cuda_support.h"

#include <string.h>

#include "tests/support/kernels/symbol_kernels.h"

enum { TABLE_BYTES = SK_COUNT * sizeof(int) };

static const int VALUES[SK_COUNT] = {1, 2, 3, 4, 5, 6};
SHARED_STREAM(stream, cudaStreamDefault);
SHARED_MEMORY(int, out, SK_COUNT);

static void set_scalar(int value)
{
    OK(cudaMemcpyToSymbol(sk_scalar(), &value, sizeof value, 0, cudaMemcpyHostToDevice));
}

static int get_scalar(void)
{
    int value = -1;
    OK(cudaMemcpyFromSymbol(&value, sk_scalar(), sizeof value, 0, cudaMemcpyDeviceToHost));
    return value;
}

static void expect_out(int factor)
{
    int host[SK_COUNT];
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < SK_COUNT; i++)
        assert_int_equal(host[i], VALUES[i] * factor);
}

/* ---- at once, and on a stream ------------------------------------------------------------------------------------ */

TEST(test_copies)
{
    int back = 0, host[SK_COUNT] = {0};
    set_scalar(3);
    OK(cudaMemcpyToSymbol(sk_table(), VALUES, sizeof VALUES, 0, cudaMemcpyDefault));
    OK(sk_scale(out, stream));
    expect_out(3);
    assert_int_equal(get_scalar(), 4);
    OK(cudaMemcpyFromSymbol(host, sk_table(), 2 * sizeof(int), sizeof(int), cudaMemcpyDeviceToHost));
    assert_int_equal(host[0], 2);
    assert_int_equal(host[1], 3);
    OK(cudaMemcpyFromSymbol(out, sk_table(), TABLE_BYTES, 0, cudaMemcpyDeviceToDevice));
    expect_out(1);
    OK(sk_set_and_get(11, &back));
    assert_int_equal(back, 11);
}

TEST(test_copies_on_a_stream)
{
    int one = 1, two[] = {7, 8}, host[SK_COUNT];
    OK(cudaMemcpyToSymbolAsync(sk_table(), VALUES, sizeof VALUES, 0, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyToSymbolAsync(sk_scalar(), &one, sizeof one, 0, cudaMemcpyHostToDevice, stream));
    OK(sk_scale(out, stream));
    OK(cudaMemcpyToSymbolAsync(sk_table(), two, sizeof two, 2 * sizeof(int), cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyFromSymbolAsync(host, sk_table(), sizeof host, 0, cudaMemcpyDeviceToHost, stream));
    expect_out(1);
    assert_int_equal(host[1], 2);
    assert_int_equal(host[2], 7);
    assert_int_equal(host[3], 8);
    assert_int_equal(host[4], 5);
}

TEST(test_addresses)
{
    int *address = NULL;
    size_t bytes = 0;
    struct cudaPointerAttributes attributes;
    OK(cudaGetSymbolSize(&bytes, sk_table()));
    assert_int_equal(bytes, TABLE_BYTES);
    OK(cudaGetSymbolSize(&bytes, sk_scalar()));
    assert_int_equal(bytes, sizeof(int));
    OK(cudaGetSymbolAddress((void **)&address, sk_scalar()));
    OK(cudaPointerGetAttributes(&attributes, address));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    OK(cudaMemset(address, 0, sizeof *address));
    assert_int_equal(get_scalar(), 0);
    EXPECT_CODE(cudaGetSymbolSize(&bytes, NULL), cudaErrorInvalidSymbol);
    EXPECT_CODE(cudaGetSymbolSize(&bytes, &bytes), cudaErrorInvalidSymbol);
    EXPECT_CODE(cudaGetSymbolAddress((void **)&address, NULL), cudaErrorInvalidSymbol);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

/* Each call that copies, by the same arguments. */
struct call {
    const void *symbol;
    void *other;
    size_t count, offset;
    enum cudaMemcpyKind kind;
};
static cudaGraph_t graph;

static cudaGraphNode_t node;

#define CALL(name, expression)                                                                                         \
    static cudaError_t name(const struct call *c)                                                                      \
    {                                                                                                                  \
        return expression;                                                                                             \
    }
CALL(copy_to, cudaMemcpyToSymbol(c->symbol, c->other, c->count, c->offset, c->kind))
CALL(copy_to_async, cudaMemcpyToSymbolAsync(c->symbol, c->other, c->count, c->offset, c->kind, stream))
CALL(add_to, cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, c->symbol, c->other, c->count, c->offset, c->kind))
CALL(copy_from, cudaMemcpyFromSymbol(c->other, c->symbol, c->count, c->offset, c->kind))
CALL(copy_from_async, cudaMemcpyFromSymbolAsync(c->other, c->symbol, c->count, c->offset, c->kind, stream))
CALL(add_from,
     cudaGraphAddMemcpyNodeFromSymbol(&node, graph, NULL, 0, c->other, c->symbol, c->count, c->offset, c->kind))

static void expect_refusals(cudaError_t (*copy)(const struct call *call), enum cudaMemcpyKind wrong_way)
{
    int host = 0, *stray = &host;
    const enum cudaMemcpyKind any = cudaMemcpyDefault;
    EXPECT_CODE(copy(&(struct call){NULL, &host, sizeof host, 0, any}), cudaErrorInvalidSymbol);
    EXPECT_CODE(copy(&(struct call){stray, &host, sizeof host, 0, any}), cudaErrorInvalidSymbol);
    EXPECT_INVALID(copy(&(struct call){sk_scalar(), NULL, sizeof host, 0, any}));
    EXPECT_INVALID(copy(&(struct call){sk_scalar(), &host, sizeof host + 1, 0, any}));
    EXPECT_INVALID(copy(&(struct call){sk_scalar(), &host, sizeof host, 1, any}));
    EXPECT_CODE(copy(&(struct call){sk_scalar(), &host, sizeof host, 0, wrong_way}), cudaErrorInvalidMemcpyDirection);
}

TEST(test_refusals)
{
    int host = 0;
    OK(cudaGraphCreate(&graph, 0));
    expect_refusals(copy_to, cudaMemcpyDeviceToHost);
    expect_refusals(copy_to_async, cudaMemcpyDeviceToHost);
    expect_refusals(add_to, cudaMemcpyDeviceToHost);
    expect_refusals(copy_from, cudaMemcpyHostToDevice);
    expect_refusals(copy_from_async, cudaMemcpyHostToDevice);
    expect_refusals(add_from, cudaMemcpyHostToDevice);
    EXPECT_INVALID(add_to(&(struct call){sk_scalar(), &host, 0, 0, cudaMemcpyDefault}));
    EXPECT_INVALID(add_from(&(struct call){sk_scalar(), &host, 0, 0, cudaMemcpyDefault}));
    OK(cudaGraphDestroy(graph));
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* The node reads the host's variable at each launch. */
TEST(test_capture)
{
    int *factor = NULL;
    OK(cudaMallocHost((void **)&factor, sizeof *factor));
    OK(cudaMemcpyToSymbol(sk_table(), VALUES, sizeof VALUES, 0, cudaMemcpyHostToDevice));
    BEGIN_CAPTURE(stream);
    OK(cudaMemcpyToSymbolAsync(sk_scalar(), factor, sizeof *factor, 0, cudaMemcpyHostToDevice, stream));
    OK(sk_scale(out, stream));
    OK(cudaMemcpyFromSymbolAsync(factor, sk_scalar(), sizeof *factor, 0, cudaMemcpyDeviceToHost, stream));
    CAPTURED(captured, stream);
    EXEC_OF(exec, captured);
    *factor = 3;
    for (int i = 3; i < 6; i++) {
        OK(cudaGraphLaunch(exec, stream));
        expect_out(i);
        assert_int_equal(*factor, i + 1);
    }
    OK(cudaFreeHost(factor));
}

static void launch(cudaGraphExec_t exec)
{
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
}

TEST(test_nodes)
{
    static int values[2] = {21, 22}, back[2];
    const enum cudaMemcpyKind up = cudaMemcpyHostToDevice, down = cudaMemcpyDeviceToHost;
    const size_t one = sizeof(int);
    cudaGraphNode_t in = NULL, from = NULL;
    NEW_GRAPH(made);
    OK(cudaGraphAddMemcpyNodeToSymbol(&in, made, NULL, 0, sk_scalar(), &values[0], one, 0, up));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&from, made, &in, 1, &back[0], sk_scalar(), one, 0, down));
    assert_int_equal(type_of(in), cudaGraphNodeTypeMemcpy);
    EXEC_OF(exec, made);
    launch(exec);
    assert_int_equal(back[0], 21);

    OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, in, sk_scalar(), &values[1], one, 0, up));
    OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, from, &back[1], sk_scalar(), one, 0, down));
    launch(exec);
    assert_int_equal(back[1], 22);

    OK(cudaGraphMemcpyNodeSetParamsToSymbol(in, sk_table(), values, sizeof values, one, up));
    OK(cudaGraphMemcpyNodeSetParamsFromSymbol(from, back, sk_table(), sizeof back, one, down));
    EXEC_OF(again, made);
    memset(back, 0, sizeof back);
    launch(again);
    assert_memory_equal(back, values, sizeof back);
    EXPECT_INVALID(cudaGraphMemcpyNodeSetParamsToSymbol(NULL, sk_scalar(), values, one, 0, up));
    EXPECT_INVALID(cudaGraphExecMemcpyNodeSetParamsToSymbol(NULL, in, sk_scalar(), values, one, 0, up));
}

TEST_GROUP(make_shared, drop_shared);
