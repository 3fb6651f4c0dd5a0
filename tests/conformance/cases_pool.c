/* Conformance: memory pools. */
#include "case_memory.h"
#include "cases.h"

#include <stdint.h>
#include <string.h>

enum { MIB = 1 << 20 };

static struct cudaMemPoolProps make_props(void)
{
    struct cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    return props;
}
#define PROPS()                                                                                                        \
    struct cudaMemPoolProps props = make_props();                                                                      \
    STEP_AS("/* props: pinned, location = {cudaMemLocationTypeDevice, 0} */", cudaSuccess)
#define POOL()                                                                                                         \
    cudaMemPool_t pool = NULL;                                                                                         \
    PROPS();                                                                                                           \
    STEP(cudaMemPoolCreate(&pool, &props))

static uint64_t number_of(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    uint64_t value = 0;
    return cudaMemPoolGetAttribute(pool, attribute, &value) ? 0 : value;
}

static void note_number(struct scene *s, const char *what, cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    uint64_t value = 7;
    cudaError_t error = cudaMemPoolGetAttribute(pool, attribute, &value);
    if (error)
        case_note(s, what, "%s", cudaGetErrorName(error));
    else
        case_note(s, what, "%llu", (unsigned long long)value);
}
#define USED()          note_number(s, "cudaMemPoolAttrUsedMemCurrent", pool, cudaMemPoolAttrUsedMemCurrent)
#define USED_HIGH()     note_number(s, "cudaMemPoolAttrUsedMemHigh", pool, cudaMemPoolAttrUsedMemHigh)
#define RESERVED()      note_number(s, "cudaMemPoolAttrReservedMemCurrent", pool, cudaMemPoolAttrReservedMemCurrent)
#define RESERVED_HIGH() note_number(s, "cudaMemPoolAttrReservedMemHigh", pool, cudaMemPoolAttrReservedMemHigh)

/* ---- made ----------------------------------------------------------------------------------------------------------
 */

CASE(pool_props, {
    cudaMemPool_t pool = NULL;
    PROPS();
    ASK(cudaMemPoolCreate(&pool, &props));
    ASK(cudaMemPoolDestroy(pool));
    SET(props.allocType = cudaMemAllocationTypeInvalid);
    ASK(cudaMemPoolCreate(&pool, &props));
    SET(props = make_props());
    SET(props.location.id = 1000);
    ASK(cudaMemPoolCreate(&pool, &props));
    SET(props.location.id = -1);
    ASK(cudaMemPoolCreate(&pool, &props));
    SET(props = make_props());
    SET(props.location.type = cudaMemLocationTypeInvalid);
    ASK(cudaMemPoolCreate(&pool, &props));
    ASK(cudaMemPoolCreate(NULL, &props));
    ASK(cudaMemPoolCreate(&pool, NULL));
});

CASE(pool_handle_types, {
    cudaMemPool_t pool = NULL;
    PROPS();
    SET(props.handleTypes = cudaMemHandleTypeWin32);
    ASK(cudaMemPoolCreate(&pool, &props));
    SET(props.handleTypes = 0x100);
    ASK(cudaMemPoolCreate(&pool, &props));
});

CASE(pool_max_size, {
    cudaMemPool_t pool = NULL;
    void *first = NULL;
    void *second = NULL;
    PROPS();
    SET(props.maxSize = 64 * MIB);
    ASK(cudaMemPoolCreate(&pool, &props));
    ASK(cudaMallocFromPoolAsync(&first, 128 * MIB, pool, s->a));
    ASK(cudaMallocFromPoolAsync(&first, 64 * MIB, pool, s->a));
    ASK(cudaMallocFromPoolAsync(&second, 64 * MIB, pool, s->a));
    ANSWERED("second is NULL", !second);
    ASK(cudaFreeAsync(first, s->a));
    ASK(cudaStreamSynchronize(s->a));
    ASK(cudaMallocFromPoolAsync(&second, 64 * MIB, pool, s->a));
    ASK(cudaFreeAsync(second, s->a));
    ASK(cudaStreamSynchronize(s->a));
    STEP(cudaMemPoolDestroy(pool));
});

