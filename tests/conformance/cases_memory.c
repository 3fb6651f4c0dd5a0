/* Conformance: stream-ordered memory in captures. */
#include "cases.h"

#define INSTANTIATE(flags) ASK(cudaGraphInstantiate(&s->exec, s->graph, flags))

CASE(malloc_async, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMallocAsync(&s->memory, 64, s->a));
    ANSWERED("an address", s->memory != NULL);
    s->memory = NULL;
    END(s->a);
});

CASE(malloc_and_free_async, {
    void *memory = NULL;
    BEGIN(s->a, Global);
    ASK(cudaMallocAsync(&memory, 64, s->a));
    ASK(cudaMemsetAsync(memory, 0, 64, s->a));
    ASK(cudaFreeAsync(memory, s->a));
    END(s->a);
    INSTANTIATE(0);
    ASK(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaStreamSynchronize(s->b));
});

CASE(malloc_async_relaunch, {
    void *memory = NULL;
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 64, s->a));
    END(s->a);
    INSTANTIATE(0);
    ASK(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaFreeAsync(memory, s->b));
    ASK(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaFreeAsync(memory, s->b));
    ASK(cudaStreamSynchronize(s->b));
});

CASE(malloc_async_auto_free, {
    void *memory = NULL;
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 64, s->a));
    END(s->a);
    INSTANTIATE(cudaGraphInstantiateFlagAutoFreeOnLaunch);
    ASK(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaGraphLaunch(s->exec, s->b));
    ASK(cudaFreeAsync(memory, s->b));
    ASK(cudaStreamSynchronize(s->b));
});

CASE(memory_graph_clone, {
    void *memory = NULL;
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 64, s->a));
    STEP(cudaFreeAsync(memory, s->a));
    END(s->a);
    ASK(cudaGraphClone(&s->other, s->graph));
});

CASE(memory_graph_second_exec, {
    void *memory = NULL;
    cudaGraphExec_t again = NULL;
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 64, s->a));
    STEP(cudaFreeAsync(memory, s->a));
    END(s->a);
    INSTANTIATE(0);
    ASK(cudaGraphInstantiate(&again, s->graph, 0));
    ASK(cudaGraphExecDestroy(s->exec));
    s->exec = NULL;
    INSTANTIATE(0);
});

CASE(freed_in_next_graph, {
    void *memory = NULL;
    cudaGraphExec_t first = NULL;
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 64, s->a));
    STEP(cudaMemsetAsync(memory, 1, 4, s->a));
    END(s->a);
    STEP(cudaGraphInstantiate(&first, s->graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, memory, 4, cudaMemcpyDeviceToDevice, s->a));
    ASK(cudaFreeAsync(memory, s->a));
    END(s->a);
    INSTANTIATE(0);
    for (int i = 0; i < 2; i++) {
        ASK(cudaGraphLaunch(first, s->b));
        ASK(cudaGraphLaunch(s->exec, s->b));
    }
    ASK(cudaStreamSynchronize(s->b));
    VALUE("x", case_read_x(s));
    STEP(cudaGraphExecDestroy(first));
});

CASE(free_plain_memory_captured, {
    void *memory = NULL;
    STEP(cudaMallocAsync(&memory, 64, s->b));
    STEP(cudaStreamSynchronize(s->b));
    BEGIN(s->a, ThreadLocal);
    ASK(cudaFreeAsync(memory, s->a));
    STATUS(s->a);
    END(s->a);
    ASK(cudaFreeAsync(memory, s->b));
});

CASE(free_captured_memory_outside, {
    void *memory = NULL;
    BEGIN(s->a, ThreadLocal);
    STEP(cudaMallocAsync(&memory, 64, s->a));
    ASK(cudaFreeAsync(memory, s->b));
    STATUS(s->a);
    END(s->a);
});

CASE(ordered_memory_beside, {
    BEGIN(s->a, Global);
    ASK(cudaMallocAsync(&s->memory, 64, s->b));
    ASK(cudaFreeAsync(s->memory, s->b));
    s->memory = NULL;
    STATUS(s->a);
    END(s->a);
});

CASE(malloc_async_on_fork, {
    void *memory = NULL;
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    ASK(cudaMallocAsync(&memory, 64, s->b));
    ORDER(s->b, s->a);
    ASK(cudaFreeAsync(memory, s->a));
    END(s->a);
});

static const struct case_rule rules[] = {
    {&malloc_async, "cudaMallocAsync on a capturing stream becomes an allocation node, and gives the address at once."},
    {&malloc_and_free_async, "A graph that frees what it allocates can be launched again and again."},
    {&malloc_async_on_fork, "Allocation and free may lie on different streams of the capture."},
    {&malloc_async_relaunch, "A graph that leaves its allocation cannot be launched again until that is freed."},
    {&malloc_async_auto_free, "Unless it was instantiated with cudaGraphInstantiateFlagAutoFreeOnLaunch."},
    {&freed_in_next_graph, "What one graph allocates, the next may use and free."},
    {&memory_graph_clone, "A graph with memory nodes cannot be cloned."},
    {&memory_graph_second_exec, "Nor instantiated a second time while the first lives."},
    {&free_plain_memory_captured, "A capture cannot free what was not allocated in one; the attempt does no harm."},
    {&free_captured_memory_outside,
     "Nor can captured memory be freed on a stream outside meanwhile: that is an unsafe call."},
    {&ordered_memory_beside, "On streams outside the capture, stream-ordered allocation is as unsafe as cudaMalloc."},
};

const struct case_topic topic_memory = CASE_TOPIC(
    "Memory in captures", "Stream-ordered allocation is work, so it can be captured; cudaMalloc cannot.", rules);
