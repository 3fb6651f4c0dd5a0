/* Nodes in the text of findings. */
#ifndef BG_ATTACH_NODE_TEXT_H
#define BG_ATTACH_NODE_TEXT_H

#include "debug/graph/nodes.h"

enum { BG__NODE_TEXT = 200 }; /* bytes of a name */

/* "scale#3"; of a child graph "kernel scale in child graph#0, node 2". Gives text back. */
const char *bg__node_text(const bg__node *node, char *text, size_t bytes);
/* ", kernel parameter 2 of scale#3": which points there; "": none does, or it is no kernel. */
void bg__node_parameter_text(const bg__node *node, uintptr_t address, char *text, size_t bytes);

#endif
