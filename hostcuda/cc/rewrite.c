#include "rewrite.h"

#include "architectures.h"
#include "cc_kernels.h"
#include "rejects.h"

struct rewrite {
    struct hcc_source source;
    struct hcc_edits edits;
    struct hcc_scopes scopes;
    struct hcc_shared shared; /* shared arrays declared outside of functions */
};

static bool enter_scope_at(struct rewrite *r, size_t head, size_t brace)
{
    bool kernel = hcc_range_has(&r->source, head, brace, "__hostcuda_global__");
    bool ok = true;
    if (kernel && hcc_innermost_scope(&r->scopes)->kind == HCC_FUNCTION)
        ok = hcc_define_kernel(&r->source, &r->edits, &r->scopes, head, brace);
    if (kernel || hcc_range_has(&r->source, head, brace, "__hostcuda_device__"))
        hcc_declare_shared(&r->source, &r->edits, &r->scopes, &r->shared, head, brace);
    return ok;
}

static bool rewrite_token(struct rewrite *r, size_t i)
{
    if (!hcc_check_supported(&r->source, &r->scopes, i))
        return false;
    if (hcc_token_is(&r->source, i, "__hostcuda_global__") || hcc_token_is(&r->source, i, "__hostcuda_device__") ||
        hcc_token_is(&r->source, i, "__hostcuda_host__"))
        hcc_drop_token(&r->edits, i);
    else if (hcc_token_is(&r->source, i, "__hostcuda_shared__"))
        return hcc_rewrite_shared(&r->source, &r->edits, &r->scopes, i, &r->shared);
    else if (hcc_token_is(&r->source, i, "<<<"))
        return hcc_rewrite_launch(&r->source, &r->edits, i);
    return true;
}

/* Goes on after an error, so that all errors are printed. */
static bool rewrite_tokens(struct rewrite *r)
{
    bool ok = true;
    for (size_t i = 0; i < r->source.count; i++) {
        size_t head = hcc_innermost_scope(&r->scopes)->head;
        ok = rewrite_token(r, i) && ok;
        if (hcc_scopes_advance(&r->scopes, &r->source, i))
            ok = enter_scope_at(r, head, i) && ok;
    }
    return ok;
}

bool hcc_rewrite(const char *from, const char *own, bool architecture, FILE *to)
{
    struct rewrite r = {0};
    bool ok = hcc_source_read(&r.source, from, own);
    hcc_edits_begin(&r.edits, &r.source);
    hcc_scopes_begin(&r.scopes);
    ok = ok && rewrite_tokens(&r) && (architecture || hcc_check_architectures(&r.source)) &&
         hcc_write_edited(&r.edits, &r.source, to);
    hcc_shared_free(&r.shared);
    hcc_scopes_free(&r.scopes);
    hcc_edits_free(&r.edits);
    hcc_source_free(&r.source);
    return ok;
}
