/* Conformance: variables of kernels. */
#include "case_memory.h"
#include "cases.h"
#include "tests/support/kernels/symbol_kernels.h"

/* In the transcript: a __device__ int, and a __constant__ int[6]. Both are 0 when a case begins. */
#define SYMBOLS()                                                                                                      \
    const void *scalar = sk_scalar(), *table = sk_table();                                                             \
    STEP_AS("/* __device__ int scalar = 0; __constant__ int table[6] = {0}; */", clear(scalar, table))

static cudaError_t clear(const void *scalar, const void *table)
{
    static const int zero[SK_COUNT];
    cudaError_t error = cudaMemcpyToSymbol(scalar, zero, sizeof *zero, 0, cudaMemcpyHostToDevice);
    if (!error)
        error = cudaMemcpyToSymbol(table, zero, sizeof zero, 0, cudaMemcpyHostToDevice);
    return error ? error : cudaDeviceSynchronize();
}

static int read_symbol(struct scene *s, const void *symbol, size_t offset)
{
    int value = -1;
    cudaError_t error = cudaDeviceSynchronize();
    if (!error)
        error = cudaMemcpyFromSymbol(&value, symbol, sizeof value, offset, cudaMemcpyDeviceToHost);
    if (error)
        case_step(s, "/* scalar and table are read */", error);
    return value;
}
#define SCALAR()     VALUE("scalar", read_symbol(s, scalar, 0))
#define TABLE(index) VALUE("table[" #index "]", read_symbol(s, table, index * sizeof(int)))

static int host[2];
#define HOST() STEP_AS("/* int host[2] = {3, 4} */", (host[0] = 3, host[1] = 4, cudaSuccess))

CASE(symbol_address, {
    SYMBOLS();
    void *address = NULL;
    size_t size = 0;
    struct cudaPointerAttributes attributes;
    ASK(cudaGetSymbolSize(&size, scalar));
    VALUE("size", size);
    ASK(cudaGetSymbolSize(&size, table));
    VALUE("size", size);
    ASK(cudaGetSymbolAddress(&address, scalar));
    ASK(cudaPointerGetAttributes(&attributes, address));
    VALUE("type", attributes.type);
    ANSWERED("is devicePointer the address", attributes.devicePointer == address);
    ASK(cudaMemset(address, 1, 4));
    ANSWERED("is scalar 0x01010101", read_symbol(s, scalar, 0) == 0x01010101);
    ASK(cudaMemset(address, 1, 5));
});

CASE(symbol_address_refused, {
    SYMBOLS();
    void *address = NULL;
    size_t size = 7;
    ASK(cudaGetSymbolSize(&size, NULL));
    ASK(cudaGetSymbolSize(&size, &size));
    VALUE("size", size);
    ASK(cudaGetSymbolAddress(&address, NULL));
    ASK(cudaGetSymbolAddress(&address, &size));
    ANSWERED("address is NULL", !address);
    (void)scalar, (void)table;
});

CASE(symbol_copies, {
    SYMBOLS();
    HOST();
    ASK(cudaMemcpyToSymbol(scalar, host, 4, 0, cudaMemcpyHostToDevice));
    SCALAR();
    ASK(cudaMemcpyToSymbol(table, host, 8, 4, cudaMemcpyDefault));
    TABLE(1);
    TABLE(2);
    ASK(cudaMemcpyFromSymbol(s->x, table, 4, 8, cudaMemcpyDeviceToDevice));
    VALUE("x", case_read_x(s));
    ASK(cudaMemcpyToSymbol(scalar, s->x, 4, 0, cudaMemcpyDeviceToDevice));
    SCALAR();
    ASK(cudaMemcpyFromSymbol(host, table, 4, 4, cudaMemcpyDefault));
    VALUE("host[0]", host[0]);
});

