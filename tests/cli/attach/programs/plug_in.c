/* A library that is linked with the driver. */
#include <stdio.h>

int cuInit(unsigned flags);
int cuGraphLaunch(void *exec, void *stream);
__attribute__((visibility("default"))) void run_plug_in(void);

void run_plug_in(void)
{
    printf("cuInit: %d\n", cuInit(0));
    printf("cuGraphLaunch: %d\n", cuGraphLaunch((void *)1, (void *)2)); /* NOLINT(performance-no-int-to-ptr) */
}
