/* A program that tells the rows of its batches: rows WHAT: which nodes use rows beyond the batch, and how. */
#include "kernels/device.h"
#include "tests/cli/attach/programs/cuda_check.h"

#include <breakgraph/attach.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { ROWS = 8, LIVE = 5, SLOTS = 16 };

__global__ void scale(float *y, const float *x)
{
    y[threadIdx.x] = 2 * x[threadIdx.x];
}

__global__ void sum(float *y, const float *x, int rows)
{
    float all = 0;
    for (int i = 0; i < rows; i++)
        all += x[i];
    *y += all;
}

/* The largest, for which NaN is no number. */
__global__ void largest(float *y, const float *x)
{
    float most = 0;
    for (int i = 0; i < ROWS; i++)
        most = x[i] > most ? x[i] : most;
    *y = most;
}

__global__ void put(float *cache, const float *x, const int *slots)
{
    if (slots[threadIdx.x] >= 0)
        cache[slots[threadIdx.x]] = x[threadIdx.x];
}

static cudaStream_t stream;
static float *x, *keys, *y, *cache;
static int *slots;
static bool tells_keys = true;

static void *allocate(size_t bytes)
{
    void *memory;
    CUDA(cudaMalloc(&memory, bytes));
    CUDA(cudaMemset(memory, 0, bytes));
    return memory;
}

static void tell(const void *memory, int rows, int live, bool floats)
{
    if (bg_attached() && bg_attach_rows(memory, 4, rows, live, floats) != BG_OK) {
        fprintf(stderr, "%s\n", bg_attach_last_error());
        exit(4);
    }
}

/* ---- what is captured ---- */

static void sum_all()
{
    sum<<<1, 1, 0, stream>>>(y, x, ROWS);
}

static void sum_live()
{
    sum<<<1, 1, 0, stream>>>(y, x, LIVE);
}

/* Through keys, of which rows are told or not. */
static void sum_keys()
{
    scale<<<1, ROWS, 0, stream>>>(keys, x);
    sum<<<1, 1, 0, stream>>>(y, keys, ROWS);
}

/* The first rows alone, of which a copy tells. */
static void copy_and_sum()
{
    CUDA(cudaMemcpyAsync(keys, x, ROWS * 4, cudaMemcpyDeviceToDevice, stream));
    sum<<<1, 1, 0, stream>>>(y, keys, ROWS);
}

static void find_largest()
{
    largest<<<1, 1, 0, stream>>>(y, x);
}

static void put_all()
{
    scale<<<1, ROWS, 0, stream>>>(keys, x);
    put<<<1, ROWS, 0, stream>>>(cache, keys, slots);
}

static void with_memory()
{
    float *temporary;
    CUDA(cudaMallocAsync(reinterpret_cast<void **>(&temporary), 256, stream));
    CUDA(cudaFreeAsync(temporary, stream));
    sum_all();
}

/* ---- cases ---- */

static cudaGraphExec_t capture(void (*pass)())
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    pass();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static void run_untold(void (*pass)())
{
    CUDA(cudaGraphLaunch(capture(pass), stream));
    CUDA(cudaStreamSynchronize(stream));
}

static void run(void (*pass)(), int live, int full = 1)
{
    const cudaGraphExec_t exec = capture(pass);

    for (int launch = 0; launch <= full; launch++) { /* the first batches are full */
        const int rows = launch < full ? ROWS : live;
        tell(x, ROWS, rows, true);
        if (tells_keys)
            tell(keys, ROWS, rows, true);
        tell(slots, ROWS, rows, false);
        tell(cache, SLOTS - 1, SLOTS - 1, true); /* the last slot is for padding */
        tell(y, 1, 1, true);
        CUDA(cudaGraphLaunch(exec, stream));
    }
    CUDA(cudaStreamSynchronize(stream));
}

static void set_inputs(int slot_of_padding)
{
    int list[ROWS];
    float values[ROWS];
    for (int i = 0; i < ROWS; i++) {
        list[i] = i < LIVE ? i : slot_of_padding;
        values[i] = static_cast<float>(i + 1);
    }
    CUDA(cudaMemcpy(slots, list, sizeof list, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(x, values, sizeof values, cudaMemcpyHostToDevice));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    float result[SLOTS + 1];

    CUDA(cudaStreamCreate(&stream));
    x = static_cast<float *>(allocate(ROWS * 4));
    keys = static_cast<float *>(allocate(ROWS * 4));
    y = static_cast<float *>(allocate(4));
    cache = static_cast<float *>(allocate(SLOTS * 4));
    slots = static_cast<int *>(allocate(ROWS * 4));
    set_inputs(-1);
    if (strcmp(what, "sum") == 0) {
        run(sum_all, LIVE);
    } else if (strcmp(what, "sum-live") == 0) {
        run(sum_live, LIVE);
    } else if (strcmp(what, "one-row") == 0) {
        run(sum_all, ROWS - 1);
    } else if (strcmp(what, "keys") == 0) {
        run(sum_keys, LIVE);
    } else if (strcmp(what, "keys-not-told") == 0) {
        tells_keys = false;
        run(sum_keys, LIVE);
    } else if (strcmp(what, "largest") == 0) {
        run(find_largest, LIVE);
    } else if (strcmp(what, "slots") == 0) {
        run(put_all, LIVE);
    } else if (strcmp(what, "live-slot") == 0) {
        set_inputs(2);
        run(put_all, LIVE);
    } else if (strcmp(what, "padding-slot") == 0) {
        set_inputs(SLOTS - 1);
        run(put_all, LIVE);
    } else if (strcmp(what, "odd") == 0) { /* rows that begin between words of 8 bytes */
        y = cache + 1;
        cache = static_cast<float *>(allocate(SLOTS * 4));
        run(sum_all, LIVE);
    } else if (strcmp(what, "given-away") == 0) { /* by an allocator that tells: weights have the memory now */
        tell(x, ROWS, LIVE, true);
        (void)bg_attach_ledger_alloc(x, ROWS * 4);
        (void)bg_attach_ledger_free(x);
        (void)bg_attach_ledger_alloc(x, ROWS * 4);
        run_untold(sum_all);
    } else if (strcmp(what, "larger") == 0) { /* the buffer has more rows than this graph uses */
        x = static_cast<float *>(allocate(2 * ROWS * 4));
        tell(x, 2 * ROWS, LIVE, true);
        tell(y, 1, 1, true);
        run_untold(copy_and_sum);
    } else if (strcmp(what, "late") == 0) { /* first, others have padding alone */
        float *other = static_cast<float *>(allocate(ROWS * 4));
        tell(other, ROWS, LIVE, true);
        run(sum_all, LIVE, 6);
    } else if (strcmp(what, "full") == 0) {
        run(sum_all, ROWS);
    } else if (strcmp(what, "memory-nodes") == 0) {
        run(with_memory, LIVE);
    } else if (strcmp(what, "freed") == 0) {
        tell(keys, ROWS, LIVE, true);
        CUDA(cudaFree(keys)); /* what is told of it is forgotten: there is no padding any more */
        keys = static_cast<float *>(allocate(ROWS * 4));
        tells_keys = false;
        run(sum_keys, ROWS);
    }
    CUDA(cudaMemcpy(result, cache, SLOTS * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(result + SLOTS, y, 4, cudaMemcpyDeviceToHost));
    for (float value : result)
        printf("%g ", static_cast<double>(value));
    printf("\n");
    return 0;
}
