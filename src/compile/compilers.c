/* The compilers that there are, and the one that captures use. */
#include "compile/compile.h"

#include <stdatomic.h>
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

static _Atomic(const bg_compiler *) chosen;

const bg_compiler *bg_compiler_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof compilers / sizeof *compilers; i++)
        if (strcmp(compilers[i].name, name) == 0)
            return &compilers[i];
    return NULL;
}

const bg_compiler *bg__compiler_get(void)
{
    const bg_compiler *compiler = atomic_load(&chosen);
    return compiler != NULL ? compiler : bg_compiler_find("rules");
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
    atomic_store(&chosen, compiler);
    bg__compile_set_table(&bg__compile_functions);
    return BG_OK;
}
