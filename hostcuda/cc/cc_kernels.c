#include "cc_kernels.h"

#include "declaration.h"
#include "cc_memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- definitions ------------------------------------------------------------------------------------------------- */

/* Returns the first token of the qualified name that ends at token `last`: k, A::k, ::A<int>::k<float>. */
static size_t find_name_start(const struct hcc_source *source, size_t last)
{
    size_t first = hcc_token_is(source, last, ">") ? hcc_find_open(source, last) - 1 : last;
    while (first > 0 && hcc_token_is(source, first - 1, "::")) {
        bool qualified = first > 1 && (hcc_token_is_word(source, first - 2) || hcc_token_is(source, first - 2, ">"));
        first = qualified ? find_name_start(source, first - 2) : first - 1;
    }
    return first;
}

/* Prints the names, separated by commas, each between `before` and `behind`. */
static void print_names(FILE *text, const struct hcc_names *names, const char *before, const char *behind)
{
    for (size_t i = 0; i < names->count; i++)
        fprintf(text, "%s%s%s%s%s", i ? ", " : "", before, names->items[i].name, behind,
                names->items[i].pack ? "..." : "");
}

static void print_tokens(FILE *text, const struct hcc_source *source, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        fprintf(text, "%.*s ", (int)source->tokens[i].length, source->text + source->tokens[i].start);
}

/* Returns the text that begins a kernel's body. When host code calls the kernel, this text launches it as configured,
 * with the kernel's address and parameters. The parameter types select the right overload. */
static char *write_prologue(const struct hcc_source *source, const struct hcc_scopes *scopes, size_t open,
                            const struct hcc_names *templates, const struct hcc_names *parameters)
{
    char *prologue = NULL, *scope = hcc_scopes_namespace(scopes, source);
    size_t length = 0, first = find_name_start(source, open - 1);
    FILE *text = hcc_memory_file(&prologue, &length);
    fputs(" if (::hostcuda::launches<static_cast<void (*)(", text);
    print_names(text, parameters, "::hostcuda::parameter<decltype(", ")>");
    fprintf(text, ")>(%s%s", hcc_token_is(source, first, "::") ? "" : scope,
            hcc_token_is(source, first, "::") ? "" : "::");
    print_tokens(text, source, first, open);
    if (templates->count && !hcc_token_is(source, open - 1, ">")) {
        fputs("<", text);
        print_names(text, templates, "", "");
        fputs(">", text);
    }
    fputs(")>(", text);
    print_names(text, parameters, "", "");
    fputs(")) return;", text);
    hcc_memory_file_close(text);
    free(scope);
    return prologue;
}

