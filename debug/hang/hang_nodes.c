/* Reports nodes that hang while a walk runs them one by one (step). */
#include <stdlib.h>
#include <string.h>

#include "hang.h"
#include "hang_copies.h"

/* The node that a thread runs; entries are never removed. */
typedef struct single_run {
    struct single_run *next;
    bool runs;
    char graph[64];
    bg__marked_node node;
    double began; /* in ms */
    int place;    /* entry in running_file.h, from 1; 0: none */
} single_run;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static single_run *single_runs;
static _Thread_local single_run *this_run;

static single_run *get_this_run(void)
{
    if (this_run == NULL && (this_run = calloc(1, sizeof *this_run)) != NULL) {
        pthread_mutex_lock(&lock);
        this_run->next = single_runs;
        single_runs = this_run;
        pthread_mutex_unlock(&lock);
    }
    return this_run;
}

/* If host memory runs out, a hang of this node is not reported. */
void bg__hang_node_begin(const bg_graph *graph, const bg__node *node, const bg__call *call)
{
    single_run *a = bg__hangs_wanted() ? get_this_run() : NULL;

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
    single_run *a = this_run;

    if (a == NULL || !a->runs)
        return;
    pthread_mutex_lock(&lock);
    a->runs = false;
    bg__hang_remove_row(&a->place);
    bg__marked_node_free(&a->node);
    pthread_mutex_unlock(&lock);
}

void bg__hang_check_nodes(double now, bool writes)
{
    pthread_mutex_lock(&lock);
    for (single_run *a = single_runs; a != NULL; a = a->next)
        if (a->runs && now - a->began >= BG__HANG_LONG_MS && (writes || a->place == 0))
            bg__hang_replace_row(&a->place, bg__hang_format_node_row(a->graph, &a->node, a->began), 0);
    pthread_mutex_unlock(&lock);
}

void bg__hang_remove_node_rows(void)
{
    pthread_mutex_lock(&lock);
    for (single_run *a = single_runs; a != NULL; a = a->next)
        bg__hang_remove_row(&a->place);
    pthread_mutex_unlock(&lock);
}