CASE(pool_null, {
    uint64_t number = 0;
    ASK(cudaMemPoolDestroy(NULL));
    ASK(cudaMemPoolTrimTo(NULL, 0));
    ASK(cudaMemPoolGetAttribute(NULL, cudaMemPoolAttrReleaseThreshold, &number));
    ASK(cudaMemPoolSetAttribute(NULL, cudaMemPoolAttrReleaseThreshold, &number));
    ASK(cudaMallocFromPoolAsync(&s->memory, 64, NULL, s->a));
    ASK(cudaDeviceSetMemPool(0, NULL));
});

CASE(pool_destroyed_with_memory, {
    int *memory = NULL;
    POOL();
    STEP(cudaMallocFromPoolAsync((void **)&memory, 64, pool, s->a));
    ASK(cudaMemPoolDestroy(pool));
    ASK(cudaMemsetAsync(memory, 2, 4, s->a));
    BYTES("memory", memory, 4);
    ASK(cudaFreeAsync(memory, s->a));
    ASK(cudaStreamSynchronize(s->a));
});

/* ---- current
 * --------------------------------------------------------------------------------------------------------- */

CASE(pool_current, {
    cudaMemPool_t usual = NULL;
    cudaMemPool_t current = NULL;
    POOL();
    ASK(cudaDeviceGetDefaultMemPool(&usual, 0));
    ASK(cudaDeviceGetMemPool(&current, 0));
    ANSWERED("is current usual", current == usual);
    ASK(cudaDeviceSetMemPool(0, pool));
    ASK(cudaDeviceGetMemPool(&current, 0));
    ANSWERED("is current pool", current == pool);
    ASK(cudaMallocAsync(&s->memory, 1 << 20, s->a));
    USED();
    STEP(cudaFreeAsync(s->memory, s->a));
    s->memory = NULL;
    STEP(cudaStreamSynchronize(s->a));
    ASK(cudaMemPoolDestroy(pool));
    ASK(cudaDeviceGetMemPool(&current, 0));
    ANSWERED("is current usual", current == usual);
    ASK(cudaMemPoolDestroy(usual));
});

CASE(pool_current_refused, {
    cudaMemPool_t pool = NULL;
    ASK(cudaDeviceGetMemPool(&pool, 1000));
    ASK(cudaDeviceGetMemPool(&pool, -1));
    ASK(cudaDeviceGetMemPool(NULL, 0));
    ASK(cudaDeviceGetDefaultMemPool(&pool, 1000));
    ASK(cudaDeviceGetDefaultMemPool(NULL, 0));
    STEP(cudaDeviceGetDefaultMemPool(&pool, 0));
    ASK(cudaDeviceSetMemPool(1000, pool));
});

/* ---- attributes
 * ------------------------------------------------------------------------------------------------------ */

CASE(pool_attributes, {
    int flag = 7;
    uint64_t number = 7;
    POOL();
    ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, &flag));
    VALUE("flag", flag);
    SET(flag = 7);
    ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &flag));
    VALUE("flag", flag);
    SET(flag = 2);
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &flag));
    ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &flag));
    VALUE("flag", flag);
    ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &number));
    case_note(s, "number", "%llu", (unsigned long long)number);
    SET(number = 5);
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &number));
    SET(number = 7);
    ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &number));
    case_note(s, "number", "%llu", (unsigned long long)number);
    USED();
    USED_HIGH();
    RESERVED();
    RESERVED_HIGH();
    STEP(cudaMemPoolDestroy(pool));
});

