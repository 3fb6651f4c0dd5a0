#include "scopes.h"

#include "declaration.h"
#include "cc_memory.h"

#include <stdlib.h>

void hcc_scopes_begin(struct hcc_scopes *scopes)
{
    *scopes = (struct hcc_scopes){0};
    HCC_ARRAY_RESERVE_ONE(scopes->items, scopes->count, scopes->capacity);
    scopes->items[scopes->count++] = (struct hcc_innermost_scope){.kind = HCC_NAMESPACE};
}

void hcc_scopes_free(struct hcc_scopes *scopes)
{
    free(scopes->items);
    *scopes = (struct hcc_scopes){0};
}

struct hcc_innermost_scope *hcc_innermost_scope(const struct hcc_scopes *scopes)
{
    return &scopes->items[scopes->count - 1];
}

bool hcc_in_function(const struct hcc_scopes *scopes)
{
    return hcc_innermost_scope(scopes)->kind >= HCC_FUNCTION;
}

/* In a constructor S(int n) : a{n} {, the first brace initializes a member. */
static bool initializes_member(const struct hcc_source *source, size_t parameters, size_t brace)
{
    size_t close = hcc_find_close(source, parameters);
    bool named = hcc_token_is_word(source, brace - 1) || hcc_token_is(source, brace - 1, ">");
    return close < brace && named && hcc_find_outside(source, close, brace, ":") < brace;
}

static enum hcc_scope_kind scope_kind_of(const struct hcc_scopes *scopes, const struct hcc_source *source, size_t brace)
{
    const struct hcc_innermost_scope *around = hcc_innermost_scope(scopes);
    if (around->kind >= HCC_FUNCTION || around->parentheses > 0)
        return HCC_BLOCK;
    size_t head = hcc_skip_templates(source, around->head, brace);
    if (hcc_find_outside(source, head, brace, "namespace") < brace)
        return HCC_NAMESPACE;
    if (hcc_token_is(source, head, "extern") && brace == head + 2 && source->tokens[head + 1].kind == HCC_QUOTED)
        return HCC_NAMESPACE;
    size_t parameters = hcc_find_parameters(source, around->head, brace);
    if (parameters < brace)
        return initializes_member(source, parameters, brace) ? HCC_BLOCK : HCC_FUNCTION;
    bool type = hcc_range_has(source, head, brace, "class") || hcc_range_has(source, head, brace, "struct") ||
                hcc_range_has(source, head, brace, "union");
    return type ? HCC_CLASS : HCC_BLOCK;
}

/* Finds the name of a namespace, in namespace A::B {, inline namespace A { or namespace {. The name is the words and ::
 * behind the keyword `namespace`. */
static void find_namespace_name(const struct hcc_source *source, struct hcc_innermost_scope *scope, size_t head)
{
    scope->name = hcc_find_outside(source, head, scope->opened, "namespace") + 1;
    if (hcc_token_is(source, scope->name, "["))
        scope->name = hcc_find_close(source, scope->name) + 1;
    for (size_t i = scope->name; i < scope->opened && !hcc_token_is(source, i, "__attribute__"); i++)
        scope->name_count += hcc_token_is(source, i, "::") || hcc_token_is_word(source, i);
}

static void enter_scope(struct hcc_scopes *scopes, const struct hcc_source *source, size_t brace)
{
    struct hcc_innermost_scope *around = hcc_innermost_scope(scopes);
    bool device = hcc_range_has(source, around->head, brace, "__hostcuda_device__") ||
                  hcc_range_has(source, around->head, brace, "__hostcuda_global__");
    struct hcc_innermost_scope scope = {
        .kind = scope_kind_of(scopes, source, brace),
        .device = around->device || (device && !hcc_range_has(source, around->head, brace, "__hostcuda_host__")),
        .in_expression = around->parentheses > 0,
        .head = brace + 1,
        .opened = brace,
    };
    if (scope.kind == HCC_NAMESPACE)
        find_namespace_name(source, &scope, around->head);
    HCC_ARRAY_RESERVE_ONE(scopes->items, scopes->count, scopes->capacity);
    scopes->items[scopes->count++] = scope;
}

static void leave_scope(struct hcc_scopes *scopes, size_t brace)
{
    bool in_expression = hcc_innermost_scope(scopes)->in_expression,
         block = hcc_innermost_scope(scopes)->kind == HCC_BLOCK;
    if (scopes->count > 1)
        scopes->count--;
    /* outside of functions, a declaration continues behind a braced initializer */
    if (!in_expression && !(block && !hcc_in_function(scopes)))
        hcc_innermost_scope(scopes)->head = brace + 1;
}

bool hcc_scopes_advance(struct hcc_scopes *scopes, const struct hcc_source *source, size_t i)
{
    struct hcc_innermost_scope *scope = hcc_innermost_scope(scopes);
    if (hcc_token_is(source, i, "("))
        scope->parentheses++;
    else if (hcc_token_is(source, i, ")"))
        scope->parentheses -= scope->parentheses > 0;
    else if (hcc_token_is(source, i, "}"))
        leave_scope(scopes, i);
    else if (hcc_token_is(source, i, ";") && scope->parentheses == 0)
        scope->head = i + 1;
    else if (hcc_token_is(source, i, "{"))
        enter_scope(scopes, source, i);
    return hcc_token_is(source, i, "{");
}

char *hcc_scopes_namespace(const struct hcc_scopes *scopes, const struct hcc_source *source)
{
    char *name = hcc_format("%s", "");
    for (size_t s = 0; s < scopes->count; s++) {
        const struct hcc_innermost_scope *scope = &scopes->items[s];
        for (size_t i = scope->name; i < scope->name + scope->name_count; i++) {
            const struct hcc_token *token = &source->tokens[i];
            char *longer =
                hcc_format("%s%s%.*s", name, i == scope->name ? "::" : "",
                           hcc_token_is(source, i, "inline") ? 0 : (int)token->length, source->text + token->start);
            free(name);
            name = longer;
        }
    }
    return name;
}
