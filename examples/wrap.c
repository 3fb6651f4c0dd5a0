/* A program that captures streams itself asks breakgraph what is wrong with its graph. The bug is planted: the graph
 * copies from a local variable of a function that has returned. */
#include <breakgraph/breakgraph.h>
#include "kernels/model/kernels.h"
#include <stdio.h>
#include <string.h>

enum { N = 4 };

static bg_status check_cuda(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

/* x = 2 * weights, with plain CUDA calls only. The graph keeps the address of `weights`. */
__attribute__((noinline)) static cudaError_t capture_copy_and_scale(cudaGraph_t *graph, float *x, const float *pinned,
                                                                    cudaStream_t stream)
{
    const float weights[N] = {1, 2, 3, 4};
    const float *from = pinned != NULL ? pinned : weights;
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), ended;
    if (error != cudaSuccess)
        return error;
    error = cudaMemcpyAsync(x, from, sizeof weights, cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess)
        error = bgk_scale(x, x, 2, N, stream);
    ended = cudaStreamEndCapture(stream, graph);
    return error != cudaSuccess ? error : ended;
}

/* Writes the message up to its address, which differs from run to run. bg_report_write writes all of it. */
static void print_finding(const bg_finding *finding)
{
    const char *address = strstr(finding->message, ": 0x");
    size_t length = address != NULL ? (size_t)(address - finding->message) : strlen(finding->message);
    printf("  [%s] %.*s\n  %s\n", finding->kind, (int)length, finding->message, finding->advice);
}

/* The code that the program adds: it wraps the graph, runs the checks and lists the findings. */
static bg_status check_graph(const char *name, cudaGraph_t source)
{
    bg_graph *graph = NULL;
    bg_report *report = NULL;
    bg_status status = bg_graph_wrap(&graph, source, NULL, name);
    if (status == BG_OK)
        status = bg_check(graph, BG_CHECK_NODES | BG_CHECK_HOST_MEMORY, &report);
    if (status == BG_OK)
        printf("%s: %d finding%s\n", name, bg_report_count(report), bg_report_count(report) == 1 ? "" : "s");
    for (int i = 0; status == BG_OK && i < bg_report_count(report); i++) {
        bg_finding finding = BG_FINDING_INIT;
        status = bg_report_get(report, i, &finding);
        if (status == BG_OK)
            print_finding(&finding);
    }
    bg_report_destroy(report);
    bg_graph_destroy(graph); /* the program still owns source */
    return status;
}

int main(void)
{
    cudaStream_t stream = NULL;
    cudaGraph_t source = NULL, fixed = NULL;
    float *x = NULL, *pinned = NULL;
    bg_status status = check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (status == BG_OK)
        status = check_cuda(cudaMalloc((void **)&x, N * sizeof *x));
    if (status == BG_OK)
        status = check_cuda(cudaMallocHost((void **)&pinned, N * sizeof *pinned));
    if (status == BG_OK)
        status = check_cuda(capture_copy_and_scale(&source, x, NULL, stream));
    if (status == BG_OK)
        status = check_graph("step", source);
    if (status == BG_OK)
        status = check_cuda(capture_copy_and_scale(&fixed, x, pinned, stream));
    if (status == BG_OK)
        status = check_graph("step, fixed", fixed);
    if (status != BG_OK)
        fprintf(stderr, "%s: %s %s\n", bg_status_name(status), bg_last_error(),
                cudaGetErrorString(cudaPeekAtLastError()));
    if (source != NULL)
        cudaGraphDestroy(source);
    if (fixed != NULL)
        cudaGraphDestroy(fixed);
    cudaFreeHost(pinned);
    cudaFree(x);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return status != BG_OK;
}
