/* Which process of one run is which of another one: workers may start in another order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "debug/cli/output/json.h"
#include "run_values.h"

/* A hash of each value in the graphs of a process, sorted: two processes have much in common where many are equal. */
typedef struct held {
    uint64_t *list;
    size_t count, capacity;
    bool taken; /* it has a pair */
} held;

/* ---- what a process holds --------------------------------------------------------------------------------------- */

/* Of an address, its memory and the place in that, which two runs have in common: "@8:3+16" in text. A block of an
 * allocator may lie anywhere. */
static uint64_t hash_owner(const cli_run_process *process, unsigned long long owner, unsigned long long offset)
{
    const cJSON *row = owner < process->owner_count ? process->owners[owner] : NULL;
    if (row == NULL || cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "pool")))
        return 0;
    return cli_hash_mix(bg__text_hash(cli_text(row, "id")), offset);
}

/* false: out of host memory. */
static bool hash_value(const cli_run_process *process, const cJSON *value, uint64_t *hash)
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
        *hash = cli_hash_mix(*hash, hash_owner(process, owner, offset));
        owners += length + (owners[length] == ',');
    }
    *hash = cli_hash_mix(*hash, bg__text_hash(text));
    free(text);
    return true;
}

static bool add_hash(held *h, uint64_t hash)
{
    if (BG__GROW(h->list, h->count, h->capacity, "values") != BG_OK)
        return false;
    h->list[h->count++] = hash;
    return true;
}

static bool add_node(held *h, const cli_run_process *process, const cJSON *node, uint64_t place)
{
    const cJSON *value;
    bool good =
        add_hash(h, cli_hash_mix(cli_hash_mix(place, cli_node_work(node)), bg__text_hash(cli_text(node, "launch"))));

    cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(node, "values"))
    {
        uint64_t hash;
        place++;
        good = good && hash_value(process, value, &hash) && add_hash(h, cli_hash_mix(place, hash));
    }
    return good;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool read_held(const cli_run *run, size_t process, held *h)
{
    bool good = true;

    for (size_t i = 0; i < run->count && good; i++) {
        const cli_run_graph *g = &run->graphs[i];
        if (g->process != process)
            continue;
        good = add_hash(h, cli_graph_place(g));
        for (size_t k = 0; k < g->count && good; k++)
            good = add_node(h, &run->processes[process], g->nodes[k], cli_hash_mix(cli_graph_place(g), k));
    }
    if (h->count > 0)
        qsort(h->list, h->count, sizeof *h->list, compare_hashes);
    return good;
}

static size_t count_common(const held *a, const held *b)
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

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

typedef struct both {
    const cli_run *a;
    cli_run *b;
    held *of_a, *of_b; /* of each process */
    size_t *common;    /* of each process of a, with each of b */
} both;

static bool may_pair(const both *runs, size_t i, size_t k)
{
    return !runs->of_a[i].taken && !runs->of_b[k].taken &&
           strcmp(runs->a->processes[i].group, runs->b->processes[k].group) == 0;
}

/* The two that have most in common; of several, the first ones. false: there are none. */
static bool find_closest(const both *runs, size_t *first, size_t *second)
{
    const size_t width = runs->b->process_count;
    bool found = false;

    for (size_t i = 0; i < runs->a->process_count; i++)
        for (size_t k = 0; k < width; k++) {
            if (!may_pair(runs, i, k) ||
                (found && runs->common[i * width + k] <= runs->common[*first * width + *second]))
                continue;
            *first = i;
            *second = k;
            found = true;
        }
    return found;
}

/* A key that no process of the other run has. */
static void set_alone(cli_run_process *process, size_t index)
{
    snprintf(process->key, sizeof process->key, "%.70s+%u", process->group, (unsigned)index);
}

static void pair_all(both *runs)
{
    const size_t width = runs->b->process_count;
    size_t i, k;

    for (i = 0; i < runs->a->process_count; i++)
        for (k = 0; k < width; k++)
            if (may_pair(runs, i, k))
                runs->common[i * width + k] = count_common(&runs->of_a[i], &runs->of_b[k]);
    for (k = 0; k < width; k++)
        set_alone(&runs->b->processes[k], k);
    while (find_closest(runs, &i, &k)) {
        runs->of_a[i].taken = runs->of_b[k].taken = true;
        memcpy(runs->b->processes[k].key, runs->a->processes[i].key, sizeof runs->b->processes[k].key);
    }
}

/* Those without graphs tell nothing. */
static bool read_all(const cli_run *run, held **list)
{
    bool good = true;

    *list = calloc(run->process_count + 1, sizeof **list);
    for (size_t i = 0; *list != NULL && i < run->process_count && good; i++) {
        good = read_held(run, i, &(*list)[i]);
        (*list)[i].taken = (*list)[i].count == 0;
    }
    return *list != NULL && good;
}

static void free_all(const cli_run *run, held *list)
{
    for (size_t i = 0; list != NULL && i < run->process_count; i++)
        free(list[i].list);
    free(list);
}

void cli_run_pair_processes(const cli_run *a, cli_run *b)
{
    enum { MOST = 256 }; /* each is compared with each */
    both runs = {.a = a, .b = b};

    if ((a->process_count < 2 && b->process_count < 2) || a->process_count > MOST || b->process_count > MOST)
        return;
    runs.common = calloc(a->process_count * b->process_count + 1, sizeof *runs.common);
    if (read_all(a, &runs.of_a) && read_all(b, &runs.of_b) && runs.common != NULL)
        pair_all(&runs);
    free_all(a, runs.of_a);
    free_all(b, runs.of_b);
    free(runs.common);
}
