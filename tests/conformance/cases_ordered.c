/* Conformance: stream-ordered memory outside captures, what can be freed, and the memory of graphs. */
#include "case_memory.h"
#include "cases.h"

#include <stdint.h>

static int pageable;

CASE(ordered_memory, {
    int *memory = NULL;
    struct cudaPointerAttributes attributes;
    ASK(cudaMallocAsync((void **)&memory, 64, s->a));
    ASK(cudaMemsetAsync(memory, 1, 4, s->a));
    BYTES("memory", memory, 4);
    ASK(cudaPointerGetAttributes(&attributes, memory));
    VALUE("type", attributes.type);
    ASK(cudaMemsetAsync(memory, 1, 65, s->a));
    ASK(cudaFreeAsync(memory, s->b));
    ASK(cudaStreamSynchronize(s->b));
});

CASE(ordered_memory_default_streams, {
    ASK(cudaMallocAsync(&s->memory, 64, NULL));
    ASK(cudaFreeAsync(s->memory, NULL));
    ASK(cudaMallocAsync(&s->memory, 64, cudaStreamLegacy));
    ASK(cudaFreeAsync(s->memory, cudaStreamPerThread));
    ASK(cudaDeviceSynchronize());
    s->memory = NULL;
});

CASE(ordered_memory_refused, {
    SET(s->memory = s->x);
    ASK(cudaMallocAsync(&s->memory, 0, s->a));
    ANSWERED("memory is NULL", !s->memory);
    ANSWERED("memory is untouched", s->memory == s->x);
    SET(s->memory = s->x);
    ASK(cudaMallocAsync(&s->memory, SIZE_MAX, s->a));
    ANSWERED("memory is NULL", !s->memory);
    ANSWERED("memory is untouched", s->memory == s->x);
    ASK(cudaMallocAsync(NULL, 64, s->a));
    s->memory = NULL;
});

CASE(ordered_memory_of_nothing_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMallocAsync(&s->memory, 0, s->a));
    ASK(cudaFreeAsync(NULL, s->a));
    STATUS(s->a);
    END(s->a);
    s->memory = NULL;
});

CASE(free_async_twice, {
    void *memory = NULL;
    STEP(cudaMallocAsync(&memory, 64, s->a));
    ASK(cudaFreeAsync(memory, s->a));
    ASK(cudaStreamSynchronize(s->a));
    ASK(cudaFreeAsync(memory, s->a));
    ASK(cudaFree(memory));
});

CASE(free_async_foreign, {
    char *memory = NULL;
    STEP(cudaMallocAsync((void **)&memory, 64, s->a));
    ASK(cudaFreeAsync(NULL, s->a));
    ASK(cudaFreeAsync(memory + 4, s->a));
    ASK(cudaFreeAsync(&pageable, s->a));
    ASK(cudaFreeAsync(memory, s->a));
});

CASE(free_async_plain_memory, {
    MAKE(64);
    ASK(cudaFreeAsync(s->memory, s->a));
    ASK(cudaStreamSynchronize(s->a));
    ASK(cudaFree(s->memory));
    s->memory = NULL;
});

CASE(free_async_pinned, {
    STEP(cudaMallocHost(&s->pinned, 4));
    ASK(cudaFreeAsync(s->pinned, s->a));
    ASK(cudaStreamSynchronize(s->a));
    ASK(cudaFreeHost(s->pinned));
    s->pinned = NULL;
});

CASE(free_ordered_memory, {
    void *memory = NULL;
    STEP(cudaMallocAsync(&memory, 64, s->a));
    ASK(cudaFree(memory));
    ASK(cudaFree(memory));
});

CASE(free_foreign, {
    MAKE(64);
    ASK(cudaFree(NULL));
    ASK(cudaFree((char *)s->memory + 4));
    ASK(cudaFree(&pageable));
    ASK(cudaFree(s->memory));
    ASK(cudaFree(s->memory));
    s->memory = NULL;
});

CASE(free_pinned, {
    STEP(cudaMallocHost(&s->pinned, 4));
    ASK(cudaFree(s->pinned));
    ASK(cudaFreeHost(s->pinned));
    s->pinned = NULL;
});

CASE(free_host_foreign, {
    STEP(cudaMallocHost(&s->pinned, 64));
    ASK(cudaFreeHost(NULL));
    ASK(cudaFreeHost((char *)s->pinned + 4));
    ASK(cudaFreeHost(&pageable));
    ASK(cudaFreeHost(s->x));
    ASK(cudaFreeHost(s->pinned));
    ASK(cudaFreeHost(s->pinned));
    s->pinned = NULL;
});

CASE(free_nothing_in_capture, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaFree(NULL));
    STATUS(s->a);
    ASK(cudaFreeHost(NULL));
    STATUS(s->a);
    END(s->a);
});

static const struct case_rule rules[] = {
    {&ordered_memory, "It is device memory, and may be freed on another stream."},
    {&ordered_memory_default_streams, "The default streams will do."},
    {&ordered_memory_refused, "Sizes that cannot be had, and no place for the answer."},
    {&ordered_memory_of_nothing_captured, "Nothing, captured."},
    {&free_async_twice, "Memory that was freed."},
    {&free_async_foreign, "What is no allocation."},
    {&free_async_plain_memory, "Memory of `cudaMalloc`."},
    {&free_async_pinned, "Pinned host memory."},
    {&free_ordered_memory, "`cudaFree` frees stream-ordered memory, too."},
    {&free_foreign, "What `cudaFree` frees."},
    {&free_pinned, "`cudaFree` of pinned host memory."},
    {&free_host_foreign, "What `cudaFreeHost` frees."},
    {&free_nothing_in_capture, "Freeing nothing while a stream captures."},
};

const struct case_topic topic_ordered =
    CASE_TOPIC("Stream-ordered memory, and what can be freed",
               "`cudaMallocAsync` and `cudaFreeAsync` outside captures; what each way of freeing takes.", rules);
