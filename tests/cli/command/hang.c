/* hang CASE: a program of ops, one of them eager, whose third replay does not end.
 *   captured   a host function in a captured op waits
 *   later      the same behind the eager op, whose output a node of that segment writes back
 *   eager      the body of the eager op waits
 * slow: it ends after a while. */
#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 64 };

static const char *way;
static int replay;
static unsigned char *rows;

static bool is_case(const char *name)
{
    return strcmp(way, name) == 0;
}

static void wait_long(void)
{
    if (replay < 2)
        return;
    if (is_case("slow"))
        usleep(500000);
    else
        sleep(100);
}

static void wait_in_graph(void *unused)
{
    (void)unused;
    wait_long();
}

static bg_status checked(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

static bg_status copy(void *to, const void *from, bool waits, cudaStream_t stream)
{
    bg_status status = checked(cudaMemcpyAsync(to, from, BYTES, cudaMemcpyDeviceToDevice, stream));
    if (status == BG_OK && waits)
        status = checked(cudaLaunchHostFunc(stream, wait_in_graph, NULL));
    return status;
}

BG_OP(first, BG_IN(x), BG_OUT(y))
{
    return copy(args->y.data, args->x.data, is_case("captured") || is_case("slow"), stream);
}

/* Leaves its output elsewhere. */
BG_EAGER_OP(middle, BG_IN(x), BG_OUT(y))
{
    if (is_case("eager"))
        wait_long();
    args->y.data = rows + 3 * BYTES;
    return copy(args->y.data, args->x.data, false, stream);
}

BG_OP(last, BG_IN(x), BG_OUT(y))
{
    return copy(args->y.data, args->x.data, is_case("later"), stream);
}

static bg_tensor row(int index)
{
    return bg_tensor_1d(rows + (size_t)index * BYTES, BG_U8, BYTES);
}

static bg_status forward(void *user, cudaStream_t stream)
{
    bg_status status;
    (void)user;
    status = BG_CALL(first, stream, .x = row(0), .y = row(1));
    if (status == BG_OK)
        status = BG_CALL(middle, stream, .x = row(1), .y = row(2));
    if (status == BG_OK)
        status = BG_CALL(last, stream, .x = row(2), .y = row(4));
    return status;
}

int main(int argc, char **argv)
{
    bg_graph *graph = NULL;
    unsigned char seen = 0;
    cudaStream_t stream;
    bg_status status;

    way = argv[argc - 1];
    status = checked(cudaStreamCreate(&stream));
    if (status == BG_OK)
        status = checked(cudaMalloc((void **)&rows, (size_t)5 * BYTES));
    if (status == BG_OK)
        status = checked(cudaMemset(rows, 0, (size_t)5 * BYTES));
    if (status == BG_OK)
        status = bg_capture_forward(&graph, forward, NULL, stream, NULL);
    for (replay = 0; replay < 4 && status == BG_OK; replay++) {
        status = checked(cudaMemsetAsync(rows, replay + 1, BYTES, stream));
        if (status == BG_OK)
            status = bg_replay(graph, stream);
        if (status == BG_OK)
            status = checked(cudaStreamSynchronize(stream));
        if (status == BG_OK)
            status = checked(cudaMemcpy(&seen, rows + 4 * BYTES, 1, cudaMemcpyDeviceToHost));
        printf("replay %d: %d\n", replay, seen);
    }
    if (status != BG_OK)
        fprintf(stderr, "%s\n", bg_last_error());
    bg_graph_destroy(graph);
    return status == BG_OK ? 0 : 3;
}
