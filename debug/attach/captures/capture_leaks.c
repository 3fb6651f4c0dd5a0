/* Work that a capturing thread launches into a stream that does not capture. It runs once, and is in no graph. It is
 * not reported in mode relaxed: libraries that must prepare something during a capture (NCCL, allocators) set their
 * thread to this mode, as CUDA demands for unsafe calls, and a capture in this mode allows such work on purpose. */
#include "captures.h"

#include <stdlib.h>
#include <string.h>

#include "debug/attach/events/subscribers.h"
#include "debug/attach/report/process_findings.h"

/* Also true if the mode cannot be read. */
static bool is_relaxed(void)
{
    bg__relaxed_mode relaxed = bg__relaxed_mode_try_begin();
    bg__relaxed_mode_end(relaxed);
    return relaxed.before == cudaStreamCaptureModeRelaxed;
}

/* Returns the name of the kernel, or of the driver's function. NULL: no kernel, copy or memset. */
static char *work_name(const bg__driver_call *call, const char *function)
{
    char *kernel = NULL;
    if (strncmp(function, "cuMemcpy", 8) == 0 || strncmp(function, "cuMemset", 8) == 0)
        return strdup(function);
    if (strncmp(function, "cuLaunchKernelEx", 16) == 0)
        kernel = bg__function_short_name(bg__call_argument(call, 1));
    else if (strncmp(function, "cuLaunchKernel", 14) == 0 || strncmp(function, "cuLaunchCooperativeKernel", 25) == 0)
        kernel = bg__function_short_name(bg__call_argument(call, 0));
    else
        return NULL;
    return kernel != NULL ? kernel : strdup(function);
}

static void check_work(const bg__driver_call *call, const char *function, CUstream stream)
{
    CUstream captured = NULL;
    const bg__stack *begun = bg__capture_of_thread(&captured);
    char *work = begun != NULL && !is_relaxed() ? work_name(call, function) : NULL, message[1024];
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
    bg__attach_report_once("leak", BG_WARNING, work, work, bg__stack_here(),
                           "launch it into the capturing stream, or fork its stream from that one (cudaEventRecord, "
                           "cudaStreamWaitEvent); launch work that must run only once before the capture",
                           message);
    free(work);
}

static void check_launch(const bg__event *event)
{
    check_work(event->call, event->name, event->stream);
}

/* Synchronous copies and memsets have no stream among their arguments. */
static void check_copy(const bg__event *event)
{
    const char *name = bg__call_name(event->call), *end = strrchr(name, '_');

    if (event->result == CUDA_SUCCESS && strstr(name, "Async") == NULL &&
        (strncmp(name, "cuMemcpy", 8) == 0 || strncmp(name, "cuMemset", 8) == 0))
        check_work(event->call, name,
                   end != NULL && strcmp(end, "_ptds") == 0 ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY);
}

const bg__subscriber bg__check_work_outside = {.name = "work outside of captures",
                                               .on = {[BG__WORK] = check_launch, [BG__CALL_ENDED] = check_copy}};
