/* Which nodes of a segment a captured call made, so that the tools can name the call that a node comes from.
 *
 * CUDA counts a graph's nodes by walking over them, and a call is marked twice. So a mark is only what the streams of
 * the capture stand on, and becomes places in cudaGraphGetNodes' list, which is the order of their making, where the
 * segment ends. Nodes of a stream that the capture does not know count from where one that it knows has joined it. */
#include "capture/capture.h"

#include <stdlib.h>
#include <string.h>

/* A place in a call's record, and how many of the nodes seen so far lay before it. */
typedef struct mark {
    long *place;
    int seen;
} mark;

struct bg__marks {
    mark *list;
    int count;
    size_t capacity;
    cudaGraphNode_t *seen; /* what streams stood on at some mark, in order of marks */
    int seen_count;
    size_t seen_capacity;
};

/* *stood: the one node that the stream stood on when it was last looked at. A member that the program has destroyed
 * makes no more nodes. */
static bg_status note_frontier(bg__marks *marks, bg__capture_info info, cudaStream_t stream, cudaGraphNode_t *stood,
                               bool *active)
{
    CUstreamCaptureStatus capturing;
    const CUgraphNode *nodes = NULL;
    size_t count = 0;
    CUresult result = info(stream, &capturing, NULL, NULL, &nodes, NULL, &count);
    bg_status status = BG_OK;

    *active = false;
    if (result == CUDA_ERROR_INVALID_HANDLE)
        return BG_OK;
    BG__TRY_DRIVER("cuStreamGetCaptureInfo", result);
    *active = capturing == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (!*active || count == 0 || (count == 1 && nodes[0] == *stood))
        goto done;
    BG__TRY(
        bg__grow(&marks->seen, &marks->seen_capacity, (size_t)marks->seen_count + count, sizeof *marks->seen, "nodes"));
    memcpy(marks->seen + marks->seen_count, nodes, count * sizeof(cudaGraphNode_t));
    marks->seen_count += (int)count;
    *stood = count == 1 ? nodes[0] : NULL;
done:
    return status;
}

bg_status bg__mark(bg_capture *capture, long *place, bool *active)
{
    bg__marks *marks = capture->marks;
    bool member_active;
    bg__capture_info info;
    bg_status status;

    *place = -1;
    *active = false;
    if (marks == NULL)
        marks = capture->marks = calloc(1, sizeof *marks);
    if (marks == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the marks of nodes");
    BG__TRY(bg__driver_capture_info(&info));
    BG__TRY(note_frontier(marks, info, capture->origin, &capture->stood, active));
    for (int i = 0; i < capture->member_count && *active; i++)
        BG__TRY(note_frontier(marks, info, capture->members[i].stream, &capture->members[i].stood, &member_active));
    BG__TRY(BG__GROW(marks->list, marks->count, marks->capacity, "marks"));
    if (*active)
        marks->list[marks->count++] = (mark){place, marks->seen_count};
done:
    if (status != BG_OK)
        bg__fail_where("the nodes of segment %d", capture->graph->segment_count);
    return status;
}

/* node's place in the list, which is near the last one that was asked for; -1: it has been taken out. */
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
            long place = find_near(nodes, (long)count, marks->seen[seen], last);
            last = place >= 0 ? place : last;
            end = place + 1 > end ? place + 1 : end;
        }
        while (end > 0 && end < (long)count && trails(user, nodes[end]))
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
