/* Who is to blame where a segment cannot end: leaves of its graph that the origin does not wait for. */
#include "capture/capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of the segment that is open. */
typedef struct survey {
    cudaGraphNode_t *nodes;
    size_t node_count;
    cudaGraphNode_t *from, *to; /* of edges */
    cudaGraphEdgeData *data;
    size_t edge_count;
    cudaGraphNode_t *frontier; /* what the origin's next node would wait for */
    size_t frontier_count;
} survey;

static bool has(const cudaGraphNode_t *nodes, size_t count, cudaGraphNode_t node)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const cudaGraphNode_t *)a, y = (uintptr_t) * (const cudaGraphNode_t *)b;
    return (x > y) - (x < y);
}

/* from is sorted. */
static bool is_leaf(const survey *s, cudaGraphNode_t node)
{
    return s->edge_count == 0 || bsearch(&node, s->from, s->edge_count, sizeof node, by_address) == NULL;
}

static bg_status allocate(survey *s, size_t nodes, size_t edges)
{
    s->nodes = malloc(nodes * sizeof *s->nodes);
    s->from = malloc((edges + 1) * sizeof *s->from);
    s->to = malloc((edges + 1) * sizeof *s->to);
    s->data = malloc((edges + 1) * sizeof *s->data);
    if (s->nodes == NULL || s->from == NULL || s->to == NULL || s->data == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory to look at %zu nodes", nodes);
    return BG_OK;
}

static bg_status copy_frontier(survey *s, const cudaGraphNode_t *nodes, size_t count)
{
    s->frontier = malloc((count + 1) * sizeof *s->frontier);
    if (s->frontier == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory to look at %zu nodes", count);
    if (count > 0)
        memcpy(s->frontier, nodes, count * sizeof *nodes);
    s->frontier_count = count;
    return BG_OK;
}

static bg_status take(const bg_capture *capture, survey *s)
{
    enum cudaStreamCaptureStatus capturing;
    const cudaGraphNode_t *frontier = NULL;
    cudaGraph_t graph = NULL;
    size_t count = 0, nodes = 0, edges = 0;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaStreamGetCaptureInfo(capture->origin, &capturing, NULL, &graph, &frontier, NULL, &count));
    if (capturing != cudaStreamCaptureStatusActive)
        goto done; /* the end will say why */
    BG__TRY(copy_frontier(s, frontier, count));
    BG__TRY_CUDA(cudaGraphGetNodes(graph, NULL, &nodes));
    if (nodes == 0)
        goto done;
    BG__TRY_CUDA(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    BG__TRY(allocate(s, nodes, edges));
    BG__TRY_CUDA(cudaGraphGetNodes(graph, s->nodes, &nodes));
    if (edges > 0)
        BG__TRY_CUDA(cudaGraphGetEdges(graph, s->from, s->to, s->data, &edges));
    qsort(s->from, edges, sizeof *s->from, by_address);
    s->node_count = nodes;
    s->edge_count = edges;
done:
    return status;
}

static void release(survey *s)
{
    free(s->nodes);
    free(s->from);
    free(s->to);
    free(s->data);
    free(s->frontier);
}

/* ---- names ---- */

typedef struct writer {
    char *text;
    size_t bytes, used;
} writer;

static void write_text(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void write_text(writer *w, const char *format, ...)
{
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = vsnprintf(w->text + w->used, w->bytes - w->used, format, arguments);
    va_end(arguments);
    if (length > 0)
        w->used = w->used + (size_t)length < w->bytes ? w->used + (size_t)length : w->bytes - 1;
}

/* NULL: an event or memory node, which may stay a leaf (NCCL leaves the former). */
static const char *kind_of(cudaGraphNode_t node)
{
    enum cudaGraphNodeType type;
    cudaError_t error = cudaGraphNodeGetType(node, &type);
    bg__ignore(error);
    if (error != cudaSuccess)
        return "a node";
    switch (type) {
    case cudaGraphNodeTypeKernel: return "a kernel";
    case cudaGraphNodeTypeMemcpy: return "a copy";
    case cudaGraphNodeTypeMemset: return "a fill";
    case cudaGraphNodeTypeHost: return "a host function";
    default: return NULL;
    }
}

/* Kernels of libraries may have none. */
static const char *kernel_name(cudaGraphNode_t node)
{
    struct cudaKernelNodeParams params;
    const char *name = NULL;
    bg__relaxed relaxed = bg__relax_to_release();
    cudaError_t error = cudaGraphKernelNodeGetParams(node, &params);
    if (error == cudaSuccess)
        error = cudaFuncGetName(&name, params.func);
    bg__ignore(error);
    bg__relax_end(relaxed);
    return error == cudaSuccess ? name : NULL;
}

static void write_node(writer *w, cudaGraphNode_t node, const char *kind)
{
    const char *name = strcmp(kind, "a kernel") == 0 ? kernel_name(node) : NULL;
    if (name != NULL)
        write_text(w, "the kernel %s", name);
    else
        write_text(w, "%s", kind);
}

/* ---- blame ---- */

/* The stream whose next work would wait for node; NULL: none that the capture knows. */
static bg_status find_owner(const bg_capture *capture, cudaGraphNode_t node, const bg__member **owner)
{
    enum cudaStreamCaptureStatus capturing;
    bg_status status = BG_OK;

    *owner = NULL;
    for (int i = 0; i < capture->member_count && *owner == NULL; i++) {
        const cudaGraphNode_t *frontier = NULL;
        size_t count = 0;
        BG__TRY_CUDA(
            cudaStreamGetCaptureInfo(capture->members[i].stream, &capturing, NULL, NULL, &frontier, NULL, &count));
        if (has(frontier, count, node))
            *owner = &capture->members[i];
    }
done:
    return status;
}

static void blame_member(bg__unjoined *unjoined, const bg__member *member, cudaGraphNode_t node, const char *kind)
{
    writer w = {unjoined->text, sizeof unjoined->text, 0};
    write_text(&w, "stream %p, forked at %s:%d, has work that the capture's own stream does not wait for: ",
               (void *)member->stream, member->site.file ? member->site.file : "unknown file", member->site.line);
    write_node(&w, node, kind);
    if (member->last != NULL)
        write_text(&w, "; the last op on it is %s at %s:%d", member->last->name,
                   member->last->site.file ? member->last->site.file : "unknown file", member->last->site.line);
    write_text(&w, "; join it, or set options.join_at_end");
    unjoined->status = BG_ERROR_UNJOINED_STREAM;
}

enum { NAMED_MAX = 3 };

/* The first of the nodes begin the sentence; how many there were ends it. */
static void blame_unseen(bg__unjoined *unjoined, writer *w, int number, cudaGraphNode_t node, const char *kind)
{
    unjoined->status = BG_ERROR_UNTRACKED_STREAM;
    if (number >= NAMED_MAX)
        return;
    write_text(w, number == 0 ? "a stream that was forked unseen, by bare CUDA calls, has work that the capture's own "
                                "stream does not wait for: "
                              : ", ");
    write_node(w, node, kind);
}

bg_status bg__find_unjoined(const bg_capture *capture, bg__unjoined *unjoined)
{
    writer w = {unjoined->text, sizeof unjoined->text, 0};
    const bg__member *owner;
    survey s = {0};
    bg_status status;
    int unseen = 0;

    unjoined->status = BG_OK;
    unjoined->text[0] = '\0';
    BG__TRY(take(capture, &s));
    for (size_t i = 0; i < s.node_count; i++) {
        const char *kind;
        if (!is_leaf(&s, s.nodes[i]) || has(s.frontier, s.frontier_count, s.nodes[i]))
            continue;
        kind = kind_of(s.nodes[i]);
        if (kind == NULL)
            continue;
        BG__TRY(find_owner(capture, s.nodes[i], &owner));
        if (owner != NULL) {
            blame_member(unjoined, owner, s.nodes[i], kind);
            goto done;
        }
        blame_unseen(unjoined, &w, unseen++, s.nodes[i], kind);
    }
    if (unseen > NAMED_MAX)
        write_text(&w, " and %d more", unseen - NAMED_MAX);
    if (unseen > 0)
        write_text(&w, "; fork it with bg_stream_wait_stream or bg_stream_wait_event, or include breakgraph/hooks.h");
done:
    release(&s);
    return status;
}
