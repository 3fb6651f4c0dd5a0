/* Writes a segment as DOT. */
#include <breakgraph/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/files/files.h"
#include "base/text.h"
#include "debug/graph/layout.h"
#include "debug/graph/nodes.h"

typedef struct drawing {
    FILE *out;
    const bg_graph *graph;
    bg__nodes nodes;
    int segment, clusters;
} drawing;

/* ---- text ---- */

/* Escapes text for a quoted label, where DOT interprets backslashes, too. */
static void write_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (*text == '\n')
            fputs("\\n", out);
        else
            fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
}

static void write_indent(const drawing *d, int depth)
{
    fprintf(d->out, "%*s", 4 * depth, "");
}

/* "s0n3", and "s0n1_2" for node 2 of the child graph in node 1. */
static void write_id(const drawing *d, const bg__node *node)
{
    if (node->parent < 0) {
        fprintf(d->out, "s%dn%zu", node->segment, node->place);
        return;
    }
    write_id(d, &d->nodes.node[node->parent]);
    fprintf(d->out, "_%zu", node->place);
}

/* ---- nodes ---- */

static void write_kernel_label(const drawing *d, const bg__node *node)
{
    const CUDA_KERNEL_NODE_PARAMS *l = &node->of.launch;
    if (node->kernel->name != NULL) {
        fputs("\\n", d->out);
        write_escaped(d->out, node->kernel->name);
    }
    fprintf(d->out, "\\ngrid %u x %u x %u, block %u x %u x %u", l->gridDimX, l->gridDimY, l->gridDimZ, l->blockDimX,
            l->blockDimY, l->blockDimZ);
    if (l->sharedMemBytes > 0)
        fprintf(d->out, "\\n%u bytes of shared memory", l->sharedMemBytes);
}

/* If a CUDA array is involved, the extent counts elements, not bytes. */
static void write_copy_label(const drawing *d, const bg__node *node)
{
    static const char *const kinds[] = {"host to host", "host to device", "device to host", "device to device"};
    const struct cudaMemcpy3DParms *copy = &node->of.copy;
    const struct cudaExtent *e = &copy->extent;
    bool arrays = copy->srcArray != NULL || copy->dstArray != NULL;

    fprintf(d->out, "\\n%zu %s", e->width * e->height * e->depth, arrays ? "elements" : "bytes");
    if ((size_t)copy->kind < sizeof kinds / sizeof *kinds)
        fprintf(d->out, ", %s", kinds[copy->kind]);
}

static void write_memset_label(const drawing *d, const bg__node *node)
{
    const struct cudaMemsetParams *fill = &node->of.fill;
    char real[BG__REAL_BYTES];
    bool guessed = fill->elementSize == sizeof(float) && bg__format_if_real(&fill->value, sizeof fill->value, real);
    fprintf(d->out, "\\n%zu bytes, of %s%s0x%0*x%s", fill->width * fill->elementSize * fill->height,
            guessed ? real : "", guessed ? " (" : "", 2 * (int)fill->elementSize, fill->value, guessed ? ")" : "");
}

static size_t count_child_nodes(const drawing *d, const bg__node *child)
{
    size_t count = 0;
    for (size_t i = 0; i < d->nodes.count; i++)
        count += d->nodes.node[i].parent == child - d->nodes.node;
    return count;
}

static void write_node_label(const drawing *d, const bg__node *node)
{
    switch (node->type) {
    case cudaGraphNodeTypeKernel: write_kernel_label(d, node); break;
    case cudaGraphNodeTypeMemcpy: write_copy_label(d, node); break;
    case cudaGraphNodeTypeMemset: write_memset_label(d, node); break;
    case cudaGraphNodeTypeMemAlloc: fprintf(d->out, "\\n%zu bytes", node->of.memory.bytes); break;
    case cudaGraphNodeTypeGraph: fprintf(d->out, "\\n%zu nodes", count_child_nodes(d, node)); break;
    default: break;
    }
}

static const char *node_shape(const bg__node *node)
{
    switch (node->type) {
    case cudaGraphNodeTypeKernel: return "box";
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset: return "cds";
    case cudaGraphNodeTypeHost: return "hexagon";
    case cudaGraphNodeTypeGraph: return "box3d";
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree: return "cylinder";
    default: return "ellipse";
    }
}

static void write_child_graph(drawing *d, const bg__node *child, int depth);

/* Writes a child graph's nodes, too. */
static void write_node(drawing *d, const bg__node *node, int depth)
{
    write_indent(d, depth);
    write_id(d, node);
    fprintf(d->out, " [shape=%s, label=\"%zu: %s%s", node_shape(node), node->place, bg__node_kind(node),
            node->writeback ? " (write-back)" : "");
    if (node->known)
        write_node_label(d, node);
    fputs("\"];\n", d->out);
    if (node->type == cudaGraphNodeTypeGraph && node->known)
        write_child_graph(d, node, depth);
}

static void write_child_graph(drawing *d, const bg__node *child, int depth)
{
    write_indent(d, depth);
    fprintf(d->out, "subgraph cluster_%d {\n", d->clusters++);
    write_indent(d, depth + 1);
    fprintf(d->out, "label=\"child graph of node %zu\"; style=dashed;\n", child->place);
    for (const bg__node *node = d->nodes.node; node < d->nodes.node + d->nodes.count; node++)
        if (node->parent == child - d->nodes.node)
            write_node(d, node, depth + 1);
    write_indent(d, depth);
    fputs("}\n", d->out);
}

/* ---- calls ---- */

