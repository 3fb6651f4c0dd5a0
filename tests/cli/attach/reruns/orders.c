/* A graph of two branches, c += b and b += a, which have to run in this order or the other: orders CASE [correct].
 * Prints what memory holds at the end, as it is after the right order. */
#include "tests/cli/attach/programs/program.h"

enum { CHAIN = 100, LARGE = 3 << 20, MANY = 600 };

static float *a, *b, *c, *other, *last;
static cudaStream_t one, two;

static void write_b(void)
{
    CUDA(launch(&b, &a, one));
}

static void read_b(void)
{
    CUDA(launch(&c, &b, two));
}

static void clear_b(void)
{
    CUDA(cudaMemsetAsync(b, 0, BYTES, two));
}

static void copy_b(void)
{
    CUDA(cudaMemcpyAsync(c, b, BYTES, cudaMemcpyDeviceToDevice, two));
}

/* What two streams add, as by atomics: the kernels run one after the other. */
static void add_to_b(void)
{
    CUDA(launch(&b, &c, two));
}

static void chain(cudaStream_t stream, int nodes)
{
    float **y = stream == one ? &last : &other;
    for (int i = 0; i < nodes; i++)
        CUDA(launch(y, y, stream));
}

/* The branches with what follows them on the second stream, behind a wait or not. */
static void fork_branches(const char *what, bool correct, void (*second)(void))
{
    wait_for(two, one);
    if (is_case(what, "chains"))
        chain(two, CHAIN);
    write_b();
    if (correct)
        wait_for(two, one);
    if (is_case(what, "chains"))
        chain(one, CHAIN);
    second();
    wait_for(one, two);
}

static void add_child(bool correct, cudaGraph_t graph)
{
    cudaGraph_t child;
    cudaGraphNode_t node;
    CUDA(cudaStreamBeginCapture(one, cudaStreamCaptureModeRelaxed));
    fork_branches("child", correct, read_b);
    CUDA(cudaStreamEndCapture(one, &child));
    CUDA(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    CUDA(cudaGraphDestroy(child));
}

static void add_memory_nodes(void)
{
    float *memory;
    CUDA(cudaMallocAsync((void **)&memory, BYTES, one));
    CUDA(cudaFreeAsync(memory, one));
}

static void capture(const char *what, bool correct, cudaGraph_t *graph)
{
    if (is_case(what, "child")) {
        CUDA(cudaGraphCreate(graph, 0));
        add_child(correct, *graph);
        return;
    }
    CUDA(cudaStreamBeginCapture(one, cudaStreamCaptureModeRelaxed));
    if (is_case(what, "memory-nodes"))
        add_memory_nodes();
    fork_branches(what, correct,
                  is_case(what, "write")  ? clear_b
                  : is_case(what, "copy") ? copy_b
                  : is_case(what, "sums") ? add_to_b
                                          : read_b);
    CUDA(cudaStreamEndCapture(one, graph));
}

static void fill(float *at, float value, size_t floats)
{
    float *host = malloc(floats * sizeof *host);
    if (host == NULL)
        exit(3);
    for (size_t i = 0; i < floats; i++)
        host[i] = value;
    CUDA(cudaMemcpy(at, host, floats * sizeof *host, cudaMemcpyHostToDevice));
    free(host);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "read";
    bool correct = argc > 2 && is_case(argv[2], "correct");
    float held[3];
    size_t bytes = is_case(what, "large") ? LARGE : BYTES;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&a, bytes));
    CUDA(cudaMalloc((void **)&b, bytes));
    CUDA(cudaMalloc((void **)&c, bytes));
    CUDA(cudaMalloc((void **)&other, bytes));
    CUDA(cudaMalloc((void **)&last, bytes));
    fill(a, is_case(what, "sums") ? 0.3F : 1, FLOATS);
    fill(b, is_case(what, "sums") ? 10.3F : 10, FLOATS);
    fill(c, is_case(what, "sums") ? 100.7F : 100, FLOATS);
    fill(other, 0, FLOATS);
    fill(last, 0, FLOATS);
    capture(what, correct, &graph);
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    if (is_case(what, "beside-capture"))
        CUDA(cudaStreamBeginCapture(two, cudaStreamCaptureModeRelaxed));
    for (int i = is_case(what, "many") ? MANY : 2; i > 0; i--)
        CUDA(cudaGraphLaunch(exec, one));
    if (is_case(what, "beside-capture")) {
        CUDA(cudaStreamEndCapture(two, &graph));
        CUDA(cudaGraphDestroy(graph));
    }
    CUDA(cudaStreamSynchronize(one));
    for (int i = 0; i < 3; i++)
        CUDA(cudaMemcpy(&held[i], (float *[]){a, b, c}[i], sizeof *held, cudaMemcpyDeviceToHost));
    printf("%g %g %g\n", (double)held[0], (double)held[1], (double)held[2]);
    CUDA(cudaGraphExecDestroy(exec));
    return 0;
}
