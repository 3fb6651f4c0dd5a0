#include "node_text.h"

#include <stdio.h>

#include "debug/attach/nodes/node_calls.h"
#include "debug/attach/nodes/node_pieces.h"

const char *bg__node_text(const bg__node *node, char *text, size_t bytes)
{
    const char *call = node->call != NULL ? node->call->name : bg__node_kind(node), *begin;
    size_t length;

    if (node->parent < 0) {
        snprintf(text, bytes, "%.180s", call);
    } else if (node->type == cudaGraphNodeTypeKernel && node->kernel->name != NULL) {
        length = bg__kernel_short_name(node->kernel->name, &begin);
        snprintf(text, bytes, "kernel %.*s in %.100s, node %zu", (int)(length < 80 ? length : 80), begin, call,
                 node->place);
    } else {
        snprintf(text, bytes, "%s in %.100s, node %zu", bg__node_kind(node), call, node->place);
    }
    return text;
}

void bg__node_parameter_text(const bg__node *node, uintptr_t address, char *text, size_t bytes)
{
    bg__pieces pieces = {NULL, 0, 0};
    char name[BG__NODE_TEXT];

    text[0] = '\0';
    if (node->type == cudaGraphNodeTypeKernel && bg__pieces_collect(&pieces, node) == BG_OK)
        for (size_t i = 0; i < pieces.count; i++)
            if (address >= pieces.list[i].begin && address < pieces.list[i].end && pieces.list[i].pointer != 0)
                snprintf(text, bytes, ", %s of %s", pieces.list[i].held, bg__node_text(node, name, sizeof name));
    bg__pieces_free(&pieces);
}
