#include "check_support.h"

bg_report *check_graph(bg_graph *graph, unsigned what)
{
    bg_report *report = NULL;
    EXPECT_OK(bg_check(graph, what, &report));
    return report;
}

void reuse(void *memory, size_t bytes)
{
    enum { TRIES = 256 };
    void *other[TRIES];
    int count = 0;
    bool is_there = false;
    EXPECT_CUDA(cudaFree(memory));
    while (count < TRIES && !is_there) {
        EXPECT_CUDA(cudaMalloc(&other[count], bytes));
        is_there = other[count++] == memory;
    }
    for (int i = 0; i < count - is_there; i++)
        EXPECT_CUDA(cudaFree(other[i]));
    if (!is_there) {
        print_message("skipped: of %d allocations none got the address that was freed\n", TRIES);
        skip();
    }
}
