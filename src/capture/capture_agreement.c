/* Compares a capture with those of other ranks.
 *
 * Ranks meet before a capture, after each of its segments and at its end, and compare what each does next. The k-th
 * meeting of one rank is the k-th of all: a rank that fails goes to its next meeting at once and reports the failure.
 * That meeting then fails on all ranks, and is the last one. */
#include "capture/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names the settings that add passes, or that make each replay wait for the other ranks: if only one rank had them, it
 * would wait for ever. */
static void describe_begin(const bg_capture *capture, bool whole, bool compares, char *text, size_t room)
{
    static const char *const debugs[] = {
        [BG_DEBUG_FORWARD] = ", in the debug mode forward", [BG_DEBUG_STEP] = ", in the debug mode step"};
    const size_t debug = (size_t)capture->debug;
    const char *shadow = bg__env_value("BG_SHADOW");
    bool shadowed = whole && shadow != NULL && strcmp(shadow, "0") != 0;

    if (bg__thread_self()->in_tool || capture->debug == BG_DEBUG_FORWARD || capture->debug == BG_DEBUG_STEP)
        shadowed = false;
    snprintf(text, room, "it begins%s%s%s%s%s%.20s", compares ? ", with compare_choices (BG_RANKS_COMPARE=1)" : "",
             debug < sizeof debugs / sizeof *debugs && debugs[debug] != NULL ? debugs[debug] : "",
             (capture->checks & BG__CHECK_RECAPTURE) != 0 ? ", with BG_CHECK=recapture" : "",
             (capture->checks & BG__CHECK_POISON) != 0 ? ", with BG_CHECK=poison" : "",
             shadowed ? ", with BG_SHADOW=" : "", shadowed ? shadow : "");
}

bg_status bg__ranks_agree_on_begin(bg__ranks *ranks, const char *name, const bg_capture *capture, bool whole,
                                   bg_status status)
{
    char what[200], text[200] = "";

    snprintf(what, sizeof what, "before the capture of %.120s", name != NULL ? name : "graph");
    if (ranks->there && status == BG_OK)
        describe_begin(capture, whole, ranks->table.compare_choices, text, sizeof text);
    return bg__ranks_agree_after(ranks, what, text, status);
}

/* All comparisons during a capture use the same phrase, so that the other ranks learn why one has failed. */
bg_status bg__capture_agree(bg_capture *capture, const char *text)
{
    char what[200];
    bg_status status;

    if (capture->parted)
        return BG_OK;
    snprintf(what, sizeof what, "in the capture of %.120s", capture->graph->name);
    status = bg__ranks_agree(&capture->graph->ranks, what, text);
    capture->parted = status != BG_OK;
    return status;
}

bg_status bg__capture_agree_on_break(bg_capture *capture, const bg__call *call)
{
    char text[600];

    if (!capture->graph->ranks.there)
        return BG_OK;
    if (call != NULL)
        snprintf(text, sizeof text, "a break at call %.400s (break %d)", call->name, capture->graph->breaks);
    else
        snprintf(text, sizeof text, "a bg_break call (break %d)", capture->graph->breaks);
    return bg__capture_agree(capture, text);
}

bg_status bg__capture_agree_on_end(bg_capture *capture)
{
    const bg_graph *graph = capture->graph;
    char text[120];
    bg_status status;

    if (!graph->ranks.there)
        return BG_OK;
    snprintf(text, sizeof text, "the end of the pass, with segments: %d, breaks: %d", graph->segment_count,
             graph->breaks);
    status = bg__capture_agree(capture, text);
    capture->parted = true; /* the ranks are in step, but compare nothing more */
    return status;
}

void bg__capture_notify_failure(bg_capture *capture, const char *why)
{
    char kept[1024], text[600];
    int length;

    if (capture->graph == NULL || !capture->graph->ranks.there || capture->parted)
        return;
    snprintf(kept, sizeof kept, "%s", bg_last_error());
    length = snprintf(text, sizeof text, "%s", "it failed: ");
    bg__shorten_with_digest(why, text + length, sizeof text - (size_t)length);
    (void)bg__capture_agree(capture, text); /* this rank's own message comes first */
    capture->parted = true;
    bg__error_set_text(kept);
}
