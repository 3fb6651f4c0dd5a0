/* Warns when a node of a stepped graph takes long. Stepping waits for each node before the program's launch returns, so
 * a node that waits for what the program does after its launch never ends. */
#ifndef BG_ATTACH_SLOW_NODE_H
#define BG_ATTACH_SLOW_NODE_H

#include <pthread.h>
#include <time.h>

#include "debug/graph/nodes.h"

typedef struct bg__slow_node {
    const bg_graph *graph;
    pthread_t thread;
    bool running;
    pid_t process; /* the process that has the thread; a forked child has none */
    bool warned;   /* one warning for each graph */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool end;
    const bg__node *node;  /* the node that runs; NULL: none */
    struct timespec until; /* when the node counts as slow */
} bg__slow_node;

/* Errors: OUT_OF_MEMORY. */
bg_status bg__slow_node_create(bg__slow_node *slow, const bg_graph *graph);
/* node runs from now on; NULL: none does. */
void bg__slow_node_set_running(bg__slow_node *slow, const bg__node *node);
/* Ends the thread. Call it after the last node of a launch. */
void bg__slow_node_stop(bg__slow_node *slow);
void bg__slow_node_free(bg__slow_node *slow);

#endif
