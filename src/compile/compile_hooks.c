/* The functions that captures call: compiles each segment as the level says, and keeps the result in the graph. */
#include "compile/compile.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the compiler ---- */

static _Atomic(const bg_compiler *) chosen_compiler;

static const bg_compiler *get_compiler(void)
{
    const bg_compiler *compiler = atomic_load(&chosen_compiler);
    return compiler != NULL ? compiler : bg_compiler_find("rules");
}

/* ---- begin ---- */

static bg_status read_op_selection(bg__compiled *compiled)
{
    const char *text = bg__env_value("BG_COMPILE_OPS");
    bg_status status = BG_OK;

    if (text != NULL && text[0] == '@')
        BG__TRY(bg__override_read_list(text + 1, &compiled->wanted_file));
    compiled->wanted = compiled->wanted_file != NULL ? compiled->wanted_file : text;
done:
    if (status != BG_OK)
        bg__error_add_location("BG_COMPILE_OPS");
    return status;
}

static bool matches_any_rule(const bg__compiled *compiled, const char *pattern, size_t length, bg__nearest *nearest)
{
    bool any = false;
    for (int i = 0; i < compiled->rule_count; i++) {
        const char *name = compiled->rules[i].op->name;
        any |= bg__glob_matches(pattern, length, name);
        bg__nearest_add(nearest, name, strlen(name));
    }
    return any;
}

/* Warns of the first name that matches no rule, once in a process: a misspelt name would silently do nothing. */
static void warn_of_unknown_op(const bg__compiled *compiled)
{
    static atomic_flag has_warned = ATOMIC_FLAG_INIT;
    bg__pattern_list globs = {.list = compiled->wanted};
    char hint[BG__HINT_BYTES];

    while (compiled->wanted != NULL && bg__pattern_list_next(&globs)) {
        const char *hash = memchr(globs.text, '#', globs.length);
        size_t length = hash != NULL ? (size_t)(hash - globs.text) : globs.length;
        bg__nearest nearest = bg__nearest_begin(globs.text, length);
        if (!matches_any_rule(compiled, globs.text, length, &nearest) && !atomic_flag_test_and_set(&has_warned))
            bg__warn("BG_COMPILE_OPS: no rule's op matches \"%.*s\"%s", (int)globs.length, globs.text,
                     bg__nearest_hint(&nearest, "", hint));
    }
}

static bg_status begin_compiling(bg_capture *capture)
{
    bg__compiled *compiled = calloc(1, sizeof *compiled);
    bg_status status;

    if (compiled == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for compilation");
    capture->graph->compiled = compiled;
    compiled->info.level = capture->level;
    BG__TRY(bg__env_choice("BG_COMPILE_PROVE", &compiled->prove));
    BG__TRY(read_op_selection(compiled));
    compiled->compiler = get_compiler();
    BG__TRY(bg__rules_copy_sorted(&compiled->rules, &compiled->rule_count));
    warn_of_unknown_op(compiled);
    compiled->numbers = calloc((size_t)compiled->rule_count + 1, sizeof *compiled->numbers);
    if (compiled->numbers == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d rules", compiled->rule_count);
done:
    return status;
}

/* ---- a segment ---- */

static void free_fusion_arguments(const bg__piece *piece)
{
    for (int i = piece->first_run; i < piece->compiled->run_count; i++) {
        bg__fusion *run = &piece->compiled->runs[i];
        free(run->args);
        run->args = NULL;
        run->calls = NULL;
    }
}

static bg_status compile_segment(bg_capture *capture, bg__segment *segment, bool *launched)
{
    bg__compiled *compiled = capture->graph->compiled;
    bg__piece piece = {.capture = capture, .compiled = compiled, .segment = segment, .launched = launched};
    bg_status status;

    snprintf(piece.name, sizeof piece.name, "segment %d of %.120s", capture->graph->segment_count,
             capture->graph->name);
    piece.first_run = compiled->run_count;
    compiled->info.pieces++;
    compiled->info.nodes_before += segment->nodes;
    status = compiled->compiler->compile(compiled->compiler->user, &piece);
    if (status == BG_OK)
        status = bg__splice_ops(&piece);
    compiled->info.nodes_after += segment->nodes;
    free_fusion_arguments(&piece);
    bg__piece_free(&piece);
    return status;
}

/* ---- end ---- */

static void free_capture_state(bg__compiled *compiled)
{
    for (int i = 0; i < compiled->run_count; i++) {
        free(compiled->runs[i].found);
        compiled->runs[i].found = NULL;
    }
    free(compiled->rules);
    free(compiled->numbers);
    free(compiled->wanted_file);
    bg__device_free(compiled->room);
    compiled->rules = NULL;
    compiled->numbers = NULL;
    compiled->wanted = compiled->wanted_file = NULL;
    compiled->room = NULL;
}

static void end_compiling(bg_capture *capture)
{
    bg__compiled *compiled = capture->graph->compiled;

    compiled->info.fusions = compiled->run_count;
    for (int i = 0; i < compiled->run_count; i++) {
        const bg_fusion_state state = compiled->runs[i].state;
        compiled->info.applied += state == BG_FUSION_APPLIED;
        compiled->info.refused += state == BG_FUSION_REFUSED;
        compiled->info.dropped += state == BG_FUSION_DIFFERS || state == BG_FUSION_SLOWER;
        compiled->info.unproven += state == BG_FUSION_UNPROVEN;
    }
    free_capture_state(compiled);
    bg__debug_hooks.compiled(capture->graph);
}

static void free_compiled(bg_graph *graph)
{
    bg__compiled *compiled = graph->compiled;

    free_capture_state(compiled);
    for (int i = 0; i < compiled->run_count; i++) {
        free(compiled->runs[i].name);
        free(compiled->runs[i].op);
        free(compiled->runs[i].why);
    }
    free(compiled->runs);
    free(compiled);
    graph->compiled = NULL;
}

static bool has_op(const bg_op *const *ops, size_t count, const bg_op *op)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i] == op)
            return true;
    return false;
}

