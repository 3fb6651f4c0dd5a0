/* Pairs the processes of two runs: workers may start in another order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "closest.h"

typedef struct both {
    const cli_run *a;
    cli_run *b;
} both;

static bool may_pair(const void *user, size_t i, size_t k)
{
    const both *runs = user;
    return strcmp(runs->a->processes[i].group, runs->b->processes[k].group) == 0;
}

static void pair(void *user, size_t i, size_t k)
{
    const both *runs = user;
    memcpy(runs->b->processes[k].key, runs->a->processes[i].key, sizeof runs->b->processes[k].key);
}

/* Gives processes without a pair a key that no process of the other run has. */
static void set_alone(cli_run *run, const cli_held *held)
{
    for (size_t i = 0; i < run->process_count; i++)
        if (!held[i].taken)
            snprintf(run->processes[i].key, sizeof run->processes[i].key, "%.70s+%u", run->processes[i].group,
                     (unsigned)i);
}

static bool read_held(const cli_run *run, size_t process, cli_held *held)
{
    bool good = true;

    for (size_t i = 0; i < run->count && good; i++)
        if (run->graphs[i].process == process)
            good = cli_held_add(held, run, &run->graphs[i], false);
    cli_held_sort(held);
    return good;
}

/* Processes without graphs are excluded: they have no values to compare. */
static bool read_all(const cli_run *run, cli_held **list)
{
    bool good = true;

    *list = calloc(run->process_count + 1, sizeof **list);
    for (size_t i = 0; *list != NULL && i < run->process_count && good; i++) {
        good = read_held(run, i, &(*list)[i]);
        (*list)[i].taken = (*list)[i].count == 0;
    }
    return *list != NULL && good;
}

void cli_run_pair_processes(const cli_run *a, cli_run *b)
{
    enum { MOST = 256 }; /* each is compared with each */
    both runs = {a, b};
    cli_closest closest = {
        .count = {a->process_count, b->process_count}, .may_pair = may_pair, .pair = pair, .user = &runs};

    if ((a->process_count < 2 && b->process_count < 2) || a->process_count > MOST || b->process_count > MOST)
        return;
    if (read_all(a, &closest.held[0]) && read_all(b, &closest.held[1]) && cli_pair_closest(&closest))
        set_alone(b, closest.held[1]);
    cli_held_free(closest.held[0], a->process_count);
    cli_held_free(closest.held[1], b->process_count);
}
