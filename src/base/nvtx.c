/* Ranges for profilers, through NVTX: headers of the CUDA toolkit that load the profiler's library, and do nothing
 * without a profiler. The library's ranges have their own domain, so that they need not nest with a program's
 * ranges. */
#include "base/base.h"

#include <pthread.h>
#include <stdlib.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

static const bool nvtx_is_available = true;
static nvtxDomainHandle_t domain;

static void make_domain(void)
{
    domain = nvtxDomainCreateA("breakgraph");
}

static nvtxEventAttributes_t make_attributes(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    pthread_once(&once, make_domain);
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    return attributes;
}

void bg__nvtx_range_push(const char *name)
{
    nvtxEventAttributes_t attributes = make_attributes(name);
    nvtxDomainRangePushEx(domain, &attributes);
}

void bg__nvtx_range_pop(void)
{
    nvtxDomainRangePop(domain);
}

uint64_t bg__nvtx_range_start(const char *name)
{
    nvtxEventAttributes_t attributes = make_attributes(name);
    return nvtxDomainRangeStartEx(domain, &attributes);
}

void bg__nvtx_range_end(uint64_t range)
{
    nvtxDomainRangeEnd(domain, range);
}
#else /* a toolkit without NVTX */
static const bool nvtx_is_available = false;

void bg__nvtx_range_push(const char *name)
{
    (void)name;
}

void bg__nvtx_range_pop(void)
{
}

uint64_t bg__nvtx_range_start(const char *name)
{
    (void)name;
    return 0;
}

void bg__nvtx_range_end(uint64_t range)
{
    (void)range;
}
#endif

bg_status bg__nvtx_is_wanted(bool *wanted)
{
    /* Profilers set this variable for the programs that they start. */
    bool attached = nvtx_is_available && bg__env_value("NVTX_INJECTION64_PATH") != NULL;
    bg_status status;

    BG__TRY(bg__env_flag("BG_NVTX", wanted));
    *wanted = bg__env_value("BG_NVTX") != NULL ? *wanted : attached;
    if (*wanted && !nvtx_is_available)
        status = bg__fail(BG_ERROR_UNSUPPORTED, "BG_NVTX is 1, but breakgraph was built without nvtx3/nvToolsExt.h; "
                                                "install the toolkit's NVTX headers and build again");
done:
    return status;
}
