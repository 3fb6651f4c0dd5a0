/* Bodies that attract each other, in whole numbers: a graph of one kernel takes them from one buffer to the other, and
 * its parameters exchange the buffers before the next launch. */
#include "program.h"

enum { BODIES = 96, THREADS = 32, STEPS = 24 };

struct body {
    int x, y, dx, dy;
};

__host__ __device__ inline int sign(int value)
{
    return (value > 0) - (value < 0);
}

/* The force has the same size at any distance, so that no rounding is needed. */
__host__ __device__ inline body move(const body *all, int me)
{
    body moved = all[me];
    for (int i = 0; i < BODIES; i++) {
        moved.dx += sign(all[i].x - all[me].x);
        moved.dy += sign(all[i].y - all[me].y);
    }
    moved.x += moved.dx;
    moved.y += moved.dy;
    return moved;
}

/* A block reads all bodies, one tile after the other. */
__global__ void step(body *next, const body *now)
{
    __shared__ body all[BODIES];
    for (int i = static_cast<int>(threadIdx.x); i < BODIES; i += THREADS)
        all[i] = now[i];
    __syncthreads();
    next[thread_index()] = move(all, thread_index());
}

static void set_buffers(cudaGraphExec_t exec, cudaGraphNode_t node, body *next, body *now)
{
    void *arguments[] = {&next, &now};
    const cudaKernelNodeParams params = kernel_params(step, BODIES / THREADS, THREADS, arguments);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
}

static void step_on_host(body *bodies)
{
    body next[BODIES];
    for (int i = 0; i < BODIES; i++)
        next[i] = move(bodies, i);
    for (int i = 0; i < BODIES; i++)
        bodies[i] = next[i];
}

int main()
{
    cudaStream_t stream = make_stream();
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    body bodies[BODIES], found[BODIES], *now = allocate<body>(BODIES), *next = allocate<body>(BODIES);
    void *arguments[] = {&next, &now};
    for (int i = 0; i < BODIES; i++)
        bodies[i] = {i * 7919 % 2003, i * 104729 % 1999, i % 5 - 2, i % 3 - 1};
    CHECK(cudaMemcpyAsync(now, bodies, sizeof bodies, cudaMemcpyHostToDevice, stream));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams params = kernel_params(step, BODIES / THREADS, THREADS, arguments);
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 1; i <= STEPS; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
        std::swap(now, next);
        set_buffers(exec, node, next, now);
        step_on_host(bodies);
        if (i % 8 != 0)
            continue;
        CHECK(cudaMemcpyAsync(found, now, sizeof found, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int k = 0; k < BODIES; k++) {
            EXPECT(found[k].x, bodies[k].x);
            EXPECT(found[k].y, bodies[k].y);
        }
        std::printf("step %d: first at (%d, %d), last at (%d, %d)\n", i, found[0].x, found[0].y, found[BODIES - 1].x,
                    found[BODIES - 1].y);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(now));
    CHECK(cudaFree(next));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
