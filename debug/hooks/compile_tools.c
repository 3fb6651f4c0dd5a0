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

/* The items of BG_TOLERANCE that name ops: others are for tools that compare with another computation. */
static bg_status add_named(bg__tolerances *tolerances, const char *text)
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
                              void *room, cudaStream_t stream, char *difference, size_t bytes)
{
    bg__tolerances tolerances = {.count = 0};
    bgk_difference found;
    bg_status status;

    difference[0] = '\0';
    BG__TRY(bg__tolerances_add(&tolerances, text, "the rule's tolerance"));
    BG__TRY(add_named(&tolerances, getenv("BG_TOLERANCE")));
    BG__TRY(bg__compare(tensor, expected, tensor->data, bg__tolerances_find(&tolerances, call, tensor->dtype), room,
                        stream, &found));
    if (found.beyond > 0)
        bg__compare_text(tensor, &found, difference, bytes);
done:
    bg__tolerances_free(&tolerances);
    return status;
}

/* ---- what the referee has found ---- */

/* The referee judges by shapes: of several places with the same result the first one is told. */
static bool is_told(const bg_graph *graph, int index, const bg_fusion *fusion)
{
    bg_fusion earlier = BG_FUSION_INIT;
    while (index-- > 0 && bg_graph_get_fusion(graph, index, &earlier) == BG_OK)
        if (earlier.state == fusion->state && strcmp(earlier.op, fusion->op) == 0 &&
            strcmp(earlier.why, fusion->why) == 0)
            return true;
    return false;
}

static void tell_fusion(bg_report *report, const bg_fusion *fusion, bool tried)
{
    const bg_op *op = bg_op_find(fusion->op);
    char *name = strdup(fusion->name);
    bg__call call = {.op = op, .name = name, .site = {fusion->file, fusion->line}};

    if (name == NULL || op == NULL)
        goto done;
    if (fusion->state == BG_FUSION_DIFFERS)
        bg__report_add(report, "fusion-differs", BG_FAULT, &call, NULL,
                       "mend the rule or its op; until then the graph has the calls. If the difference is one of "
                       "rounding, give the rule a tolerance (bg_rule_set_attributes)",
                       "the rule for %s is wrong for these calls, and is not used: %s", fusion->op, fusion->why);
    else if (fusion->state == BG_FUSION_UNPROVEN)
        bg__report_add(report, "fusion-unproven", tried ? BG_WARNING : BG_NOTE, &call, NULL,
                       "make it possible to prove the rule, or use it without a proof (BG_COMPILE_PROVE=off)",
                       "the rule for %s is not used: it could not be proven: %s", fusion->op, fusion->why);
    else if (fusion->state == BG_FUSION_SLOWER)
        bg__report_add(report, "fusion-slower", BG_NOTE, &call, NULL,
                       "let the rule leave these shapes out (applies in bg_rule_attributes)",
                       "the rule for %s is not used: %s", fusion->op, fusion->why);
done:
    free(name);
}

void bg__compile_tell(const bg_graph *graph)
{
    bg_compile_info info = BG_COMPILE_INFO_INIT;
    bg_fusion fusion = BG_FUSION_INIT;
    char hidden = bg__fail_hide();
    bool tried = bg_graph_get_compile_info(graph, &info) == BG_OK && info.proofs > 0;
    bool any_loud = false; /* what is slower, or has no data as the program chose, harms nothing: reports list it */
    bg_report *report = NULL;
    bg_status status = bg__report_create(&report, "compile", bg__graph_name(graph));

    for (int i = 0; status == BG_OK && bg_graph_get_fusion(graph, i, &fusion) == BG_OK; i++)
        if (fusion.state >= BG_FUSION_UNPROVEN && !is_told(graph, i, &fusion)) {
            tell_fusion(report, &fusion, tried);
            any_loud |= fusion.state == BG_FUSION_DIFFERS || (fusion.state == BG_FUSION_UNPROVEN && tried);
        }
    if (status != BG_OK)
        bg__warn("%s: what compilation has found could not be reported: %s", bg__graph_name(graph), bg_last_error());
    else if (any_loud)
        bg__report_print(report, stderr);
    if (status == BG_OK && bg_report_count(report) > 0)
        bg__process_report_add(report);
    bg_report_destroy(report);
    bg__fail_unhide(hidden);
}
