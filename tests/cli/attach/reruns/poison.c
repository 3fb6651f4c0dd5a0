/* A graph that reads a temporary of which it has written a part: poison CASE [correct]. Its allocator tells the tools
 * what is free. Prints what the results are at the end. */
#include "tests/cli/attach/programs/program.h"

#include <breakgraph/attach.h>

/* The place of a launch is the case. */
#define INLINE inline __attribute__((always_inline))

enum { ROWS = FLOATS / 2, LARGE = 3 << 20 };

static float *input, *output, *cache, *table, *first, *second;
static int *row, *indices;
static cudaStream_t stream, other;

static INLINE void copy_rows(float **y, float **x, int rows)
{
    const dim3 blocks = {FLOATS / 128, 1, 1}, threads = {128, 1, 1};
    void *parameters[] = {y, x, &rows};
    CUDA(cudaLaunchKernel(copy_rows_kernel(), blocks, threads, parameters, 0, stream));
}

static INLINE void add(float **y, float **x)
{
    CUDA(launch(y, x, stream));
}

static INLINE void gather(void)
{
    const dim3 one = {1, 1, 1};
    void *parameters[] = {&output, &table, &indices};
    CUDA(cudaLaunchKernel(gather_kernel(), one, one, parameters, 0, stream));
}

static INLINE void clear(void *memory)
{
    CUDA(cudaMemsetAsync(memory, 0, BYTES, stream));
}

/* ---- cases: what is captured while `first` and `second` are the graph's ---- */

static void read_part(bool correct)
{
    if (correct)
        clear(first);
    copy_rows(&first, &input, ROWS);
    add(&output, &first);
}

/* The result of the first one comes to the output by another one. */
static void read_chain(bool correct)
{
    clear(second);
    if (correct)
        clear(first);
    copy_rows(&first, &input, ROWS);
    add(&second, &first);
    add(&output, &second);
}

/* What reads it writes it, too: from the end to the begin, to another place of 8 bytes. */
static void read_in_place(bool correct)
{
    if (correct)
        clear(first);
    CUDA(cudaMemcpyAsync(first, first + ROWS + 1, BYTES / 2 - 4, cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaMemcpyAsync(output, first, BYTES, cudaMemcpyDeviceToDevice, stream));
}

/* Nothing but what the kernel finds there says that these are numbers, and a small integer changes no sum. */
static void read_struct(bool correct)
{
    const dim3 one = {1, 1, 1};
    struct sum_of of = {output, first};
    void *parameters[] = {&of};
    if (correct)
        clear(first);
    CUDA(cudaMemcpyAsync(first, input, BYTES / 2, cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaLaunchKernel(sum_kernel(), one, one, parameters, 0, stream));
}

static void read_copy(bool correct)
{
    if (correct)
        clear(first);
    copy_rows(&first, &input, ROWS);
    CUDA(cudaMemcpyAsync(output, first, BYTES, cudaMemcpyDeviceToDevice, stream));
}

static void read_index(bool correct)
{
    if (correct)
        CUDA(cudaMemsetAsync(indices, 0, sizeof *indices, stream));
    gather();
}

/* What it computes from what nobody has written stays in temporaries; the cache has one more row after each launch. */
static void keep_state(bool correct)
{
    (void)correct;
    copy_rows(&first, &input, ROWS);
    clear(second);
    add(&second, &first);
    copy_rows(&cache, &input, 1);
    add(&output, &cache);
    copy_rows(&output, &first, ROWS);
}

static int calls;

static void count_call(void *unused)
{
    (void)unused;
    calls++;
}

/* What it reads was the same in the launch before. */
static void read_early(bool correct)
{
    cudaStream_t first_one = stream;
    wait_for(other, stream);
    copy_rows(&first, &input, FLOATS);
    if (correct)
        wait_for(other, stream);
    stream = other;
    copy_rows(&output, &first, FLOATS);
    stream = first_one;
    copy_rows(&second, &input, FLOATS); /* without an order to the one before */
    wait_for(stream, other);
}

static void call_host(bool correct)
{
    read_early(correct);
    CUDA(cudaLaunchHostFunc(stream, count_call, NULL));
}

static void add_memory_nodes(bool correct)
{
    float *memory;
    (void)correct;
    CUDA(cudaMallocAsync((void **)&memory, BYTES, stream));
    CUDA(cudaFreeAsync(memory, stream));
}

static const struct {
    const char *name;
    void (*capture)(bool correct);
} cases[] = {
    {"part", read_part},   {"freed", read_part},
    {"large", read_part},  {"plain", read_part},
    {"chain", read_chain}, {"place", read_in_place},
    {"copy", read_copy},   {"struct", read_struct},
    {"index", read_index}, {"state", keep_state},
    {"early", read_early}, {"plain-early", read_early},
    {"host", call_host},   {"memory-nodes", add_memory_nodes},
};

/* ---- the program ---- */

/* In one allocation, as an arena has them. The index is 1, from an earlier use. */
static void take_memory(size_t bytes)
{
    float **const all[] = {&input, &output, &cache, &table, &first, &second};
    static float host[FLOATS];
    char *arena;

    CUDA(cudaMalloc((void **)&arena, 7 * bytes));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i] = (float *)(void *)(arena + i * bytes);
        for (int k = 0; k < FLOATS; k++)
            host[k] = (float)(i * 100) + (float)(k % 7);
        CUDA(cudaMemcpy(*all[i], host, sizeof host, cudaMemcpyHostToDevice));
    }
    row = indices = (int *)(void *)(arena + 6 * bytes);
    CUDA(cudaMemcpy(row, &(int){1}, sizeof *row, cudaMemcpyHostToDevice));
}

static void tell_alloc(const char *what, const void *memory, size_t bytes)
{
    if (strncmp(what, "plain", strlen("plain")) != 0)
        (void)bg_attach_ledger_alloc(memory, bytes);
}

static void capture(const char *what, bool correct, size_t bytes, cudaGraph_t *graph)
{
    void *temporaries[] = {first, second, indices};
    for (int i = 0; i < 4; i++)
        tell_alloc(what, (float *[]){input, output, cache, table}[i], bytes);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < 3; i++)
        tell_alloc(what, temporaries[i], i < 2 ? bytes : sizeof *indices);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (is_case(what, cases[i].name))
            cases[i].capture(correct);
    for (int i = 0; i < 3 && !is_case(what, "freed"); i++)
        (void)bg_attach_ledger_free(temporaries[i]);
    CUDA(cudaStreamEndCapture(stream, graph));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "part";
    bool correct = argc > 2 && is_case(argv[2], "correct");
    size_t bytes = is_case(what, "large") ? LARGE : BYTES;
    static float held[FLOATS];
    double sum = 0;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    take_memory(bytes);
    capture(what, correct, bytes, &graph);
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    if (is_case(what, "freed"))
        (void)bg_attach_ledger_free(first);
    for (int i = 0; i < 3; i++)
        CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < 6; i++) {
        CUDA(cudaMemcpy(held, (float *[]){input, output, cache, table, first, second}[i], BYTES,
                        cudaMemcpyDeviceToHost));
        for (int k = 0; k < FLOATS; k++)
            sum += (double)held[k] * (k + 1);
        printf("%.0f ", sum);
    }
    printf("%d\n", calls);
    CUDA(cudaGraphExecDestroy(exec));
    return 0;
}
