/* Finds memcpy nodes that use host memory which the program may have reused before a replay. */
#include <stdio.h>
#include <string.h>

#include "debug/memory/maps.h"
#include "node_pointers.h"
#include "debug/report/report.h"

typedef struct host_memory_scan {
    const bg__nodes *nodes;
    bg__allocations *notes; /* allocations that were device memory at some time */
    bg__allocations own;
    bg__maps maps;
    bg_report *report;
} host_memory_scan;

/* The memory that the copy's kind implies for its source or destination. */
typedef enum copy_side_memory { SIDE_UNKNOWN, SIDE_HOST, SIDE_DEVICE } copy_side_memory;

static copy_side_memory memory_by_copy_kind(enum cudaMemcpyKind kind, bg__copy_side which)
{
    switch (kind) {
    case cudaMemcpyHostToHost: return SIDE_HOST;
    case cudaMemcpyHostToDevice: return which == BG__SOURCE ? SIDE_HOST : SIDE_DEVICE;
    case cudaMemcpyDeviceToHost: return which == BG__SOURCE ? SIDE_DEVICE : SIDE_HOST;
    case cudaMemcpyDeviceToDevice: return SIDE_DEVICE;
    default: return SIDE_UNKNOWN;
    }
}

static bg_status is_known_to_driver(const host_memory_scan *s, uintptr_t address, bool *known)
{
    bg__allocation allocation;
    bg_status status = BG_OK;

    *known = bg__allocations_find(&s->own, address) != NULL || bg__allocations_find(s->notes, address) != NULL;
    if (*known)
        goto done;
    BG__TRY(bg__pointer_find(s->notes, address, &allocation));
    *known = allocation.id != 0;
done:
    return status;
}

/* *pageable: the range is in host memory that CUDA does not know. */
static bg_status check_is_pageable(const host_memory_scan *s, copy_side_memory copy_side_memory,
                                   const bg__node_range *end, bool *pageable)
{
    uintptr_t first = (uintptr_t)end->address, last = first + (end->bytes > 0 ? end->bytes - 1 : 0);
    const bg__mapping *mapping = bg__maps_find(&s->maps, first);
    bool known, all_known;
    bg_status status = BG_OK;

    *pageable = false;
    if (copy_side_memory == SIDE_DEVICE)
        goto done;
    BG__TRY(is_known_to_driver(s, first, &known));
    BG__TRY(is_known_to_driver(s, last, &all_known));
    if (!known || !all_known)
        *pageable = copy_side_memory == SIDE_HOST || (mapping != NULL && mapping->readable);
done:
    return status;
}

static void report_stack_copy(const host_memory_scan *s, const bg__node *node, const char *label, const char *does,
                              const bg__node_range *end, const bg__mapping *mapping)
{
    bool gone = bg__maps_is_dead_frame(&s->maps, (uintptr_t)end->address);
    bg__report_add(s->report, "stack-copy", gone ? BG_FAULT : BG_WARNING, node->call, end->address,
                   "copy from and to pinned memory (cudaMallocHost) that lives as long as the graph",
                   "each replay %s %zu bytes on a thread's stack%s: %p (%s); %s", does, end->bytes,
                   gone ? ", in the frame of a function that has returned" : "", end->address,
                   mapping->name[0] != '\0' ? mapping->name : "anonymous memory", label);
}

static void report_pageable_copy(const host_memory_scan *s, const bg__node *node, const char *label, const char *does,
                                 const bg__node_range *end, const bg__mapping *mapping)
{
    const char *where = mapping == NULL ? "" : mapping->name[0] == '\0' ? "anonymous memory" : mapping->name;
    bg__report_add(s->report, "pageable-copy", mapping == NULL ? BG_FAULT : BG_WARNING, node->call, end->address,
                   "copy from and to pinned memory (cudaMallocHost, or cudaHostRegister) that lives as long as the "
                   "graph",
                   "each replay %s %zu bytes of %s host memory: %p%s%s; %s", does, end->bytes,
                   mapping == NULL ? "unmapped" : "pageable", end->address, where[0] != '\0' ? ", in " : "", where,
                   label);
}

static bg_status check_copy_side(const host_memory_scan *s, const bg__node *node, bg__copy_side which)
{
    const char *does = which == BG__SOURCE ? "reads" : "writes";
    const bg__mapping *mapping;
    char label[512];
    bool pageable;
    bg__node_range end;
    bg_status status = BG_OK;

    if (!bg__memcpy_node_range(node, which, &end))
        return BG_OK;
    BG__TRY(check_is_pageable(s, memory_by_copy_kind(node->of.copy.kind, which), &end, &pageable));
    if (!pageable)
        goto done;
    mapping = bg__maps_find(&s->maps, (uintptr_t)end.address);
    bg__node_label(s->nodes, node, label, sizeof label);
    if (mapping != NULL && mapping->stack)
        report_stack_copy(s, node, label, does, &end, mapping);
    else
        report_pageable_copy(s, node, label, does, &end, mapping);
done:
    return status;
}

bg_status bg__check_host_memory(bg_graph *graph, const bg__nodes *nodes, const void *frame, bg_report *report)
{
    host_memory_scan s = {.nodes = nodes, .report = report};
    bg_status status;

    BG__TRY(bg__recorded_allocations_get(graph, &s.notes));
    BG__TRY(bg__maps_read(&s.maps, frame));
    BG__TRY(bg__nodes_list_allocations(nodes, &s.own));
    for (size_t i = 0; i < nodes->count; i++) {
        BG__TRY(check_copy_side(&s, &nodes->node[i], BG__SOURCE));
        BG__TRY(check_copy_side(&s, &nodes->node[i], BG__DESTINATION));
    }
done:
    bg__allocations_free(&s.own);
    bg__maps_free(&s.maps);
    return status;
}
