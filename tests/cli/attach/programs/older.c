/* A program's own bg_attach_interface, as of a library that is older than its header: the last functions are missing.
 */
#include <breakgraph/attach.h>
#include <stdio.h>

static bg_status name_next(const char *name)
{
    printf("named %s\n", name);
    return BG_OK;
}

static const bg_attach_functions functions = {.struct_size = offsetof(bg_attach_functions, get_graph),
                                              .name_next = name_next};

BG_API bg_attach_interface_function bg_attach_interface;
const bg_attach_functions *bg_attach_interface(void)
{
    return &functions;
}

int main(void)
{
    bg_attach_graph graph = BG_ATTACH_GRAPH_INIT;
    int findings;
    printf("next: %d\n", (int)bg_attach_name_next("x"));
    printf("there, but NULL: %d, %d\n", (int)bg_attach_name_graph(NULL, "x"), bg_attach_graph_count());
    printf("not there: %d, %d\n", (int)bg_attach_get_graph(0, &graph), (int)bg_attach_check(BG_TEXT, &findings, NULL));
    bg_attach_free(NULL);
    return 0;
}
