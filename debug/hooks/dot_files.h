/* BG_DOT=DIR: writes the segments of each captured graph as DOT. */
#ifndef BG_DEBUG_DOT_FILES_H
#define BG_DEBUG_DOT_FILES_H

#include "graph/inspect.h"

/* Writes DIR/NAME-PID-N-SEGMENT.dot. A failure prints a line to standard error. */
void bg__dot_files_write(const bg_graph *graph);

#endif
