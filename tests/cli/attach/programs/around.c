/* What programs do around their graphs: threads, children, ends. around CASE */
#include "program.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 8, LAUNCHES = 20 };

static pthread_key_t key;

/* A stream and a graph of the thread's own: y += x, with ones in x. */
static cudaGraphExec_t make(cudaStream_t *stream, float **y)
{
    float ones[FLOATS], *x;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    for (int i = 0; i < FLOATS; i++)
        ones[i] = 1;
    CUDA(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMalloc((void **)y, BYTES));
    CUDA(cudaMemcpy(x, ones, BYTES, cudaMemcpyHostToDevice));
    CUDA(cudaMemsetAsync(*y, 0, BYTES, *stream));
    CUDA(cudaStreamBeginCapture(*stream, cudaStreamCaptureModeThreadLocal));
    CUDA(launch(y, &x, *stream));
    CUDA(cudaStreamEndCapture(*stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
}

static float launch_often(void)
{
    float *y, first;
    cudaStream_t stream;
    cudaGraphExec_t exec = make(&stream, &y);
    for (int i = 0; i < LAUNCHES; i++)
        CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(&first, y, sizeof first, cudaMemcpyDeviceToHost));
    CUDA(cudaGraphExecDestroy(exec));
    if (pthread_setspecific(key, y) != 0)
        exit(3);
    return first;
}

/* At the end of each thread, while others launch. */
static void free_memory(void *memory)
{
    CUDA(cudaFree(memory));
}

static void *run_thread(void *sum)
{
    *(float *)sum = launch_often();
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    float sums[THREADS], sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, run_thread, &sums[i]) != 0)
                exit(3);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            sum += sums[i];
        }
    }
    printf("threads: %g\n", sum);
}

static void *launch_forever(void *ready)
{
    float *y;
    cudaStream_t stream;
    cudaGraphExec_t exec = make(&stream, &y);
    for (;;) {
        if (cudaGraphLaunch(exec, stream) != cudaSuccess || cudaStreamSynchronize(stream) != cudaSuccess)
            return NULL;
        __atomic_store_n((int *)ready, 1, __ATOMIC_RELEASE);
    }
}

static void exit_beside_a_thread(void)
{
    static int ready;
    pthread_t thread;
    if (pthread_create(&thread, NULL, launch_forever, &ready) != 0)
        exit(3);
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        sched_yield();
    printf("ends\n");
    exit(5);
}

static void start_child(const char *self)
{
    int status;
    pid_t child;
    printf("parent: %g\n", launch_often());
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        execl(self, self, "once", (char *)NULL);
        _exit(126);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(3);
    printf("child: %d, parent: %g\n", WEXITSTATUS(status), launch_often());
}

/* Before the parent launches what it has made, and without exec. */
static void fork_early(void)
{
    int status;
    float *y;
    cudaStream_t stream;
    cudaGraphExec_t exec = make(&stream, &y);
    pid_t child = fork();
    if (child == 0)
        exit(4);
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(3);
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    printf("child: %d\n", WEXITSTATUS(status));
}

static void print_errno(const char *call)
{
    printf("%s: %d\n", call, errno);
    errno = ENOTTY;
}

static void keep_errno(void)
{
    float *x, *y;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec = make(&stream, &y);
    CUDA(cudaMalloc((void **)&x, BYTES));
    errno = ENOTTY;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    print_errno("begin");
    CUDA(launch(&y, &x, stream));
    print_errno("launch");
    CUDA(cudaStreamEndCapture(stream, &graph));
    print_errno("end");
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    print_errno("instantiate");
    CUDA(cudaGraphLaunch(exec, stream));
    print_errno("launch of the graph");
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphExecDestroy(exec));
    print_errno("destroy");
    CUDA(cudaFree(x));
    print_errno("free");
}

/* Its own handle of the driver, where there is one. */
static void close_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    printf("before: %g\n", launch_often());
    for (int i = 0; driver != NULL && i < 2; i++)
        (void)dlclose(driver);
    printf("after: %g\n", launch_often());
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "once";
    if (pthread_key_create(&key, free_memory) != 0)
        return 3;
    if (is_case(name, "threads"))
        run_threads();
    else if (is_case(name, "exit"))
        exit_beside_a_thread();
    else if (is_case(name, "child"))
        start_child(argv[0]);
    else if (is_case(name, "fork"))
        fork_early();
    else if (is_case(name, "errno"))
        keep_errno();
    else if (is_case(name, "dlclose"))
        close_driver();
    else
        printf("once: %g\n", launch_often());
    return 0;
}
