#include "debug/report/process_report.h"
#include "check.h"
#include "addresses.h"
#include "leaks.h"
#include "node_pointers.h"
#include "races.h"

#include <breakgraph/check.h>
#include <stdio.h>

/* A graph while it is checked. The first check that needs the nodes reads them. */
typedef struct graph_check {
    bg_graph *graph;
    const void *frame;
    bg__nodes nodes;
    bool has_nodes;
} graph_check;

static bg_status read_nodes(graph_check *c)
{
    bg_status status = BG_OK;
    if (!c->has_nodes)
        BG__TRY(bg__nodes_read(c->graph, &c->nodes));
    c->has_nodes = true;
done:
    return status;
}

/* Adds the allocations that held tensors at capture to the recorded allocations. Then checks the nodes. */
static bg_status check_nodes(graph_check *c, bg_report *report)
{
    const bg__recorded_addresses *all = bg__graph_recorded_addresses(c->graph);
    bg__allocations *notes;
    bg_status status;

    BG__TRY(bg__recorded_allocations_get(c->graph, &notes));
    BG__TRY(read_nodes(c));
    BG__TRY(bg__addresses_mark_own(c->graph, &c->nodes));
    for (int i = 0; i < all->owner_count; i++) {
        const bg__recorded_owner *noted = &all->owners[i];
        bg__allocation allocation = {noted->owner.base, noted->owner.bytes, noted->owner.generation};
        if (noted->level == BG__DRIVER && !noted->own)
            BG__TRY(bg__allocations_add(notes, &allocation));
    }
    BG__TRY(bg__check_nodes(c->graph, &c->nodes, report));
done:
    return status;
}

static bg_status check_host_memory(graph_check *c, bg_report *report)
{
    bg_status status;
    BG__TRY(read_nodes(c));
    BG__TRY(bg__check_host_memory(c->graph, &c->nodes, c->frame, report));
done:
    return status;
}

static bg_status check_addresses(graph_check *c, bg_report *report)
{
    return bg__check_addresses(c->graph, report);
}

static bg_status check_closures(graph_check *c, bg_report *report)
{
    return c->frame != NULL ? bg__check_closures(c->graph, c->frame, report) : BG_OK;
}

static bg_status check_overlap(graph_check *c, bg_report *report)
{
    return bg__check_overlap(c->graph, report);
}

static bg_status check_races(graph_check *c, bg_report *report)
{
    return bg__check_races(c->graph, report);
}

static bg_status check_idle_calls(graph_check *c, bg_report *report)
{
    return bg__check_idle_calls(c->graph, report);
}

static const struct {
    unsigned bit;
    bg_status (*run)(graph_check *c, bg_report *report);
} checks[] = {
    {BG_CHECK_ADDRESSES, check_addresses}, {BG_CHECK_ADDRESSES, check_closures}, {BG_CHECK_NODES, check_nodes},
    {BG_CHECK_OVERLAP, check_overlap},     {BG_CHECK_OVERLAP, check_races},      {BG_CHECK_LEAKS, check_idle_calls},
};

/* After a device failure every CUDA call fails. The checks that need no CUDA call still run: they may find the cause of
 * the failure. */
static bg_status run_checks(graph_check *c, unsigned what, bg_report *report)
{
    bg_status status = BG_OK, failed = BG_OK;

    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if ((what & checks[i].bit) != 0)
            status = checks[i].run(c, report);
        failed = status == BG_ERROR_CUDA ? status : failed;
        if (status != BG_OK && status != BG_ERROR_CUDA)
            return status;
        status = BG_OK;
    }
    if ((what & BG_CHECK_HOST_MEMORY) != 0 && failed == BG_OK)
        failed = check_host_memory(c, report);
    return failed == BG_ERROR_CUDA && bg_report_count(report) > 0 ? BG_OK : failed;
}

bg_status bg__check_graph(bg_graph *graph, unsigned what, const void *frame, bg_report **result)
{
    graph_check c = {.graph = graph, .frame = frame};
    bg_report *report = NULL;
    bg_status status;

    BG__TRY(bg__report_create(&report, "check", bg__graph_name(graph)));
    BG__TRY(run_checks(&c, what, report));
    *result = report;
    report = NULL;
done:
    bg__nodes_free(&c.nodes);
    bg_report_destroy(report);
    return status;
}

bg_status bg_check(bg_graph *graph, unsigned what, bg_report **result)
{
    BG__NEED(result);
    *result = NULL;
    BG__NEED(graph);
    if (what == 0 || (what & ~(unsigned)BG_CHECK_ALL) != 0)
        return bg__fail(
            BG_ERROR_INVALID_ARGUMENT,
            "bg_check: the argument what is %#x; allowed are BG_CHECK_ bits, at least one, out of %#x (BG_CHECK_ALL)",
            what, (unsigned)BG_CHECK_ALL);
    bg__foreign_error_note();
    /* Frames below this one on the stack belong to functions that have returned. */
    return bg__check_graph(graph, what, __builtin_frame_address(0), result);
}

static bg_status fail_with_first_finding(const bg_graph *graph, const bg_report *report)
{
    bg_finding finding = BG_FINDING_INIT;
    char place[400] = "", more[64] = "";
    bg_status status;

    BG__TRY(bg_report_get(report, 0, &finding));
    if (finding.call[0] != '\0')
        snprintf(place, sizeof place, "call %s at %s:%d: ", finding.call,
                 finding.file[0] ? finding.file : "unknown file", finding.line);
    if (bg_report_count(report) > 1)
        snprintf(more, sizeof more, "; %d more finding%s: bg_check lists all", bg_report_count(report) - 1,
                 bg_report_count(report) == 2 ? "" : "s");
    status = bg__fail(BG_ERROR_STALE_ADDRESS, "bg_replay: graph %s, %s[%s] %s; %s%s", bg__graph_name(graph), place,
                      finding.kind, finding.message, finding.advice, more);
done:
    return status;
}

bg_status bg__check_is_needed(bg_graph *graph, bool *needed)
{
    bg_status status;
    bool same;

    BG__TRY(bg__addresses_are_unchanged(graph, &same));
    if (same)
        BG__TRY(bg__recorded_allocations_are_alive(graph, &same));
    *needed = !same;
done:
    return status;
}

/* Warnings and notes do not prevent the replay. */
static bool has_fault(const bg_report *report)
{
    bg_finding first = BG_FINDING_INIT;
    return bg_report_count(report) > 0 && bg_report_get(report, 0, &first) == BG_OK && first.severity == BG_FAULT;
}

bg_status bg__check_replay(bg_graph *graph)
{
    bg_report *report = NULL;
    char text[1024];
    bg_status status, failed;
    bool needed;

    failed = bg__check_is_needed(graph, &needed);
    if (failed == BG_OK && !needed)
        return BG_OK;
    if (failed != BG_OK && failed != BG_ERROR_CUDA) /* after a CUDA error the ledger still answers */
        return failed;
    snprintf(text, sizeof text, "%s", bg_last_error());
    BG__TRY(bg__check_graph(graph, BG_CHECK_ADDRESSES | BG_CHECK_NODES, NULL, &report));
    if (bg_report_count(report) > 0)
        bg__process_report_add(report);
    if (has_fault(report))
        status = fail_with_first_finding(graph, report);
    else if (bg_report_count(report) > 0)
        bg__report_print(report, stderr);
    if (status == BG_OK && failed != BG_OK) {
        bg__error_set_text(text);
        status = failed;
    }
done:
    bg_report_destroy(report);
    return status;
}
