#include "dot_files.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "debug/trace/trace.h"

/* Replaces characters that not every file system allows. */
static void replace_unsafe_characters(char *text)
{
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && *text != '.' && *text != '-')
            *text = '_';
}

static bg_status write_segment_dot(const bg_graph *graph, const char *directory, unsigned long number, int segment)
{
    char name[64], *path = NULL;
    bg_status status;

    snprintf(name, sizeof name, "%s", bg__graph_name(graph));
    replace_unsafe_characters(name);
    if (asprintf(&path, "%s/%s-%ld-%lu-%d.dot", directory, name, (long)getpid(), number, segment) < 0)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a path");
    status = bg__dot_write(graph, segment, path, BG__FILE_GENERATED);
    free(path);
    return status;
}

void bg__dot_files_write(const bg_graph *graph)
{
    static atomic_ulong graphs;
    const char *directory = bg__env_value("BG_DOT");
    unsigned long number;
    bg_status status = BG_OK;
    char hidden;

    if (directory == NULL)
        return;
    hidden = bg__error_set_aside();
    number = atomic_fetch_add(&graphs, 1) + 1;
    for (int i = 0; i < bg__graph_segment_count(graph) && status == BG_OK; i++)
        status = write_segment_dot(graph, directory, number, i);
    if (status != BG_OK)
        bg__warn("BG_DOT: %s", bg_last_error());
    bg__error_restore(hidden);
}
