/* Correct programs with graphs of two branches, whose nodes cannot simply run once more: again CASE. Prints what memory
 * holds at the end. peer: a node adds to memory of another device. turns: another block is written from the second
 * launch on. end: a kernel gets the end of a block, and next: one where the next block begins. variable: a kernel
 * counts in a variable of its module. pinned: the host counts in a block that a kernel writes. stack: a thread with a
 * small stack launches. registered: nodes copy from and to registered memory at odd addresses. captures: another thread
 * captures all the time. blocked: work of another stream waits for what follows the launch. index: the order that the
 * graph leaves open decides about an index. run: a node writes how often it ran, and what it read. word:
 * of two numbers in a word one depends on the order. */
#include "kernels/device.h"
#include "kernels/launch.h"
#include "tests/cli/attach/programs/cuda_check.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

enum { N = 1 << 10, BYTES = N * sizeof(float), LARGE = 3 << 20, LAUNCHES = 3, ROUNDS = 60, SMALL_STACK = 128 << 10 };

__device__ float counted;

__global__ void add(float *y, const float *x)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] += x[i];
}

__global__ void add_backwards(float *end)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    end[-1 - static_cast<long>(i)] += 1;
}

__global__ void take_turn(int *turn, float *y, float *z)
{
    if (threadIdx.x > 0 || blockIdx.x > 0)
        return;
    *(*turn == 0 ? y : z) += 1;
    *turn += 1;
}

__global__ void count(void)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        counted += 1;
}

__global__ void set_index(int *index, int value)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        *index = value;
}

__global__ void add_from(float *y, const float *table, const int *index)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        *y += table[*index];
}

__device__ unsigned runs;
__device__ float read_in[1 << 10];

__global__ void count_run(unsigned *run, const float *y)
{
    if (threadIdx.x > 0 || blockIdx.x > 0)
        return;
    *run = ++runs % (sizeof read_in / sizeof *read_in);
    read_in[*run] = *y;
}

__global__ void scale(float *y, float factor)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        *y = *y * factor + 1;
}

static cudaStream_t one, two;
static float *x, *y, *z, *shown; /* of LARGE bytes, zeroed but for x */

static void begin(void)
{
    CUDA(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    wait_for(two, one);
}

static cudaGraphExec_t end(void)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    wait_for(one, two);
    CUDA(cudaStreamEndCapture(one, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
}

static void launch_all(cudaGraphExec_t exec, cudaStream_t stream)
{
    for (int i = 0; i < LAUNCHES; i++)
        CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
}

template <typename... P, typename... A>
static void go(cudaStream_t stream, void (*kernel)(P...), A... given)
{
    CUDA(bgk::launch(kernel, dim3(N / 128), dim3(128), 0, stream, static_cast<P>(given)...));
}

static void run_peer(void)
{
    float *there;
    CUDA(cudaDeviceEnablePeerAccess(1, 0));
    CUDA(cudaSetDevice(1));
    CUDA(cudaMalloc(reinterpret_cast<void **>(&there), BYTES));
    CUDA(cudaMemset(there, 0, BYTES));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaSetDevice(0));
    begin();
    go(one, add, y, x);
    go(two, add, there, x);
    launch_all(end(), one);
    CUDA(cudaMemcpy(z, there, BYTES, cudaMemcpyDefault));
}

static void run_turns(void)
{
    int *turn;
    CUDA(cudaMalloc(reinterpret_cast<void **>(&turn), sizeof *turn));
    CUDA(cudaMemset(turn, 0, sizeof *turn));
    begin();
    go(one, take_turn, turn, y, z);
    go(two, add, x, x);
    cudaGraphExec_t exec = end();
    launch_all(exec, one);
    launch_all(exec, one);
}

static void run_end(void)
{
    begin();
    go(one, add_backwards, y + LARGE / sizeof *y);
    go(two, add, z, x);
    launch_all(end(), one);
    shown = y + LARGE / sizeof *y - N;
}

static void run_next(void)
{
    char *both = static_cast<char *>(aligned_alloc(BYTES, 2 * BYTES));
    if (both == nullptr)
        exit(3);
    memset(both, 0, 2 * BYTES);
    CUDA(cudaHostRegister(both, BYTES, 0));
    CUDA(cudaHostRegister(both + BYTES, BYTES, 0));
    begin();
    go(one, add_backwards, reinterpret_cast<float *>(both + BYTES));
    go(two, add, z, x);
    launch_all(end(), one);
    CUDA(cudaMemcpy(y, both, BYTES, cudaMemcpyHostToDevice));
}

static void run_variable(void)
{
    begin();
    go(one, count);
    go(two, add, z, x);
    launch_all(end(), one);
    CUDA(cudaMemcpyFromSymbol(y, counted, sizeof counted, 0, cudaMemcpyDeviceToDevice));
}

static volatile unsigned *word;
static bool over;

static void *count_in_word(void *undone)
{
    unsigned last = *word;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        *static_cast<bool *>(undone) |= *word != last;
        *word = last = *word + 1;
        (void)usleep(20);
    }
    return nullptr;
}

