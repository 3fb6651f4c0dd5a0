#include "compile_tools.h"

#include <breakgraph/compile.h>
#include <stdlib.h>
#include <string.h>

#include "debug/compare/compare.h"
#include "debug/compare/tolerance.h"
#include "debug/memory/tensors.h"
#include "debug/report/process_report.h"
#include "debug/report/report.h"

bg_status bg__compile_check_tolerance(const char *text, const char *from)
{
    bg__tolerances tolerances = {.count = 0};
    bg_status status = bg__tolerances_add(&tolerances, text, from);
    bg__tolerances_free(&tolerances);
    return status;
}

/* Adds the items of BG_TOLERANCE that name ops. The other items are for tools that compare with another computation. */
static bg_status add_op_tolerances(bg__tolerances *tolerances, const char *text)
{
    size_t kept = tolerances->count;
    bg_status status = bg__tolerances_add(tolerances, text, "BG_TOLERANCE");

    for (size_t i = kept; i < tolerances->count; i++) {
        bg__tolerance_item item = tolerances->list[i];
        bool named = item.name != NULL && strcspn(item.name, "*?[") > 0;
        if (named)
            tolerances->list[kept++] = item;
        else
            free(item.name);
    }
    tolerances->count = kept;
    return status;
}

bg_status bg__compile_compare(const bg_tensor *tensor, const void *expected, const bg__call *call, const char *text,
                              bgk_difference *difference, cudaStream_t stream)
{
    bg__tolerances tolerances = {.count = 0};
    bg_status status;

    BG__TRY(bg__tolerances_add(&tolerances, text, "the rule's tolerance"));
    BG__TRY(add_op_tolerances(&tolerances, getenv("BG_TOLERANCE")));
    BG__TRY(bg__compare_queue(tensor, expected, tensor->data, bg__tolerances_find(&tolerances, call, tensor->dtype),
                              difference, stream));
done:
    bg__tolerances_free(&tolerances);
    return status;
}

void bg__compile_describe(const bg_tensor *tensor, const bgk_difference *difference, char *text, size_t bytes)
{
    bg__compare_text(tensor, difference, text, bytes);
}

/* ---- what the referee has found ---- */

/* The same rule and reason may occur at many places, but only the first place is reported. */
static bool is_reported(const bg_graph *graph, int index, const bg_fusion *fusion)
{
    bg_fusion earlier = BG_FUSION_INIT;
    while (index-- > 0 && bg_graph_get_fusion(graph, index, &earlier) == BG_OK)
        if (earlier.state == fusion->state && strcmp(earlier.op, fusion->op) == 0 &&
            strcmp(earlier.why, fusion->why) == 0)
            return true;
    return false;
}

static int count_fitting_runs(const bg_graph *graph, const char *op)
{
    bg_fusion fusion = BG_FUSION_INIT;
    int count = 0;
    for (int i = 0; bg_graph_get_fusion(graph, i, &fusion) == BG_OK; i++)
        count += fusion.state == BG_FUSION_FITS && strcmp(fusion.op, op) == 0;
    return count;
}

static void report_fitting_rule(bg_report *report, const bg__call *run, int count)
{
    bg__report_add(report, "fusion-fits", BG_NOTE, run, NULL,
                   "capture at level 2, or at level 3 if the rule is specialised for shapes",
                   "the rule for %s can replace these calls; it fits %d run%s of the pass", run->op->name, count,
                   count == 1 ? "" : "s");
}

/* An unproven rule is not a fault: the graph uses the calls themselves. */
static void report_unproven_rule(bg_report *report, const bg__call *run, const char *why)
{
    bg__report_add(report, "fusion-unproven", BG_NOTE, run, NULL,
                   "remove the cause, so that the rule can be proven, or use it without a proof (BG_COMPILE_PROVE=off)",
                   "the rule for %s is not used: it could not be proven: %s", run->op->name, why);
}

static void report_fusion(bg_report *report, const bg_graph *graph, const bg_fusion *fusion)
{
    const bg_op *op = bg_op_find(fusion->op);
    char *name = strdup(fusion->name);
    bg__call run = {.op = op, .name = name, .site = {fusion->file, fusion->line}};

    if (name == NULL || op == NULL)
        goto done;
    switch (fusion->state) {
    case BG_FUSION_FITS: report_fitting_rule(report, &run, count_fitting_runs(graph, fusion->op)); break;
    case BG_FUSION_UNPROVEN: report_unproven_rule(report, &run, fusion->why); break;
    case BG_FUSION_REFUSED:
        bg__report_add(report, "fusion-refused", BG_NOTE, &run, NULL,
                       "the graph uses the calls themselves, so nothing is wrong; docs/compile.md explains each reason",
                       "the calls match the rule for %s, but the rule is not used: %s", fusion->op, fusion->why);
        break;
    case BG_FUSION_DIFFERS:
        bg__report_add(report, "fusion-differs", BG_FAULT, &run, NULL,
                       "correct the rule or its op; until then the graph uses the calls. If the difference is "
                       "rounding, give the rule a tolerance (bg_rule_set_attributes)",
                       "the rule for %s is wrong for these calls, and is not used: %s", fusion->op, fusion->why);
        break;
    case BG_FUSION_SLOWER:
        bg__report_add(report, "fusion-slower", BG_NOTE, &run, NULL,
                       "let the rule refuse these shapes (its function `applies`, bg_rule_attributes)",
                       "the rule for %s is not used: %s", fusion->op, fusion->why);
        break;
    case BG_FUSION_APPLIED:
    case BG_FUSION_OFF:
    case BG_FUSION_COVERED: break;
    }
done:
    free(name);
}

/* Whether the finding is printed, or only listed in reports. Rules that do no harm are only listed: rules that are
 * slower or refused, or that are unproven because the program did not prove any. At level 1 all findings are printed,
 * since the user has asked for them. */
static bool is_printed(const bg_fusion *fusion, const bg_compile_info *info)
{
    return info->level == BG_LEVEL_AS_IS || fusion->state == BG_FUSION_DIFFERS ||
           (fusion->state == BG_FUSION_UNPROVEN && info->proofs > 0);
}

void bg__compile_report_fusions(const bg_graph *graph)
{
    bg_compile_info info = BG_COMPILE_INFO_INIT;
    bg_fusion fusion = BG_FUSION_INIT;
    bool printed = false;
    bg_report *report = NULL;
    bg_status status;
    char hidden;

    if (bg__thread_self()->in_tool) /* the graph of a tool launches nothing: a rule may be unproven there alone */
        return;
    hidden = bg__error_set_aside();
    BG__TRY(bg_graph_get_compile_info(graph, &info));
    BG__TRY(bg__report_create(&report, "compile", bg__graph_name(graph)));
    for (int i = 0; bg_graph_get_fusion(graph, i, &fusion) == BG_OK; i++)
        if (!is_reported(graph, i, &fusion)) {
            report_fusion(report, graph, &fusion);
            printed |= is_printed(&fusion, &info);
        }
    if (printed)
        bg__report_print(report, stderr);
    else if (info.level == BG_LEVEL_AS_IS)
        bg__warn("%s: no rule matches any sequence of calls; searched %d segments with %zu nodes",
                 bg__graph_name(graph), info.pieces, info.nodes_before);
    if (bg_report_count(report) > 0)
        bg__process_report_add(report);
done:
    if (status != BG_OK)
        bg__warn("%s: the results of compilation could not be reported: %s", bg__graph_name(graph), bg_last_error());
    bg_report_destroy(report);
    bg__error_restore(hidden);
}
