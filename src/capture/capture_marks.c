/* Which nodes of a segment a captured call made, so that the tools can name the call that a node comes from.
 *
 * Counting nodes is slow: CUDA walks over the whole graph, and each call is marked twice, at its begin and end. So a
 * mark stores only the last nodes of the capture's streams. When the segment ends, marks become indices in
 * cudaGraphGetNodes' list, which is in order of creation. Nodes of a stream that is not a member count from where a
 * member has joined it. */
#include "capture/capture.h"

#include <stdlib.h>

/* A node that was seen, or a place (a member of a call) to set when the segment ends, or both. */
typedef struct mark {
    long *place;          /* NULL: none */
    cudaGraphNode_t seen; /* the last node of a stream; NULL: none */
} mark;

struct bg__marks {
    bg__capture_info_function info;
    mark *list;
    int count;
    size_t capacity;
};

/* The last nodes of a stream. */
typedef struct frontier {
    const CUgraphNode *nodes;
    size_t count;
    bool active;
} frontier;

/* A member that the program has destroyed makes no more nodes. */
static inline bg_status get_frontier(const bg__marks *marks, cudaStream_t stream, frontier *last)
{
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result;
    bg_status status = BG_OK;

    last->nodes = NULL;
    last->count = 0;
    result = marks->info(stream, &capturing, NULL, NULL, &last->nodes, NULL, &last->count);
    last->active = result == CUDA_SUCCESS && capturing == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (result != CUDA_ERROR_INVALID_HANDLE)
        BG__TRY_DRIVER("cuStreamGetCaptureInfo", result);
done:
    return status;
}

static bg_status add_mark(bg__marks *marks, long *place, cudaGraphNode_t seen)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(marks->list, marks->count, marks->capacity, "marks"));
    marks->list[marks->count++] = (mark){place, seen};
done:
    return status;
}

/* `last`: the stream's last node at the previous mark, if it was one node. */
static bg_status mark_frontier(bg__marks *marks, const frontier *last, cudaGraphNode_t *last_node_before)
{
    bg_status status = BG_OK;

    if (!last->active || last->count == 0 || (last->count == 1 && last->nodes[0] == *last_node_before))
        return BG_OK;
    for (size_t i = 0; i < last->count; i++)
        BG__TRY(add_mark(marks, NULL, last->nodes[i]));
    *last_node_before = last->count == 1 ? last->nodes[0] : NULL;
done:
    return status;
}

/* Sets a mark in a capture of several streams, or in one whose origin has joined others. This is a separate function,
 * so that mark_origin, which runs twice for each call, need not save registers for it. */
static __attribute__((noinline)) bg_status mark_streams(bg_capture *capture, long *place, const frontier *origin)
{
    bg__marks *marks = capture->marks;
    frontier last;
    bg_status status;

    BG__TRY(mark_frontier(marks, origin, &capture->last_node_before));
    for (int i = 0; i < capture->member_count; i++) {
        BG__TRY(get_frontier(marks, capture->members[i].stream, &last));
        BG__TRY(mark_frontier(marks, &last, &capture->members[i].last_node_before));
    }
    BG__TRY(add_mark(marks, place, NULL));
done:
    return status;
}

static bg_status create_marks(bg__marks **marks)
{
    bg__capture_info_function info;
    bg_status status;

    BG__TRY(bg__driver_find_capture_info(&info));
    *marks = calloc(1, sizeof **marks);
    if (*marks == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the marks of nodes");
    (*marks)->info = info;
done:
    return status;
}

/* Makes room for one mark. */
static __attribute__((noinline)) bg_status reserve_mark(bg__marks **marks)
{
    bg_status status = BG_OK;
    if (*marks == NULL)
        BG__TRY(create_marks(marks));
    BG__TRY(BG__ARRAY_GROW((*marks)->list, (*marks)->count, (*marks)->capacity, "marks"));
done:
    return status;
}

static __attribute__((noinline)) bg_status add_segment_location(const bg_capture *capture, bg_status status)
{
    bg__error_add_location("the nodes of segment %d", capture->graph->segment_count);
    return status;
}

/* The usual case: a mark on one stream that has one last node. */
static inline void mark_origin(bg_capture *capture, long *place, const frontier *last)
{
    bg__marks *marks = capture->marks;
    cudaGraphNode_t seen = last->count > 0 && last->nodes[0] != capture->last_node_before ? last->nodes[0] : NULL;
    if (seen != NULL)
        capture->last_node_before = seen;
    marks->list[marks->count++] = (mark){place, seen};
}

bg_status bg__marks_add(bg_capture *capture, long *place, bool *active)
{
    frontier last;
    bg_status status = BG_OK;

    *place = -1;
    *active = false;
    if (capture->marks == NULL || (size_t)capture->marks->count == capture->marks->capacity)
        BG__TRY(reserve_mark(&capture->marks));
    BG__TRY(get_frontier(capture->marks, capture->origin, &last));
    *active = last.active;
    if (!last.active)
        goto done;
    if (last.count > 1 || capture->member_count > 0)
        BG__TRY(mark_streams(capture, place, &last));
    else
        mark_origin(capture, place, &last);
done:
    return status == BG_OK ? BG_OK : add_segment_location(capture, status);
}

/* The index of node in the list, searched from `last` on in both directions; -1: it has been removed. */
static long find_node_near(const cudaGraphNode_t *nodes, long count, cudaGraphNode_t node, long last)
{
    for (long away = 0; away <= last || last + away < count; away++) {
        if (last + away < count && nodes[last + away] == node)
            return last + away;
        if (away <= last && last - away < count && nodes[last - away] == node)
            return last - away;
    }
    return -1;
}

void bg__marks_resolve(bg_capture *capture, const cudaGraphNode_t *nodes, size_t count, bg__is_trailing_node trails,
                       const void *user)
{
    const bg__marks *marks = capture->marks;
    long last = 0, end = 0;

    if (marks == NULL)
        return;
    for (const mark *m = marks->list, *behind = m + marks->count; m < behind; m++) {
        if (m->seen != NULL) {
            long next = last + (end > 0), place;
            place = next < (long)count && nodes[next] == m->seen ? next /* the usual case */
                                                                 : find_node_near(nodes, (long)count, m->seen, last);
            last = place >= 0 ? place : last;
            end = place + 1 > end ? place + 1 : end;
        }
        if (m->place == NULL)
            continue;
        while (trails != NULL && end > 0 && end < (long)count && trails(user, nodes[end]))
            end++;
        *m->place = end;
    }
    bg__marks_clear(capture);
}

void bg__marks_clear(bg_capture *capture)
{
    if (capture->marks != NULL)
        capture->marks->count = 0;
    capture->last_node_before = NULL;
    for (int i = 0; i < capture->member_count; i++)
        capture->members[i].last_node_before = NULL;
}

void bg__marks_free(bg__marks *marks)
{
    if (marks == NULL)
        return;
    free(marks->list);
    free(marks);
}
