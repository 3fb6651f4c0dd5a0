/* One thread captures, launches, destroys, and only then frees; another one asks for checks all the time. destroyed
 * [ledger]: the memory is a block of an allocator that keeps what is freed. Prints how many findings there were. */
#include "program.h"

#include <breakgraph/attach.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { GRAPHS = 400, NODES = 20 };

static atomic_bool stop;
static int found;

static void *check(void *unused)
{
    void *used;
    (void)unused;
    CUDA(cudaMalloc(&used, 64)); /* the thread has a context */
    while (!atomic_load(&stop)) {
        int now = 0;
        if (bg_attach_check(BG_TEXT, &now, NULL) == BG_OK)
            found += now;
    }
    return NULL;
}

static void use_once(float *y, float *x, cudaStream_t stream)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < NODES; i++)
        CUDA(launch_add(y, x, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
}

int main(int count, char **words)
{
    bool ledger = count > 1 && words[1][0] == 'l';
    cudaStream_t stream;
    pthread_t thread;
    float *x, *y, *arena;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&y, BYTES));
    CUDA(cudaMalloc((void **)&arena, BYTES));
    if (pthread_create(&thread, NULL, check, NULL) != 0)
        return 1;
    for (int i = 0; i < GRAPHS; i++) {
        x = arena;
        if (ledger)
            (void)bg_attach_ledger_alloc(x, BYTES);
        else
            CUDA(cudaMalloc((void **)&x, BYTES));
        use_once(y, x, stream);
        if (ledger)
            (void)bg_attach_ledger_free(x);
        else
            CUDA(cudaFree(x));
    }
    atomic_store(&stop, true);
    (void)pthread_join(thread, NULL);
    printf("found %d\n", found);
    return 0;
}
