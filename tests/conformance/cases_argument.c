/* Conformance: arguments that make no sense. */
#include "cases.h"

CASE(begin_bad_mode, {
    ASK(cudaStreamBeginCapture(s->a, (enum cudaStreamCaptureMode)7));
    STATUS(s->a);
});

CASE(end_without_place, {
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph = NULL;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP(cudaStreamGetCaptureInfo(s->a, &status, NULL, &graph, NULL, NULL, NULL));
    STEP_AS(CASE_HOLD("graph"), case_hold(graph));
    ASK(cudaStreamEndCapture(s->a, NULL));
    STATUS(s->a);
    bool destroyed = case_held_is_destroyed();
    ANSWERED("the graph was destroyed", destroyed);
    END(s->a);
    s->graph = destroyed ? NULL : graph;
});

CASE(status_without_place, { ASK(cudaStreamIsCapturing(s->a, NULL)); });

CASE(info_without_place, { ASK(cudaStreamGetCaptureInfo(s->a, NULL, NULL, NULL, NULL, NULL, NULL)); });

CASE(exchange_bad_mode, {
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)7;
    ASK(cudaThreadExchangeStreamCaptureMode(&mode));
});

CASE(update_null_nodes, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamUpdateCaptureDependencies(s->a, NULL, NULL, 1, cudaStreamSetCaptureDependencies));
    STATUS(s->a);
    END(s->a);
});

CASE(update_bad_flag, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamUpdateCaptureDependencies(s->a, NULL, NULL, 0, 9));
    STATUS(s->a);
    END(s->a);
});

CASE(into_no_graph, {
    ASK(cudaStreamBeginCaptureToGraph(s->a, NULL, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal));
    STATUS(s->a);
});

CASE(into_graph_null_nodes, {
    STEP(cudaGraphCreate(&s->other, 0));
    ASK(cudaStreamBeginCaptureToGraph(s->a, s->other, NULL, NULL, 1, cudaStreamCaptureModeThreadLocal));
    STATUS(s->a);
});

CASE(into_graph_bad_mode, {
    STEP(cudaGraphCreate(&s->other, 0));
    ASK(cudaStreamBeginCaptureToGraph(s->a, s->other, NULL, NULL, 0, (enum cudaStreamCaptureMode)7));
    STATUS(s->a);
});

static const struct case_rule rules[] = {
    {&begin_bad_mode, "Begin in a mode that does not exist:"},
    {&end_without_place, "End without a place for the graph:"},
    {&status_without_place, "Status without a place for it:"},
    {&info_without_place, "Information without a place for the status:"},
    {&exchange_bad_mode, "Exchange for a mode that does not exist; without any mode, the call crashes:"},
    {&update_null_nodes, "Dependencies that are NULL, but counted:"},
    {&update_bad_flag, "Neither set nor add:"},
    {&into_no_graph, "Capture into no graph:"},
    {&into_graph_null_nodes, "Capture into a graph, after nodes that are NULL, but counted:"},
    {&into_graph_bad_mode, "Capture into a graph in a mode that does not exist:"},
};

const struct case_topic topic_argument = CASE_TOPIC("Arguments", "What the capture functions say to mistakes.", rules);
