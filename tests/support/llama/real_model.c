#include "real_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *find_real_model(void)
{
    const char *path = getenv("BREAKGRAPH_MODEL");
    if (!path || !*path)
        path = "model/SmolLM2-135M-Instruct.Q4_1.gguf";
    if (access(path, R_OK) == 0)
        return path;
    printf("skipped: %s cannot be read; `make model` fetches it, or set BREAKGRAPH_MODEL to the file\n", path);
    return NULL;
}