static void write_call_nodes(drawing *d, const bg__call *call, int depth)
{
    for (const bg__node *node = d->nodes.node; node < d->nodes.node + d->nodes.count; node++)
        if (node->segment == d->segment && node->parent < 0 && node->call == call)
            write_node(d, node, depth);
}

static bool call_has_nodes(const drawing *d, const bg__call *call)
{
    for (size_t i = 0; i < d->nodes.count; i++)
        for (const bg__call *c = d->nodes.node[i].call; c != NULL && d->nodes.node[i].segment == d->segment;
             c = c->parent)
            if (c == call)
                return true;
    return false;
}

/* Recursion: as deep as the program nests its ops. */
static void write_call(drawing *d, const bg__call *call, int depth)
{
    if (!call_has_nodes(d, call))
        return;
    write_indent(d, depth);
    fprintf(d->out, "subgraph cluster_%d {\n", d->clusters++);
    write_indent(d, depth + 1);
    fputs("label=\"", d->out);
    write_escaped(d->out, call->name);
    fputs(call->eager ? " (eager)\\n" : "\\n", d->out);
    write_escaped(d->out, call->site.file != NULL ? call->site.file : "unknown file");
    fprintf(d->out, ":%d\";\n", call->site.line);
    write_call_nodes(d, call, depth + 1);
    for (const bg__call *inner = call->child; inner != NULL; inner = inner->next)
        write_call(d, inner, depth + 1);
    write_indent(d, depth);
    fputs("}\n", d->out);
}

/* ---- edges ---- */

static const bg__node *find_segment_node(const drawing *d, cudaGraphNode_t handle)
{
    const bg__node *node = bg__nodes_find(&d->nodes, handle);
    return node != NULL && node->segment == d->segment ? node : NULL;
}

static void write_edge(const drawing *d, const bg__node *from, const bg__node *to, const char *attributes)
{
    write_indent(d, 1);
    write_id(d, from);
    fputs(" -> ", d->out);
    write_id(d, to);
    fprintf(d->out, "%s;\n", attributes);
}

static void write_edges(const drawing *d, const bg__layout *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const bg__node *from = find_segment_node(d, l->nodes[i]);
        for (size_t e = l->first_edge[i]; from != NULL && e < l->first_edge[i + 1]; e++) {
            const bg__node *to = find_segment_node(d, l->nodes[l->edge_to[e]]);
            if (to != NULL)
                write_edge(d, from, to, "");
        }
    }
}

/* Draws edges from a child graph's node to its nodes without dependencies. */
static void write_child_edges(const drawing *d, const bg__node *child, const bg__layout *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const bg__node *node = find_segment_node(d, l->nodes[i]);
        if (node != NULL && l->waits[i] == 0)
            write_edge(d, child, node, " [style=dashed]");
    }
}

static bg_status write_graph_edges(const drawing *d, cudaGraph_t graph, const bg__node *child)
{
    bg__layout layout = {0};
    bg_status status;

    BG__TRY(bg__layout_read(&layout, graph));
    write_edges(d, &layout);
    if (child != NULL)
        write_child_edges(d, child, &layout);
done:
    bg__layout_free(&layout);
    return status;
}

/* ---- the drawing ---- */

static bg_status write_segment(drawing *d)
{
    bg_status status = BG_OK;

    fputs("digraph segment {\n    label=\"", d->out);
    write_escaped(d->out, bg__graph_name(d->graph));
    fprintf(d->out, ", segment %d\";\n    node [fontname=\"monospace\"];\n", d->segment);
    write_call_nodes(d, NULL, 1);
    for (const bg__call *call = bg__graph_root(d->graph)->child; call != NULL; call = call->next)
        write_call(d, call, 1);
    BG__TRY(write_graph_edges(d, bg__graph_segment(d->graph, d->segment)->graph, NULL));
    for (size_t i = 0; i < d->nodes.count; i++) {
        const bg__node *node = &d->nodes.node[i];
        if (node->segment == d->segment && node->type == cudaGraphNodeTypeGraph && node->known)
            BG__TRY(write_graph_edges(d, node->of.child, node));
    }
    fputs("}\n", d->out);
done:
    return status;
}

/* Writes to memory first, so that a failure leaves nothing on standard output. */
static bg_status write_segment_text(drawing *d, char **text, size_t *bytes)
{
    bg_status status;
    bool failed;

    d->out = open_memstream(text, bytes);
    if (d->out == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a drawing");
    status = write_segment(d);
    failed = ferror(d->out) != 0;
    failed |= fclose(d->out) != 0;
    if (failed && status == BG_OK)
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a drawing");
    return status;
}

bg_status bg__dot_write(const bg_graph *graph, int segment, const char *path, bg__file_origin name)
{
    drawing d = {.graph = graph, .segment = segment};
    char *text = NULL;
    size_t bytes = 0;
    bg_status status;

    bg__foreign_error_note();
    BG__TRY(bg__nodes_read(graph, &d.nodes));
    BG__TRY(write_segment_text(&d, &text, &bytes));
    BG__TRY(bg__file_write_bytes(path, name, text, bytes, NULL, 0));
done:
    if (status != BG_OK)
        bg__error_add_location("bg_graph_write_dot");
    free(text);
    bg__nodes_free(&d.nodes);
    return status;
}

bg_status bg_graph_write_dot(const bg_graph *graph, int segment, const char *path)
{
    BG__NEED(graph);
    BG__NEED(path);
    if (segment < 0 || segment >= bg__graph_segment_count(graph))
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_graph_write_dot: there is no segment %d; %s has %d", segment,
                        bg__graph_name(graph), bg__graph_segment_count(graph));
    return bg__dot_write(graph, segment, path, BG__FILE_FROM_USER);
}
