/* Pairs the graphs of two runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "closest.h"

/* ---- what graphs have in common --------------------------------------------------------------------------------- */

enum { NO_THREAD = -2 };

static void hash_graphs(cli_run_values *run)
{
    for (size_t i = 0; i < run->count; i++) {
        cli_run_graph *g = &run->graphs[i];
        g->pair = -1;
        g->thread = cli_row_thread(g->row);
        g->other_thread = NO_THREAD;
        g->place = cli_hash_mix(bg__text_hash(run->processes[g->process].key), cli_graph_place_hash(g));
        g->shape = g->count;
        for (size_t k = 0; k < g->count; k++)
            g->shape = cli_hash_mix(g->shape, cli_node_operation_hash(g->nodes[k]));
    }
}

static bool has_several_threads(const cli_run_values *run, uint64_t place)
{
    const cli_run_graph *first = NULL;
    for (size_t i = 0; i < run->count; i++) {
        if (run->graphs[i].place != place)
            continue;
        if (first != NULL && first->thread != run->graphs[i].thread)
            return true;
        first = first != NULL ? first : &run->graphs[i];
    }
    return false;
}

static bool is_made_by_threads(const cli_run_values *a, const cli_run_values *b, uint64_t place)
{
    return has_several_threads(a, place) || has_several_threads(b, place);
}

typedef bool is_same_graph(const cli_run_values *a, const cli_run_graph *g, const cli_run_values *b,
                           const cli_run_graph *h);

static bool is_same_process(const cli_run_values *a, const cli_run_graph *g, const cli_run_values *b,
                            const cli_run_graph *h)
{
    return strcmp(a->processes[g->process].key, b->processes[h->process].key) == 0;
}

static bool is_same_place(const cli_run_values *a, const cli_run_graph *g, const cli_run_values *b,
                          const cli_run_graph *h)
{
    (void)a;
    (void)b;
    return g->place == h->place;
}

static bool is_same_shape(const cli_run_values *a, const cli_run_graph *g, const cli_run_values *b,
                          const cli_run_graph *h)
{
    return is_same_place(a, g, b, h) && g->shape == h->shape;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

/* Counts the graphs of `run` that have no pair and are the same as the graph g of the run `a`. */
static size_t count_unpaired(const cli_run_values *a, const cli_run_graph *g, const cli_run_values *run,
                             is_same_graph *is_same)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++)
        count += run->graphs[i].pair < 0 && is_same(a, g, run, &run->graphs[i]);
    return count;
}

/* Pairs graphs that are the same, in their order, if both runs have equally many, and at most `most`. */
static void pair_equal(cli_run_values *a, cli_run_values *b, is_same_graph *is_same, size_t most)
{
    for (size_t i = 0; i < a->count; i++) {
        cli_run_graph *g = &a->graphs[i];
        size_t count = g->pair < 0 ? count_unpaired(a, g, a, is_same) : 0, j = 0;
        if (count == 0 || count > most || count != count_unpaired(a, g, b, is_same) ||
            (count > 1 && is_made_by_threads(a, b, g->place)))
            continue;
        while (b->graphs[j].pair >= 0 || !is_same(a, g, b, &b->graphs[j]))
            j++;
        g->pair = (long)j;
        b->graphs[j].pair = (long)i;
    }
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

static bool is_first_of_place(const cli_run_values *run, size_t index)
{
    size_t i = 0;
    while (run->graphs[i].place != run->graphs[index].place)
        i++;
    return i == index;
}

/* The graphs of both runs that were made at one place. */
typedef struct at_place {
    cli_run_graph **graphs[2];
    const cli_run_values *runs[2];
} at_place;

static void pair_graphs(void *user, size_t i, size_t k)
{
    const at_place *at = user;
    cli_run_graph *g = at->graphs[0][i], *h = at->graphs[1][k];

    g->guessed = true;
    g->pair = h - at->runs[1]->graphs;
    h->pair = g - at->runs[0]->graphs;
    for (size_t j = 0; j < at->runs[0]->count; j++)
        if (at->runs[0]->graphs[j].process == g->process && at->runs[0]->graphs[j].thread == g->thread)
            at->runs[0]->graphs[j].other_thread = h->thread;
}

static bool is_pair_of_threads(const void *user, size_t i, size_t k)
{
    const at_place *at = user;
    return at->graphs[0][i]->other_thread == at->graphs[1][k]->thread;
}

/* Collects the graphs of that place. Returns how many; SIZE_MAX: out of host memory. */
static size_t collect_place_graphs(const cli_run_values *run, uint64_t place, cli_run_graph ***graphs,
                                   cli_value_hashes **held)
{
    size_t count = 0;

    *graphs = calloc(run->count + 1, sizeof **graphs);
    *held = calloc(run->count + 1, sizeof **held);
    for (size_t i = 0; *graphs != NULL && *held != NULL && i < run->count; i++) {
        if (run->graphs[i].place != place)
            continue;
        if (!cli_value_hashes_add(&(*held)[count], run, &run->graphs[i], true))
            return SIZE_MAX;
        cli_value_hashes_sort(&(*held)[count]);
        (*graphs)[count++] = &run->graphs[i];
    }
    return *graphs != NULL && *held != NULL ? count : SIZE_MAX;
}

/* If host memory runs out, the graphs have no pairs, and are reported as not compared. */
static void pair_place(cli_run_values *a, cli_run_values *b, uint64_t place)
{
    enum { MOST = 256 }; /* each is compared with each */
    at_place at = {.runs = {a, b}};
    cli_pairing closest = {.is_likely = is_pair_of_threads, .pair = pair_graphs, .user = &at};

    for (int i = 0; i < 2; i++)
        closest.count[i] = collect_place_graphs(at.runs[i], place, &at.graphs[i], &closest.held[i]);
    if (closest.count[0] == closest.count[1] && closest.count[0] <= MOST)
        (void)cli_pair_closest(&closest);
    for (int i = 0; i < 2; i++) {
        cli_value_hashes_free(closest.held[i], at.runs[i]->count);
        free(at.graphs[i]);
    }
}

/* Pairs graphs of places where several threads made graphs: their order is chance, so their values decide. */
static void pair_threads(cli_run_values *a, cli_run_values *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (is_first_of_place(a, i) && is_made_by_threads(a, b, a->graphs[i].place))
            pair_place(a, b, a->graphs[i].place);
}

/* Marks graphs whose thread does other work in the other run, such as a worker that takes the next task of a queue. */
static void mark_mixed(cli_run_values *a, const cli_run_values *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < a->count && a->graphs[i].pair >= 0; k++) {
            cli_run_graph *g = &a->graphs[i];
            const cli_run_graph *other = &a->graphs[k];
            if (other->pair >= 0 && other->process == g->process)
                g->mixed |=
                    (g->thread == other->thread) != (b->graphs[g->pair].thread == b->graphs[other->pair].thread);
        }
}

/* The last step pairs graphs of different places, since a program may decide which function captures. It pairs only if
 * one graph of the process is left in each run. */
void cli_run_pair_graphs(cli_run_values *a, cli_run_values *b)
{
    hash_graphs(a);
    hash_graphs(b);
    pair_threads(a, b);
    pair_equal(a, b, is_same_shape, SIZE_MAX);
    pair_equal(a, b, is_same_place, SIZE_MAX);
    pair_equal(a, b, is_same_process, 1);
    mark_mixed(a, b);
}
