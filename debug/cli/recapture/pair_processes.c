/* Pairs the processes of two runs: workers may start in another order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "closest.h"

typedef struct run_pair {
    const cli_run_values *a;
    cli_run_values *b;
} run_pair;

static bool may_pair(const void *user, size_t i, size_t k)
{
    const run_pair *runs = user;
    return strcmp(runs->a->processes[i].group, runs->b->processes[k].group) == 0;
}

static void pair_process(void *user, size_t i, size_t k)
{
    const run_pair *runs = user;
    memcpy(runs->b->processes[k].key, runs->a->processes[i].key, sizeof runs->b->processes[k].key);
}

/* Gives processes without a pair a key that no process of the other run has. */
static void set_unpaired_keys(cli_run_values *run, const cli_value_hashes *held)
{
    for (size_t i = 0; i < run->process_count; i++)
        if (!held[i].taken)
            snprintf(run->processes[i].key, sizeof run->processes[i].key, "%.70s+%u", run->processes[i].group,
                     (unsigned)i);
}

static bool hash_process(const cli_run_values *run, size_t process, cli_value_hashes *held)
{
    bool good = true;

    for (size_t i = 0; i < run->count && good; i++)
        if (run->graphs[i].process == process)
            good = cli_value_hashes_add(held, run, &run->graphs[i], false);
    cli_value_hashes_sort(held);
    return good;
}

/* Processes without graphs are excluded: they have no values to compare. */
static bool hash_processes(const cli_run_values *run, cli_value_hashes **list)
{
    bool good = true;

    *list = calloc(run->process_count + 1, sizeof **list);
    for (size_t i = 0; *list != NULL && i < run->process_count && good; i++) {
        good = hash_process(run, i, &(*list)[i]);
        (*list)[i].taken = (*list)[i].count == 0;
    }
    return *list != NULL && good;
}

void cli_run_pair_processes(const cli_run_values *a, cli_run_values *b)
{
    enum { MOST = 256 }; /* each is compared with each */
    run_pair runs = {a, b};
    cli_pairing closest = {
        .count = {a->process_count, b->process_count}, .may_pair = may_pair, .pair = pair_process, .user = &runs};

    if ((a->process_count < 2 && b->process_count < 2) || a->process_count > MOST || b->process_count > MOST)
        return;
    if (hash_processes(a, &closest.held[0]) && hash_processes(b, &closest.held[1]) && cli_pair_closest(&closest))
        set_unpaired_keys(b, closest.held[1]);
    cli_value_hashes_free(closest.held[0], a->process_count);
    cli_value_hashes_free(closest.held[1], b->process_count);
}
