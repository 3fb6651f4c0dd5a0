/* Memory of the compiler driver. When there is none left, the process prints a message and exits. */
#ifndef HCC_MEMORY_H
#define HCC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

void *hcc_allocate(size_t count, size_t size); /* zeroed */

/* Makes room for one more element in a list of `count` elements. list points to the pointer to the elements; *capacity
 * is the number of elements that there is room for. Both start as 0. */
void hcc_array_reserve_one(void *list, size_t count, size_t *capacity, size_t size);
#define HCC_ARRAY_RESERVE_ONE(list, count, capacity) hcc_array_reserve_one(&(list), count, &(capacity), sizeof *(list))

/* Returns a new string, formatted as by printf. */
char *hcc_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens a file in memory. hcc_memory_file_close closes it and sets *text and *length to its contents. */
FILE *hcc_memory_file(char **text, size_t *length);
void hcc_memory_file_close(FILE *file);

/* Strings as an argument vector: the element behind the last one is NULL. */
struct hcc_list {
    char **items;
    size_t count, capacity;
};

void hcc_list_add(struct hcc_list *list, const char *item); /* appends a copy */
void hcc_list_add_all(struct hcc_list *list, const struct hcc_list *more);
void hcc_list_free(struct hcc_list *list);

/* Whether text begins with prefix. */
bool hcc_starts_with(const char *text, const char *prefix);

#endif
