/* A profiler, as NVTX sees one: loaded through NVTX_INJECTION64_PATH, it writes the ranges that it is told of to the
 * file in RECORD, each inside those that are open in its thread. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARTED_MAX = 1024 };

static FILE *record;
static char *started[STARTED_MAX];
static nvtxRangeId_t started_count;
static int depth;

static const char *name_of(const nvtxEventAttributes_t *event)
{
    return event->messageType == NVTX_MESSAGE_TYPE_ASCII ? event->message.ascii : "(no name)";
}

static nvtxDomainHandle_t create_domain(const char *name)
{
    fprintf(record, "domain %s\n", name);
    return (nvtxDomainHandle_t)record;
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    fprintf(record, "%*s%s%s {\n", 2 * depth, "", name_of(event), domain == NULL ? " (in no domain)" : "");
    return depth++;
}

static int pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    depth--;
    fprintf(record, "%*s}%s\n", depth < 0 ? 0 : 2 * depth, "", depth < 0 ? " (nothing is open)" : "");
    return depth;
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    (void)domain;
    if (started_count == STARTED_MAX || (started[started_count] = strdup(name_of(event))) == NULL)
        exit(9);
    fprintf(record, "%*sbegin %s\n", 2 * depth, "", started[started_count]);
    return started_count++;
}

static void end(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    (void)domain;
    fprintf(record, "%*send %s\n", 2 * depth, "",
            range < started_count && started[range] ? started[range] : "(of nothing)");
    if (range < started_count) {
        free(started[range]);
        started[range] = NULL;
    }
}

static void at_exit(void)
{
    for (nvtxRangeId_t i = 0; i < started_count; i++)
        if (started[i] != NULL)
            fprintf(record, "never ended: %s\n", started[i]);
    fprintf(record, "%d open\n", depth);
    fclose(record);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    const char *path = getenv("RECORD");
    NvtxFunctionTable functions;
    unsigned count;

    if (path == NULL || callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &count) ||
        count <= NVTX_CBID_CORE2_DomainCreateA)
        return 0;
    record = fopen(path, "w");
    if (record == NULL || atexit(at_exit) != 0)
        return 0;
    *functions[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    *functions[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *functions[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    *functions[NVTX_CBID_CORE2_DomainRangeStartEx] = (NvtxFunctionPointer)start;
    *functions[NVTX_CBID_CORE2_DomainRangeEnd] = (NvtxFunctionPointer)end;
    return 1;
}
