#include "step_agreement.h"

#include <stdio.h>

/* Ends this rank's walk because another rank stopped. */
static void end_for_other_rank(bg_report *report, bg__walk_end *end, const char *place)
{
    bg__report_add(report, "stopped", BG_NOTE, NULL, NULL, "", "another rank stopped in %s", place);
    end->early = true;
    end->what = BG_ERROR_RANKS;
    snprintf(end->text, sizeof end->text, "another rank stopped in %s", place);
}

bg_status bg__step_agree_to_end(bg_graph *graph, bg__step_view step, bg_report *report, bg__walk_end *end,
                                bg_status status)
{
    bool ended = status != BG_OK || end->early;
    char what[200], place[40], text[1024];
    bg_status told;

    /* All ranks have the same segments and eager calls, but nodes, copies and events may differ. */
    if (!bg__graph_ranks(graph)->there || (step.kind != BG__STEP_LAUNCH && step.kind != BG__STEP_CALL))
        return status;
    snprintf(text, sizeof text, "%s", bg_last_error());
    snprintf(place, sizeof place, "%s %d", step.kind == BG__STEP_LAUNCH ? "segment" : "the call at break", step.place);
    snprintf(what, sizeof what, "%.120s, whether a rank stops in %s", bg__graph_name(graph), place);
    told = bg__ranks_any(bg__graph_ranks(graph), what, &ended);
    if (status == BG_OK && told != BG_OK)
        return told;
    bg__error_set_text(text);
    if (told == BG_OK && status == BG_OK && ended && !end->early)
        end_for_other_rank(report, end, place);
    return status;
}
