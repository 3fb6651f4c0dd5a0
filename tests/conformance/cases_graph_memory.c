/* Conformance: the memory of graphs, as the device counts it. */
#include "case_memory.h"
#include "cases.h"

#include <stdint.h>

static void note_number(struct scene *s, const char *what, enum cudaGraphMemAttributeType attribute)
{
    uint64_t value = 7;
    cudaError_t error = cudaDeviceGetGraphMemAttribute(0, attribute, &value);
    if (error)
        case_note(s, what, "%s", cudaGetErrorName(error));
    else
        case_note(s, what, "%llu", (unsigned long long)value);
}
#define USED()          note_number(s, "cudaGraphMemAttrUsedMemCurrent", cudaGraphMemAttrUsedMemCurrent)
#define USED_HIGH()     note_number(s, "cudaGraphMemAttrUsedMemHigh", cudaGraphMemAttrUsedMemHigh)
#define RESERVED()      note_number(s, "cudaGraphMemAttrReservedMemCurrent", cudaGraphMemAttrReservedMemCurrent)
#define RESERVED_HIGH() note_number(s, "cudaGraphMemAttrReservedMemHigh", cudaGraphMemAttrReservedMemHigh)

/* From earlier graphs nothing is left. */
static cudaError_t start_anew(void)
{
    uint64_t zero = 0;
    cudaError_t error = cudaDeviceSynchronize();
    if (!error)
        error = cudaDeviceGraphMemTrim(0);
    if (!error)
        error = cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero);
    return error ? error : cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero);
}
#define START_ANEW() STEP_AS("/* the device's graph memory is trimmed, the high-water marks are 0 */", start_anew())

CASE(graph_memory_counts, {
    void *memory = NULL;
    START_ANEW();
    USED();
    RESERVED();
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 2 << 20, s->a));
    END(s->a);
    STEP(cudaGraphInstantiate(&s->exec, s->graph, 0));
    USED();
    RESERVED();
    STEP(cudaGraphLaunch(s->exec, s->b));
    STEP(cudaStreamSynchronize(s->b));
    USED();
    RESERVED();
    ASK(cudaDeviceGraphMemTrim(0));
    USED();
    RESERVED();
    STEP(cudaFreeAsync(memory, s->b));
    STEP(cudaStreamSynchronize(s->b));
    USED();
    ASK(cudaDeviceGraphMemTrim(0));
    USED();
    RESERVED();
    USED_HIGH();
    RESERVED_HIGH();
});

CASE(graph_memory_freed_by_graph, {
    void *memory = NULL;
    START_ANEW();
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 2 << 20, s->a));
    STEP(cudaFreeAsync(memory, s->a));
    END(s->a);
    STEP(cudaGraphInstantiate(&s->exec, s->graph, 0));
    STEP(cudaGraphLaunch(s->exec, s->b));
    STEP(cudaStreamSynchronize(s->b));
    USED();
    ASK(cudaDeviceGraphMemTrim(0));
    RESERVED();
    STEP(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaStreamSynchronize(s->b));
});

CASE(graph_memory_small, {
    void *memory = NULL;
    START_ANEW();
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 1, s->a));
    END(s->a);
    STEP(cudaGraphInstantiate(&s->exec, s->graph, 0));
    STEP(cudaGraphLaunch(s->exec, s->b));
    STEP(cudaStreamSynchronize(s->b));
    USED();
    RESERVED();
    STEP(cudaFree(memory));
    USED();
});

CASE(graph_memory_exec_destroyed, {
    void *memory = NULL;
    START_ANEW();
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 2 << 20, s->a));
    END(s->a);
    STEP(cudaGraphInstantiate(&s->exec, s->graph, 0));
    STEP(cudaGraphLaunch(s->exec, s->b));
    STEP(cudaStreamSynchronize(s->b));
    ASK(cudaGraphExecDestroy(s->exec));
    s->exec = NULL;
    USED();
    ASK(cudaMemset(memory, 1, 4));
    ASK(cudaFree(memory));
    USED();
});

CASE(graph_memory_attributes_refused, {
    uint64_t number = 0;
    const enum cudaGraphMemAttributeType none = (enum cudaGraphMemAttributeType)7;
    ASK(cudaDeviceGetGraphMemAttribute(0, none, &number));
    ASK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, NULL));
    ASK(cudaDeviceGetGraphMemAttribute(1000, cudaGraphMemAttrUsedMemHigh, &number));
    ASK(cudaDeviceGetGraphMemAttribute(-1, cudaGraphMemAttrUsedMemHigh, &number));
    ASK(cudaDeviceSetGraphMemAttribute(0, none, &number));
    ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &number));
    ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &number));
    ASK(cudaDeviceSetGraphMemAttribute(1000, cudaGraphMemAttrUsedMemHigh, &number));
    SET(number = 1);
    ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &number));
    ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &number));
    ASK(cudaDeviceGraphMemTrim(1000));
    ASK(cudaDeviceGraphMemTrim(-1));
});

CASE(graph_memory_calls_in_capture, {
    uint64_t number = 0;
    BEGIN(s->a, ThreadLocal);
    ASK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &number));
    STATUS(s->a);
    ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &number));
    STATUS(s->a);
    ASK(cudaDeviceGraphMemTrim(0));
    STATUS(s->a);
    END(s->a);
});

static const struct case_rule rules[] = {
    {&graph_memory_counts, "It is used from the launch, in steps of 32 MiB, until it is freed and trimmed."},
    {&graph_memory_freed_by_graph, "What the graph frees itself stays used, for its next launch, until a trim."},
    {&graph_memory_small, "A small allocation."},
    {&graph_memory_exec_destroyed, "It outlives the executable graph."},
    {&graph_memory_attributes_refused, "What cannot be asked or set."},
    {&graph_memory_calls_in_capture, "These calls while a stream captures."},
};

const struct case_topic topic_graph_memory =
    CASE_TOPIC("Memory of graphs", "What the allocation nodes of launched graphs use.", rules);
