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
    {&begin_bad_mode, "A begin in a mode that does not exist is refused."},
    {&end_without_place, "An end without a place for the graph ends the capture all the same. The graph is not "
                         "destroyed: a program that has not asked for it before has lost it."},
    {&status_without_place, "The status needs a place to be written to."},
    {&info_without_place, "So do the other answers: without a place for the status there is none."},
    {&exchange_bad_mode, "An exchange takes a mode that does not exist; without any mode, the call crashes."},
    {&update_null_nodes, "Dependencies that are NULL, but counted, are refused; the capture is unharmed."},
    {&update_bad_flag, "So is a flag that is neither set nor add."},
    {&into_no_graph, "A capture into no graph is refused."},
    {&into_graph_null_nodes, "So is one after nodes that are NULL, but counted."},
    {&into_graph_bad_mode, "And one in a mode that does not exist."},
};

const struct case_topic topic_argument = CASE_TOPIC("Arguments", "What the capture functions say to mistakes.", rules);
