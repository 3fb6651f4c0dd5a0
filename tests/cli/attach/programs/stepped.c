/* A graph of a host function and of y += x, which is NaN. stepped WHAT [DIRECTORY]: what the host function does, or
 * what is done before the launch. */
#include "program.h"

#include <breakgraph/attach.h>
#include <math.h>
#include <time.h>

static const char *what, *directory;
static cudaGraphExec_t exec;

static void name_it(void)
{
    if (bg_attached())
        printf("named: %s\n", bg_attach_name_graph(exec, "decode") == BG_OK ? "yes" : bg_attach_last_error());
}

static void run_host_function(void *unused)
{
    (void)unused;
    if (is_case(what, "no-directory") && directory != NULL) {
        char away[256];
        snprintf(away, sizeof away, "%s.away", directory);
        if (rename(directory, away) != 0)
            perror(directory);
    }
    if (is_case(what, "name-within"))
        name_it();
    if (is_case(what, "slow"))
        (void)nanosleep(&(struct timespec){10, 500000000}, NULL);
}

int main(int argc, char **argv)
{
    float host[FLOATS], *x, *y;
    cudaStream_t stream;
    cudaGraph_t graph;

    what = argc > 1 ? argv[1] : "correct";
    directory = argc > 2 ? argv[2] : NULL;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMalloc((void **)&y, BYTES));
    for (int i = 0; i < FLOATS; i++)
        host[i] = i == 7 ? INFINITY : 1;
    CUDA(cudaMemcpy(x, host, BYTES, cudaMemcpyHostToDevice));
    host[7] = -INFINITY;
    CUDA(cudaMemcpy(y, host, BYTES, cudaMemcpyHostToDevice));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA(cudaLaunchHostFunc(stream, run_host_function, NULL));
    CUDA(launch(&y, &x, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    if (is_case(what, "name-before"))
        name_it();
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(host, y, BYTES, cudaMemcpyDeviceToHost));
    printf("sum %g, %s\n", (double)host[6], isnan(host[7]) ? "NaN" : "no NaN");
    return 0;
}
