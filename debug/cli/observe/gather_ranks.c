#include "gather_ranks.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/output/json.h"

static const char ranks_key[] = "ranks";

/* ---- whose a report is ---- */

void cli_gathered_note_rank(cli_gathered *gathered, const cJSON *process)
{
    int ranks = (int)cli_number(process, "ranks");
    char pid[32];

    if (ranks <= 1)
        return;
    snprintf(pid, sizeof pid, "%.0f", cli_number(process, "pid"));
    gathered->ranks = ranks > gathered->ranks ? ranks : gathered->ranks;
    cJSON_AddNumberToObject(gathered->of_rank, pid, cli_number(process, "rank"));
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

static const char *skip_address(const char *text)
{
    if (strncmp(text, "0x", 2) != 0)
        return text;
    for (text += 2; isxdigit((unsigned char)*text);)
        text++;
    return text;
}

/* Each rank has addresses of its own. */
static bool is_same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        const char *behind_a = skip_address(a), *behind_b = skip_address(b);
        if (behind_a > a && behind_b > b) {
            a = behind_a;
            b = behind_b;
        }
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
    }
}

static bool has_rank(const cJSON *finding, int rank)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(finding, ranks_key))
    {
        if (one->valueint == rank)
            return true;
    }
    return false;
}

/* known carries its ranks; another one of the same rank is about something else. */
static bool is_same(const cJSON *known, const cJSON *finding, int rank)
{
    static const char *const texts[] = {"kind", "severity", "call", "file"};
    bool same = cli_number(known, "line") == cli_number(finding, "line") && !has_rank(known, rank);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && same; i++)
        same = strcmp(cli_text(known, texts[i]), cli_text(finding, texts[i])) == 0;
    return same && is_same_text(cli_text(known, "message"), cli_text(finding, "message"));
}

static cJSON *find_known(const cli_gathered *gathered, const cJSON *finding, int rank)
{
    cJSON *report, *known;
    cJSON_ArrayForEach(report, gathered->reports)
    {
        cJSON_ArrayForEach(known, cJSON_GetObjectItemCaseSensitive(report, "findings"))
        {
            if (is_same(known, finding, rank))
                return known;
        }
    }
    return NULL;
}

/* ---- merging ---- */

static void add_rank(cJSON *finding, int rank)
{
    cJSON *ranks = cJSON_GetObjectItemCaseSensitive(finding, ranks_key);
    if (ranks == NULL)
        ranks = cJSON_AddArrayToObject(finding, ranks_key);
    if (!has_rank(finding, rank))
        cJSON_AddItemToArray(ranks, cJSON_CreateNumber(rank));
}

/* A tool that goes on after a report writes what it found before again. */
static bool is_again(const cli_gathered *gathered, const cJSON *finding, int rank)
{
    char key[16];
    cJSON *seen, *one;

    snprintf(key, sizeof key, "%d", rank);
    seen = cJSON_GetObjectItemCaseSensitive(gathered->seen, key);
    if (seen == NULL)
        seen = cJSON_AddArrayToObject(gathered->seen, key);
    cJSON_ArrayForEach(one, seen)
    {
        if (cJSON_Compare(one, finding, true))
            return true;
    }
    cJSON_AddItemToArray(seen, cJSON_Duplicate(finding, true));
    return false;
}

/* What was compared differs from rank to rank. */
static void name_comparisons(cJSON *report, int rank)
{
    cJSON *comparison;
    cJSON_ArrayForEach(comparison, cJSON_GetObjectItemCaseSensitive(report, "comparisons"))
    {
        char field[128];
        snprintf(field, sizeof field, "%s (rank %d)", cli_text(comparison, "field"), rank);
        cJSON_ReplaceItemInObjectCaseSensitive(comparison, "field", cJSON_CreateString(field));
    }
}

void cli_gathered_merge(const cli_gathered *gathered, cJSON *report, int rank)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(report, "findings"), *next;
    for (cJSON *finding = list != NULL ? list->child : NULL; finding != NULL; finding = next) {
        bool again = is_again(gathered, finding, rank);
        cJSON *known = again ? NULL : find_known(gathered, finding, rank);
        next = finding->next;
        if (!again)
            add_rank(known != NULL ? known : finding, rank);
        if (again || known != NULL)
            cJSON_Delete(cJSON_DetachItemViaPointer(list, finding));
    }
    name_comparisons(report, rank);
}

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* "rank 1: " or "ranks 0, 2: "; nothing where all have it. */
static void name_ranks(cJSON *finding, int all)
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
    fprintf(out, ": %s", cli_text(finding, "message"));
    if (fclose(out) == 0)
        cJSON_ReplaceItemInObjectCaseSensitive(finding, "message", cJSON_CreateString(message));
    free(message);
    free(numbers);
}

void cli_gathered_name_ranks(const cli_gathered *gathered)
{
    cJSON *report, *finding;
    cJSON_ArrayForEach(report, gathered->reports)
    {
        cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(report, "findings"))
        {
            name_ranks(finding, gathered->ranks);
        }
    }
}
