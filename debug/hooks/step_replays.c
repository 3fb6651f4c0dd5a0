#include "step_replays.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "debug/report/process_report.h"
#include "debug/step/step.h"
#include "debug/graph/tools.h"

struct bg__stepping {
    char *stop, *directory; /* NULL: none */
    bg_report *report;      /* of all replays so far */
    int told;               /* findings that have been printed */
};

/* The directory that the first replay that steps has dumped to; NULL: none has. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *dumped;

/* Whether this process has dumped there. take: from now on it has. */
static bool is_dumped(const char *directory, bool take)
{
    bool is;
    pthread_mutex_lock(&lock);
    is = dumped != NULL && strcmp(dumped, directory) == 0;
    if (!is && take) {
        free(dumped);
        dumped = strdup(directory);
    }
    pthread_mutex_unlock(&lock);
    return is;
}

static bg_status read_variable(const char *variable, char **value)
{
    const char *text = bg__env(variable);
    if (text == NULL)
        return BG_OK;
    *value = strdup(text);
    return *value != NULL ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %s", variable);
}

bg_status bg__stepping_begin(bg_graph *graph)
{
    bg__tools *tools;
    struct bg__stepping *stepping = calloc(1, sizeof *stepping);
    bg_status status;

    if (stepping == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for BG_DEBUG=step");
    BG__TRY(read_variable("BG_STEP_STOP", &stepping->stop));
    BG__TRY(read_variable("BG_STEP_DUMP", &stepping->directory));
    if (stepping->directory != NULL && !is_dumped(stepping->directory, false)) {
        status = bg__dump_check(stepping->directory);
        if (status != BG_OK) {
            bg__fail_where("BG_STEP_DUMP");
            goto done;
        }
    }
    BG__TRY(bg__tools_get(graph, &tools));
    tools->stepping = stepping;
    stepping = NULL;
done:
    bg__stepping_end(stepping);
    return status;
}

void bg__stepping_end(struct bg__stepping *stepping)
{
    if (stepping == NULL)
        return;
    bg_report_destroy(stepping->report);
    free(stepping->stop);
    free(stepping->directory);
    free(stepping);
}

static bg_status begin_dump(const bg_graph *graph, bg__dump **dump)
{
    const struct bg__stepping *stepping = bg__tools_find(graph)->stepping;
    bg_status status = BG_OK;
    if (stepping->directory == NULL || is_dumped(stepping->directory, true))
        return BG_OK;
    status = bg__dump_create(dump, stepping->directory, bg__graph_name(graph));
    if (status != BG_OK)
        bg__fail_where("BG_STEP_DUMP");
    return status;
}

static bg_status walk(bg_graph *graph, cudaStream_t stream, bg__walk_end *end)
{
    struct bg__stepping *stepping = bg__tools_find(graph)->stepping;
    bg__walk_options options = {.stop = stepping->stop};
    bg_status status;

    if (stepping->report == NULL)
        BG__TRY(bg__report_create(&stepping->report, "step", bg__graph_name(graph)));
    BG__TRY(begin_dump(graph, &options.dump));
    BG__TRY(bg__walk(graph, stream, &options, stepping->report, end));
    if (options.dump != NULL)
        BG__TRY(bg__dump_finish(options.dump, !end->early));
done:
    bg__dump_free(options.dump);
    return status;
}

bg_status bg__stepping_replay(bg_graph *graph, cudaStream_t stream)
{
    struct bg__stepping *stepping = bg__tools_find(graph)->stepping;
    char hidden = bg__fail_hide();
    bg__walk_end end = {.early = false};
    bg_status status = walk(graph, stream, &end);

    if (bg_report_count(stepping->report) > stepping->told) {
        stepping->told = bg_report_count(stepping->report);
        bg__report_print(stepping->report, stderr);
        bg__process_report_add(stepping->report);
    }
    if (status == BG_OK && end.what != BG_OK) {
        status = bg__fail(end.what, "%s", end.text);
        bg__fail_set_placed();
    }
    bg__fail_unhide(hidden);
    return status;
}
