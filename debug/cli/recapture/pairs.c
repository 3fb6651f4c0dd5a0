/* Pairs the graphs of two runs. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "debug/cli/output/json.h"
#include "run_values.h"

/* ---- what graphs have in common --------------------------------------------------------------------------------- */

/* A name that the tools have given says the order alone. */
uint64_t cli_graph_place(const cli_run_graph *g)
{
    const char *name = strncmp(g->name, "graph#", strlen("graph#")) == 0 ? "" : g->name;
    uint64_t hash = cli_hash_mix(bg__text_hash(name), bg__text_hash(cli_text(g->row, "file")));

    return cli_hash_mix(hash, (uint64_t)cli_number(g->row, "line"));
}

uint64_t cli_node_work(const cJSON *node)
{
    uint64_t hash = cli_hash_mix(bg__text_hash(cli_text(node, "kind")), bg__text_hash(cli_text(node, "work")));
    return cli_hash_mix(
        hash, (uint64_t)(cli_number(node, "parent") + 1)); /* of a child graph, it is the node that has that */
}

static void hash_graphs(cli_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        cli_run_graph *g = &run->graphs[i];
        g->pair = -1;
        g->place = cli_hash_mix(bg__text_hash(run->processes[g->process].key), cli_graph_place(g));
        g->shape = g->count;
        for (size_t k = 0; k < g->count; k++)
            g->shape = cli_hash_mix(g->shape, cli_node_work(g->nodes[k]));
    }
}

typedef bool is_same_graph(const cli_run *a, const cli_run_graph *g, const cli_run *b, const cli_run_graph *h);

static bool is_of_process(const cli_run *a, const cli_run_graph *g, const cli_run *b, const cli_run_graph *h)
{
    return strcmp(a->processes[g->process].key, b->processes[h->process].key) == 0;
}

static bool is_of_place(const cli_run *a, const cli_run_graph *g, const cli_run *b, const cli_run_graph *h)
{
    (void)a;
    (void)b;
    return g->place == h->place;
}

static bool is_alike(const cli_run *a, const cli_run_graph *g, const cli_run *b, const cli_run_graph *h)
{
    return is_of_place(a, g, b, h) && g->shape == h->shape;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

/* How many graphs of run without a pair are the same as g of run a. */
static size_t count_free(const cli_run *a, const cli_run_graph *g, const cli_run *run, is_same_graph *is_same)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++)
        count += run->graphs[i].pair < 0 && is_same(a, g, run, &run->graphs[i]);
    return count;
}

/* Pairs those that are the same, in their order, where both runs have as many, and no more than most. */
static void pair(cli_run *a, cli_run *b, is_same_graph *is_same, size_t most)
{
    for (size_t i = 0; i < a->count; i++) {
        cli_run_graph *g = &a->graphs[i];
        size_t count = g->pair < 0 ? count_free(a, g, a, is_same) : 0, j = 0;
        if (count == 0 || count > most || count != count_free(a, g, b, is_same))
            continue;
        while (b->graphs[j].pair >= 0 || !is_same(a, g, b, &b->graphs[j]))
            j++;
        g->pair = (long)j;
        b->graphs[j].pair = (long)i;
    }
}

/* Last comes a graph that another place has made, as where the program decides which function captures: only where it
 * is the one that is left. */
void cli_run_pair(cli_run *a, cli_run *b)
{
    hash_graphs(a);
    hash_graphs(b);
    pair(a, b, is_alike, SIZE_MAX);
    pair(a, b, is_of_place, SIZE_MAX);
    pair(a, b, is_of_process, 1);
}
