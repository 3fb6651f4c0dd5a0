/* Which nodes of a segment a captured call made, so that the tools can name the call that a node comes from.
 *
 * Counting nodes is slow: CUDA walks over the whole graph, and each call is marked twice, at its begin and end. So a
 * mark notes only the last nodes of the capture's streams. When the segment ends, marks become indices in
 * cudaGraphGetNodes' list, which is in order of creation. Nodes of a stream that is not a member count from where a
 * member has joined it. */
#include "capture/capture.h"

#include <stdlib.h>

/* A member of a call's record to set, and how many nodes had been seen at the mark. */
typedef struct mark {
    long *place;
    int seen;
} mark;

struct bg__marks {
    bg__capture_info info;
    mark *list;
    int count;
    size_t capacity;
    cudaGraphNode_t *seen; /* the last nodes of streams at marks, in order of marks */
    int seen_count;
    size_t seen_capacity;
};

/* *stood: the last node of the stream at the previous mark, if it was one node. A member that the program has destroyed
 * makes no more nodes. */
static bg_status note_frontier(bg__marks *marks, cudaStream_t stream, cudaGraphNode_t *stood, bool *active)
{
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode *nodes = NULL;
    size_t count = 0;
    CUresult result = marks->info(stream, &capturing, NULL, NULL, &nodes, NULL, &count);
    bg_status status = BG_OK;

    *active = result == CUDA_SUCCESS && capturing == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (result != CUDA_ERROR_INVALID_HANDLE)
        BG__TRY_DRIVER("cuStreamGetCaptureInfo", result);
    if (!*active || count == 0 || (count == 1 && nodes[0] == *stood))
        goto done;
    if (count > marks->seen_capacity - (size_t)marks->seen_count)
        BG__TRY(bg__grow(&marks->seen, &marks->seen_capacity, (size_t)marks->seen_count + count, sizeof *marks->seen,
                         "nodes"));
    for (size_t i = 0; i < count; i++)
        marks->seen[marks->seen_count++] = nodes[i];
    *stood = count == 1 ? nodes[0] : NULL;
done:
    return status;
}

static bg_status make_marks(bg__marks **marks)
{
    bg__capture_info info;
    bg_status status;

    BG__TRY(bg__driver_capture_info(&info));
    *marks = calloc(1, sizeof **marks);
    if (*marks == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the marks of nodes");
    (*marks)->info = info;
done:
    return status;
}

bg_status bg__mark(bg_capture *capture, long *place, bool *active)
{
    bg__marks *marks;
    bool member_active;
    bg_status status;

    *place = -1;
    *active = false;
    if (capture->marks == NULL)
        BG__TRY(make_marks(&capture->marks));
    marks = capture->marks;
    BG__TRY(note_frontier(marks, capture->origin, &capture->stood, active));
    for (int i = 0; i < capture->member_count && *active; i++)
        BG__TRY(note_frontier(marks, capture->members[i].stream, &capture->members[i].stood, &member_active));
    BG__TRY(BG__GROW(marks->list, marks->count, marks->capacity, "marks"));
    if (*active)
        marks->list[marks->count++] = (mark){place, marks->seen_count};
done:
    if (status != BG_OK)
        bg__fail_where("the nodes of segment %d", capture->graph->segment_count);
    return status;
}

/* The index of node in the list, searched from `last` on in both directions; -1: it has been removed. */
static long find_near(const cudaGraphNode_t *nodes, long count, cudaGraphNode_t node, long last)
{
    for (long away = 0; away <= last || last + away < count; away++) {
        if (last + away < count && nodes[last + away] == node)
            return last + away;
        if (away <= last && last - away < count && nodes[last - away] == node)
            return last - away;
    }
    return -1;
}

void bg__marks_settle(bg_capture *capture, const cudaGraphNode_t *nodes, size_t count, bg__trails trails,
                      const void *user)
{
    bg__marks *marks = capture->marks;
    long last = 0, end = 0;
    int seen = 0;

    if (marks == NULL)
        return;
    for (int i = 0; i < marks->count; i++) {
        for (; seen < marks->list[i].seen; seen++) {
            long next = last + (end > 0), place;
            place = next < (long)count && nodes[next] == marks->seen[seen]
                        ? next /* what a stream adds node by node */
                        : find_near(nodes, (long)count, marks->seen[seen], last);
            last = place >= 0 ? place : last;
            end = place + 1 > end ? place + 1 : end;
        }
        while (trails != NULL && end > 0 && end < (long)count && trails(user, nodes[end]))
            end++;
        *marks->list[i].place = end;
    }
    bg__marks_forget(capture);
}

void bg__marks_forget(bg_capture *capture)
{
    if (capture->marks != NULL)
        capture->marks->count = capture->marks->seen_count = 0;
    capture->stood = NULL;
    for (int i = 0; i < capture->member_count; i++)
        capture->members[i].stood = NULL;
}

void bg__marks_free(bg__marks *marks)
{
    if (marks == NULL)
        return;
    free(marks->list);
    free(marks->seen);
    free(marks);
}
