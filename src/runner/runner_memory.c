/* The memory that a runner takes, and what is left. */
#include "runner/runner.h"

#include <stdio.h>

static double to_mib(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

size_t bg__device_free_bytes(void)
{
    size_t free_bytes = 0, total;
    cudaError_t error = cudaMemGetInfo(&free_bytes, &total);
    bg__clear_cuda_error(error);
    return error == cudaSuccess ? free_bytes : 0;
}

static size_t pool_bytes(const bg_runner *runner)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    return runner->pool != NULL && bg_pool_get_stats(runner->pool, &stats) == BG_OK ? stats.mapped : 0;
}

static size_t graph_bytes(const bg__bucket *bucket)
{
    return bucket->graph != NULL ? bucket->graph->graph_bytes : 0;
}

static size_t all_graph_bytes(const bg_runner *runner)
{
    size_t bytes = 0;
    for (int i = 0; i < runner->plan.bucket_count; i++)
        bytes += graph_bytes(runner->plan.order[i]);
    return bytes;
}

void bg__runner_estimate_memory(bg_runner *runner, const bg__bucket *first)
{
    const size_t each = graph_bytes(first), there = bg__device_free_bytes();
    size_t others = 0;

    for (int i = 0; i < runner->plan.bucket_count; i++)
        others += runner->plan.order[i]->graph == NULL;
    runner->expected = pool_bytes(runner) + each * (size_t)runner->plan.bucket_count;
    if (there > 0 && each * others > there)
        bg__warn("the graphs of the other %zu buckets may take %.1f MiB, if each is as large as the first, but %.1f "
                 "MiB of the device's memory are free; capture fewer sizes (schedule, max_tokens, variants), or on "
                 "demand (lazy)",
                 others, to_mib(each * others), to_mib(there));
}

static size_t buffer_bytes(const bg__buffers *buffers)
{
    size_t bytes = 0;
    for (size_t i = 0; i < buffers->count; i++)
        if (!buffers->list[i].bound)
            bytes += bg_tensor_bytes(&buffers->list[i].tensor);
    return bytes;
}

static bg_runner_memory collect_memory(const bg_runner *runner)
{
    bg_runner_memory memory = BG_RUNNER_MEMORY_INIT;
    memory.buffers = buffer_bytes(&runner->inputs) + buffer_bytes(&runner->outputs) + buffer_bytes(&runner->extra);
    memory.pool = pool_bytes(runner);
    memory.graphs = all_graph_bytes(runner);
    memory.expected = runner->expected;
    memory.before = runner->before;
    memory.after = runner->after;
    return memory;
}

bg_status bg_runner_get_memory(const bg_runner *runner, bg_runner_memory *memory)
{
    bg_runner_memory found;
    size_t total;
    bg_status status;

    BG__NEED(runner);
    BG__NEED(memory);
    bg__foreign_error_note();
    found = collect_memory(runner);
    BG__TRY_CUDA(cudaMemGetInfo(&found.available, &total));
    BG__TRY(bg__struct_copy_out(memory, &found, sizeof found, "memory", "BG_RUNNER_MEMORY_INIT"));
done:
    return status;
}

void bg__runner_print_memory(const bg_runner *runner, FILE *out)
{
    const bg_runner_memory memory = collect_memory(runner);

    fprintf(out, "memory: %.1f MiB static buffers, %.1f MiB pool, %.1f MiB graphs", to_mib(memory.buffers),
            to_mib(memory.pool), to_mib(memory.graphs));
    if (memory.expected > 0)
        fprintf(out, " (pool and graphs were expected to take %.1f MiB after the first bucket)",
                to_mib(memory.expected));
    fputc('\n', out);
    if (memory.before > 0)
        fprintf(out, "free: %.1f MiB before the captures, %.1f MiB after them, ", to_mib(memory.before),
                to_mib(memory.after));
    else
        fputs("free: ", out);
    fprintf(out, "%.1f MiB now\n", to_mib(bg__device_free_bytes()));
}
