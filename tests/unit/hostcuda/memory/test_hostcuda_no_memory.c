/* Calls on graphs while the C library has no memory: each fails with CUDA's code for it, and the next one is good. */
#include "tests/support/cuda_support.h"

#include <stdlib.h>

static _Thread_local unsigned long fails_at; /* counted down at each request for memory; 0: none fails */
static bool refused(void)
{
    return fails_at && !--fails_at;
}

/* A sanitizer's allocator is not to be replaced. */
#if defined(__SANITIZE_ADDRESS__)
enum { CAN_REFUSE = 0 };
#else
enum { CAN_REFUSE = 1 };
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *malloc(size_t bytes)
{
    return refused() ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
    return refused() ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes)
{
    return refused() ? NULL : __libc_realloc(memory, bytes);
}
#endif

TEST(test_instantiating_without_memory)
{
    skip_unless(on_host_device() && CAN_REFUSE && !refused(),
                "memory is refused to the host device only, and not under a sanitizer");
    cudaGraphNode_t node = NULL;
    OWNED_EXEC(exec);
    NEW_GRAPH(graph);
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    unsigned long requests = 0;
    for (cudaError_t error = cudaErrorMemoryAllocation; error; requests++) {
        fails_at = requests + 1;
        error = cudaGraphInstantiate(&exec, graph, 0);
        fails_at = 0;
        if (error)
            assert_int_equal(error, cudaErrorMemoryAllocation);
    }
    assert_true(requests > 5);
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaDeviceSynchronize());
}
