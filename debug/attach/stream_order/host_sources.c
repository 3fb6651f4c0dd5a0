#include "host_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/report/process_findings.h"
#include "use_history.h"

enum { COMPARED_MAX = 1 << 20 }; /* bytes of a source that are compared: each launch waits for the comparison */

typedef struct source {
    const void *address;
    size_t bytes;
    void *before; /* a copy of the bytes at the last launch; NULL: there was none */
    char name[64];
    bg_site site;
} source;

struct bg__host_sources {
    source *list;
    size_t count, capacity;
};

/* Whether CUDA knows the memory: then it can be read until it is freed. */
static bool is_pinned(const void *address)
{
    struct cudaPointerAttributes attributes = {.type = cudaMemoryTypeUnregistered};
    cudaError_t error = cudaPointerGetAttributes(&attributes, address);
    bg__clear_cuda_error(error);
    return error == cudaSuccess && attributes.type == cudaMemoryTypeHost;
}

bg_status bg__host_sources_add(bg__host_sources **sources, const bg__node *node, const bg__node_range *end)
{
    bg_status status = BG_OK;
    source *added;

    if (node->of.copy.extent.height > 1 || node->of.copy.extent.depth > 1 || !is_pinned(end->address))
        return BG_OK;
    if (*sources == NULL)
        *sources = calloc(1, sizeof **sources);
    if (*sources == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the sources of copies");
    BG__TRY(BG__ARRAY_GROW((*sources)->list, (*sources)->count, (*sources)->capacity, "sources of copies"));
    added = &(*sources)->list[(*sources)->count++];
    *added = (source){.address = end->address, .bytes = end->bytes < COMPARED_MAX ? end->bytes : COMPARED_MAX};
    snprintf(added->name, sizeof added->name, "%s", node->call != NULL ? node->call->name : bg__node_kind(node));
    added->site = node->call != NULL ? node->call->site : (bg_site){NULL, 0};
done:
    return status;
}

static void report_changed_source(const source *s, const char *graph)
{
    char message[500], subject[160];
    snprintf(message, sizeof message,
             "%s of %s copies %zu bytes from host memory at %p, which were written since the previous launch, and "
             "the host has not waited for that launch: the previous launch may copy the new bytes",
             s->name, graph, s->bytes, s->address);
    snprintf(subject, sizeof subject, "%s %s", graph, s->name);
    bg__attach_report_once_at(
        "host-source-changed", BG_WARNING, subject, s->name, s->site,
        "record an event after the launch, and wait for it before you write the memory again; or alternate between "
        "two buffers",
        message);
}

void bg__host_sources_check(bg__host_sources *sources, const char *graph, bool running)
{
    for (size_t i = 0; sources != NULL && i < sources->count; i++) {
        source *s = &sources->list[i];
        if (s->bytes == 0 || !is_pinned(s->address) || !is_pinned((const char *)s->address + s->bytes - 1)) {
            s->bytes = 0; /* it was freed */
            continue;
        }
        if (running && s->before != NULL && memcmp(s->before, s->address, s->bytes) != 0 &&
            !bg__history_may_be_written((uintptr_t)s->address, (uintptr_t)s->address + s->bytes))
            report_changed_source(s, graph);
        if (s->before == NULL)
            s->before = malloc(s->bytes);
        if (s->before != NULL)
            memcpy(s->before, s->address, s->bytes);
    }
}

void bg__host_sources_free(bg__host_sources *sources)
{
    if (sources == NULL)
        return;
    for (size_t i = 0; i < sources->count; i++)
        free(sources->list[i].before);
    free(sources->list);
    free(sources);
}
