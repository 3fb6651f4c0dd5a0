/* A capture's settings, from its options and the environment. */
#include "capture/capture.h"

#include <stdatomic.h>
#include <stddef.h>

enum { WORKERS_MAX = 64 };

bg_status bg__capture_options_take(bg_capture_options *to, const bg_capture_options *from)
{
    *to = (bg_capture_options)BG_CAPTURE_OPTIONS_INIT;
    if (from == NULL)
        return BG_OK;
    return bg__sized_take(to, from, sizeof *to, offsetof(bg_capture_options, mode), "options",
                          "BG_CAPTURE_OPTIONS_INIT");
}

bg_status bg__capture_options_check(const bg_capture_options *options)
{
    if (options->mode != cudaStreamCaptureModeGlobal && options->mode != cudaStreamCaptureModeThreadLocal &&
        options->mode != cudaStreamCaptureModeRelaxed)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "options.mode is %d, which is not a cudaStreamCaptureMode",
                        (int)options->mode);
    if ((int)options->debug < BG_DEBUG_FROM_ENV || options->debug > BG_DEBUG_STEP)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "options.debug is %d, which is not a bg_debug", (int)options->debug);
    if ((int)options->check < BG_REPLAY_CHECK_FROM_ENV || options->check > BG_REPLAY_CHECK_ON)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "options.check is %d, which is not a bg_replay_check",
                        (int)options->check);
    if (options->worker_threads < 0 || options->worker_threads > WORKERS_MAX)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "options.worker_threads is %d; allowed are 0 to %d",
                        options->worker_threads, WORKERS_MAX);
    if (options->state == NULL && options->state_count > 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "options.state is NULL, but options.state_count is %zu",
                        options->state_count);
    return BG_OK;
}

bg_status bg__capture_resolve_debug(bg_capture *capture, bool whole)
{
    bg_status status = BG_OK;
    int index = 0;

    capture->debug = capture->options.debug;
    if (capture->debug == BG_DEBUG_FROM_ENV) {
        BG__TRY(bg__env_choice("BG_DEBUG", &index));
        capture->debug = (bg_debug)(BG_DEBUG_OFF + index);
    }
    if (!bg__override_breakable(capture->override) &&
        (capture->debug == BG_DEBUG_FORWARD || capture->debug == BG_DEBUG_OPS))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT,
                 "BG_BREAKABLE=0 captures everything, but the debug mode %s runs everything eagerly; unset one of them",
                 capture->debug == BG_DEBUG_OPS ? "ops" : "forward");
    if (capture->debug == BG_DEBUG_FORWARD && !whole) {
        bg__warn("the debug mode forward needs bg_capture_forward; between bg_capture_begin and bg_capture_end every "
                 "op is a break instead");
        capture->debug = BG_DEBUG_OPS;
    }
done:
    return status;
}

/* BG_CHECK=poison replays eager bodies, so it needs a capture that launches; BG_CHECK=recapture captures twice, and the
 * extra capture would take memory of options.pool. */
static bool pass_can_be_checked(const bg_capture *capture, bg__captured_check check, bool whole)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    bool recapture = check == BG__CHECK_RECAPTURE;
    bool fits = recapture ? capture->options.pool == NULL : capture->options.launch_segments;

    if (whole && fits && capture->debug != BG_DEBUG_FORWARD)
        return true;
    if (!atomic_flag_test_and_set(&told))
        bg__warn(
            "%s is not checked: BG_CHECK=%s is only for bg_capture_forward %s, and not under BG_DEBUG=forward; this "
            "is said once, also if other captures are not checked",
            capture->graph->name, recapture ? "recapture" : "poison",
            recapture ? "without options.pool" : "with options.launch_segments");
    return false;
}

bg_status bg__capture_resolve_check(bg_capture *capture, bool whole)
{
    bg_status status = BG_OK;
    int index = BG__CHECK_OFF;

    if (capture->options.check == BG_REPLAY_CHECK_FROM_ENV)
        status = bg__env_choice("BG_CHECK", &index);
    else if (capture->options.check == BG_REPLAY_CHECK_ON)
        index = BG__CHECK_REPLAY;
    capture->check = (bg__captured_check)index;
    capture->graph->watched = capture->check == BG__CHECK_REPLAY;
    capture->graph->careful = capture->check != BG__CHECK_OFF || capture->debug != BG_DEBUG_OFF;
    if ((capture->check == BG__CHECK_RECAPTURE || capture->check == BG__CHECK_POISON) &&
        !pass_can_be_checked(capture, capture->check, whole))
        capture->check = BG__CHECK_OFF;
    return status;
}
