/* Correct programs whose memory others use, too: beside CASE. host: a host function fills what a node copies. gap: two
 * nodes write rows of one block in turn. page: a node copies into pageable memory. threads: graphs of several threads
 * write parts of one block. captures: a graph is launched while another stream captures. neighbours: nodes write floats
 * side by side, beside a NaN of the program's. sums: two nodes add to one sum, in any order. updates: the executable
 * graph is updated before each launch. leaves: the program ends by _exit. Prints what memory holds at the end. */
#include "program.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

enum { PARTS = 4, LAUNCHES = 20, MANY = 700, UPDATES = 5 };

static float *a, *b, *parts, *pinned;
static cudaStream_t one, two;
static cudaGraphExec_t own[PARTS];

static void begin(cudaStream_t stream)
{
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
}

static cudaGraphExec_t end(cudaStream_t stream)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
}

static void launch_all(cudaGraphExec_t exec, int count, cudaStream_t stream)
{
    for (int i = 0; i < count; i++)
        CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
}

static void count_up(void *unused)
{
    (void)unused;
    for (int i = 0; i < FLOATS; i++)
        pinned[i] += 1;
}

static void run_host(void)
{
    begin(one);
    CUDA(cudaLaunchHostFunc(one, count_up, NULL));
    CUDA(cudaMemcpyAsync(b, pinned, BYTES, cudaMemcpyHostToDevice, one));
    CUDA(launch(&parts, &b, one));
    launch_all(end(one), 3, one);
}

static void run_gap(void)
{
    float *between = parts + FLOATS;
    begin(one);
    wait_for(two, one);
    CUDA(cudaMemcpy2DAsync(parts, 2 * (size_t)BYTES, a, BYTES / 2, BYTES / 2, 2, cudaMemcpyDeviceToDevice, one));
    CUDA(launch(&between, &b, two));
    wait_for(one, two);
    launch_all(end(one), 3, one);
}

static void run_page(void)
{
    static float pageable[FLOATS];
    begin(one);
    wait_for(two, one);
    CUDA(launch(&a, &a, two));
    CUDA(cudaMemcpyAsync(b, pageable, BYTES, cudaMemcpyHostToDevice, one));
    CUDA(launch(&parts, &b, one));
    CUDA(cudaMemcpyAsync(pageable, parts, BYTES, cudaMemcpyDeviceToHost, one));
    wait_for(one, two);
    launch_all(end(one), 2, one);
    printf("%g\n", (double)pageable[0]);
}

static void *launch_own(void *exec)
{
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    launch_all(*(cudaGraphExec_t *)exec, LAUNCHES, stream);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[PARTS];
    for (int i = 0; i < PARTS; i++) {
        float *part = parts + (size_t)i * FLOATS, *half = part + FLOATS / 2;
        begin(one);
        wait_for(two, one);
        CUDA(cudaMemcpyAsync(half, b, BYTES / 2, cudaMemcpyDeviceToDevice, two));
        CUDA(cudaMemcpyAsync(part, b, BYTES / 2, cudaMemcpyDeviceToDevice, one));
        wait_for(one, two);
        CUDA(launch(&part, &part, one));
        own[i] = end(one);
    }
    for (int i = 0; i < PARTS; i++)
        if (pthread_create(&threads[i], NULL, launch_own, &own[i]) != 0)
            exit(3);
    for (int i = 0; i < PARTS; i++)
        pthread_join(threads[i], NULL);
}

static void run_captures(void)
{
    cudaGraphExec_t exec;
    begin(one);
    CUDA(launch(&parts, &b, one));
    exec = end(one);
    launch_all(exec, 1, one);
    begin(two);
    CUDA(launch(&a, &b, two));
    for (int i = 0; i < MANY; i++)
        CUDA(cudaGraphLaunch(exec, one));
    launch_all(end(two), 1, two);
    CUDA(cudaStreamSynchronize(one));
}

/* y[0] = x[0] */
static void copy_one(float *y, const float *x, cudaStream_t stream)
{
    const dim3 blocks = {FLOATS / 128, 1, 1}, threads = {128, 1, 1};
    int rows = 1;
    void *parameters[] = {&y, &x, &rows};
    CUDA(cudaLaunchKernel(copy_rows_kernel(), blocks, threads, parameters, 0, stream));
}

static void run_neighbours(void)
{
    const float nan = NAN;
    CUDA(cudaMemcpy(a + 3, &nan, sizeof nan, cudaMemcpyHostToDevice));
    begin(one);
    wait_for(two, one);
    copy_one(a, b + 5, one);
    copy_one(a + 1, b + 6, two);
    CUDA(cudaMemsetAsync((char *)(a + 2) + 1, 7, 2, two));
    wait_for(one, two);
    launch_all(end(one), 3, one);
}

static void run_sums(void)
{
    begin(one);
    wait_for(two, one);
    CUDA(launch(&parts, &b, one));
    CUDA(launch(&parts, &b, two));
    wait_for(one, two);
    launch_all(end(one), 3, one);
}

static void run_updates(void)
{
    cudaGraphExec_t exec = NULL;
    for (int i = 0; i < UPDATES; i++) {
        cudaGraphExecUpdateResultInfo info;
        cudaGraph_t graph;
        begin(one);
        wait_for(two, one);
        CUDA(launch(&parts, &b, two));
        CUDA(cudaMemsetAsync(a, i + 1, BYTES, one));
        wait_for(one, two);
        CUDA(cudaStreamEndCapture(one, &graph));
        if (exec == NULL)
            CUDA(cudaGraphInstantiate(&exec, graph, 0));
        else
            CUDA(cudaGraphExecUpdate(exec, graph, &info));
        CUDA(cudaGraphDestroy(graph));
        CUDA(cudaGraphLaunch(exec, one));
    }
    CUDA(cudaStreamSynchronize(one));
}

static void run_leaves(void)
{
    run_sums();
    _exit(0);
}

static void show(const float *from, size_t floats)
{
    float *host = malloc(floats * sizeof *host);
    double sum = 0;
    if (host == NULL)
        exit(3);
    CUDA(cudaMemcpy(host, from, floats * sizeof *host, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < floats; i++)
        sum += (double)host[i] * (double)(i % 7 + 1);
    printf("%g\n", sum);
    free(host);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"host", run_host},       {"gap", run_gap},           {"page", run_page},
                 {"threads", run_threads}, {"captures", run_captures}, {"neighbours", run_neighbours},
                 {"sums", run_sums},       {"updates", run_updates},   {"leaves", run_leaves}};

    CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&a, BYTES));
    CUDA(cudaMalloc((void **)&b, BYTES));
    CUDA(cudaMalloc((void **)&parts, PARTS * (size_t)BYTES));
    CUDA(cudaMallocHost((void **)&pinned, BYTES));
    for (int i = 0; i < FLOATS; i++)
        pinned[i] = (float)i;
    CUDA(cudaMemset(a, 0x3f, BYTES)); /* other floats than anywhere else */
    CUDA(cudaMemcpy(b, pinned, BYTES, cudaMemcpyHostToDevice));
    for (size_t i = 0; i < PARTS; i++)
        CUDA(cudaMemcpy(parts + i * FLOATS, pinned, BYTES, cudaMemcpyHostToDevice));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && is_case(argv[1], cases[i].name))
            cases[i].run();
    show(a, FLOATS);
    show(b, FLOATS);
    show(parts, PARTS * (size_t)FLOATS);
    return 0;
}
