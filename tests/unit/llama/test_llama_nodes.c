/* A real pass under the checks: a clean model gives no finding, and one with a value frozen into it the call. */
#include "examples/llama/model.h"
#include "tests/support/llama/llama_support.h"
#include "tests/support/tools/finding_support.h"

#include <breakgraph/check.h>
#include <breakgraph/workspace.h>
#include <string.h>

#include "debug/check/node_pointers.h"

/* One step before: libraries load their kernels at first use. */
static int setup(void **state)
{
    open_small_model(state);
    EXPECT_OK(llama_reset(*state));
    EXPECT_OK(llama_set_token(*state, 3));
    EXPECT_OK(llama_forward(*state, llama_get_stream(*state)));
    EXPECT_CUDA(cudaStreamSynchronize(llama_get_stream(*state)));
    return 0;
}

static int teardown(void **state)
{
    EXPECT_OK(bg_override_eager(NULL));
    return close_small_model(state);
}

#define LLAMA_NODES_TEST(name) TEST_F(name, setup, teardown, llama_model *model)

static bg_graph *capture(llama_model *model, bool full)
{
    bg_capture *begun = NULL;
    bg_graph *graph = NULL;

    EXPECT_OK(bg_override_eager(full ? "!*" : NULL));
    EXPECT_OK(bg_capture_begin(&begun, llama_get_stream(model), NULL));
    EXPECT_OK(llama_forward(model, llama_get_stream(model)));
    EXPECT_OK(bg_capture_end(begun, &graph));
    return graph;
}

LLAMA_NODES_TEST(test_clean)
{
    cudaStream_t stream = llama_get_stream(model);
    for (int full = 0; full < 2; full++) {
        bg_graph *graph = capture(model, full);
        bg_report *report = NULL;
        for (int i = 0; i < 3; i++) {
            EXPECT_OK(bg_check(graph, BG_CHECK_NODES | BG_CHECK_HOST_MEMORY, &report));
            EXPECT_NO_FINDING(report);
            EXPECT_OK(bg_replay(graph, stream));
            EXPECT_CUDA(cudaStreamSynchronize(stream));
        }
        bg_graph_destroy(graph);
        EXPECT_OK(bg_check_recapture(llama_forward, model, NULL, stream, &report));
        EXPECT_NO_FINDING(report);
    }
}

/* ---- no address of the tensors is missed ---- */

typedef struct wanted {
    uintptr_t address;
    bool found;
} wanted;

static bg_status look(void *user, const bg__node_pointer *held)
{
    wanted *w = user;
    w->found |= held->address == w->address;
    return BG_OK;
}

static bool is_held(const bg__nodes *nodes, const bg__call *call, const void *address)
{
    wanted w = {(uintptr_t)address, false};
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->node[i].call == call)
            EXPECT_OK(bg__node_visit_pointers(&nodes->node[i], look, &w));
    return w.found;
}

LLAMA_NODES_TEST(test_tensors)
{
    bg_graph *graph = capture(model, true);
    bg__nodes nodes;
    int seen = 0;

    EXPECT_OK(bg__nodes_read(graph, &nodes));
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call)) {
        if (call->child != NULL)
            continue; /* its tensors are its children's */
        assert_non_null(call->kept);
        for (uint32_t i = 0; i < call->op->field_count; i++) {
            const bg_field *field = &call->op->fields[i];
            const bg_tensor *tensor = (const void *)((const char *)call->kept + field->offset);
            if (field->role == BG_ROLE_VALUE || tensor->data == NULL)
                continue;
            if (!is_held(&nodes, call, tensor->data))
                fail_msg("%s: no node holds the address of %s", call->name, field->name);
            seen++;
        }
    }
    assert_true(seen > 100);
    bg__nodes_free(&nodes);
    bg_graph_destroy(graph);
}

LLAMA_NODES_TEST(test_frozen_scalar)
{
    OWNED_REPORT(report);
    bg_finding finding = BG_FINDING_INIT;

    llama_plant_frozen_scalar(model);
    EXPECT_OK(bg_check_recapture(llama_forward, model, NULL, llama_get_stream(model), &report));
    assert_int_equal(bg_report_count(report), 1);
    EXPECT_OK(bg_report_get(report, 0, &finding));
    assert_string_equal(finding.kind, "frozen-value");
    assert_string_equal(finding.call, "advance#0");
    assert_non_null(strstr(finding.file, "examples/llama/model.c"));
    assert_true(finding.line > 0);
    assert_non_null(strstr(finding.message, "field frozen differs between two captures: "));
}
