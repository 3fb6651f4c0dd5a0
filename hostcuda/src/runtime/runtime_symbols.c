/* Symbols: variables of kernels, and copies to and from them. */
#include "hostcuda/src/runtime/runtime_symbols.h"

#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/memory/memory_variables.h"
#include "hostcuda/src/op/params.h"
#include "hostcuda/src/runtime/runtime_copy.h"

/* Returns where the bytes are. `kind` must be `outer`, cudaMemcpyDeviceToDevice or cudaMemcpyDefault. */
static cudaError_t find_place(const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                              enum cudaMemcpyKind outer, void **place)
{
    const struct hc_block *variable = hc_variable_find(symbol);
    if (!variable)
        return cudaErrorInvalidSymbol;
    if (offset > variable->bytes || count > variable->bytes - offset)
        return cudaErrorInvalidValue;
    if (kind != outer && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    *place = variable->base + offset;
    return cudaSuccess;
}

/* A copy to or from a symbol; `other` is its other side. */
struct symbol_copy {
    const void *symbol;
    void *other;
    size_t count, offset;
    enum cudaMemcpyKind kind;
    bool to_symbol;
};

static cudaError_t read_copy(const struct symbol_copy *asked, struct hc_copy *copy)
{
    void *place = NULL;
    cudaError_t error = find_place(asked->symbol, asked->count, asked->offset, asked->kind,
                                   asked->to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, &place);
    *copy = (struct hc_copy){.to = asked->to_symbol ? place : asked->other,
                             .from = asked->to_symbol ? asked->other : place,
                             .to_pitch = asked->count,
                             .from_pitch = asked->count,
                             .width = asked->count,
                             .height = 1,
                             .kind = asked->kind};
    return error;
}

/* Calls that copy nothing do not check their other arguments (measured); nodes do. */
static cudaError_t read_call_copy(const struct symbol_copy *asked, struct hc_copy *copy)
{
    *copy = (struct hc_copy){.width = 0};
    return asked->count ? read_copy(asked, copy) : cudaSuccess;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static bool driver_copy_2d(const struct symbol_copy *asked, CUDA_MEMCPY2D *driver)
{
    struct hc_copy copy;
    hc_lock();
    cudaError_t error = read_copy(asked, &copy);
    hc_unlock();
    return !error && hc_copy_2d_to_driver(copy.to, copy.width, copy.from, copy.width, copy.width, 1, copy.kind, driver);
}

#define TO_SYMBOL   (&(const struct symbol_copy){symbol, (void *)(uintptr_t)src, count, offset, kind, true})
#define FROM_SYMBOL (&(const struct symbol_copy){symbol, dst, count, offset, kind, false})

#define SYMBOL_COPY(name, params, asked)                                                                               \
    cudaError_t name params                                                                                            \
    {                                                                                                                  \
        CUDA_MEMCPY2D driver;                                                                                          \
        HC_THROUGH_DRIVER_IF(driver_copy_2d(asked, &driver), cuMemcpy2D, &driver);                                     \
        struct hc_copy copy;                                                                                           \
        HC_CHECKED_CALL(read_call_copy(asked, &copy), hc_copy_sync(&copy));                                            \
    }
SYMBOL_COPY(cudaMemcpyToSymbol,
            (const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind), TO_SYMBOL)
SYMBOL_COPY(cudaMemcpyFromSymbol,
            (void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind), FROM_SYMBOL)

#define SYMBOL_COPY_ASYNC(name, params, asked)                                                                         \
    cudaError_t name params                                                                                            \
    {                                                                                                                  \
        CUDA_MEMCPY2D driver;                                                                                          \
        HC_THROUGH_DRIVER_IF(driver_copy_2d(asked, &driver), cuMemcpy2DAsync, &driver, stream);                        \
        struct hc_copy copy;                                                                                           \
        HC_CHECKED_CALL(read_call_copy(asked, &copy), hc_copy_async(&copy, stream));                                   \
    }
SYMBOL_COPY_ASYNC(cudaMemcpyToSymbolAsync,
                  (const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind,
                   cudaStream_t stream),
                  TO_SYMBOL)
SYMBOL_COPY_ASYNC(cudaMemcpyFromSymbolAsync,
                  (void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                   cudaStream_t stream),
                  FROM_SYMBOL)

static cudaError_t get_variable(const void *symbol, void **address, size_t *bytes)
{
    const struct hc_block *variable = hc_variable_find(symbol);
    if (!variable)
        return cudaErrorInvalidSymbol;
    *address = variable->base;
    *bytes = variable->bytes;
    return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    size_t bytes = 0;
    HC_CALL(devPtr ? get_variable(symbol, devPtr, &bytes) : cudaErrorInvalidValue);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    void *address = NULL;
    HC_CALL(size ? get_variable(symbol, &address, size) : cudaErrorInvalidValue);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static cudaError_t make_symbol_op(const struct symbol_copy *asked, struct hc_op **op)
{
    struct hc_copy copy;
    cudaError_t error = read_copy(asked, &copy);
    return error ? error : hc_op_from_copy_1d(copy.to, copy.from, copy.width, copy.kind, op);
}

cudaError_t hc_op_make_copy_to_symbol(const void *symbol, const void *src, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind, struct hc_op **op)
{
    return make_symbol_op(TO_SYMBOL, op);
}

cudaError_t hc_op_make_copy_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                                        enum cudaMemcpyKind kind, struct hc_op **op)
{
    return make_symbol_op(FROM_SYMBOL, op);
}

static bool driver_copy_3d(const struct symbol_copy *asked, CUDA_MEMCPY3D *driver)
{
    struct hc_copy copy;
    hc_lock();
    cudaError_t error = read_copy(asked, &copy);
    hc_unlock();
    return !error && copy.width && hc_copy_1d_to_driver(copy.to, copy.from, copy.width, copy.kind, driver);
}

bool hc_copy_to_symbol_to_driver(const void *symbol, const void *src, size_t count, size_t offset,
                                 enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy)
{
    return driver_copy_3d(TO_SYMBOL, copy);
}

bool hc_copy_from_symbol_to_driver(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                                   CUDA_MEMCPY3D *copy)
{
    return driver_copy_3d(FROM_SYMBOL, copy);
}
