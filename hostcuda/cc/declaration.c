#include "declaration.h"

#include "cc_memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_one_of(const struct hcc_source *source, size_t i, const char *const *words, size_t count)
{
    for (size_t w = 0; w < count; w++)
        if (hcc_token_is(source, i, words[w]))
            return true;
    return false;
}
#define IS_ONE_OF(source, i, words) is_one_of(source, i, words, sizeof(words) / sizeof *(words))

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* Words before a ( that does not begin a parameter list. */
static const char *const words_with_arguments[] = {"__attribute__", "__attribute", "alignas",    "noexcept",
                                                   "decltype",      "__declspec",  "throw",      "requires",
                                                   "explicit",      "typeof",      "__typeof__", "__align__"};

/* Returns the token behind the bracket that opens at i, or i + 1. A < counts as a bracket after a word, unless it
 * compares numbers. */
static size_t skip_brackets(const struct hcc_source *source, size_t i, size_t end)
{
    bool opens = hcc_token_is(source, i, "(") || hcc_token_is(source, i, "[") || hcc_token_is(source, i, "{") ||
                 (hcc_token_is(source, i, "<") && i > 0 && hcc_token_is_word(source, i - 1));
    size_t next = opens ? hcc_find_close(source, i) : i;
    return next < end ? next + 1 : i + 1;
}

size_t hcc_find_outside(const struct hcc_source *source, size_t from, size_t end, const char *text)
{
    for (size_t i = from; i < end; i = skip_brackets(source, i, end))
        if (hcc_token_is(source, i, text))
            return i;
    return end;
}

size_t hcc_find_template(const struct hcc_source *source, size_t first, size_t end)
{
    size_t found = end;
    for (size_t i = first; i < end; i = skip_brackets(source, i, end))
        if (hcc_token_is(source, i, "template") && hcc_token_is(source, i + 1, "<"))
            found = i + 1;
    return found;
}

size_t hcc_skip_templates(const struct hcc_source *source, size_t first, size_t end)
{
    size_t open = hcc_find_template(source, first, end);
    size_t after = open < end ? hcc_find_close(source, open) + 1 : first;
    return after < end ? after : end;
}

static bool is_parameters(const struct hcc_source *source, size_t i)
{
    if (!hcc_token_is(source, i, "(") || i == 0)
        return false;
    if (hcc_token_is(source, i - 1, ">") || hcc_range_has(source, i > 3 ? i - 3 : 0, i, "operator"))
        return true;
    return hcc_token_is_word(source, i - 1) && !IS_ONE_OF(source, i - 1, words_with_arguments);
}

size_t hcc_find_parameters(const struct hcc_source *source, size_t first, size_t end)
{
    for (size_t i = hcc_skip_templates(source, first, end); i < end; i = skip_brackets(source, i, end)) {
        if (is_parameters(source, i))
            return i;
        if (hcc_token_is(source, i, "=") && !(i > 0 && hcc_token_is(source, i - 1, "operator")))
            break;
    }
    return end;
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* Words that belong to a type and cannot be a name. */
static const char *const type_words[] = {
    "int",  "float", "double",   "char",     "bool",     "short",      "long",     "unsigned",     "signed",    "void",
    "auto", "const", "volatile", "wchar_t",  "char8_t",  "char16_t",   "char32_t", "__restrict__", "struct",    "class",
    "enum", "union", "typename", "register", "__int128", "__restrict", "restrict", "_Float16",     "__float128"};
/* The words in type_words that do not make a type on their own. */
static const char *const qualifiers[] = {"const", "volatile", "struct",   "class",   "enum",
                                         "union", "typename", "register", "template"};

/* A parameter: tokens first to end, without its default. */
struct parameter {
    size_t first, end;
    size_t name;  /* the name's token; end: there is no name */
    size_t place; /* where an invented name would go: before this token */
    bool pack;
};

/* Returns the end of the parameter without the arrays and attributes behind its name. */
static size_t skip_suffixes(const struct hcc_source *source, size_t first, size_t end)
{
    while (end > first) {
        size_t open = hcc_token_is(source, end - 1, "]") || hcc_token_is(source, end - 1, ")")
                          ? hcc_find_open(source, end - 1)
                          : end;
        bool attribute = open > first && open < end && hcc_token_is(source, open - 1, "__attribute__");
        if (open >= end || (hcc_token_is(source, open, "(") && !attribute))
            break;
        end = attribute ? open - 1 : open;
    }
    return end;
}

static bool has_complete_type(const struct hcc_source *source, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (!IS_ONE_OF(source, i, qualifiers) && !hcc_token_is(source, i, "::"))
            return true;
    return false;
}

static bool is_name(const struct hcc_source *source, size_t first, size_t i)
{
    return hcc_token_is_word(source, i) && !IS_ONE_OF(source, i, type_words) && i > first &&
           !hcc_token_is(source, i - 1, "::") && has_complete_type(source, first, i);
}

static const char *const behind_pointers[] = {"*", "&", "const", "volatile", "__restrict__", "__restrict", "..."};

/* Reads (*NAME)(...) and (&NAME)[...]. Returns where the name is or would be, or end. */
static size_t find_in_parentheses(const struct hcc_source *source, const struct parameter *p)
{
    for (size_t i = p->first; i + 1 < p->end; i = skip_brackets(source, i, p->end)) {
        if (!hcc_token_is(source, i, "(") || !(hcc_token_is(source, i + 1, "*") || hcc_token_is(source, i + 1, "&")) ||
            (i > 0 && IS_ONE_OF(source, i - 1, words_with_arguments)))
            continue;
        size_t last = i + 1;
        while (IS_ONE_OF(source, last, behind_pointers))
            last++;
        return last;
    }
    return p->end;
}

static void find_name(const struct hcc_source *source, struct parameter *p)
{
    size_t inside = find_in_parentheses(source, p);
    size_t end = inside < p->end ? inside + 1 : skip_suffixes(source, p->first, p->end);
    bool named = inside < p->end ? hcc_token_is_word(source, inside) : is_name(source, p->first, end - 1);
    p->name = named ? end - 1 : p->end;
    p->place = inside < p->end ? inside : end;
    p->pack = hcc_find_outside(source, p->first, end, "...") < end ||
              (inside < p->end && hcc_token_is(source, inside - 1, "..."));
}

/* Reads a template parameter such as typename T, class... T, template <...> class T. The parameter's name is the word
 * behind the last keyword. */
static bool find_type_name(const struct hcc_source *source, struct parameter *p)
{
    size_t last = p->end;
    if (hcc_token_is(source, p->first, "template"))
        last = hcc_find_close(source, p->first + 1) + 1;
    else if (hcc_token_is(source, p->first, "typename") || hcc_token_is(source, p->first, "class"))
        last = p->first;
    if (last >= p->end || (last + 2 < p->end && !hcc_token_is(source, last + 1, "...")))
        return false; /* a parameter that is a value and not a type: typename A::B n */
    p->pack = hcc_token_is(source, last + 1, "...");
    p->place = last + 1 + p->pack;
    p->name = hcc_token_is_word(source, p->place) && p->place < p->end ? p->place : p->end;
    return true;
}

static void add_name(const struct hcc_source *source, struct hcc_edits *edits, const struct parameter *p,
                     struct hcc_names *names)
{
    HCC_ARRAY_RESERVE_ONE(names->items, names->count, names->capacity);
    struct hcc_name *name = &names->items[names->count++];
    name->pack = p->pack;
    if (p->name < p->end) {
        const struct hcc_token *token = &source->tokens[p->name];
        name->name = hcc_format("%.*s", (int)token->length, source->text + token->start);
        return;
    }
    name->name = hcc_format("hostcuda_unnamed_%zu", p->first);
    hcc_insert_before(edits, p->place, hcc_format(" %s", name->name));
}

void hcc_read_names(const struct hcc_source *source, struct hcc_edits *edits, size_t open, size_t close,
                    struct hcc_names *names)
{
    bool template = hcc_token_is(source, open, "<");
    for (size_t first = open + 1, end; first < close; first = end + 1) {
        end = hcc_find_outside(source, first, close, ",");
        struct parameter p = {.first = first, .end = hcc_find_outside(source, first, end, "=")};
        if (p.end == first || (!template && p.end == first + 1 && hcc_token_is(source, first, "void")))
            continue;
        if (!template || !find_type_name(source, &p))
            find_name(source, &p);
        add_name(source, edits, &p, names);
    }
}

void hcc_names_free(struct hcc_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i].name);
    free(names->items);
    *names = (struct hcc_names){0};
}
