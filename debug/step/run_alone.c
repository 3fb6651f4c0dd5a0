/* Runs one node in a graph of its own. */
#include "node_list.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "debug/graph/node_copy.h"

/* ---- parameters of a kernel ---- */

static void add_parameter_bytes(bg__step_kernel *kernel, size_t offset, const void *from, size_t bytes)
{
    size_t used = 0, left;

    for (int i = 0; i < kernel->parts; i++)
        used += kernel->part[i].bytes;
    left = sizeof kernel->bytes - used;
    if (bytes > left || kernel->parts == BG__STEP_PARTS_MAX)
        kernel->more = true;
    if (left == 0 || kernel->parts == BG__STEP_PARTS_MAX)
        return;
    kernel->part[kernel->parts].offset = offset;
    kernel->part[kernel->parts++].bytes = bytes < left ? bytes : left;
    memcpy(kernel->bytes + used, from, bytes < left ? bytes : left);
}

/* The words may include padding of structs; use them in reports only. */
static const char *print_parameter_words(const bg__step_kernel *kernel, char *text, size_t bytes)
{
    const unsigned char *from = kernel->bytes;
    char real[BG__REAL_BYTES];
    size_t used = 0;
    bool guessed;

    snprintf(text, bytes, "%s", kernel->parts > 0 ? "" : "unknown");
    for (int i = 0; i < kernel->parts; from += kernel->part[i++].bytes) {
        for (size_t at = 0; at < kernel->part[i].bytes && used < bytes; at += sizeof(uint64_t)) {
            size_t left = kernel->part[i].bytes - at < sizeof(uint64_t) ? kernel->part[i].bytes - at : sizeof(uint64_t);
            uint64_t word = 0;
            memcpy(&word, from + at, left);
            guessed = left == sizeof(float) && bg__format_if_real(from + at, left, real);
            used += (size_t)snprintf(text + used, bytes - used, "%s+%zu %s%s0x%0*llx%s", used > 0 ? ", " : "",
                                     kernel->part[i].offset + at, guessed ? real : "", guessed ? " (" : "",
                                     2 * (int)left, (unsigned long long)word, guessed ? ")" : "");
        }
    }
    if (kernel->more && used < bytes)
        snprintf(text + used, bytes - used, ", ...");
    return text;
}

const char *bg__step_kernel_text(const bg__step_kernel *kernel, char *text, size_t bytes)
{
    const unsigned *g = kernel->grid, *b = kernel->block;
    char words[1024];

    text[0] = '\0';
    if (kernel->name[0] != '\0')
        snprintf(text, bytes, "; grid %u x %u x %u, block %u x %u x %u, parameters %s", g[0], g[1], g[2], b[0], b[1],
                 b[2], print_parameter_words(kernel, words, sizeof words));
    return text;
}

void bg__step_kernel_read(const bg__node *node, bg__step_kernel *kernel)
{
    const CUDA_KERNEL_NODE_PARAMS *launch = &node->of.launch;
    bg__parameter parameter;

    *kernel = (bg__step_kernel){.name = ""};
    if (node->type != cudaGraphNodeTypeKernel)
        return;
    kernel->grid[0] = launch->gridDimX;
    kernel->grid[1] = launch->gridDimY;
    kernel->grid[2] = launch->gridDimZ;
    kernel->block[0] = launch->blockDimX;
    kernel->block[1] = launch->blockDimY;
    kernel->block[2] = launch->blockDimZ;
    if (node->kernel->name != NULL)
        snprintf(kernel->name, sizeof kernel->name, "%s", node->kernel->name);
    for (int i = 0; bg__node_parameter(node, i, &parameter); i++)
        add_parameter_bytes(kernel, parameter.offset, parameter.value, parameter.bytes);
}

/* ---- a copy of a node ---- */

/* The graph that receives the copy. */
typedef struct single_node_graph {
    cudaGraph_t graph;
    cudaGraphNode_t begin, node;
    bool empty; /* the node needs no copy */
} single_node_graph;

/* Copies the node, between the timer's events. */
static bg_status add_node_with_events(const bg__node *from, single_node_graph *to, const bg__timer *timer)
{
    cudaGraphNode_t end;
    bg_status status = BG_OK;

    if (timer != NULL)
        BG__TRY_CUDA(cudaGraphAddEventRecordNode(&to->begin, to->graph, NULL, 0, timer->begin));
    BG__TRY(bg__node_copy(from, to->graph, timer != NULL ? &to->begin : NULL, &to->node, &to->empty));
    if (timer != NULL && !to->empty)
        BG__TRY_CUDA(cudaGraphAddEventRecordNode(&end, to->graph, &to->node, 1, timer->end));
done:
    return status;
}

bg_status bg__timer_read(bg__timer *timer)
{
    float milliseconds = 0;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaEventElapsedTime(&milliseconds, timer->begin, timer->end));
    timer->us = (double)milliseconds * 1e3;
done:
    return status;
}

