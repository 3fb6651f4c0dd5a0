/* Conformance: what captured calls become, in the graph. */
#include "cases.h"

#include <stdlib.h>

static void CUDART_CB count_call(void *user)
{
    ++*(int *)user;
}

static void CUDART_CB callback(cudaStream_t stream, cudaError_t error, void *user)
{
    (void)stream, (void)error, (void)user;
}

CASE(kernel_node, {
    BEGIN(s->a, ThreadLocal);
    ASK_LAUNCH(s->a);
    END(s->a);
    NODE_TYPE();
});

CASE(copy_node, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, s->y, sizeof *s->x, cudaMemcpyHostToDevice, s->a));
    END(s->a);
    NODE_TYPE();
    *s->y = 3;
    VALUE("x after *y = 3 and a launch of the graph", case_run_graph(s));
});

CASE(pageable_copy_node, {
    int *host = calloc(1, sizeof *host);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, host, sizeof *s->x, cudaMemcpyHostToDevice, s->a));
    END(s->a);
    NODE_TYPE();
    *host = 11;
    VALUE("x after *host = 11 and a launch of the graph", case_run_graph(s));
    case_release(s);
    free(host);
});

CASE(copy_2d_node, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpy2DAsync(s->x, 4, s->y, 4, 4, 1, cudaMemcpyHostToDevice, s->a));
    END(s->a);
    NODE_TYPE();
});

CASE(copy_of_nothing, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, s->y, 0, cudaMemcpyHostToDevice, s->a));
    END(s->a);
});

CASE(fill_node, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(s->x, 1, sizeof *s->x, s->a));
    END(s->a);
    NODE_TYPE();
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(fill_of_nothing, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(s->x, 1, 0, s->a));
    END(s->a);
});

CASE(host_node, {
    *s->y = 0;
    BEGIN(s->a, ThreadLocal);
    ASK(cudaLaunchHostFunc(s->a, count_call, s->y));
    END(s->a);
    NODE_TYPE();
    VALUE("calls", *s->y);
    case_run_graph(s);
    VALUE("calls after a launch of the graph", *s->y);
});

CASE(callback_refused, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamAddCallback(s->a, callback, NULL, 0));
    STATUS(s->a);
    END(s->a);
});

CASE(callback_beside, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamAddCallback(s->b, callback, NULL, 0));
    STATUS(s->a);
    END(s->a);
});

CASE(graph_launch_refused, {
    case_step_call(s, &case_make_exec);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaGraphLaunch(s->exec, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(graph_launch_relaxed, {
    case_step_call(s, &case_make_exec);
    BEGIN(s->a, Relaxed);
    ASK(cudaGraphLaunch(s->exec, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(graph_upload_captured, {
    case_step_call(s, &case_make_exec);
    BEGIN(s->a, Relaxed);
    ASK(cudaGraphUpload(s->exec, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(work_elsewhere_runs, {
    BEGIN(s->a, Global);
    ASK_LAUNCH(s->b);
    ASK(cudaMemsetAsync(s->x, 0, sizeof *s->x, s->b));
    ASK(cudaMemcpyAsync(s->x, s->y, sizeof *s->x, cudaMemcpyHostToDevice, s->b));
    ASK_LAUNCH(s->b);
    ASK(cudaEventRecord(s->f, s->b));
    ASK(cudaStreamWaitEvent(s->c, s->f, 0));
    ASK_LAUNCH(s->c);
    STATUS(s->b);
    END(s->a);
    VALUE("x", case_read_x(s));
});

CASE(copy_reads_at_launch, {
    *s->y = 1;
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, s->y, sizeof *s->x, cudaMemcpyHostToDevice, s->a));
    *s->y = 2;
    END(s->a);
    VALUE("x after *y = 2 and a launch of the graph", case_run_graph(s));
});

CASE(exec_on_two_streams, {
    case_step_call(s, &case_make_exec);
    for (int i = 0; i < 3; i++) {
        ASK(cudaGraphLaunch(s->exec, s->a));
        ASK(cudaGraphLaunch(s->exec, s->b));
    }
    ASK(cudaStreamSynchronize(s->a));
    ASK(cudaStreamSynchronize(s->b));
    VALUE("x", case_read_x(s));
});

CASE(exec_destroyed_while_queued, {
    case_step_call(s, &case_make_exec);
    STEP(cudaGraphDestroy(s->other));
    s->other = NULL;
    ASK(cudaGraphLaunch(s->exec, s->a));
    ASK(cudaGraphExecDestroy(s->exec));
    s->exec = NULL;
    VALUE("x", case_read_x(s));
});

static const struct case_rule rules[] = {
    {&kernel_node, "A launch becomes a kernel node."},
    {&copy_node, "An asynchronous copy becomes a memcpy node, which reads its source at each launch."},
    {&copy_reads_at_launch,
     "What a memcpy node copies is what is there at the launch, not what was there at the capture."},
    {&pageable_copy_node,
     "Pageable host memory may be captured: the node keeps the address, and the program must keep the memory."},
    {&copy_2d_node, "A two-dimensional copy is one node, too."},
    {&copy_of_nothing, "A copy of no bytes succeeds, and becomes no node."},
    {&fill_node, "cudaMemsetAsync becomes a memset node."},
    {&fill_of_nothing, "A fill of no bytes becomes no node either."},
    {&host_node, "cudaLaunchHostFunc becomes a host node, called at each launch."},
    {&callback_refused, "cudaStreamAddCallback cannot be captured."},
    {&callback_beside, "On a stream outside the capture it is allowed."},
    {&graph_launch_refused,
     "A graph cannot be launched on a capturing stream: the launch fails and invalidates the capture."},
    {&graph_launch_relaxed, "Relaxed mode makes no difference."},
    {&graph_upload_captured, "Nor can a graph be uploaded there."},
    {&exec_on_two_streams,
     "One executable graph may be launched on several streams: CUDA runs the launches one after the other."},
    {&exec_destroyed_while_queued,
     "Graph and executable graph may be destroyed as soon as the launch has been issued."},
    {&work_elsewhere_runs, "Work on streams outside the capture runs as ever, in any mode."},
};

const struct case_topic topic_content =
    CASE_TOPIC("What becomes of a captured call",
               "Asynchronous work on a capturing stream becomes nodes; what cannot, is refused.", rules);
