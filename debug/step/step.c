#include "step.h"

#include "capture/replay.h"
#include "stop_signals.h"

static bg_status walk_replay(bg_graph *graph, cudaStream_t stream, const bg__walk_options *options, bg_report *report)
{
    bg__walk_end end = {.early = false};
    bg_status status, left;

    BG__TRY(bg__replay_enter(graph, stream));
    status = bg__walk(graph, stream, options, report, &end);
    if (status == BG_OK && options->dump != NULL)
        status = bg__dump_finish(options->dump, end.whole, end.next);
    left = bg__replay_leave(graph, stream, status != BG_OK ? status : end.early ? BG_ERROR_STOPPED : BG_OK);
    if (!end.early)
        status = left;
done:
    return status;
}

/* directory: where the tensors are dumped; NULL: nowhere. */
static bg_status step_and_report(bg_graph *graph, cudaStream_t stream, bg__walk_options options, const char *directory,
                                 bg_report **report)
{
    bg_report *made = NULL;
    bg_status status;

    bg__foreign_error_note();
    BG__TRY(bg__report_create(&made, "step", bg__graph_name(graph)));
    if (directory != NULL)
        BG__TRY(bg__dump_create(&options.dump, directory, bg__graph_name(graph), -1));
    BG__TRY(walk_replay(graph, stream, &options, made));
    *report = made;
    made = NULL;
done:
    bg__dump_free(options.dump);
    bg_report_destroy(made);
    return status;
}

static bg_status step_with_callback(bg_graph *graph, cudaStream_t stream, const char *from,
                                    bool (*each)(void *user, const bg_step_info *info), void *user, bg_report **report)
{
    BG__NEED(report);
    *report = NULL;
    BG__NEED(graph);
    return step_and_report(graph, stream,
                           (bg__walk_options){.each = each, .user = user, .from = from, .progress = each == NULL}, NULL,
                           report);
}

bg_status bg_step(bg_graph *graph, cudaStream_t stream, bool (*each)(void *user, const bg_step_info *info), void *user,
                  bg_report **report)
{
    return step_with_callback(graph, stream, NULL, each, user, report);
}

bg_status bg_step_from(bg_graph *graph, cudaStream_t stream, const char *from,
                       bool (*each)(void *user, const bg_step_info *info), void *user, bg_report **report)
{
    BG__NEED(from);
    return step_with_callback(graph, stream, from, each, user, report);
}

bg_status bg_step_dump(bg_graph *graph, cudaStream_t stream, const char *directory, bg_report **report)
{
    bg_status status;
    int hold;

    BG__NEED(report);
    *report = NULL;
    BG__NEED(graph);
    BG__NEED(directory);
    hold = bg__stop_signals_defer();
    status = step_and_report(graph, stream, (bg__walk_options){.progress = true, .signals = true}, directory, report);
    if (status == BG_OK && bg__stop_signals_received() != NULL) /* the signal may end the program now */
        (void)bg__report_print_new(*report, stderr);
    bg__stop_signals_release(hold);
    return status;
}
