/* nccl FILE CASE: a rank of two (RANK), which launches a graph with an all-reduce three times; rank 0 writes the job's
 * id into FILE. early   rank 1 launches it twice alone: rank 0 waits for it wrong   on rank 1 the graph uses memory
 * that was freed both    on both ranks it does all: all is well. */
#include <nccl.h>
#include <unistd.h>

#include "program.h"

#define NCCL(call)                                                                                                     \
    if ((call) != ncclSuccess) {                                                                                       \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #call);                                                     \
        exit(4);                                                                                                       \
    }

static int rank;

static void write_id(const char *path, ncclUniqueId *id)
{
    char made[4096];
    FILE *file;

    NCCL(ncclGetUniqueId(id));
    snprintf(made, sizeof made, "%s.new", path);
    file = fopen(made, "w");
    if (file == NULL || fwrite(id, sizeof *id, 1, file) != 1 || fclose(file) != 0 || rename(made, path) != 0)
        exit(5);
}

static void read_id(const char *path, ncclUniqueId *id)
{
    FILE *file = NULL;

    while ((file = fopen(path, "r")) == NULL)
        (void)usleep(10000);
    if (fread(id, sizeof *id, 1, file) != 1)
        exit(5);
    (void)fclose(file);
}

static cudaGraphExec_t capture(float *x, float *y, ncclComm_t comm, cudaStream_t stream)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA(launch_add(y, x, stream));
    NCCL(ncclAllReduce(y, y, FLOATS, ncclFloat, ncclSum, comm, stream));
    CUDA(launch_add(y, x, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
}

int main(int argc, char **argv)
{
    const char *way = argv[argc - 1];
    cudaGraphExec_t exec;
    cudaStream_t stream;
    ncclUniqueId id;
    ncclComm_t comm;
    float *x, *y;

    rank = atoi(getenv("RANK"));
    CUDA(cudaSetDevice(rank));
    if (rank == 0)
        write_id(argv[1], &id);
    else
        read_id(argv[1], &id);
    NCCL(ncclCommInitRank(&comm, 2, id, rank));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMalloc((void **)&y, BYTES));
    CUDA(cudaMemset(x, 0, BYTES));
    CUDA(cudaMemset(y, 0, BYTES));
    exec = capture(x, y, comm, stream);
    if (is_case(way, "both") || (rank == 1 && is_case(way, "wrong")))
        CUDA(cudaFree(x));
    for (int i = 0; i < 3; i++) {
        if (rank == 1 && i == 2 && is_case(way, "early"))
            (void)sleep(60);
        (void)cudaGraphLaunch(exec, stream);
        (void)cudaStreamSynchronize(stream);
    }
    printf("rank %d of %d\n", rank, 2);
    fflush(stdout);
    _exit(0);
}