CASE(pool_attributes_refused, {
    uint64_t number = 1;
    POOL();
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &number));
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &number));
    ASK(cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)99, &number));
    ASK(cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)99, &number));
    ASK(cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)0, &number));
    SET(number = 0);
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &number));
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &number));
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &number));
    ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, NULL));
    STEP(cudaMemPoolDestroy(pool));
});

CASE(pool_counts, {
    void *first = NULL;
    void *second = NULL;
    uint64_t zero = 0;
    POOL();
    ASK(cudaMallocFromPoolAsync(&first, 3 << 20, pool, s->a));
    ASK(cudaMallocFromPoolAsync(&second, 2 << 20, pool, s->a));
    USED();
    RESERVED();
    STEP(cudaFreeAsync(first, s->a));
    STEP(cudaStreamSynchronize(s->a));
    USED();
    USED_HIGH();
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    USED_HIGH();
    STEP(cudaFreeAsync(second, s->a));
    STEP(cudaStreamSynchronize(s->a));
    USED();
    RESERVED();
    RESERVED_HIGH();
    STEP(cudaMemPoolDestroy(pool));
});

CASE(pool_small_allocations, {
    void *first = NULL;
    void *second = NULL;
    POOL();
    ASK(cudaMallocFromPoolAsync(&first, 1, pool, s->a));
    USED();
    RESERVED();
    ASK(cudaMallocFromPoolAsync(&second, 513, pool, s->a));
    USED();
    STEP(cudaFreeAsync(first, s->a));
    STEP(cudaFreeAsync(second, s->a));
    USED();
    STEP(cudaStreamSynchronize(s->a));
    USED();
    USED_HIGH();
    STEP(cudaMemPoolDestroy(pool));
});

CASE(pool_freed_on_busy_stream, {
    void *memory = NULL;
    POOL();
    STEP(cudaMallocFromPoolAsync(&memory, 1 << 20, pool, s->a));
    STEP(cudaStreamSynchronize(s->a));
    HOLD(s->a);
    ASK(cudaFreeAsync(memory, s->a));
    WAITED();
    USED();
    LET_GO();
    STEP(cudaStreamSynchronize(s->a));
    USED();
    STEP(cudaMemPoolDestroy(pool));
});

CASE(pool_trim, {
    void *memory = NULL;
    uint64_t threshold = UINT64_MAX;
    POOL();
    STEP(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    STEP(cudaMallocFromPoolAsync(&memory, 1 << 20, pool, s->a));
    STEP(cudaStreamSynchronize(s->a));
    ASK(cudaMemPoolTrimTo(pool, 0));
    ANSWERED("is memory reserved", number_of(pool, cudaMemPoolAttrReservedMemCurrent) > 0);
    STEP(cudaFreeAsync(memory, s->a));
    STEP(cudaStreamSynchronize(s->a));
    ANSWERED("is memory reserved", number_of(pool, cudaMemPoolAttrReservedMemCurrent) > 0);
    ASK(cudaMemPoolTrimTo(pool, SIZE_MAX));
    ANSWERED("is memory reserved", number_of(pool, cudaMemPoolAttrReservedMemCurrent) > 0);
    ASK(cudaMemPoolTrimTo(pool, 1));
    ANSWERED("is memory reserved", number_of(pool, cudaMemPoolAttrReservedMemCurrent) > 0);
    ASK(cudaMemPoolTrimTo(pool, 0));
    RESERVED();
    STEP(cudaMemPoolDestroy(pool));
});

/* ---- allocations
 * ----------------------------------------------------------------------------------------------------- */

CASE(pool_allocations_refused, {
    void *memory = s->x;
    POOL();
    ASK(cudaMallocFromPoolAsync(NULL, 64, pool, s->a));
    ASK(cudaMallocFromPoolAsync(&memory, SIZE_MAX, pool, s->a));
    ASK(cudaMallocFromPoolAsync(&memory, 0, pool, s->a));
    ANSWERED("memory is NULL", !memory);
    ANSWERED("memory is untouched", memory == s->x);
    USED();
    STEP(cudaMemPoolDestroy(pool));
});

/* In newer headers the number is in a union. */
#pragma GCC diagnostic ignored "-Wmissing-braces"
CASE(pool_access, {
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
    POOL();
    ASK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    VALUE("flags", flags);
    ASK(cudaMemPoolSetAccess(pool, &access, 1));
    ASK(cudaMemPoolSetAccess(pool, &access, 0));
    SET(access.flags = cudaMemAccessFlagsProtNone);
    ASK(cudaMemPoolSetAccess(pool, &access, 1));
    SET(access.flags = cudaMemAccessFlagsProtReadWrite, access.location.id = 1000);
    ASK(cudaMemPoolSetAccess(pool, &access, 1));
    ASK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    STEP(cudaMemPoolDestroy(pool));
});

/* ---- in captures
 * ----------------------------------------------------------------------------------------------------- */

CASE(pool_captured, {
    int *memory = NULL;
    POOL();
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMallocFromPoolAsync((void **)&memory, 64, pool, s->a));
    ASK(cudaMemsetAsync(memory, 1, 4, s->a));
    ASK(cudaMemcpyAsync(s->x, memory, 4, cudaMemcpyDefault, s->a));
    ASK(cudaFreeAsync(memory, s->a));
    END(s->a);
    NODE_TYPE();
    RUN_GRAPH();
    BYTES("x", s->x, 4);
    USED_HIGH();
    STEP(cudaGraphExecDestroy(s->exec));
    s->exec = NULL;
    STEP(cudaMemPoolDestroy(pool));
});