static void run_pinned(void)
{
    float *host;
    bool undone = false;
    pthread_t thread;
    CUDA(cudaHostAlloc(reinterpret_cast<void **>(&host), 2 * BYTES, cudaHostAllocMapped));
    memset(host, 0, 2 * BYTES);
    word = reinterpret_cast<volatile unsigned *>(host + N + N / 2);
    begin();
    go(one, add, y, x);
    go(two, add, host, x);
    cudaGraphExec_t exec = end();
    if (pthread_create(&thread, nullptr, count_in_word, &undone) != 0)
        exit(3);
    while (*word < 10) {
    }
    launch_all(exec, one);
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    pthread_join(thread, nullptr);
    CUDA(cudaMemcpy(z, host, BYTES, cudaMemcpyDefault));
    printf("%s\n", undone ? "undone" : "kept");
}

static void *launch_own(void *exec)
{
    launch_all(static_cast<cudaGraphExec_t>(exec), one);
    return nullptr;
}

static void run_stack(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    begin();
    go(one, add, y, x);
    go(two, add, z, x);
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, SMALL_STACK) != 0 ||
        pthread_create(&thread, &attributes, launch_own, end()) != 0)
        exit(3);
    pthread_join(thread, nullptr);
}

static void run_registered(void)
{
    char *memory = static_cast<char *>(malloc(4 * BYTES)), *odd = memory + BYTES + 3;
    if (memory == nullptr)
        exit(3);
    memset(memory, 3, 4 * BYTES);
    CUDA(cudaHostRegister(odd, 2 * BYTES, 0));
    begin();
    CUDA(cudaMemcpyAsync(odd, x, 101, cudaMemcpyDeviceToHost, one));
    CUDA(cudaMemcpyAsync(z, odd + BYTES, 101, cudaMemcpyHostToDevice, two));
    launch_all(end(), one);
    CUDA(cudaMemcpy(y, memory + BYTES, BYTES, cudaMemcpyDefault));
}

static void *capture_always(void *captures)
{
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        cudaGraph_t graph;
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        go(stream, add, static_cast<float *>(captures), x);
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphDestroy(graph));
    }
    return nullptr;
}

static void run_captures(void)
{
    pthread_t thread;
    if (pthread_create(&thread, nullptr, capture_always, z) != 0)
        exit(3);
    for (int i = 0; i < ROUNDS; i++) {
        begin();
        go(one, add, y, x);
        go(two, add, z, x);
        cudaGraphExec_t exec = end();
        launch_all(exec, one);
        CUDA(cudaGraphExecDestroy(exec));
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    pthread_join(thread, nullptr);
}

static void wait_until_over(void *)
{
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
        (void)usleep(1000);
}

static void run_blocked(void)
{
    cudaStream_t other;
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    begin();
    go(one, add, y, x);
    go(two, add, z, x);
    cudaGraphExec_t exec = end();
    CUDA(cudaLaunchHostFunc(other, wait_until_over, nullptr));
    CUDA(cudaGraphLaunch(exec, one));
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    CUDA(cudaStreamSynchronize(other));
    CUDA(cudaStreamSynchronize(one));
}

static void run_index(void)
{
    int *index;
    CUDA(cudaMalloc(reinterpret_cast<void **>(&index), sizeof *index));
    CUDA(cudaMemset(index, 0x1f, sizeof *index));
    begin();
    go(one, set_index, index, 5);
    go(two, add_from, y, x, index);
    launch_all(end(), one);
}

/* Memory of one run, and not of two. */
static void run_run(void)
{
    unsigned *run, of = 0;
    float held = 0, read = 0;
    CUDA(cudaMalloc(reinterpret_cast<void **>(&run), sizeof *run));
    begin();
    go(one, scale, y, 2.f);
    go(two, scale, y, 3.f);
    wait_for(one, two);
    go(one, count_run, run, y);
    CUDA(cudaGraphLaunch(end(), one));
    CUDA(cudaStreamSynchronize(one));
    CUDA(cudaMemcpy(&of, run, sizeof of, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&held, y, sizeof held, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpyFromSymbol(&read, read_in, sizeof read, of * sizeof read, cudaMemcpyDeviceToHost));
    puts(read == held ? "of one run" : "of two runs");
}

static void run_word(void)
{
    begin();
    go(one, scale, y, 2.f);
    go(two, scale, y, 3.f);
    wait_for(one, two);
    go(one, set_index, reinterpret_cast<int *>(y + 1), 5);
    CUDA(cudaGraphLaunch(end(), one));
    CUDA(cudaStreamSynchronize(one));
}

static void show(const float *from)
{
    float host[N];
    double sum = 0;
    CUDA(cudaMemcpy(host, from, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        sum += static_cast<double>(host[i]) * (i % 7 + 1);
    printf("%g\n", sum);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"peer", run_peer},       {"turns", run_turns},       {"end", run_end},
                 {"next", run_next},       {"variable", run_variable}, {"pinned", run_pinned},
                 {"stack", run_stack},     {"captures", run_captures}, {"registered", run_registered},
                 {"blocked", run_blocked}, {"index", run_index},       {"run", run_run},
                 {"word", run_word}};

    CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    for (float **buffer : {&x, &y, &z}) {
        CUDA(cudaMalloc(reinterpret_cast<void **>(buffer), LARGE));
        CUDA(cudaMemset(*buffer, 0, LARGE));
    }
    CUDA(cudaMemset(x, 0x3f, BYTES));
    CUDA(cudaDeviceSynchronize());
    shown = y;
    for (const auto &c : cases)
        if (argc > 1 && std::string(argv[1]) == c.name)
            c.run();
    show(shown);
    show(z);
    return 0;
}
