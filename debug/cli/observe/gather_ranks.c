#include "gather_ranks.h"

#include <ctype.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "debug/cli/output/cli_json.h"

static const char ranks_key[] = "ranks";

/* ---- ranks of reports ---- */

void cli_gathered_record_rank(cli_gathered *gathered, const cJSON *process)
{
    int ranks = (int)cli_json_number(process, "ranks");
    char pid[32];

    if (ranks <= 1)
        return;
    snprintf(pid, sizeof pid, "%.0f", cli_json_number(process, "pid"));
    gathered->ranks = ranks > gathered->ranks ? ranks : gathered->ranks;
    cJSON_AddNumberToObject(gathered->of_rank, pid, cli_json_number(process, "rank"));
}

int cli_gathered_rank_of(const cli_gathered *gathered, const char *file)
{
    const char *start = strchr(file, '-');
    const cJSON *rank;
    char pid[32];

    if (start == NULL)
        return -1;
    snprintf(pid, sizeof pid, "%.*s", (int)strcspn(start + 1, "-."), start + 1);
    rank = cJSON_GetObjectItemCaseSensitive(gathered->of_rank, pid);
    return cJSON_IsNumber(rank) ? rank->valueint : -1;
}

/* ---- which findings are the same ---- */

/* The findings with one key. */
typedef struct known_finding {
    char *key;
    cJSON **findings;
    size_t count, capacity;
} known_finding;

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const known_finding *)a)->key, ((const known_finding *)b)->key);
}

static void free_known_finding(void *one)
{
    known_finding *k = one;
    free(k->findings);
    free(k->key);
    free(k);
}

/* Finds or adds the entry with that key, and owns the key from then on. NULL: out of host memory. */
static known_finding *get_or_add_known(cli_gathered *gathered, char *key)
{
    known_finding *fresh = calloc(1, sizeof *fresh), **found;
    if (key == NULL || fresh == NULL) {
        free(key);
        free(fresh);
        return NULL;
    }
    fresh->key = key;
    found = tsearch(fresh, &gathered->known, compare_keys);
    if (found == NULL || *found != fresh)
        free_known_finding(fresh);
    return found != NULL ? *found : NULL;
}

void cli_gathered_free_known(cli_gathered *gathered)
{
    tdestroy(gathered->known, free_known_finding);
    gathered->known = NULL;
}

bool cli_gathered_is_repeated(cli_gathered *gathered, const cJSON *finding, int rank)
{
    char *text = cJSON_PrintUnformatted(finding), *key = NULL;
    known_finding *same =
        text != NULL && asprintf(&key, "%d as it is: %s", rank, text) >= 0 ? get_or_add_known(gathered, key) : NULL;
    cJSON_free(text);
    return same != NULL && same->count++ > 0;
}

/* Prints the text without addresses, which differ between ranks. */
static void print_without_addresses(const char *text, FILE *out)
{
    while (*text != '\0') {
        bool address = strncmp(text, "0x", 2) == 0;
        fwrite(text, 1, address ? 2 : 1, out);
        text += address ? 2 : 1;
        while (address && isxdigit((unsigned char)*text))
            text++;
    }
}

/* A key that is equal for equal findings of different ranks. Keys of one rank begin with a number, and this one does
 * not, so that they never collide. NULL: out of host memory. */
static char *finding_key(const cJSON *finding)
{
    static const char *const texts[] = {"kind", "severity", "call", "file"};
    char *key = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&key, &bytes);

    if (out == NULL)
        return NULL;
    fputs("of any rank: ", out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        fprintf(out, "%zu %s, ", strlen(cli_json_text(finding, texts[i])), cli_json_text(finding, texts[i]));
    fprintf(out, "%.17g ", cli_json_number(finding, "line"));
    print_without_addresses(cli_json_text(finding, "message"), out);
    if (fclose(out) == 0)
        return key;
    free(key);
    return NULL;
}

/* The finding of another rank that equals this one; the finding itself if there is none. Several findings of one rank
 * that differ only in addresses stay separate: the first of each rank equals the first of the others, and so on. */
static cJSON *find_same(cli_gathered *gathered, cJSON *finding, int rank)
{
    char *key = finding_key(finding), *own = NULL;
    known_finding *of_rank =
        key != NULL && asprintf(&own, "%d of %s", rank, key) >= 0 ? get_or_add_known(gathered, own) : NULL;
    known_finding *same = get_or_add_known(gathered, key);

    if (same == NULL || of_rank == NULL)
        return finding;
    if (of_rank->count == same->count) {
        if (BG__ARRAY_GROW(same->findings, same->count, same->capacity, "findings") != BG_OK)
            return finding;
        same->findings[same->count++] = finding;
    }
    return same->findings[of_rank->count++];
}