CASE(pool_calls_in_capture, {
    uint64_t number = 0;
    cudaMemPool_t current = NULL;
    cudaMemPool_t made = NULL;
    POOL();
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &number));
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &number));
    STATUS(s->a);
    ASK(cudaDeviceGetMemPool(&current, 0));
    ASK(cudaDeviceSetMemPool(0, current));
    STATUS(s->a);
    ASK(cudaMemPoolTrimTo(pool, 0));
    STATUS(s->a);
    ASK(cudaMemPoolCreate(&made, &props));
    STATUS(s->a);
    ASK(cudaMemPoolDestroy(made));
    STATUS(s->a);
    END(s->a);
    STEP(cudaMemPoolDestroy(pool));
});

static const struct case_rule rules[] = {
    {&pool_props, "A pool is made for a device."},
    {&pool_handle_types, "Handles that this system does not have."},
    {&pool_max_size, "`maxSize` limits it."},
    {&pool_null, "No pool."},
    {&pool_destroyed_with_memory, "A pool that is destroyed lives until its memory is freed."},
    {&pool_current, "`cudaMallocAsync` takes from the current pool; when that is destroyed, from the default pool."},
    {&pool_current_refused, "Devices that do not exist, and no place for the answer."},
    {&pool_attributes, "What a new pool has, and what can be set."},
    {&pool_attributes_refused, "What cannot be set: only 0, to begin a high-water mark anew."},
    {&pool_counts, "What is used, and what the pool has reserved for it."},
    {&pool_small_allocations, "What is used is counted in bytes, until it is freed."},
    {&pool_freed_on_busy_stream,
     "What is freed on a stream does not count as used, even before the stream comes there."},
    {&pool_trim, "`cudaMemPoolTrimTo` gives back what is not used, all of it where `SIZE_MAX` bytes are to be kept."},
    {&pool_allocations_refused, "Sizes that cannot be had, and no place for the answer."},
    {&pool_access, "The pool's own device always has access."},
    {&pool_captured, "In a capture, an allocation from a pool is an allocation node."},
    {&pool_calls_in_capture, "Calls on pools are unsafe while a stream captures, but for `cudaDeviceGetMemPool`."},
};

const struct case_topic topic_pool =
    CASE_TOPIC("Memory pools", "Pools that a program makes, and the default pool.", rules);