CASE(symbol_copies_async, {
    SYMBOLS();
    HOST();
    ASK(cudaMemcpyToSymbolAsync(scalar, &host[1], 4, 0, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyFromSymbolAsync(s->y, scalar, 4, 0, cudaMemcpyDeviceToHost, s->a));
    ASK(cudaStreamSynchronize(s->a));
    VALUE("y", *s->y);
    (void)table;
});

CASE(symbol_offsets, {
    SYMBOLS();
    HOST();
    ASK(cudaMemcpyToSymbol(table, host, 4, 20, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyToSymbol(table, host, 4, 21, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyToSymbol(table, host, 4, 24, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyToSymbol(scalar, host, 5, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyFromSymbol(host, scalar, 4, 1, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpyFromSymbol(host, scalar, 8, 0, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpyToSymbolAsync(scalar, host, 4, 1, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyFromSymbolAsync(host, scalar, 4, 1, cudaMemcpyDeviceToHost, s->a));
    TABLE(5);
});

CASE(symbol_copies_of_nothing, {
    SYMBOLS();
    HOST();
    ASK(cudaMemcpyToSymbol(scalar, host, 0, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyToSymbol(scalar, NULL, 0, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyToSymbol(scalar, host, 0, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyToSymbol(scalar, host, 0, 5, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyToSymbol(NULL, host, 0, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyFromSymbol(host, scalar, 0, 0, cudaMemcpyHostToDevice));
    (void)table;
});

CASE(symbol_kinds, {
    SYMBOLS();
    HOST();
    ASK(cudaMemcpyToSymbol(scalar, host, 4, 0, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpyToSymbol(scalar, host, 4, 0, cudaMemcpyHostToHost));
    ASK(cudaMemcpyToSymbol(scalar, host, 4, 0, cudaMemcpyDeviceToDevice));
    ASK(cudaMemcpyToSymbol(scalar, host, 4, 0, (enum cudaMemcpyKind)7));
    ASK(cudaMemcpyFromSymbol(host, scalar, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyFromSymbol(host, scalar, 4, 0, cudaMemcpyHostToHost));
    ASK(cudaMemcpyFromSymbol(host, scalar, 4, 0, cudaMemcpyDeviceToDevice));
    ASK(cudaMemcpyToSymbolAsync(scalar, host, 4, 0, cudaMemcpyDeviceToHost, s->a));
    ASK(cudaMemcpyFromSymbolAsync(host, scalar, 4, 0, cudaMemcpyHostToDevice, s->a));
    SCALAR();
    (void)table;
});

CASE(symbol_unknown, {
    SYMBOLS();
    HOST();
    ASK(cudaMemcpyToSymbol(NULL, host, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyToSymbol(host, host, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyFromSymbol(host, NULL, 4, 0, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpyToSymbolAsync(NULL, host, 4, 0, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyToSymbol(scalar, NULL, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyFromSymbol(NULL, scalar, 4, 0, cudaMemcpyDeviceToHost));
    (void)table;
});

/* ---- in captures ---------------------------------------------------------------------------------------------------
 */

CASE(captured_symbol_copies, {
    SYMBOLS();
    HOST();
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyToSymbolAsync(scalar, host, 4, 0, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyFromSymbolAsync(s->x, scalar, 4, 0, cudaMemcpyDeviceToDevice, s->a));
    END(s->a);
    NODE_TYPE();
    SET(host[0] = 5);
    VALUE("x after a launch of the graph", case_run_graph(s));
    (void)table;
});

CASE(captured_symbol_refused, {
    SYMBOLS();
    HOST();
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyToSymbolAsync(scalar, host, 4, 1, cudaMemcpyHostToDevice, s->a));
    STATUS(s->a);
    ASK(cudaMemcpyToSymbolAsync(NULL, host, 4, 0, cudaMemcpyHostToDevice, s->a));
    STATUS(s->a);
    ASK(cudaMemcpyToSymbolAsync(scalar, host, 4, 0, cudaMemcpyDeviceToHost, s->a));
    STATUS(s->a);
    END(s->a);
    (void)table;
});

CASE(captured_symbol_of_nothing, {
    SYMBOLS();
    HOST();
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyToSymbolAsync(scalar, host, 0, 0, cudaMemcpyHostToDevice, s->a));
    END(s->a);
    (void)table;
});

CASE(symbol_address_in_capture, {
    SYMBOLS();
    HOST();
    void *address = NULL;
    size_t size = 0;
    BEGIN(s->a, ThreadLocal);
    ASK(cudaGetSymbolAddress(&address, scalar));
    ASK(cudaGetSymbolSize(&size, scalar));
    ASK(cudaMemcpyToSymbol(scalar, host, 4, 0, cudaMemcpyHostToDevice));
    END(s->a);
    SCALAR();
    (void)table;
});

static const struct case_rule rules[] = {
    {&symbol_address, "A variable has a size and an address, which is device memory."},
    {&symbol_address_refused, "What is no variable."},
    {&symbol_copies, "Copies to and from variables, by direction or `cudaMemcpyDefault`."},
    {&symbol_copies_async, "On a stream."},
    {&symbol_offsets, "What would reach behind the variable's end."},
    {&symbol_copies_of_nothing, "A copy of no bytes succeeds, whatever else is wrong."},
    {&symbol_kinds, "Directions that do not fit."},
    {&symbol_unknown, "What is no variable, and no memory."},
    {&captured_symbol_copies, "In a capture, a memcpy node."},
    {&captured_symbol_refused, "A copy that is refused, captured."},
    {&captured_symbol_of_nothing, "A copy of no bytes, captured."},
    {&symbol_address_in_capture, "Asking for an address, and `cudaMemcpyToSymbol`, while a stream captures."},
};

const struct case_topic topic_symbol = CASE_TOPIC(
    "Variables of kernels",
    "`scalar` and `table` are variables in device code; a program in C++ passes them to these calls.", rules);
