/* Finds the streams that keep a segment from ending: leaves of its graph that the origin does not wait for. */
#include "capture/capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The nodes and edges of the open segment; the arrays are reused for the next one. */
struct bg__open_segment {
    cudaGraphNode_t *nodes;
    size_t node_count, node_capacity;
    bg__edges edges;
    cudaGraphNode_t *frontier; /* the nodes that the origin's next node would wait for */
    size_t frontier_count, frontier_capacity;
};
typedef struct bg__open_segment open_segment;

static bool contains_node(const cudaGraphNode_t *nodes, size_t count, cudaGraphNode_t node)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static int compare_node_addresses(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const cudaGraphNode_t *)a, y = (uintptr_t) * (const cudaGraphNode_t *)b;
    return (x > y) - (x < y);
}

/* edges.from must be sorted. */
static bool is_leaf(const open_segment *s, cudaGraphNode_t node)
{
    return s->edges.count == 0 ||
           bsearch(&node, s->edges.from, s->edges.count, sizeof node, compare_node_addresses) == NULL;
}

/* Grows an array that is about to be filled anew; several arrays share one capacity. */
static bg_status resize_array(void *array, size_t count, size_t element)
{
    size_t capacity = 0;
    return bg__array_grow(array, &capacity, count, element, "nodes");
}

static bg_status copy_frontier(open_segment *s, const cudaGraphNode_t *nodes, size_t count)
{
    bg_status status = BG_OK;
    if (count > s->frontier_capacity) {
        BG__TRY(resize_array(&s->frontier, count, sizeof *nodes));
        s->frontier_capacity = count;
    }
    if (count > 0)
        memcpy(s->frontier, nodes, count * sizeof *nodes);
    s->frontier_count = count;
done:
    return status;
}

/* CUDA lists all nodes in one call if the array is larger than needed. */
static bg_status list_nodes(open_segment *s, cudaGraph_t graph)
{
    bg_status status = BG_OK;
    for (;;) {
        s->node_count = s->node_capacity;
        if (s->node_capacity > 0)
            BG__TRY_CUDA(cudaGraphGetNodes(graph, s->nodes, &s->node_count));
        if (s->node_count < s->node_capacity)
            goto done;
        BG__TRY_CUDA(cudaGraphGetNodes(graph, NULL, &s->node_count));
        s->node_capacity = 2 * s->node_count + 64;
        BG__TRY(resize_array(&s->nodes, s->node_capacity, sizeof *s->nodes));
    }
done:
    return status;
}

/* Whether the nodes are one chain that ends with the origin's last node, as in most segments: then no work is
 * unjoined. */
static bool is_chain(const open_segment *s)
{
    if (s->node_count == 0)
        return true;
    if (s->edges.count + 1 != s->node_count || s->frontier_count != 1 || s->frontier[0] != s->nodes[s->node_count - 1])
        return false;
    for (size_t i = 0; i < s->edges.count; i++)
        if (s->edges.from[i] != s->nodes[i] || s->edges.to[i] != s->nodes[i + 1])
            return false;
    return true;
}

