#include "signature.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The "(" of the parameters: the one that the last ")" closes. NULL: there is none. */
static const char *find_parameters(const char *name)
{
    const char *at = strrchr(name, ')');
    for (int depth = 0; at != NULL && at >= name; at--) {
        depth += (*at == ')') - (*at == '(');
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* After "(" or ","; the end of that parameter. Commas of templates and function types are part of it. */
static const char *find_end(const char *at)
{
    for (int depth = 0; *at != '\0'; at++) {
        if (depth == 0 && (*at == ',' || *at == ')'))
            return at;
        depth += (strchr("<([{", *at) != NULL) - (strchr(">)]}", *at) != NULL);
    }
    return at;
}

static bool ends_in(const char *begin, const char *end, const char *text)
{
    const size_t bytes = strlen(text);
    return (size_t)(end - begin) >= bytes && memcmp(end - bytes, text, bytes) == 0;
}

bg__touch bg__signature_touch(const char *name, int parameters, int index)
{
    const char *at = name != NULL ? find_parameters(name) : NULL;
    int count = 0, variable = 0;
    bool is_pointer = false, is_const = false;

    if (at == NULL)
        return BG__MAY_READ;
    while (*at == '(' || *at == ',') {
        const char *end = find_end(++at);
        const bool pointer = ends_in(at, end, "*"), constant = ends_in(at, end, " const*");
        variable += pointer && !constant;
        if (count == index) {
            is_pointer = pointer && (constant || !ends_in(at, end, "**"));
            is_const = constant;
        }
        count += end > at;
        at = end;
    }
    if (count != parameters || !is_pointer || (!is_const && variable != 1))
        return BG__MAY_READ;
    return is_const ? BG__DOES_READ : BG__DOES_WRITE;
}
