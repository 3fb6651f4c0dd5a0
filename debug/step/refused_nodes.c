#include "refused_nodes.h"

#include <stdio.h>

#include "debug/memory/free_sites.h"
#include "debug/memory/pointers.h"

/* Whether this end of the copy is in device memory, by the copy's kind. */
static bool is_on_device(const bg__node *node, bg__copy_side which)
{
    enum cudaMemcpyKind kind = node->type == cudaGraphNodeTypeMemcpy ? node->of.copy.kind : cudaMemcpyDeviceToDevice;
    return kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault ||
           kind == (which == BG__SOURCE ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice);
}

/* Describes the first end of the copy that is in memory unknown to CUDA; "": there is none. */
static bg_status find_unknown_end(const bg__node *node, const void **address, char *text, size_t bytes)
{
    static const char *const names[] = {[BG__SOURCE] = "source", [BG__DESTINATION] = "destination"};
    bg__allocations known;
    bg__allocation found;
    bg__node_range end;
    bg_status status;

    text[0] = '\0';
    *address = NULL;
    BG__TRY(bg__allocations_init(&known));
    for (int which = BG__SOURCE; which <= BG__DESTINATION; which++) {
        if (!is_on_device(node, which) ||
            (!bg__memcpy_node_range(node, which, &end) && (which == BG__SOURCE || !bg__memset_node_range(node, &end))))
            continue;
        BG__TRY(bg__pointer_find(&known, (uintptr_t)end.address, &found));
        if (found.id == 0) {
            const bg_site freed = bg__frees_find((uintptr_t)end.address);
            char line[24] = "";
            if (freed.line > 0)
                snprintf(line, sizeof line, ":%d", freed.line);
            snprintf(text, bytes, "; its %s, %p, is in no memory that CUDA knows%s%s%s", names[which], end.address,
                     freed.file != NULL ? ", and was freed at " : "", freed.file != NULL ? freed.file : "", line);
            *address = end.address;
            break;
        }
    }
done:
    return status;
}

bg_status bg__step_report_refused(const bg__node *node, const bg__nodes *nodes, cudaGraphExec_t *last,
                                  bg_report *report, bool *refused)
{
    char label[512], where[400];
    const void *address;
    cudaError_t error;
    bg_status status = BG_OK;

    *refused = false;
    if (node->writeback || (node->type != cudaGraphNodeTypeMemcpy && node->type != cudaGraphNodeTypeMemset))
        return BG_OK;
    BG__TRY(bg__step_instantiate_alone(node, last, &error));
    if (error != cudaSuccess && bg__step_retries())
        BG__TRY(bg__step_instantiate_alone(node, last, &error)); /* a single failure is not the node's */
    if (error == cudaSuccess)
        goto done;
    *refused = true;
    BG__TRY(find_unknown_end(node, &address, where, sizeof where));
    bg__report_add(report, "fault", BG_FAULT, node->call, address,
                   "free the memory only after the graph is destroyed, or capture again",
                   "%s: CUDA does not take it in a graph any more: %s (%s)%s; the graph was launched as a whole",
                   bg__node_label(nodes, node, label, sizeof label), cudaGetErrorName(error), cudaGetErrorString(error),
                   where);
done:
    return status;
}