static bg_status read_open_segment(const bg_capture *capture, open_segment *s, bool *chain)
{
    CUstreamCaptureStatus capturing;
    const CUgraphNode *frontier = NULL;
    bg__capture_info_function info;
    CUgraph graph = NULL;
    size_t count = 0;
    bg_status status;

    *chain = true;
    s->node_count = 0;
    BG__TRY(bg__driver_find_capture_info(&info));
    BG__TRY_DRIVER("cuStreamGetCaptureInfo", info(capture->origin, &capturing, NULL, &graph, &frontier, NULL, &count));
    if (capturing != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        goto done; /* the end of the capture reports why */
    BG__TRY(copy_frontier(s, frontier, count));
    BG__TRY(list_nodes(s, graph));
    BG__TRY(bg__edges_list(&s->edges, graph, s->nodes, s->node_count));
    *chain = is_chain(s);
    if (!*chain)
        qsort(s->edges.from, s->edges.count, sizeof *s->edges.from, compare_node_addresses);
done:
    return status;
}

void bg__open_segment_free(struct bg__open_segment *s)
{
    if (s == NULL)
        return;
    free(s->nodes);
    bg__edges_free(&s->edges);
    free(s->frontier);
    free(s);
}

/* ---- names ---- */

typedef struct text_writer {
    char *text;
    size_t bytes, used;
} text_writer;

static void write_text(text_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void write_text(text_writer *w, const char *format, ...)
{
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = vsnprintf(w->text + w->used, w->bytes - w->used, format, arguments);
    va_end(arguments);
    if (length > 0)
        w->used = w->used + (size_t)length < w->bytes ? w->used + (size_t)length : w->bytes - 1;
}

/* Returns NULL for an event or memory node, which may stay a leaf (NCCL leaves such event nodes). */
static const char *node_kind_text(cudaGraphNode_t node)
{
    enum cudaGraphNodeType type;
    cudaError_t error = cudaGraphNodeGetType(node, &type);
    bg__clear_cuda_error(error);
    if (error != cudaSuccess)
        return "a node";
    switch (type) {
    case cudaGraphNodeTypeKernel: return "a kernel";
    case cudaGraphNodeTypeMemcpy: return "a memcpy";
    case cudaGraphNodeTypeMemset: return "a memset";
    case cudaGraphNodeTypeHost: return "a host function";
    default: return NULL;
    }
}

/* Returns the name that CUDA has for the kernel; NULL: it has none, as some kernels of libraries. */
static const char *read_kernel_name(cudaGraphNode_t node)
{
    struct cudaKernelNodeParams params;
    const char *name = NULL;
    bg__relaxed_mode relaxed = bg__relaxed_mode_try_begin();
    cudaError_t error = cudaGraphKernelNodeGetParams(node, &params);
    if (error == cudaSuccess)
        error = cudaFuncGetName(&name, params.func);
    bg__clear_cuda_error(error);
    bg__relaxed_mode_end(relaxed);
    return error == cudaSuccess ? name : NULL;
}

static void write_node(text_writer *w, cudaGraphNode_t node, const char *kind)
{
    const char *name = strcmp(kind, "a kernel") == 0 ? read_kernel_name(node) : NULL;
    char *demangled = name != NULL ? bg__demangle(name) : NULL;

    if (name != NULL)
        write_text(w, "the kernel %s", demangled != NULL ? demangled : name);
    else
        write_text(w, "%s", kind);
    free(demangled);
}

/* ---- blame ---- */

/* Finds the member whose next work would wait for node; NULL: none. */
static bg_status find_member_of_node(const bg_capture *capture, cudaGraphNode_t node, const bg__member **owner)
{
    enum cudaStreamCaptureStatus capturing;
    bg_status status = BG_OK;

    *owner = NULL;
    for (int i = 0; i < capture->member_count && *owner == NULL; i++) {
        const cudaGraphNode_t *frontier = NULL;
        size_t count = 0;
        BG__TRY_CUDA(
            cudaStreamGetCaptureInfo(capture->members[i].stream, &capturing, NULL, NULL, &frontier, NULL, &count));
        if (contains_node(frontier, count, node))
            *owner = &capture->members[i];
    }
done:
    return status;
}

static void report_member(bg__unjoined *unjoined, const bg__member *member, cudaGraphNode_t node, const char *kind)
{
    text_writer w = {unjoined->text, sizeof unjoined->text, 0};
    write_text(&w, "stream %p, forked at %s:%d, has work that the origin stream does not wait for: ",
               (void *)member->stream, member->site.file ? member->site.file : "unknown file", member->site.line);
    write_node(&w, node, kind);
    if (member->last != NULL)
        write_text(&w, "; the last op on it is %s at %s:%d", member->last->name,
                   member->last->site.file ? member->last->site.file : "unknown file", member->last->site.line);
    write_text(&w, "; join it, or set options.join_at_end");
    unjoined->status = BG_ERROR_UNJOINED_STREAM;
}

enum { NAMED_MAX = 3 };

/* The message names the first few nodes, then the number of the others. */
static void report_untracked(bg__unjoined *unjoined, text_writer *w, int number, cudaGraphNode_t node, const char *kind)
{
    unjoined->status = BG_ERROR_UNTRACKED_STREAM;
    if (number >= NAMED_MAX)
        return;
    write_text(w, number == 0 ? "the origin stream does not wait for work on a stream that was forked with CUDA "
                                "calls, without breakgraph's hooks: "
                              : ", ");
    write_node(w, node, kind);
}

static bg_status report_leaves(const bg_capture *capture, const open_segment *s, bg__unjoined *unjoined)
{
    text_writer w = {unjoined->text, sizeof unjoined->text, 0};
    const bg__member *owner;
    bg_status status = BG_OK;
    int unseen = 0;

    for (size_t i = 0; i < s->node_count; i++) {
        const char *kind;
        if (!is_leaf(s, s->nodes[i]) || contains_node(s->frontier, s->frontier_count, s->nodes[i]))
            continue;
        kind = node_kind_text(s->nodes[i]);
        if (kind == NULL)
            continue;
        BG__TRY(find_member_of_node(capture, s->nodes[i], &owner));
        if (owner != NULL) {
            report_member(unjoined, owner, s->nodes[i], kind);
            goto done;
        }
        report_untracked(unjoined, &w, unseen++, s->nodes[i], kind);
    }
    if (unseen > NAMED_MAX)
        write_text(&w, " and %d more", unseen - NAMED_MAX);
    if (unseen > 0)
        write_text(&w, "; fork it with bg_stream_wait_stream or bg_stream_wait_event, or include breakgraph/hooks.h");
done:
    return status;
}

static bool is_trailing_node(const void *user, cudaGraphNode_t node)
{
    const open_segment *s = user;
    return is_leaf(s, node) && !contains_node(s->frontier, s->frontier_count, node) && node_kind_text(node) == NULL;
}

bg_status bg__find_unjoined(bg_capture *capture, bg__unjoined *unjoined, size_t *nodes)
{
    bg_status status = BG_OK;
    size_t count;
    bool chain;

    *nodes = 0;
    unjoined->status = BG_OK;
    unjoined->text[0] = '\0';
    if (capture->open_segment == NULL)
        capture->open_segment = calloc(1, sizeof *capture->open_segment);
    if (capture->open_segment == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the nodes of a segment");
    BG__TRY(read_open_segment(capture, capture->open_segment, &chain));
    *nodes = capture->open_segment->node_count;
    /* A segment of write-backs alone is dropped: a call that began in it begins in the next one. */
    count = bg__writeback_is_whole_segment(capture->writebacks, capture->open_segment->node_count)
                ? 0
                : capture->open_segment->node_count;
    bg__marks_resolve(capture, capture->open_segment->nodes, count, chain ? NULL : is_trailing_node,
                      capture->open_segment);
    if (!chain)
        BG__TRY(report_leaves(capture, capture->open_segment, unjoined));
done:
    return status;
}