bool hcc_define_kernel(const struct hcc_source *source, struct hcc_edits *edits, const struct hcc_scopes *scopes,
                       size_t head, size_t brace)
{
    struct hcc_names templates = {0}, parameters = {0};
    size_t open = hcc_find_parameters(source, head, brace);
    size_t angle = hcc_find_template(source, head, brace);
    if (open >= brace || hcc_find_close(source, open) >= brace) {
        hcc_report_error(
            source, brace,
            "the definition of this kernel cannot be read; write it as __global__ void name(parameters) {");
        return false;
    }
    if (angle < brace)
        hcc_read_names(source, edits, angle, hcc_find_close(source, angle), &templates);
    hcc_read_names(source, edits, open, hcc_find_close(source, open), &parameters);
    hcc_insert_after(edits, brace, write_prologue(source, scopes, open, &templates, &parameters));
    hcc_names_free(&templates);
    hcc_names_free(&parameters);
    return true;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* Whether token i is a keyword, such as return, that may stand before an expression. */
static bool is_keyword(const struct hcc_source *source, size_t i)
{
    static const char *const keywords[] = {"return",    "else",      "do",    "if",    "for",       "while",
                                           "switch",    "case",      "and",   "or",    "xor",       "not",
                                           "constexpr", "consteval", "catch", "throw", "co_return", "co_yield"};
    for (size_t k = 0; k < sizeof keywords / sizeof *keywords; k++)
        if (hcc_token_is(source, i, keywords[k]))
            return true;
    return false;
}

/* Whether token i can end the function or the array that a ( or [ is applied to. */
static bool ends_operand(const struct hcc_source *source, size_t i)
{
    if (hcc_token_is(source, i, ")")) {
        size_t open = hcc_find_open(source, i);
        return !(open > 0 && open < source->count && is_keyword(source, open - 1));
    }
    if (hcc_token_is(source, i, "]") && i > 0 && hcc_token_is(source, i - 1, "]")) {
        size_t open = hcc_find_open(source, i);
        return !(open < source->count && hcc_token_is(source, open + 1, "[")); /* [[likely]] */
    }
    return (hcc_token_is_word(source, i) && !is_keyword(source, i)) || hcc_token_is(source, i, "]") ||
           hcc_token_is(source, i, ">");
}

/* Returns the first token of the expression that names the kernel and ends at token i: k, k<int>, A::k, (*f), a.f[0],
 * f(x)->k. Returns source->count if there is none. */
static size_t find_callee(const struct hcc_source *source, size_t i)
{
    for (;;) {
        size_t first = i;
        if (hcc_token_is(source, i, ">") || hcc_token_is(source, i, ")") || hcc_token_is(source, i, "]")) {
            first = hcc_find_open(source, i);
            if (first == 0 || first == source->count)
                return source->count;
            if (hcc_token_is(source, i, ">") || ends_operand(source, first - 1)) {
                i = first - 1;
                continue;
            }
        } else if (!hcc_token_is_word(source, i) || is_keyword(source, i)) {
            return source->count;
        }
        if (first > 0 && hcc_token_is(source, first - 1, "template"))
            first--;
        bool member = first > 1 && (hcc_token_is(source, first - 1, ".") || hcc_token_is(source, first - 1, "->"));
        bool qualified = first > 0 && hcc_token_is(source, first - 1, "::");
        if (!member && !(qualified && first > 1 && ends_operand(source, first - 2)))
            return qualified ? first - 1 : first;
        i = first - 2;
    }
}

/* Returns the first > of the >>>( that ends the configuration; source->count if there is none. */
static size_t find_configuration_end(const struct hcc_source *source, size_t less)
{
    const struct hcc_token *tokens = source->tokens;
    for (size_t i = less + 1; i + 3 < source->count && !hcc_token_is(source, i, ";"); i++) {
        if (hcc_token_is(source, i, "(") || hcc_token_is(source, i, "[") || hcc_token_is(source, i, "{"))
            i = hcc_find_close(source, i);
        else if (hcc_token_is(source, i, ">") && hcc_token_is(source, i + 1, ">") && hcc_token_is(source, i + 2, ">") &&
                 hcc_token_is(source, i + 3, "(") && tokens[i + 2].start == tokens[i].start + 2)
            return i;
    }
    return source->count;
}

bool hcc_rewrite_launch(const struct hcc_source *source, struct hcc_edits *edits, size_t less)
{
    struct hcc_launch launch = {.less = less, .first = less > 0 ? find_callee(source, less - 1) : source->count};
    launch.greater = find_configuration_end(source, less);
    launch.last = launch.greater < source->count ? hcc_find_close(source, launch.greater + 3) : source->count;
    bool read = launch.first < source->count && launch.last < source->count && launch.greater > less + 1;
    if (read)
        hcc_add_launch(edits, launch);
    else
        hcc_report_error(
            source, less,
            "this launch cannot be read; write it as kernel<<<grid, block, shared bytes, stream>>>(arguments)");
    return read;
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

/* Turns extern __shared__ T NAME[][N] into a reference to the launch's dynamic shared memory. */
static void write_shared_reference(struct hcc_edits *edits, size_t name, size_t end)
{
    hcc_insert_before(edits, name, hcc_format("(&"));
    hcc_insert_after(edits, name, hcc_format(")"));
    hcc_insert_before(edits, end, hcc_format(" = ::hostcuda::dynamic_shared()"));
}

/* Makes the variable thread_local. alignas(...) must stay before thread_local. Arrays are aligned to 16 bytes, since
 * programs read float4 from arrays of float, as the shared memory of a GPU allows. */
static void make_thread_local(const struct hcc_source *source, struct hcc_edits *edits, size_t i)
{
    size_t next = i + 1;
    while (hcc_token_is(source, next, "alignas"))
        next = hcc_find_close(source, next + 1) + 1;
    hcc_drop_token(edits, i);
    hcc_insert_before(edits, next < source->count ? next : i, hcc_format("__attribute__((aligned(16))) thread_local "));
}

static void add_outer_shared(struct hcc_shared *outside, size_t name, char *scope)
{
    HCC_ARRAY_RESERVE_ONE(outside->items, outside->count, outside->capacity);
    outside->items[outside->count].token = name;
    outside->items[outside->count++].scope = scope;
}

bool hcc_rewrite_shared(const struct hcc_source *source, struct hcc_edits *edits, const struct hcc_scopes *scopes,
                        size_t i, struct hcc_shared *outside)
{
    size_t head = hcc_innermost_scope(scopes)->head, end = hcc_find_outside(source, i, source->count, ";");
    size_t external = hcc_find_outside(source, head, end, "extern");
    if (external == end) {
        make_thread_local(source, edits, i);
        return true;
    }
    hcc_replace_token(edits, i, hcc_format("%s", hcc_in_function(scopes) ? "" : "__attribute__((unused))"));
    if (hcc_in_function(scopes))
        hcc_drop_token(edits, external);
    for (size_t first = i + 1, next; first < end; first = next + 1) {
        next = hcc_find_outside(source, first, end, ",");
        size_t bracket = hcc_find_outside(source, first, next, "[");
        if (bracket == next || !hcc_token_is_word(source, bracket - 1)) {
            hcc_report_error(source, i,
                             "dynamic shared memory is an array of no size: extern __shared__ float name[];");
            return false;
        }
        if (hcc_in_function(scopes))
            write_shared_reference(edits, bracket - 1, next);
        else
            add_outer_shared(outside, bracket - 1, hcc_scopes_namespace(scopes, source));
    }
    return true;
}

/* Whether a later declaration in the same namespace has the same name, or the function cannot see array i. */
static bool is_redeclared(const struct hcc_source *source, const struct hcc_shared *outside, size_t i, const char *name,
                          const char *scope)
{
    for (size_t s = i + 1; s < outside->count; s++)
        if (hcc_token_is(source, outside->items[s].token, name) &&
            strcmp(outside->items[s].scope, outside->items[i].scope) == 0)
            return true;
    return !hcc_starts_with(scope, outside->items[i].scope);
}

/* In a class, the name may be that of a member, and members are not known here. The name then refers to an array that
 * does not exist, and the linker reports an error. */
void hcc_declare_shared(const struct hcc_source *source, struct hcc_edits *edits, const struct hcc_scopes *scopes,
                        const struct hcc_shared *outside, size_t head, size_t brace)
{
    bool in_class = scopes->count > 1 && scopes->items[scopes->count - 2].kind == HCC_CLASS;
    size_t end = outside->count && !in_class ? hcc_find_close(source, brace) : brace;
    char *scope = hcc_scopes_namespace(scopes, source);
    for (size_t s = 0; s < outside->count; s++) {
        const struct hcc_token *token = &source->tokens[outside->items[s].token];
        char *name = hcc_format("%.*s", (int)token->length, source->text + token->start);
        if (hcc_range_has(source, brace, end, name) && !hcc_range_has(source, head, brace, name) &&
            !is_redeclared(source, outside, s, name, scope))
            hcc_insert_after(edits, brace,
                             hcc_format(" __attribute__((unused)) decltype(%s::%s) &%s = ::hostcuda::dynamic_shared();",
                                        outside->items[s].scope, name, name));
        free(name);
    }
    free(scope);
}

void hcc_shared_free(struct hcc_shared *outside)
{
    for (size_t s = 0; s < outside->count; s++)
        free(outside->items[s].scope);
    free(outside->items);
    *outside = (struct hcc_shared){0};
}