/* Makes exec the last one, and destroys the one before. */
static void replace_last_exec(cudaGraphExec_t exec, cudaGraphExec_t *last)
{
    if (exec == NULL)
        return;
    if (*last != NULL)
        BG__RELEASE(cudaGraphExecDestroy(*last));
    *last = exec;
}

void bg__step_release_last_exec(cudaGraphExec_t *last)
{
    bg__relaxed_mode relaxed;

    if (*last == NULL)
        return;
    relaxed = bg__relaxed_mode_try_begin();
    BG__RELEASE(cudaGraphExecDestroy(*last));
    bg__relaxed_mode_end(relaxed);
    *last = NULL;
}

bg_status bg__step_instantiate_alone(const bg__node *node, cudaGraphExec_t *last, cudaError_t *refused)
{
    single_node_graph to = {.graph = NULL};
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    cudaGraphExec_t exec = NULL;
    bg_status status;

    *refused = cudaSuccess;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY_CUDA(cudaGraphCreate(&to.graph, 0));
    if (node->type == cudaGraphNodeTypeMemcpy)
        *refused = cudaGraphAddMemcpyNode(&to.node, to.graph, NULL, 0, &node->of.copy);
    else if (node->type == cudaGraphNodeTypeMemset)
        *refused = cudaGraphAddMemsetNode(&to.node, to.graph, NULL, 0, &node->of.fill);
    if (*refused == cudaSuccess && to.node != NULL)
        *refused = cudaGraphInstantiateWithFlags(&exec, to.graph, 0);
    bg__clear_cuda_error(*refused);
    if (*refused == cudaErrorMemoryAllocation) {
        *refused = cudaSuccess;
        status = bg__fail_cuda(cudaErrorMemoryAllocation, "a graph of one node");
    }
done:
    replace_last_exec(exec, last);
    if (to.graph != NULL)
        BG__RELEASE(cudaGraphDestroy(to.graph));
    bg__relaxed_mode_end(relaxed);
    return status;
}

/* A graph of one node; exec is NULL if there is nothing to run. */
typedef struct single_node_exec {
    single_node_graph to;
    cudaGraphExec_t exec;
    bg__relaxed_mode relaxed; /* this thread may have a capture open on another stream */
} single_node_exec;

static void release_single_node(single_node_exec *p, cudaGraphExec_t *last)
{
    replace_last_exec(p->exec, last);
    if (p->to.graph != NULL)
        BG__RELEASE(cudaGraphDestroy(p->to.graph));
    bg__relaxed_mode_end(p->relaxed);
    *p = (single_node_exec){.exec = NULL};
}

static bg_status instantiate_single_node(const bg__node *node, bg__timer *timer, cudaGraphExec_t *last,
                                         single_node_exec *p)
{
    bg_status status;

    *p = (single_node_exec){.exec = NULL};
    BG__TRY(bg__relaxed_mode_begin(&p->relaxed));
    BG__TRY_CUDA(cudaGraphCreate(&p->to.graph, 0));
    BG__TRY(add_node_with_events(node, &p->to, timer));
    if (!p->to.empty)
        BG__TRY_CUDA(cudaGraphInstantiateWithFlags(&p->exec, p->to.graph, 0));
done:
    if (status != BG_OK)
        release_single_node(p, last);
    return status;
}

static atomic_bool retries;

void bg__step_retry_begin(void)
{
    atomic_store(&retries, true);
}

bool bg__step_retries(void)
{
    return atomic_load(&retries);
}

/* Retries, since nodes before this one may have run and the rest of the graph needs it. A failed launch has queued
 * nothing. */
bg_status bg__step_run_alone(const bg__node *node, cudaStream_t stream, bg__timer *timer, cudaGraphExec_t *last,
                             cudaError_t *fault)
{
    single_node_exec p = {.exec = NULL};
    bg_status status;

    *fault = cudaSuccess;
    if (timer != NULL)
        timer->us = 0;
    if (node->type == cudaGraphNodeTypeEmpty)
        return BG_OK;
    status = instantiate_single_node(node, timer, last, &p);
    if (status != BG_OK && bg__step_retries())
        status = instantiate_single_node(node, timer, last, &p);
    if (status != BG_OK)
        goto done;
    if (p.exec == NULL)
        goto done;
    *fault = cudaGraphLaunch(p.exec, stream);
    if (*fault != cudaSuccess && bg__step_retries()) {
        bg__clear_cuda_error(*fault);
        *fault = cudaGraphLaunch(p.exec, stream);
    }
    if (*fault == cudaSuccess)
        *fault = bg__step_synchronize(stream);
    bg__clear_cuda_error(*fault); /* the caller reports it */
    if (timer != NULL && *fault == cudaSuccess)
        BG__TRY(bg__timer_read(timer));
done:
    release_single_node(&p, last);
    return status;
}

cudaError_t bg__step_synchronize(cudaStream_t stream)
{
    cudaError_t error = cudaStreamSynchronize(stream);
    if (error == cudaSuccess || !bg__step_retries())
        return error;
    bg__clear_cuda_error(error);
    return cudaStreamSynchronize(stream);
}
