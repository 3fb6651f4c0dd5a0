#include "signature.h"

#include <stddef.h>
#include <string.h>

/* Returns the "(" that the last ")" closes: the parameters begin there. NULL: there is none. */
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

/* Returns the end of the parameter that begins at `at`. It may contain commas of templates and function types. */
static const char *find_parameter_end(const char *at)
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

/* Whether the type is a number too small to hold an address. */
static bool is_number(const char *begin, const char *end)
{
    static const char *const names[] = {"int",  "unsigned int", "float",          "double",        "bool",
                                        "char", "short",        "unsigned short", "unsigned char", "signed char"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((size_t)(end - begin) == strlen(names[i]) && memcmp(begin, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_const_pointer(const char *begin, const char *end)
{
    return ends_in(begin, end, " const*") || ends_in(begin, end, " const volatile*");
}

static bool is_volatile_pointer(const char *begin, const char *end)
{
    return ends_in(begin, end, " volatile*");
}

/* A pointer to cuda::atomic or cuda::std::atomic, or their atomic_ref, which holds the address. */
static bool is_atomic_pointer(const char *begin, const char *end)
{
    const char *at = strstr(begin, "::atomic<"), *ref = strstr(begin, "::atomic_ref<");
    return (at != NULL && at < end && ends_in(begin, end, "*")) || (ref != NULL && ref < end);
}

bg__access_kind bg__signature_access(const char *name, int parameters, int index)
{
    const char *at = name != NULL ? find_parameters(name) : NULL;
    bg__access_kind found = BG__ACCESS_UNKNOWN;
    int count = 0, others = 0;
    bool variable = false;

    if (at == NULL)
        return BG__ACCESS_UNKNOWN;
    while (*at == '(' || *at == ',') {
        const char *end = find_parameter_end(++at), *begin = at + strspn(at, " ");
        const bool constant = is_const_pointer(begin, end);
        if (count == index) {
            found = constant ? BG__ACCESS_READ : BG__ACCESS_UNKNOWN;
            variable =
                !constant && ends_in(begin, end, "*") && !ends_in(begin, end, "**") && !is_volatile_pointer(begin, end);
        } else {
            others += !constant && !is_number(begin, end);
        }
        count += end > at;
        at = end;
    }
    if (count != parameters)
        return BG__ACCESS_UNKNOWN;
    return variable && others == 0 && count > 1 ? BG__ACCESS_WRITE : found;
}

bool bg__signature_may_wait(const char *name)
{
    const char *at = name != NULL ? find_parameters(name) : NULL;
    bool found = false;

    while (at != NULL && (*at == '(' || *at == ',') && !found) {
        const char *end = find_parameter_end(++at);
        found = is_volatile_pointer(at, end) || is_atomic_pointer(at, end);
        at = end;
    }
    return found;
}
