#include "memory_names.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/report/report.h"

typedef struct named_memory {
    uintptr_t base;
    size_t bytes;
    char name[BG_ATTACH_NAME_BYTES];
    char former[BG_ATTACH_NAME_BYTES]; /* former name of the memory, which a finding may be about; "" */
} named_memory;

static struct {
    pthread_mutex_t lock;
    named_memory *list; /* sorted by address, without overlaps */
    size_t count, capacity;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the index of the first name that ends above address. */
static size_t find_name_index_locked(uintptr_t address)
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

static void remove_names_locked(size_t first, size_t behind)
{
    memmove(&names.list[first], &names.list[behind], (names.count - behind) * sizeof *names.list);
    names.count -= behind - first;
}

bg_status bg__memory_name_set(uintptr_t base, size_t bytes, const char *name)
{
    named_memory added = {.base = base, .bytes = bytes};
    size_t first, behind;
    bg_status status;

    snprintf(added.name, sizeof added.name, "%s", name);
    pthread_mutex_lock(&names.lock);
    BG__TRY(BG__ARRAY_GROW(names.list, names.count, names.capacity, "names of memory"));
    first = behind = find_name_index_locked(base);
    while (behind < names.count && names.list[behind].base < base + bytes)
        behind++;
    if (behind > first) {
        const named_memory *old = &names.list[first];
        memcpy(added.former, strcmp(old->name, name) != 0 ? old->name : old->former, sizeof added.former);
    }
    remove_names_locked(first, behind);
    memmove(&names.list[first + 1], &names.list[first], (names.count - first) * sizeof *names.list);
    names.list[first] = added;
    names.count++;
done:
    pthread_mutex_unlock(&names.lock);
    return status;
}

bool bg__memory_name_remove(uintptr_t base)
{
    size_t at;
    bool found;

    pthread_mutex_lock(&names.lock);
    at = find_name_index_locked(base);
    found = at < names.count && names.list[at].base == base;
    if (found)
        remove_names_locked(at, at + 1);
    pthread_mutex_unlock(&names.lock);
    return found;
}

bool bg__memory_name_find(uintptr_t address, char name[BG_ATTACH_NAME_BYTES], size_t *offset)
{
    bool found;
    size_t at;

    pthread_mutex_lock(&names.lock);
    at = find_name_index_locked(address);
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
static size_t print_address_locked(const char *text, const named_memory **last, FILE *out)
{
    char *end;
    uintptr_t address = (uintptr_t)strtoull(text, &end, 16);
    size_t at = find_name_index_locked(address);
    const named_memory *n = at < names.count && names.list[at].base <= address ? &names.list[at] : NULL;
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

void bg__memory_names_insert(char *text, size_t bytes)
{
    const named_memory *last = NULL;
    char *edited = NULL;
    size_t length = 0;
    FILE *out;

    pthread_mutex_lock(&names.lock);
    out = names.count > 0 ? open_memstream(&edited, &length) : NULL;
    for (const char *at = text; out != NULL && *at != '\0';) {
        if (at[0] == '0' && at[1] == 'x' && isxdigit((unsigned char)at[2]))
            at += print_address_locked(at, &last, out);
        else
            fputc(*at++, out);
    }
    pthread_mutex_unlock(&names.lock);
    if (out != NULL && fclose(out) == 0)
        snprintf(text, bytes, "%s", edited);
    free(edited);
}

void bg__memory_names_begin(void)
{
    bg__report_set_message_editor(bg__memory_names_insert);
}
