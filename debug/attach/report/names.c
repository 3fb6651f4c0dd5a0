#include "names.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/report/report.h"

typedef struct named {
    uintptr_t base;
    size_t bytes;
    char name[BG_ATTACH_NAME_BYTES];
    char former[BG_ATTACH_NAME_BYTES]; /* former name of the memory, which a finding may be about; "" */
} named;

static struct {
    pthread_mutex_t lock;
    named *list; /* sorted by address, without overlaps */
    size_t count, capacity;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the index of the first name that ends above address. */
static size_t find_name(uintptr_t address)
{
    size_t low = 0, high = names.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (names.list[middle].base + names.list[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void remove_names(size_t first, size_t behind)
{
    memmove(&names.list[first], &names.list[behind], (names.count - behind) * sizeof *names.list);
    names.count -= behind - first;
}

bg_status bg__name_memory(uintptr_t base, size_t bytes, const char *name)
{
    named added = {.base = base, .bytes = bytes};
    size_t first, behind;
    bg_status status;

    snprintf(added.name, sizeof added.name, "%s", name);
    pthread_mutex_lock(&names.lock);
    BG__TRY(BG__GROW(names.list, names.count, names.capacity, "names of memory"));
    first = behind = find_name(base);
    while (behind < names.count && names.list[behind].base < base + bytes)
        behind++;
    if (behind > first) {
        const named *old = &names.list[first];
        memcpy(added.former, strcmp(old->name, name) != 0 ? old->name : old->former, sizeof added.former);
    }
    remove_names(first, behind);
    memmove(&names.list[first + 1], &names.list[first], (names.count - first) * sizeof *names.list);
    names.list[first] = added;
    names.count++;
done:
    pthread_mutex_unlock(&names.lock);
    return status;
}

bool bg__name_forget(uintptr_t base)
{
    size_t at;
    bool found;

    pthread_mutex_lock(&names.lock);
    at = find_name(base);
    found = at < names.count && names.list[at].base == base;
    if (found)
        remove_names(at, at + 1);
    pthread_mutex_unlock(&names.lock);
    return found;
}

bool bg__name_find(uintptr_t address, char name[BG_ATTACH_NAME_BYTES], size_t *offset)
{
    bool found;
    size_t at;

    pthread_mutex_lock(&names.lock);
    at = find_name(address);
    found = at < names.count && names.list[at].base <= address;
    if (found) {
        memcpy(name, names.list[at].name, BG_ATTACH_NAME_BYTES);
        *offset = address - names.list[at].base;
    }
    pthread_mutex_unlock(&names.lock);
    return found;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

/* Prints the address at text, with its name unless the last address had the same name. Returns the bytes of the
 * address. */
static size_t print_address(const char *text, const named **last, FILE *out)
{
    char *end;
    uintptr_t address = (uintptr_t)strtoull(text, &end, 16);
    size_t at = find_name(address);
    const named *n = at < names.count && names.list[at].base <= address ? &names.list[at] : NULL;
    int digits = (int)(end - text);

    if (n == NULL || n == *last) {
        fprintf(out, "%.*s", digits, text);
        return (size_t)digits;
    }
    fputs(n->name, out);
    if (address > n->base)
        fprintf(out, "+%zu", (size_t)(address - n->base));
    fputs(" (", out);
    if (n->former[0] != '\0')
        fprintf(out, "formerly %s, ", n->former);
    fprintf(out, "%.*s)", digits, text);
    *last = n;
    return (size_t)digits;
}

void bg__names_edit(char *text, size_t bytes)
{
    const named *last = NULL;
    char *edited = NULL;
    size_t length = 0;
    FILE *out;

    pthread_mutex_lock(&names.lock);
    out = names.count > 0 ? open_memstream(&edited, &length) : NULL;
    for (const char *at = text; out != NULL && *at != '\0';) {
        if (at[0] == '0' && at[1] == 'x' && isxdigit((unsigned char)at[2]))
            at += print_address(at, &last, out);
        else
            fputc(*at++, out);
    }
    pthread_mutex_unlock(&names.lock);
    if (out != NULL && fclose(out) == 0)
        snprintf(text, bytes, "%s", edited);
    free(edited);
}

void bg__names_begin(void)
{
    bg__report_set_editor(bg__names_edit);
}
