/* Finds host memory in memcpy nodes that a replay may access after the program has reused it. */
#include <stdio.h>
#include <string.h>

#include "debug/memory/maps.h"
#include "node_pointers.h"
#include "debug/report/report.h"

typedef struct scan {
    const bg__nodes *nodes;
    bg__allocations *notes; /* allocations that were device memory at some time */
    bg__allocations own;
    bg__maps maps;
    bg_report *report;
} scan;

/* The memory that the copy's kind implies for its source or destination. */
typedef enum said { SAID_NOTHING, SAID_HOST, SAID_DEVICE } said;

static said what_kind_says(enum cudaMemcpyKind kind, bg__end_kind which)
{
    switch (kind) {
    case cudaMemcpyHostToHost: return SAID_HOST;
    case cudaMemcpyHostToDevice: return which == BG__SOURCE ? SAID_HOST : SAID_DEVICE;
    case cudaMemcpyDeviceToHost: return which == BG__SOURCE ? SAID_DEVICE : SAID_HOST;
    case cudaMemcpyDeviceToDevice: return SAID_DEVICE;
    default: return SAID_NOTHING;
    }
}

static bg_status ask_driver(const scan *s, uintptr_t address, bool *known)
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
static bg_status is_pageable(const scan *s, said said, const bg__end *end, bool *pageable)
{
    uintptr_t first = (uintptr_t)end->address, last = first + (end->bytes > 0 ? end->bytes - 1 : 0);
    const bg__mapping *mapping = bg__maps_find(&s->maps, first);
    bool known, all_known;
    bg_status status = BG_OK;

    *pageable = false;
    if (said == SAID_DEVICE)
        goto done;
    BG__TRY(ask_driver(s, first, &known));
    BG__TRY(ask_driver(s, last, &all_known));
    if (!known || !all_known)
        *pageable = said == SAID_HOST || (mapping != NULL && mapping->readable);
done:
    return status;
}

static void report_stack(const scan *s, const bg__node *node, const char *label, const char *does, const bg__end *end,
                         const bg__mapping *mapping)
{
    bool gone = bg__maps_is_gone(&s->maps, (uintptr_t)end->address);
    bg__report_add(s->report, "stack-copy", gone ? BG_FAULT : BG_WARNING, node->call, end->address,
                   "copy from and to pinned memory (cudaMallocHost) that lives as long as the graph",
                   "each replay %s %zu bytes on a thread's stack%s: %p (%s); %s", does, end->bytes,
                   gone ? ", in the frame of a function that has returned" : "", end->address,
                   mapping->name[0] != '\0' ? mapping->name : "anonymous memory", label);
}

static void report_pageable(const scan *s, const bg__node *node, const char *label, const char *does,
                            const bg__end *end, const bg__mapping *mapping)
{
    const char *where = mapping == NULL ? "" : mapping->name[0] == '\0' ? "anonymous memory" : mapping->name;
    bg__report_add(s->report, "pageable-copy", mapping == NULL ? BG_FAULT : BG_WARNING, node->call, end->address,
                   "copy from and to pinned memory (cudaMallocHost, or cudaHostRegister) that lives as long as the "
                   "graph",
                   "each replay %s %zu bytes of %s host memory: %p%s%s; %s", does, end->bytes,
                   mapping == NULL ? "unmapped" : "pageable", end->address, where[0] != '\0' ? ", in " : "", where,
                   label);
}

static bg_status check_copy_end(const scan *s, const bg__node *node, bg__end_kind which)
{
    const char *does = which == BG__SOURCE ? "reads" : "writes";
    const bg__mapping *mapping;
    char label[512];
    bool pageable;
    bg__end end;
    bg_status status = BG_OK;

    if (!bg__copy_end(node, which, &end))
        return BG_OK;
    BG__TRY(is_pageable(s, what_kind_says(node->of.copy.kind, which), &end, &pageable));
    if (!pageable)
        goto done;
    mapping = bg__maps_find(&s->maps, (uintptr_t)end.address);
    bg__node_label(s->nodes, node, label, sizeof label);
    if (mapping != NULL && mapping->stack)
        report_stack(s, node, label, does, &end, mapping);
    else
        report_pageable(s, node, label, does, &end, mapping);
done:
    return status;
}

bg_status bg__check_host_memory(bg_graph *graph, const bg__nodes *nodes, const void *frame, bg_report *report)
{
    scan s = {.nodes = nodes, .report = report};
    bg_status status;

    BG__TRY(bg__nodes_notes(graph, &s.notes));
    BG__TRY(bg__maps_take(&s.maps, frame));
    BG__TRY(bg__nodes_own_memory(nodes, &s.own));
    for (size_t i = 0; i < nodes->count; i++) {
        BG__TRY(check_copy_end(&s, &nodes->node[i], BG__SOURCE));
        BG__TRY(check_copy_end(&s, &nodes->node[i], BG__DESTINATION));
    }
done:
    bg__allocations_free(&s.own);
    bg__maps_free(&s.maps);
    return status;
}
