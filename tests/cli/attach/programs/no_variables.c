/* Linked with --wrap=getenv: a program with breakgraph inside, whose own tools are not switched on by what --attach
 * sets. */
#include <stdlib.h>
#include <string.h>

char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);

char *__wrap_getenv(const char *name)
{
    return strncmp(name, "BG_", 3) == 0 ? NULL : __real_getenv(name);
}
