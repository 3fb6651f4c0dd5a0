/* Runs one node in a graph of its own. */
#include "node_list.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "debug/graph/node_copy.h"

/* ---- parameters of a kernel ---- */

static void add_part(bg__step_kernel *kernel, size_t offset, const void *from, size_t bytes)
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
static const char *print_words(const bg__step_kernel *kernel, char *text, size_t bytes)
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
            guessed = left == sizeof(float) && bg__real_guess(from + at, left, real);
            used += (size_t)snprintf(text + used, bytes - used, "%s+%zu %s%s0x%0*llx%s", used > 0 ? ", " : "",
                                     kernel->part[i].offset + at, guessed ? real : "", guessed ? " (" : "",
                                     2 * (int)left, (unsigned long long)word, guessed ? ")" : "");
        }
    }
    if (kernel->more && used < bytes)
        snprintf(text + used, bytes - used, ", ...");
    return text;
}

const char *bg__step_launch(const bg__step_kernel *kernel, char *text, size_t bytes)
{
    const unsigned *g = kernel->grid, *b = kernel->block;
    char words[1024];

    text[0] = '\0';
    if (kernel->name[0] != '\0')
        snprintf(text, bytes, "; grid %u x %u x %u, block %u x %u x %u, parameters %s", g[0], g[1], g[2], b[0], b[1],
                 b[2], print_words(kernel, words, sizeof words));
    return text;
}

void bg__step_describe(const bg__node *node, bg__step_kernel *kernel)
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
        add_part(kernel, parameter.offset, parameter.value, parameter.bytes);
}

/* ---- a copy of a node ---- */

/* The graph that receives the copy. */
typedef struct alone {
    cudaGraph_t graph;
    cudaGraphNode_t begin, node;
    bool empty; /* the node needs no copy */
} alone;

/* Copies the node, between the timer's events. */
static bg_status fill_graph(const bg__node *from, alone *to, const bg__timer *timer)
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
static void keep(cudaGraphExec_t exec, cudaGraphExec_t *last)
{
    if (exec == NULL)
        return;
    if (*last != NULL)
        BG__RELEASE(cudaGraphExecDestroy(*last));
    *last = exec;
}

void bg__step_drop_last(cudaGraphExec_t *last)
{
    bg__relaxed relaxed;

    if (*last == NULL)
        return;
    relaxed = bg__relax_to_release();
    BG__RELEASE(cudaGraphExecDestroy(*last));
    bg__relax_end(relaxed);
    *last = NULL;
}

bg_status bg__step_try_alone(const bg__node *node, cudaGraphExec_t *last, cudaError_t *refused)
{
    alone to = {.graph = NULL};
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    cudaGraphExec_t exec = NULL;
    bg_status status;

    *refused = cudaSuccess;
    BG__TRY(bg__relax_begin(&relaxed));
    BG__TRY_CUDA(cudaGraphCreate(&to.graph, 0));
    if (node->type == cudaGraphNodeTypeMemcpy)
        *refused = cudaGraphAddMemcpyNode(&to.node, to.graph, NULL, 0, &node->of.copy);
    else if (node->type == cudaGraphNodeTypeMemset)
        *refused = cudaGraphAddMemsetNode(&to.node, to.graph, NULL, 0, &node->of.fill);
    if (*refused == cudaSuccess && to.node != NULL)
        *refused = cudaGraphInstantiateWithFlags(&exec, to.graph, 0);
    bg__ignore(*refused);
    if (*refused == cudaErrorMemoryAllocation) {
        *refused = cudaSuccess;
        status = bg__fail_cuda(cudaErrorMemoryAllocation, "a graph of one node");
    }
done:
    keep(exec, last);
    if (to.graph != NULL)
        BG__RELEASE(cudaGraphDestroy(to.graph));
    bg__relax_end(relaxed);
    return status;
}

/* A graph of one node; exec is NULL if there is nothing to run. */
typedef struct prepared {
    alone to;
    cudaGraphExec_t exec;
    bg__relaxed relaxed; /* this thread may have a capture open on another stream */
} prepared;

static void drop(prepared *p, cudaGraphExec_t *last)
{
    keep(p->exec, last);
    if (p->to.graph != NULL)
        BG__RELEASE(cudaGraphDestroy(p->to.graph));
    bg__relax_end(p->relaxed);
    *p = (prepared){.exec = NULL};
}

static bg_status prepare(const bg__node *node, bg__timer *timer, cudaGraphExec_t *last, prepared *p)
{
    bg_status status;

    *p = (prepared){.exec = NULL};
    BG__TRY(bg__relax_begin(&p->relaxed));
    BG__TRY_CUDA(cudaGraphCreate(&p->to.graph, 0));
    BG__TRY(fill_graph(node, &p->to, timer));
    if (!p->to.empty)
        BG__TRY_CUDA(cudaGraphInstantiateWithFlags(&p->exec, p->to.graph, 0));
done:
    if (status != BG_OK)
        drop(p, last);
    return status;
}

static atomic_bool insists;

void bg__step_insist(void)
{
    atomic_store(&insists, true);
}

bool bg__step_insists(void)
{
    return atomic_load(&insists);
}

/* Retries, since nodes before this one may have run and the rest of the graph needs it. A failed launch has queued
 * nothing. */
bg_status bg__step_run_alone(const bg__node *node, cudaStream_t stream, bg__timer *timer, cudaGraphExec_t *last,
                             cudaError_t *fault)
{
    prepared p = {.exec = NULL};
    bg_status status;

    *fault = cudaSuccess;
    if (timer != NULL)
        timer->us = 0;
    if (node->type == cudaGraphNodeTypeEmpty)
        return BG_OK;
    status = prepare(node, timer, last, &p);
    if (status != BG_OK && bg__step_insists())
        status = prepare(node, timer, last, &p);
    if (status != BG_OK)
        goto done;
    if (p.exec == NULL)
        goto done;
    *fault = cudaGraphLaunch(p.exec, stream);
    if (*fault != cudaSuccess && bg__step_insists()) {
        bg__ignore(*fault);
        *fault = cudaGraphLaunch(p.exec, stream);
    }
    if (*fault == cudaSuccess)
        *fault = bg__step_wait(stream);
    bg__ignore(*fault); /* the caller reports it */
    if (timer != NULL && *fault == cudaSuccess)
        BG__TRY(bg__timer_read(timer));
done:
    drop(&p, last);
    return status;
}

cudaError_t bg__step_wait(cudaStream_t stream)
{
    cudaError_t error = cudaStreamSynchronize(stream);
    if (error == cudaSuccess || !bg__step_insists())
        return error;
    bg__ignore(error);
    return cudaStreamSynchronize(stream);
}
