/* Jacobi's method for a system of linear equations: each iteration is a launch of one executable graph, whose vectors
 * are exchanged before by new parameters of its kernels, or by an update from a graph captured anew. */
#include "program.h"

#include <cmath>

enum { N = 64, MOST = 200 };

__global__ void iterate(double *next, const double *x, const double *a, const double *b)
{
    const int row = static_cast<int>(threadIdx.x);
    double sum = b[row];
    for (int i = 0; i < N; i++)
        if (i != row)
            sum -= a[row * N + i] * x[i];
    next[row] = sum / a[row * N + row];
}

__global__ void measure(double *change, const double *next, const double *x)
{
    __shared__ double cell[N];
    const int me = static_cast<int>(threadIdx.x);
    cell[me] = fabs(next[me] - x[me]);
    __syncthreads();
    for (int half = N / 2; half > 0; half /= 2) {
        if (me < half)
            cell[me] += cell[me + half];
        __syncthreads();
    }
    if (me == 0)
        *change = cell[0];
}

struct work {
    double *a, *b, *x, *next, *change, *change_on_host;
};

static void exchange(work *w)
{
    std::swap(w->x, w->next);
}

static cudaGraph_t capture(const work &w, cudaStream_t stream)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    iterate<<<1, N, 0, stream>>>(w.next, w.x, w.a, w.b);
    measure<<<1, N, 0, stream>>>(w.change, w.next, w.x);
    CHECK(cudaMemcpyAsync(w.change_on_host, w.change, sizeof(double), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static void update_from_capture(cudaGraphExec_t exec, const work &w, cudaStream_t stream)
{
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t graph = capture(w, stream);
    CHECK(cudaGraphExecUpdate(exec, graph, &info));
    CHECK(cudaGraphDestroy(graph));
}

static void set_vectors(cudaGraphExec_t exec, cudaGraph_t graph, work w)
{
    cudaGraphNode_t iteration, measurement;
    std::size_t count = 1;
    void *arguments[] = {&w.next, &w.x, &w.a, &w.b}, *measured[] = {&w.change, &w.next, &w.x};
    CHECK(cudaGraphGetRootNodes(graph, &iteration, &count));
    CHECK(cudaGraphNodeGetDependentNodes(iteration, &measurement, nullptr, &count));
    cudaKernelNodeParams params = kernel_params(iterate, 1, N, arguments);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, iteration, &params));
    params = kernel_params(measure, 1, N, measured);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, measurement, &params));
}

/* The solution is row % 7 - 3, and each row's diagonal outweighs the rest of it. */
static void fill_system(const work &w)
{
    static double a[N * N], b[N];
    for (int row = 0; row < N; row++) {
        b[row] = 0;
        for (int i = 0; i < N; i++) {
            a[row * N + i] = i == row ? 4.0 * N : 1 + (row * 5 + i * 3) % 4;
            b[row] += a[row * N + i] * (i % 7 - 3);
        }
    }
    CHECK(cudaMemcpy(w.a, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(w.b, b, sizeof b, cudaMemcpyHostToDevice));
}

static void solve(const char *name, work w, cudaStream_t stream, bool captures)
{
    cudaGraphExec_t exec;
    double x[N], largest = 0;
    int iterations = 0;
    CHECK(cudaMemset(w.x, 0, N * sizeof(double)));
    CHECK(cudaDeviceSynchronize());
    cudaGraph_t graph = capture(w, stream);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    do {
        launch_and_wait(exec, stream);
        exchange(&w);
        if (captures)
            update_from_capture(exec, w, stream);
        else
            set_vectors(exec, graph, w);
    } while (++iterations<MOST && * w.change_on_host> 1e-9);
    CHECK(cudaMemcpy(x, w.x, sizeof x, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        largest = std::fmax(largest, std::fabs(x[i] - (i % 7 - 3)));
    EXPECT(largest < 1e-8, true);
    std::printf("%s: %d iterations, x = %.3f %.3f %.3f ... %.3f\n", name, iterations, x[0], x[1], x[2], x[N - 1]);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main()
{
    cudaStream_t stream = make_stream();
    work w = {allocate<double>(N * N), allocate<double>(N), allocate<double>(N),
              allocate<double>(N),     allocate<double>(1), allocate_pinned<double>(1)};
    fill_system(w);
    solve("new parameters", w, stream, false);
    solve("updates", w, stream, true);
    for (double *memory : {w.a, w.b, w.x, w.next, w.change})
        CHECK(cudaFree(memory));
    CHECK(cudaFreeHost(w.change_on_host));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
