#include "host_only.h"

#include <string.h>

static const char *belongs;

static void skipped(void **state)
{
    (void)state;
    print_message("skipped: %s belongs to the host device\n", belongs);
    skip();
}

void skip_on_gpu(struct CMUnitTest *tests, size_t count, const char *what)
{
    if (strcmp(BG_DEVICE_KIND, "host") == 0)
        return;
    belongs = what;
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){.name = tests[i].name, .test_func = skipped};
}
