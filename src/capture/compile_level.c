/* Compile levels: captures call src/compile through these functions, since src/compile is above this folder. */
#include "capture/capture.h"

#include <stdatomic.h>

/* A linker leaves out an object of an archive that nothing refers to, with the rules in it. */
static void warn_of_no_rules(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&told))
        bg__warn("BG_COMPILE changes nothing: the program has no rules; define some with BG_RULE, or link the "
                 "objects that do");
}

/* Sets *level to the requested level, or to the environment's. */
static bg_status read_level(int asked, int *level)
{
    bg_status status = BG_OK;

    *level = asked;
    if (asked < 0)
        BG__TRY(bg__env_choice("BG_COMPILE", level));
    *level %= BG_LEVEL_COUNT; /* BG_COMPILE lists the levels' numbers, then their names */
    if (bg__compile_get_table() != NULL)
        goto done;
    if (asked < 0 && *level > BG_LEVEL_NONE)
        warn_of_no_rules();
    *level = BG_LEVEL_NONE;
done:
    return status;
}

bg_status bg__compile_resolve_level(bg_capture *capture)
{
    bg_status status = read_level(capture->options.level, &capture->level);
    if (capture->eager)
        capture->level = BG_LEVEL_NONE;
    return status;
}

bg_status bg__compile_needs_proofs(int asked, bool *proves)
{
    int level = BG_LEVEL_NONE, prove = 0;
    bg_status status;

    *proves = false;
    BG__TRY(read_level(asked, &level));
    BG__TRY(bg__env_choice("BG_COMPILE_PROVE", &prove));
    *proves = level >= BG_LEVEL_ONCE && prove != BG__PROVE_OFF;
done:
    return status;
}

bg_status bg__compile_list_ops(int asked, const bg_op *const *ops, size_t count,
                               void (*see)(void *user, const bg_op *op), void *user)
{
    int level = BG_LEVEL_NONE;
    bg_status status;

    BG__TRY(read_level(asked, &level));
    if (level >= BG_LEVEL_ONCE)
        status = bg__compile_get_table()->list_ops(ops, count, see, user);
done:
    return status;
}

bg_status bg__compile_begin(bg_capture *capture)
{
    return capture->level > 0 ? bg__compile_get_table()->begin(capture) : BG_OK;
}

bg_status bg__compile_add_call(bg_capture *capture, bg__call *call)
{
    bg_status status = BG_OK;

    if (capture->level == 0 || call->child != NULL || call->segment != call->end_segment)
        return BG_OK;
    BG__TRY(BG__ARRAY_GROW(capture->inlined, capture->inlined_count, capture->inlined_capacity, "calls"));
    capture->inlined[capture->inlined_count++] = call;
done:
    return status;
}

bg_status bg__compile_segment(bg_capture *capture, bg__segment *segment, bool *launched)
{
    bg_status status = BG_OK;

    *launched = false;
    if (capture->level == 0)
        return BG_OK;
    capture->compiling = true;
    if (capture->holds_pool)
        bg__pool_set_no_reuse(capture->graph->pool, true);
    status = bg__compile_get_table()->segment(capture, segment, launched);
    if (capture->holds_pool)
        bg__pool_set_no_reuse(capture->graph->pool, false);
    capture->compiling = false;
    if (status != BG_OK)
        bg__error_add_location("compilation");
    return status;
}
