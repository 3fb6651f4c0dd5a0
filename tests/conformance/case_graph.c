#include "case_graph.h"

#include "case_scene.h"
#include "conformance_kernels.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MEMORY_BYTES = 256 };

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static struct cudaKernelNodeParams one_thread(const void *function, struct case_arguments *arguments)
{
    struct cudaKernelNodeParams params = {0};
    params.func = (void *)(uintptr_t)function;
    params.gridDim = params.blockDim = (dim3){1, 1, 1};
    params.kernelParams = arguments->list;
    return params;
}

struct cudaKernelNodeParams case_add_params(const struct scene *s, struct case_arguments *arguments, int value)
{
    *arguments = (struct case_arguments){.x = s->x, .value = value};
    arguments->list[0] = &arguments->x;
    arguments->list[1] = &arguments->value;
    return one_thread(ck_add_function(), arguments);
}

struct cudaKernelNodeParams case_scale_params(const struct scene *s, struct case_arguments *arguments, int *y,
                                              int value)
{
    *arguments = (struct case_arguments){.x = s->x, .y = y, .value = value};
    arguments->list[0] = &arguments->y;
    arguments->list[1] = &arguments->x;
    arguments->list[2] = &arguments->value;
    return one_thread(ck_scale_function(), arguments);
}

cudaError_t case_add_node(const struct scene *s, cudaGraph_t graph, cudaGraphNode_t *node, cudaGraphNode_t after,
                          int value)
{
    struct case_arguments arguments;
    struct cudaKernelNodeParams params = case_add_params(s, &arguments, value);
    return cudaGraphAddKernelNode(node, graph, &after, after ? 1 : 0, &params);
}

struct cudaMemcpy3DParms case_copy_params(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms copy = {0};
    copy.dstPtr = (struct cudaPitchedPtr){to, bytes, bytes, 1};
    copy.srcPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)from, bytes, bytes, 1};
    copy.extent = (struct cudaExtent){bytes, 1, 1};
    copy.kind = kind;
    return copy;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

cudaError_t case_make_pinned(struct scene *s)
{
    cudaError_t error = cudaMallocHost(&s->pinned, MEMORY_BYTES);
    if (!error)
        memset(s->pinned, 0, MEMORY_BYTES);
    return error;
}

void case_note_bytes(struct scene *s, const char *what, const void *memory, size_t count)
{
    unsigned char bytes[MEMORY_BYTES];
    char text[CASE_ANSWER_MAX] = "";
    if (count > sizeof bytes)
        count = sizeof bytes;
    scene_must(s, "cudaMemcpy", cudaMemcpy(bytes, memory, count, cudaMemcpyDefault));
    for (size_t i = 0; i < count && 3 * i + 4 < sizeof text; i++)
        snprintf(text + (i ? 3 * i - 1 : 0), 4, i ? " %02x" : "%02x", (unsigned)bytes[i]);
    case_note(s, what, "%s", text);
}

/* ---- parameters read back ---------------------------------------------------------------------------------------- */

static const char *function_name(const void *function)
{
    if (function == ck_add_function())
        return "kernel";
    return function == ck_scale_function() ? "scale" : function ? "another" : "NULL";
}

/* The value that the kernel gets: the last of its parameters. */
static void describe_value(const struct cudaKernelNodeParams *params, char *text, size_t room)
{
    size_t last = params->func == ck_scale_function() ? 2 : 1;
    if (params->kernelParams && params->extra)
        snprintf(text, room, "kernelParams and extra");
    else if (params->extra)
        snprintf(text, room, "extra");
    else if (!params->kernelParams)
        snprintf(text, room, "no parameters");
    else
        snprintf(text, room, "value %d", *(const int *)params->kernelParams[last]);
}

void case_note_kernel(struct scene *s, const char *what, cudaGraphNode_t node)
{
    struct cudaKernelNodeParams params = {0};
    char value[CASE_ANSWER_MAX / 2];
    cudaError_t error = cudaGraphKernelNodeGetParams(node, &params);
    if (error) {
        case_note(s, what, "%s", cudaGetErrorName(error));
        return;
    }
    describe_value(&params, value, sizeof value);
    case_note(s, what, "%s, grid %u %u %u, block %u %u %u, %u shared, %s", function_name(params.func), params.gridDim.x,
              params.gridDim.y, params.gridDim.z, params.blockDim.x, params.blockDim.y, params.blockDim.z,
              params.sharedMemBytes, value);
}

static const char *place_name(const struct scene *s, const void *pointer)
{
    if (pointer == s->x || pointer == s->y)
        return pointer == s->x ? "x" : "y";
    if (pointer && (pointer == s->memory || pointer == s->pinned))
        return pointer == s->memory ? "memory" : "pinned";
    return pointer ? "elsewhere" : "NULL";
}

void case_note_fill(struct scene *s, const char *what, cudaGraphNode_t node)
{
    struct cudaMemsetParams p = {0};
    cudaError_t error = cudaGraphMemsetNodeGetParams(node, &p);
    if (error)
        case_note(s, what, "%s", cudaGetErrorName(error));
    else
        case_note(s, what, "%s, pitch %zu, value %#x, elements of %u, width %zu, height %zu", place_name(s, p.dst),
                  p.pitch, p.value, p.elementSize, p.width, p.height);
}

void case_note_copy(struct scene *s, const char *what, cudaGraphNode_t node)
{
    struct cudaMemcpy3DParms p = {0};
    cudaError_t error = cudaGraphMemcpyNodeGetParams(node, &p);
    if (error)
        case_note(s, what, "%s", cudaGetErrorName(error));
    else
        case_note(s, what, "to %s, from %s, extent %zu %zu %zu, kind %d", place_name(s, p.dstPtr.ptr),
                  place_name(s, p.srcPtr.ptr), p.extent.width, p.extent.height, p.extent.depth, (int)p.kind);
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

static const char *result_name(enum cudaGraphExecUpdateResult result)
{
    static const char *const names[] = {"success",           "error",
                                        "topology changed",  "node type changed",
                                        "function changed",  "parameters changed",
                                        "not supported",     "unsupported function change",
                                        "attributes changed"};
    return (size_t)result < sizeof names / sizeof names[0] ? names[result] : "another result";
}

void case_note_update(struct scene *s, const char *what, cudaGraph_t graph)
{
    struct cudaGraphExecUpdateResultInfo_st info = {0};
    if (s->wrong[0])
        return;
    cudaError_t error = cudaGraphExecUpdate(s->exec, graph, &info);
    case_note(s, what, "%s, %s, error node %s, from node %s", cudaGetErrorName(error), result_name(info.result),
              info.errorNode ? "given" : "NULL", info.errorFromNode ? "given" : "NULL");
}
