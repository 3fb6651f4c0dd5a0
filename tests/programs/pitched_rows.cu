/* Matrices whose rows are padded: copies between rows of different lengths, a kernel that transposes, and a graph with
 * copies and a memset of a part of the matrix. */
#include "program.h"

enum { WIDTH = 20, HEIGHT = 12, HOST_WIDTH = 24 };

struct matrix {
    char *rows;
    std::size_t pitch;
};

static matrix allocate_matrix(int width, int height)
{
    matrix made;
    void *memory;
    CHECK(cudaMallocPitch(&memory, &made.pitch, width * sizeof(int), height));
    made.rows = static_cast<char *>(memory);
    EXPECT(made.pitch >= width * sizeof(int), true);
    return made;
}

__device__ static int *cell(matrix m, int row, int column)
{
    return reinterpret_cast<int *>(m.rows + row * m.pitch) + column;
}

__global__ void transpose(matrix to, matrix from)
{
    const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.x);
    *cell(to, column, row) = *cell(from, row, column);
}

/* Rows 2 to 4 and columns 3 to 8 of the matrix become 0x05050505. */
static cudaGraphNode_t add_memset(cudaGraph_t graph, cudaGraphNode_t after, matrix m)
{
    cudaGraphNode_t node;
    cudaMemsetParams params = {};
    params.dst = m.rows + 2 * m.pitch + 3 * sizeof(int);
    params.pitch = m.pitch;
    params.value = 5;
    params.elementSize = 1;
    params.width = 6 * sizeof(int);
    params.height = 3;
    CHECK(cudaGraphAddMemsetNode(&node, graph, &after, 1, &params));
    return node;
}

static cudaGraphNode_t add_copy(cudaGraph_t graph, cudaGraphNode_t after, cudaPitchedPtr to, cudaPitchedPtr from,
                                int width, int height)
{
    cudaGraphNode_t node;
    cudaMemcpy3DParms params = {};
    params.dstPtr = to;
    params.srcPtr = from;
    params.extent = make_cudaExtent(width * sizeof(int), height, 1);
    params.kind = cudaMemcpyDefault;
    CHECK(cudaGraphAddMemcpyNode(&node, graph, &after, after != nullptr, &params));
    return node;
}

static cudaGraphExec_t make_graph(matrix m, matrix turned, int (*in)[HOST_WIDTH], int (*out)[HEIGHT])
{
    cudaGraph_t graph;
    cudaGraphNode_t turn;
    void *arguments[] = {&turned, &m};
    CHECK(cudaGraphCreate(&graph, 0));
    const cudaGraphNode_t copied = add_copy(graph, nullptr, make_cudaPitchedPtr(m.rows, m.pitch, WIDTH, HEIGHT),
                                            make_cudaPitchedPtr(in, sizeof *in, HOST_WIDTH, HEIGHT), WIDTH, HEIGHT);
    const cudaGraphNode_t set = add_memset(graph, copied, m);
    const cudaKernelNodeParams kernel = kernel_params(transpose, HEIGHT, WIDTH, arguments);
    CHECK(cudaGraphAddKernelNode(&turn, graph, &set, 1, &kernel));
    add_copy(graph, turn, make_cudaPitchedPtr(out, sizeof *out, HEIGHT, WIDTH),
             make_cudaPitchedPtr(turned.rows, turned.pitch, HEIGHT, WIDTH), HEIGHT, WIDTH);
    return instantiate(graph);
}

int main()
{
    cudaStream_t stream = make_stream();
    matrix m = allocate_matrix(WIDTH, HEIGHT), turned = allocate_matrix(HEIGHT, WIDTH);
    int(*in)[HOST_WIDTH] = reinterpret_cast<int(*)[HOST_WIDTH]>(allocate_pinned<int>(HEIGHT * HOST_WIDTH));
    int(*out)[HEIGHT] = reinterpret_cast<int(*)[HEIGHT]>(allocate_pinned<int>(WIDTH * HEIGHT));
    for (int i = 0; i < HEIGHT * HOST_WIDTH; i++)
        in[i / HOST_WIDTH][i % HOST_WIDTH] = i;

    CHECK(cudaMemcpy2DAsync(m.rows, m.pitch, in, sizeof *in, WIDTH * sizeof(int), HEIGHT, cudaMemcpyDefault, stream));
    transpose<<<HEIGHT, WIDTH, 0, stream>>>(turned, m);
    CHECK(cudaMemcpy2DAsync(out, sizeof *out, turned.rows, turned.pitch, HEIGHT * sizeof(int), WIDTH, cudaMemcpyDefault,
                            stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        EXPECT(out[i / HEIGHT][i % HEIGHT], in[i % HEIGHT][i / HEIGHT]);
    std::printf("on a stream: %d %d ... %d\n", out[0][0], out[0][1], out[WIDTH - 1][HEIGHT - 1]);

    cudaGraphExec_t exec = make_graph(m, turned, in, out);
    in[HEIGHT - 1][WIDTH - 1] = -1;
    launch_and_wait(exec, stream);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        const int row = i % HEIGHT, column = i / HEIGHT;
        const bool is_set = row >= 2 && row < 5 && column >= 3 && column < 9;
        EXPECT(out[column][row], is_set ? 0x05050505 : in[row][column]);
    }
    std::printf("as a graph: %d %d %x ... %d\n", out[0][0], out[0][1], static_cast<unsigned>(out[3][2]),
                out[WIDTH - 1][HEIGHT - 1]);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(m.rows));
    CHECK(cudaFree(turned.rows));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
