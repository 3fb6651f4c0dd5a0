/* Memory of three dimensions: a fill of the whole, copies of boxes within it on a stream, and by a node whose box is
 * another one each time that the graph is made executable. */
#include "program.h"

#include <cstring>

enum { WIDTH = 10, HEIGHT = 6, DEPTH = 4, CELLS = WIDTH * HEIGHT * DEPTH };

/* Adds 1000 to each cell; the host compares with what it has added itself. */
__global__ void add_thousand(cudaPitchedPtr box)
{
    char *row = static_cast<char *>(box.ptr) + (blockIdx.y * box.ysize + blockIdx.x) * box.pitch;
    reinterpret_cast<int *>(row)[threadIdx.x] += 1000;
}

static cudaPitchedPtr on_host(int *cells)
{
    return make_cudaPitchedPtr(cells, WIDTH * sizeof(int), WIDTH, HEIGHT);
}

/* A box of 4 x 3 x 2 cells. */
static cudaMemcpy3DParms small_box(cudaPitchedPtr to, cudaPos to_pos, cudaPitchedPtr from, cudaPos from_pos)
{
    cudaMemcpy3DParms params = {};
    params.dstPtr = to;
    params.dstPos = make_cudaPos(to_pos.x * sizeof(int), to_pos.y, to_pos.z);
    params.srcPtr = from;
    params.srcPos = make_cudaPos(from_pos.x * sizeof(int), from_pos.y, from_pos.z);
    params.extent = make_cudaExtent(4 * sizeof(int), 3, 2);
    params.kind = cudaMemcpyDefault;
    return params;
}

/* The same copy by the host. */
static void copy_cells(int *to, cudaPos to_pos, const int *from, cudaPos from_pos)
{
    for (std::size_t i = 0; i < 2 * 3 * 4; i++) {
        const std::size_t x = i % 4, y = i / 4 % 3, z = i / 12;
        to[((to_pos.z + z) * HEIGHT + to_pos.y + y) * WIDTH + to_pos.x + x] =
            from[((from_pos.z + z) * HEIGHT + from_pos.y + y) * WIDTH + from_pos.x + x];
    }
}

static void expect_cells(const char *name, cudaPitchedPtr box, cudaStream_t stream, const int *wanted)
{
    int found[CELLS];
    long long sum = 0;
    cudaMemcpy3DParms params = {};
    params.dstPtr = on_host(found);
    params.srcPtr = box;
    params.extent = make_cudaExtent(WIDTH * sizeof(int), HEIGHT, DEPTH);
    params.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&params, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < CELLS; i++) {
        EXPECT(found[i], wanted[i]);
        sum += found[i];
    }
    std::printf("%s: sum %lld\n", name, sum);
}

int main()
{
    cudaStream_t stream = make_stream();
    const cudaExtent extent = make_cudaExtent(WIDTH * sizeof(int), HEIGHT, DEPTH);
    cudaPitchedPtr box;
    cudaGraph_t graph;
    cudaGraphNode_t copy, kernel;
    int *numbers = allocate_pinned<int>(CELLS), wanted[CELLS];
    void *arguments[] = {&box};
    CHECK(cudaMalloc3D(&box, extent));
    for (int i = 0; i < CELLS; i++)
        numbers[i] = i;

    std::memset(wanted, 1, sizeof wanted);
    CHECK(cudaMemset3DAsync(box, 1, extent, stream));
    expect_cells("filled", box, stream, wanted);

    cudaMemcpy3DParms params = small_box(box, make_cudaPos(5, 2, 1), on_host(numbers), make_cudaPos(0, 1, 2));
    CHECK(cudaMemcpy3DAsync(&params, stream));
    copy_cells(wanted, make_cudaPos(5, 2, 1), numbers, make_cudaPos(0, 1, 2));
    expect_cells("with a box", box, stream, wanted);

    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode(&copy, graph, nullptr, 0, &params));
    cudaKernelNodeParams add = kernel_params(add_thousand, dim3(HEIGHT, DEPTH), WIDTH, arguments);
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &copy, 1, &add));
    for (std::size_t i = 0; i < 3; i++) {
        const cudaPos to = make_cudaPos(2 * i, i, i), from = make_cudaPos(6 - i, 3, 0);
        params = small_box(box, to, on_host(numbers), from);
        cudaGraphExec_t exec;
        CHECK(cudaGraphMemcpyNodeSetParams(copy, &params));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaGraphExecDestroy(exec));
        copy_cells(wanted, to, numbers, from);
        for (int &cell : wanted)
            cell += 1000;
        expect_cells("moved by a graph", box, stream, wanted);
    }
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(box.ptr));
    CHECK(cudaFreeHost(numbers));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
