/* The built-in compilers, "none" and "rules", and their lookup by name. */
#include "compile/compile.h"

#include <string.h>

static bg_status leave_as_is(void *user, bg_piece *piece)
{
    (void)user;
    (void)piece;
    return BG_OK;
}

static bg_status run_rules(void *user, bg_piece *piece)
{
    static const bg_pass *const passes[] = {&bg_pass_print, &bg_pass_no_ops, &bg_pass_rules, &bg_pass_print};
    (void)user;
    return bg_passes_run(passes, sizeof passes / sizeof *passes, piece);
}

static const bg_compiler compilers[] = {
    {sizeof(bg_compiler), "none", leave_as_is, NULL},
    {sizeof(bg_compiler), "rules", run_rules, NULL},
};

const bg_compiler *bg_compiler_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof compilers / sizeof *compilers; i++)
        if (strcmp(compilers[i].name, name) == 0)
            return &compilers[i];
    return NULL;
}
