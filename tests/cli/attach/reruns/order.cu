/* A program that knows nothing of breakgraph, in whose graph two branches meet in each of twelve layers. It computes
 * the same without a graph first, and ends with 1 if the graph's result is another one. order WHAT [LAUNCHES]: what is
 * wrong. ORDER_NAME: the graph's name. */
#include <breakgraph/attach.h>

#include "kernels/device.h"
#include "tests/cli/attach/programs/cuda_check.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

enum { N = 1 << 10, LAYERS = 12, BYTES = N * sizeof(unsigned) };

__global__ void project(unsigned *y, const unsigned *x, unsigned more)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] * 31 + more;
}

__global__ void combine(unsigned *y, const unsigned *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = (y[i] << 7 | y[i] >> 25) ^ x[i];
}

static const dim3 blocks(N / 64), threads(64);
static cudaStream_t stream, side;
static cudaEvent_t forked, joined;
static unsigned *state, *branch, *input, *other;

/* From the state to one branch, in streams of its own; the state goes on, and gets the branch. twice: a second part
 * comes behind the first one on its branch, and behind the combination with that. */
__attribute__((noinline)) static void run_layer(int layer, bool joins, bool twice, const unsigned *from)
{
    unsigned *part = branch + static_cast<size_t>(layer) * N, *second = branch + static_cast<size_t>(LAYERS) * N;
    CUDA(cudaEventRecord(forked, stream));
    CUDA(cudaStreamWaitEvent(side, forked, 0));
    project<<<blocks, threads, 0, side>>>(part, from, layer + 1u);
    project<<<blocks, threads, 0, side>>>(part, part, layer + 2u);
    if (twice)
        project<<<blocks, threads, 0, side>>>(second, from, layer + 4u);
    CUDA(cudaEventRecord(joined, side));
    if (joins)
        CUDA(cudaStreamWaitEvent(stream, joined, 0));
    combine<<<blocks, threads, 0, stream>>>(state, part);
    if (twice)
        combine<<<blocks, threads, 0, stream>>>(state, second);
    project<<<blocks, threads, 0, stream>>>(state, state, layer + 3u);
}

static void run_layers(const std::string &what, bool correct)
{
    CUDA(cudaMemcpyAsync(state, input, BYTES, cudaMemcpyDeviceToDevice, stream));
    for (int layer = 0; layer < LAYERS; layer++) {
        bool twice = what == "twice" && layer == 7;
        bool joins =
            correct || !(twice || (what == "join" && layer == 7) || (what == "joins" && (layer == 3 || layer == 9)) ||
                         (what == "first" && layer == 0) || (what == "last" && layer == LAYERS - 2));
        bool wrong = !correct && what == "pointer" && layer == 5;
        run_layer(layer, joins, twice, wrong ? other : input);
    }
    CUDA(cudaMemsetAsync(branch, 0, (LAYERS + 1) * BYTES, stream));
}

static std::vector<unsigned> read_state(void)
{
    std::vector<unsigned> host(N);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(host.data(), state, BYTES, cudaMemcpyDeviceToHost));
    return host;
}

static void prepare(void)
{
    std::vector<unsigned> host(N);
    for (unsigned i = 0; i < N; i++)
        host[i] = i * 2654435761u;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    for (unsigned **buffer : {&state, &input, &other})
        CUDA(cudaMalloc(reinterpret_cast<void **>(buffer), BYTES));
    CUDA(cudaMalloc(reinterpret_cast<void **>(&branch), (LAYERS + 1) * BYTES));
    CUDA(cudaMemset(branch, 0, (LAYERS + 1) * BYTES));
    CUDA(cudaMemset(other, 1, BYTES));
    CUDA(cudaMemcpy(input, host.data(), BYTES, cudaMemcpyHostToDevice));
}

int main(int argc, char **argv)
{
    const std::string what = argc > 1 ? argv[1] : "correct";
    const int launches = argc > 2 ? atoi(argv[2]) : 20;
    std::vector<unsigned> wanted;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    int wrong = 0;

    prepare();
    run_layers(what, true);
    wanted = read_state();
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    run_layers(what, false);
    CUDA(cudaStreamEndCapture(stream, &graph));
    if (getenv("ORDER_NAME") != nullptr)
        (void)bg_attach_name_next(getenv("ORDER_NAME"));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < launches; i++) {
        CUDA(cudaGraphLaunch(exec, stream));
        wrong += read_state() != wanted;
    }
    printf("%s\n", wrong > 0 ? "wrong" : "right");
    return wrong > 0 || what == "always";
}