/* A key that ignores the message, which checks word differently; a finding without a call is known by its message. */
static char *fault_key(const cJSON *finding)
{
    char *key = NULL;
    const char *call = cli_json_text(finding, "call");
    if (call[0] == '\0')
        return finding_key(finding);
    return asprintf(&key, "%s of %s at %s:%g", cli_json_text(finding, "kind"), call, cli_json_text(finding, "file"),
                    cli_json_number(finding, "line")) >= 0
               ? key
               : NULL;
}

bool cli_gathered_is_found_by_other(cli_gathered *gathered, const cJSON *finding, const char *by)
{
    char *key = fault_key(finding), *any_key = NULL, *own_key = NULL;
    known_finding *any =
        key != NULL && asprintf(&any_key, "any check: %s", key) >= 0 ? get_or_add_known(gathered, any_key) : NULL;
    known_finding *own =
        key != NULL && asprintf(&own_key, "check %s: %s", by, key) >= 0 ? get_or_add_known(gathered, own_key) : NULL;
    bool another;

    free(key);
    if (any == NULL || own == NULL)
        return false;
    another = any->count > 0 && own->count == 0;
    any->count = 1;
    own->count += !another;
    return another;
}

/* ---- merging ---- */

void cli_gathered_add_rank(cJSON *finding, int rank)
{
    cJSON *ranks = cJSON_GetObjectItemCaseSensitive(finding, ranks_key);
    if (ranks == NULL)
        ranks = cJSON_AddArrayToObject(finding, ranks_key);
    cJSON_AddItemToArray(ranks, cJSON_CreateNumber(rank));
}

/* Adds the rank to the names of rows that differ between ranks. */
static void add_rank_to_rows(cJSON *report, const char *list, const char *key, int rank)
{
    cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(report, list))
    {
        char name[128];
        snprintf(name, sizeof name, "%s (rank %d)", cli_json_text(row, key), rank);
        cJSON_ReplaceItemInObjectCaseSensitive(row, key, cJSON_CreateString(name));
    }
}

void cli_gathered_merge(cli_gathered *gathered, cJSON *report, int rank)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(report, "findings"), *next;
    for (cJSON *finding = list != NULL ? list->child : NULL; finding != NULL; finding = next) {
        cJSON *same = cli_gathered_is_repeated(gathered, finding, rank) ? NULL : find_same(gathered, finding, rank);
        next = finding->next;
        if (same != NULL)
            cli_gathered_add_rank(same, rank);
        if (same != finding)
            cJSON_Delete(cJSON_DetachItemViaPointer(list, finding));
    }
    add_rank_to_rows(report, "comparisons", "field", rank);
    add_rank_to_rows(report, "graphs", "name", rank); /* of --attach */
}

static int compare_numbers(const void *a, const void *b)
{
    int one = *(const int *)a, other = *(const int *)b;
    return (one > other) - (one < other);
}

/* Writes "rank 1: " or "ranks 0, 2: " before the message, unless all ranks have the finding. */
static void prefix_ranks(cJSON *finding, int all)
{
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(finding, ranks_key), *rank;
    int count = cJSON_GetArraySize(ranks), used = 0, *numbers = calloc((size_t)count + 1, sizeof *numbers);
    char *message = NULL;
    size_t bytes = 0;
    FILE *out = count > 0 && count < all && numbers != NULL ? open_memstream(&message, &bytes) : NULL;

    if (out == NULL) {
        free(numbers);
        return;
    }
    cJSON_ArrayForEach(rank, ranks)
    {
        numbers[used++] = rank->valueint;
    }
    qsort(numbers, (size_t)count, sizeof *numbers, compare_numbers);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%d", i > 0 ? ", " : count > 1 ? "ranks " : "rank ", numbers[i]);
    fprintf(out, ": %s", cli_json_text(finding, "message"));
    if (fclose(out) == 0)
        cJSON_ReplaceItemInObjectCaseSensitive(finding, "message", cJSON_CreateString(message));
    free(message);
    free(numbers);
}

void cli_gathered_prefix_ranks(const cli_gathered *gathered, int first)
{
    cJSON *report, *finding;
    cJSON_ArrayForEach(report, gathered->reports)
    {
        if (first-- > 0)
            continue;
        cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(report, "findings"))
        {
            prefix_ranks(finding, gathered->ranks);
        }
    }
}
