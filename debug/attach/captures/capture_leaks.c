/* Work that a thread launches while it captures, into a stream that does not. It runs once, and is in no graph.
 * Libraries that have to prepare something meanwhile make their thread relaxed for that, as CUDA's rules for unsafe
 * calls want it (NCCL, allocators), and a capture in mode relaxed allows it by intent: that is not reported. */
#include "captures.h"

#include <stdlib.h>
#include <string.h>

#include "debug/attach/report/findings.h"

static const bg__attach_shim *shim;

void bg__leak_begin(const bg__attach_shim *given)
{
    shim = given;
}

/* Also where it cannot be told. */
static bool is_relaxed(void)
{
    bg__relaxed relaxed = bg__relax_to_release();
    bg__relax_end(relaxed);
    return relaxed.before == cudaStreamCaptureModeRelaxed;
}

/* The kernel, or the driver's function. NULL: it is no work of the kinds that are looked at. */
static char *name_work(const bg__driver_call *call, const char *function)
{
    char *kernel = NULL;
    if (strncmp(function, "cuMemcpy", 8) == 0 || strncmp(function, "cuMemset", 8) == 0)
        return strdup(function);
    if (strncmp(function, "cuLaunchKernelEx", 16) == 0)
        kernel = bg__launched_name(shim, bg__call_argument(call, 1));
    else if (strncmp(function, "cuLaunchKernel", 14) == 0 || strncmp(function, "cuLaunchCooperativeKernel", 25) == 0)
        kernel = bg__launched_name(shim, bg__call_argument(call, 0));
    else
        return NULL;
    return kernel != NULL ? kernel : strdup(function);
}

void bg__leak_look(const bg__driver_call *call, const char *function, CUstream stream)
{
    CUstream captured = NULL;
    const bg__stack *begun = bg__capture_of_thread(&captured);
    char *work = begun != NULL && !is_relaxed() ? name_work(call, function) : NULL, message[1024];
    char into[32] = "the default stream";
    bg_site site;

    if (work == NULL)
        return;
    site = bg__stack_site(begun);
    if (stream != NULL && stream != CU_STREAM_LEGACY)
        snprintf(into, sizeof into, "stream %p", (void *)stream);
    snprintf(message, sizeof message,
             "%s goes into %s, which does not capture, while the same thread captures stream %p (begun at "
             "%s%s%.0d): it runs once, now, and is in no graph",
             work, into, (void *)captured, site.file != NULL ? site.file : "an unknown place", site.line > 0 ? ":" : "",
             site.line);
    bg__attach_report("leak", BG_WARNING, work, work, bg__stack_here(),
                      "launch it into the capturing stream, or fork its stream from that one (cudaEventRecord, "
                      "cudaStreamWaitEvent); what shall run once belongs before the capture",
                      message);
    free(work);
}
