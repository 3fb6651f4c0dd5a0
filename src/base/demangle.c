#include <string.h>

#include "base/text.h"

/* A function of the C++ runtime, declared here since its header is C++. */
char *__cxa_demangle(const char *symbol, char *room, size_t *bytes, int *status);

char *bg__demangle(const char *symbol)
{
    int result;
    return strncmp(symbol, "_Z", 2) == 0 ? __cxa_demangle(symbol, NULL, NULL, &result) : NULL;
}
