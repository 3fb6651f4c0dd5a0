/* Reports nodes that hang while a walk runs them (step). */
#include <stdlib.h>
#include <string.h>

#include "hang.h"
#include "watched_graphs.h"

/* The node that a thread runs; entries are never removed. */
typedef struct alone {
    struct alone *next;
    bool runs;
    char graph[64];
    bg__marked_node node;
    double began; /* in ms */
    int place;    /* entry in running.h, from 1; 0: none */
} alone;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static alone *list;
static _Thread_local alone *own;

static alone *get_own(void)
{
    if (own == NULL && (own = calloc(1, sizeof *own)) != NULL) {
        pthread_mutex_lock(&lock);
        own->next = list;
        list = own;
        pthread_mutex_unlock(&lock);
    }
    return own;
}

/* Out of host memory, a hang of this node is not reported. */
void bg__hang_node_begin(const bg_graph *graph, const bg__node *node, const bg__call *call)
{
    alone *a = bg__hangs_wanted() ? get_own() : NULL;

    if (a == NULL || bg__marked_node_describe(&a->node, node, call) != BG_OK)
        return;
    pthread_mutex_lock(&lock);
    snprintf(a->graph, sizeof a->graph, "%s", bg__graph_name(graph));
    a->began = bg__now_ms();
    a->runs = true;
    pthread_mutex_unlock(&lock);
}

void bg__hang_node_end(void)
{
    alone *a = own;

    if (a == NULL || !a->runs)
        return;
    pthread_mutex_lock(&lock);
    a->runs = false;
    bg__hang_forget_row(&a->place);
    bg__marked_node_free(&a->node);
    pthread_mutex_unlock(&lock);
}

void bg__alone_look(double now, bool writes)
{
    pthread_mutex_lock(&lock);
    for (alone *a = list; a != NULL; a = a->next)
        if (a->runs && now - a->began >= BG__HANG_LONG_MS && (writes || a->place == 0))
            bg__hang_write_row(&a->place, bg__hang_row_alone(a->graph, &a->node, a->began), 0);
    pthread_mutex_unlock(&lock);
}

void bg__alone_forget(void)
{
    pthread_mutex_lock(&lock);
    for (alone *a = list; a != NULL; a = a->next)
        bg__hang_forget_row(&a->place);
    pthread_mutex_unlock(&lock);
}
