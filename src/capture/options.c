/* A capture's settings, from its options and the environment. */
#include "capture/capture.h"

#include <ctype.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

enum { WORKERS_MAX = 64 };

bg_status bg__capture_options_copy(bg_capture_options *to, const bg_capture_options *from)
{
    *to = (bg_capture_options)BG_CAPTURE_OPTIONS_INIT;
    if (from == NULL)
        return BG_OK;
    return bg__struct_copy_in(to, from, sizeof *to, offsetof(bg_capture_options, mode), "options",
                              "BG_CAPTURE_OPTIONS_INIT");
}

/* "1,2,4" */
static bool is_size_list(const char *text)
{
    for (;; text++) {
        char *end;
        long size = strtol(text, &end, 10);
        if (end == text || size < 1 || size > INT_MAX)
            return false;
        for (text = end; isspace((unsigned char)*text);)
            text++;
        if (*text != ',')
            return *text == '\0';
    }
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
    if (options->expect_breaks < -1)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "options.expect_breaks is %d; allowed are -1, for any number, and 0 or more",
                        options->expect_breaks);
    if (options->level < BG_LEVEL_FROM_ENV || options->level >= BG_LEVEL_COUNT)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "options.level is %d, which is not a bg_level", options->level);
    if (options->compile_sizes != NULL && !is_size_list(options->compile_sizes))
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "options.compile_sizes is \"%s\"; allowed are numbers of rows, as in \"1,2,4\", and NULL, "
                        "for all",
                        options->compile_sizes);
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
    if (!bg__override_allows_breaks(capture->override) &&
        (capture->debug == BG_DEBUG_FORWARD || capture->debug == BG_DEBUG_OPS))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT,
                 "BG_BREAKABLE=0 captures everything, but the debug mode %s runs everything eagerly; unset one of them",
                 capture->debug == BG_DEBUG_OPS ? "ops" : "forward");
    if (capture->debug == BG_DEBUG_FORWARD && !whole) {
        bg__warn("the debug mode forward needs bg_capture_forward; between bg_capture_begin and bg_capture_end "
                 "every op is a break instead");
        capture->debug = BG_DEBUG_OPS;
    }
done:
    return status;
}

/* Returns why the check is impossible; NULL: it is possible. Poison replays eager bodies, so it needs a capture that
 * launches; recapture captures twice, and the extra capture would take memory of options.pool. A runner releases that
 * memory (bg__bucket_hooks), and checks poison when it has a batch. */
static const char *find_check_obstacle(const bg_capture *capture, unsigned check, bool whole, bool of_runner)
{
    if (capture->debug == BG_DEBUG_FORWARD)
        return "BG_DEBUG=forward captures nothing";
    if (check == BG__CHECK_RECAPTURE && !whole)
        return "it was captured with bg_capture_begin, so its forward function is not known; use bg_capture_forward";
    if (check == BG__CHECK_RECAPTURE && capture->options.pool != NULL && !of_runner)
        return "a second capture would take memory of its options.pool";
    if (check == BG__CHECK_POISON && !capture->options.launch_segments && !of_runner)
        return "its capture launches nothing, so its memory holds no data; set options.launch_segments";
    return NULL;
}

static void drop_check(bg_capture *capture, unsigned check, const char *why)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    bool recapture = check == BG__CHECK_RECAPTURE;

    capture->checks &= ~check;
    bg__debug_hooks.not_checked(capture->graph, check, why);
    if (!atomic_flag_test_and_set(&told))
        bg__warn("%s is not checked: BG_CHECK=%s works only for %s, and not with BG_DEBUG=forward; this warning "
                 "appears once, even if more captures are not checked",
                 capture->graph->name, recapture ? "recapture" : "poison",
                 recapture ? "bg_capture_forward without options.pool" : "captures with options.launch_segments");
}

bg_status bg__capture_resolve_check(bg_capture *capture, bool whole, bool of_runner)
{
    static const unsigned of_pass[] = {BG__CHECK_RECAPTURE, BG__CHECK_POISON};
    bg_status status = BG_OK;

    if (capture->options.check == BG_REPLAY_CHECK_FROM_ENV)
        status = bg__env_choices("BG_CHECK", &capture->checks);
    else if (capture->options.check == BG_REPLAY_CHECK_ON)
        capture->checks = BG__CHECK_REPLAY;
    if (bg__thread_self()->in_tool)
        capture->checks &= ~(unsigned)BG__CHECK_GRAPH;
    capture->graph->watched = capture->checks & (BG__CHECK_REPLAY | BG__CHECK_GRAPH);
    capture->graph->checks_each_replay = capture->checks != 0 || capture->debug != BG_DEBUG_OFF;
    for (size_t i = 0; i < sizeof of_pass / sizeof *of_pass; i++) {
        const char *why = find_check_obstacle(capture, of_pass[i], whole, of_runner);
        if ((capture->checks & of_pass[i]) != 0 && why != NULL)
            drop_check(capture, of_pass[i], why);
    }
    return status;
}
