/* plain.c with breakgraph's checks: two lines after each cudaStreamEndCapture. Nothing else changes. */
#include <breakgraph/breakgraph.h>
#include "step.h"

/* Contains the two lines, and reports their findings. */
static bg_status check_graph(cudaGraph_t source, const char *name)
{
    bg_graph *graph = NULL;
    bg_report *report = NULL;
    bg_status status = bg_graph_wrap(&graph, source, NULL, name); /* line 1 */
    if (status == BG_OK)
        status = bg_check(graph, BG_CHECK_ALL, &report); /* line 2 */
    if (status == BG_OK)
        fprintf(stderr, "%s: %d findings\n", name, bg_report_count(report));
    if (status == BG_OK && bg_report_count(report) > 0)
        status = bg_report_write(report, BG_TEXT, "-");
    if (status != BG_OK)
        fprintf(stderr, "%s: %s\n", name, bg_last_error());
    bg_report_destroy(report);
    bg_graph_destroy(graph); /* the program still owns source */
    return status;
}

static cudaError_t capture_part(cudaError_t (*part)(const model *m), const model *m, const char *name,
                                cudaGraphExec_t *exec)
{
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamBeginCapture(m->stream, cudaStreamCaptureModeThreadLocal), ended;
    if (error != cudaSuccess)
        return error;
    error = part(m);
    ended = cudaStreamEndCapture(m->stream, &graph);
    TRY(error != cudaSuccess ? error : ended);
    (void)check_graph(graph, name);
    TRY(cudaGraphInstantiate(exec, graph, 0));
done:
    if (graph != NULL)
        cudaGraphDestroy(graph);
    return error;
}

int main(void)
{
    cudaGraphExec_t first = NULL, second = NULL;
    model m = {NULL, NULL, NULL};
    cudaError_t error;
    TRY(create_model(&m));
    TRY(capture_part(first_half, &m, "first half", &first));
    TRY(capture_part(second_half, &m, "second half", &second));
    for (int step = 0; step < STEPS; step++) {
        TRY(cudaGraphLaunch(first, m.stream));
        TRY(decide(&m));
        TRY(cudaGraphLaunch(second, m.stream));
        TRY(print_step(&m, step));
    }
done:
    if (first != NULL)
        cudaGraphExecDestroy(first);
    if (second != NULL)
        cudaGraphExecDestroy(second);
    destroy_model(&m);
    return error != cudaSuccess;
}
