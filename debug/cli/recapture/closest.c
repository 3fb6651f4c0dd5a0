#include "closest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "debug/cli/output/cli_json.h"

/* ---- of one row ------------------------------------------------------------------------------------------------- */

/* A name that the tools have given only says the order: it does not count. */
uint64_t cli_graph_place_hash(const cli_run_graph *g)
{
    const char *name = strncmp(g->name, "graph#", strlen("graph#")) == 0 ? "" : g->name;
    uint64_t hash = cli_hash_mix(bg__text_hash(name), bg__text_hash(cli_json_text(g->row, "file")));

    return cli_hash_mix(hash, (uint64_t)cli_json_number(g->row, "line"));
}

uint64_t cli_node_operation_hash(const cJSON *node)
{
    uint64_t hash =
        cli_hash_mix(bg__text_hash(cli_json_text(node, "kind")), bg__text_hash(cli_json_text(node, "work")));
    return cli_hash_mix(
        hash, (uint64_t)(cli_json_number(node, "parent") + 1)); /* in a child graph, the node that has that graph */
}

long cli_row_thread(const cJSON *row)
{
    const cJSON *thread = cJSON_GetObjectItemCaseSensitive(row, "thread");
    return cJSON_IsNumber(thread) ? (long)cJSON_GetNumberValue(thread) : -1;
}

size_t cli_maker_prefix_bytes(const cJSON *owner)
{
    const char *id = cli_json_text(owner, "id"), *end = strrchr(id, ' ');
    return cli_row_thread(owner) >= 0 && end != NULL ? (size_t)(end - id) : 0;
}

bool cli_is_own_memory(const cJSON *graph, const cJSON *owner)
{
    return cli_row_thread(owner) >= 0 && cli_row_thread(owner) == cli_row_thread(graph);
}

/* ---- what a graph holds ----------------------------------------------------------------------------------------- */

typedef struct graph_context {
    const cli_run_process *process;
    const cJSON *row;
    bool threads;
} graph_context;

/* Hashes the memory that an address is in, and the offset there ("@8:3+16" in text). Two runs have these in common, but
 * not the address. A block of an allocator may lie anywhere, and is not hashed. If several threads make such graphs,
 * memory of the graph's own thread is hashed without its number, which depends on what the thread did before. */
static uint64_t hash_owner(const graph_context *g, unsigned long long owner, unsigned long long offset)
{
    const cJSON *row = owner < g->process->owner_count ? g->process->owners[owner] : NULL;
    char id[200];

    if (row == NULL || cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "pool")))
        return 0;
    if (g->threads && cli_is_own_memory(g->row, row))
        snprintf(id, sizeof id, "%.*s", (int)cli_maker_prefix_bytes(row), cli_json_text(row, "id"));
    else
        snprintf(id, sizeof id, "%s", cli_json_text(row, "id"));
    return cli_hash_mix(bg__text_hash(id), offset);
}

/* false: out of host memory. */
static bool hash_value(const graph_context *g, const cJSON *value, uint64_t *hash)
{
    char *text = strdup(cJSON_GetStringValue(value) != NULL ? cJSON_GetStringValue(value) : "");
    char *owners = text != NULL ? strchr(text, '@') : NULL;
    size_t digits = text != NULL ? strcspn(text, "@") : 0;
    unsigned long long at, owner, offset;
    int length;

    if (text == NULL)
        return false;
    *hash = 0;
    if (owners != NULL)
        *owners++ = '\0';
    while (owners != NULL && sscanf(owners, "%llu:%llu+%llu%n", &at, &owner, &offset, &length) == 3) {
        if (2 * (at + sizeof(uint64_t)) <= digits)
            memset(text + 2 * at, '-', 2 * sizeof(uint64_t));
        *hash = cli_hash_mix(*hash, hash_owner(g, owner, offset));
        owners += length + (owners[length] == ',');
    }
    *hash = cli_hash_mix(*hash, bg__text_hash(text));
    free(text);
    return true;
}

static bool add_hash(cli_value_hashes *h, uint64_t hash)
{
    if (BG__ARRAY_GROW(h->list, h->count, h->capacity, "values") != BG_OK)
        return false;
    h->list[h->count++] = hash;
    return true;
}

static bool add_node_hashes(cli_value_hashes *h, const graph_context *g, const cJSON *node, uint64_t place)
{
    const cJSON *value;
    bool good = add_hash(h, cli_hash_mix(place, cli_node_operation_hash(node)));

    cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(node, "values"))
    {
        uint64_t hash;
        place++;
        good = good && hash_value(g, value, &hash) && add_hash(h, cli_hash_mix(place, hash));
    }
    return good;
}

bool cli_value_hashes_add(cli_value_hashes *held, const cli_run_values *run, const cli_run_graph *g, bool threads)
{
    const graph_context of = {&run->processes[g->process], g->row, threads};
    bool good = add_hash(held, cli_graph_place_hash(g));

    for (size_t k = 0; k < g->count && good; k++)
        good = add_node_hashes(held, &of, g->nodes[k], cli_hash_mix(cli_graph_place_hash(g), k));
    return good;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void cli_value_hashes_sort(cli_value_hashes *held)
{
    if (held->count > 0)
        qsort(held->list, held->count, sizeof *held->list, compare_hashes);
}

void cli_value_hashes_free(cli_value_hashes *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++)
        free(list[i].list);
    free(list);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

static size_t count_common(const cli_value_hashes *a, const cli_value_hashes *b)
{
    size_t common = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        int order = compare_hashes(&a->list[i], &b->list[k]);
        common += order == 0;
        i += order <= 0;
        k += order >= 0;
    }
    return common;
}

enum { NO_PAIR = 0 };

static size_t pair_score(const cli_pairing *c, const size_t *common, size_t i, size_t k)
{
    if (c->held[0][i].taken || c->held[1][k].taken || (c->may_pair != NULL && !c->may_pair(c->user, i, k)))
        return NO_PAIR;
    return 2 * common[i * c->count[1] + k] + 1 + (c->is_likely != NULL && c->is_likely(c->user, i, k));
}

static bool find_closest(const cli_pairing *c, const size_t *common, size_t *first, size_t *second)
{
    size_t most = NO_PAIR;

    for (size_t i = 0; i < c->count[0]; i++)
        for (size_t k = 0; k < c->count[1]; k++) {
            const size_t found = pair_score(c, common, i, k);
            if (found <= most)
                continue;
            most = found;
            *first = i;
            *second = k;
        }
    return most != NO_PAIR;
}

bool cli_pair_closest(const cli_pairing *c)
{
    size_t *common = calloc(c->count[0] * c->count[1] + 1, sizeof *common), i, k;

    if (common == NULL)
        return false;
    for (i = 0; i < c->count[0]; i++)
        for (k = 0; k < c->count[1]; k++)
            common[i * c->count[1] + k] = count_common(&c->held[0][i], &c->held[1][k]);
    while (find_closest(c, common, &i, &k)) {
        c->held[0][i].taken = c->held[1][k].taken = true;
        c->pair(c->user, i, k);
    }
    free(common);
    return true;
}