static bg_status list_ops(const bg_op *const *ops, size_t count, void (*see)(void *user, const bg_op *op), void *user)
{
    bg_rule *rules;
    int rule_count;
    bg_status status;

    BG__TRY(bg__rules_copy_sorted(&rules, &rule_count));
    for (int i = 0; i < rule_count; i++) {
        bool all = true;
        for (int k = 0; k < rules[i].count; k++)
            all &= has_op(ops, count, rules[i].calls[k]);
        if (all)
            see(user, rules[i].op);
    }
    free(rules);
done:
    return status;
}

static const bg__compile_table functions = {begin_compiling, compile_segment, end_compiling, free_compiled, list_ops};

/* ---- rules and a compiler: programs without them do not need this ---- */

void bg_rule_register(bg_rule *rule)
{
    bg__rule_list_add(rule);
    bg__compile_set_table(&functions);
}

bg_status bg_compiler_set(const bg_compiler *compiler)
{
    if (compiler != NULL && compiler->struct_size < sizeof *compiler)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "bg_compiler_set: compiler->struct_size is %zu; set it to sizeof(bg_compiler)",
                        compiler->struct_size);
    if (compiler != NULL && (compiler->name == NULL || compiler->compile == NULL))
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_compiler_set: compiler->%s is NULL",
                        compiler->name == NULL ? "name" : "compile");
    atomic_store(&chosen_compiler, compiler);
    bg__compile_set_table(&functions);
    return BG_OK;
}

/* ---- queries ---- */

bg_status bg_graph_get_compile_info(const bg_graph *graph, bg_compile_info *info)
{
    bg_compile_info full = BG_COMPILE_INFO_INIT;

    BG__NEED(graph);
    BG__NEED(info);
    if (graph->compiled != NULL)
        full = graph->compiled->info;
    return bg__struct_copy_out(info, &full, sizeof full, "bg_graph_get_compile_info: info", "BG_COMPILE_INFO_INIT");
}

bg_status bg_graph_get_fusion(const bg_graph *graph, int index, bg_fusion *fusion)
{
    bg_fusion full = BG_FUSION_INIT;
    const bg__fusion *run;
    int count;

    BG__NEED(graph);
    BG__NEED(fusion);
    count = graph->compiled != NULL ? graph->compiled->run_count : 0;
    if (index < 0 || index >= count)
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_graph_get_fusion: graph %s has no fusion %d; it has %d", graph->name,
                        index, count);
    run = &graph->compiled->runs[index];
    full.name = run->name;
    full.op = run->op;
    full.number = run->number;
    full.file = run->site.file != NULL ? run->site.file : "";
    full.line = run->site.line;
    full.state = run->state;
    full.why = run->why != NULL ? run->why : "";
    full.segment = run->segment;
    full.proven = run->proven;
    full.calls_us = run->calls_us;
    full.op_us = run->op_us;
    return bg__struct_copy_out(fusion, &full, sizeof full, "bg_graph_get_fusion: fusion", "BG_FUSION_INIT");
}
