#include "cc_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *exit_if_null(void *memory)
{
    if (memory)
        return memory;
    fputs("hostcuda-cc: error: out of memory\n", stderr);
    exit(1);
}

void *hcc_allocate(size_t count, size_t size)
{
    return exit_if_null(calloc(count ? count : 1, size));
}

void hcc_array_reserve_one(void *list, size_t count, size_t *capacity, size_t size)
{
    void *items;
    if (count < *capacity)
        return;
    memcpy(&items, list, sizeof items);
    *capacity = *capacity ? 2 * *capacity : 16;
    items = exit_if_null(reallocarray(items, *capacity, size));
    memcpy(list, &items, sizeof items);
}

char *hcc_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return exit_if_null(length < 0 ? NULL : text);
}

FILE *hcc_memory_file(char **text, size_t *length)
{
    return exit_if_null(open_memstream(text, length));
}

void hcc_memory_file_close(FILE *file)
{
    if (fclose(file) != 0)
        exit_if_null(NULL);
}

void hcc_list_add(struct hcc_list *list, const char *item)
{
    HCC_ARRAY_RESERVE_ONE(list->items, list->count + 1, list->capacity);
    list->items[list->count++] = exit_if_null(strdup(item));
    list->items[list->count] = NULL;
}

void hcc_list_add_all(struct hcc_list *list, const struct hcc_list *more)
{
    for (size_t i = 0; i < more->count; i++)
        hcc_list_add(list, more->items[i]);
}

void hcc_list_free(struct hcc_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct hcc_list){0};
}

bool hcc_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}
