/* Memory of the compiler driver. A process that has none left says so and ends: there is nothing to save. */
#ifndef HCC_MEMORY_H
#define HCC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

void *hcc_allocate(size_t count, size_t size); /* zeroed */

/* Makes room for one more element than count in a list: list points to the pointer to its elements, capacity counts
 * those that it has room for; both start as 0. */
void hcc_grow(void *list, size_t count, size_t *capacity, size_t size);
#define HCC_GROW(list, count, capacity) hcc_grow(&(list), count, &(capacity), sizeof *(list))

/* Returns a new string that holds what the format makes. */
char *hcc_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens a file whose contents become *text, of *length bytes; closed by hcc_memory_file_close. */
FILE *hcc_memory_file(char **text, size_t *length);
void hcc_memory_file_close(FILE *file);

/* Strings, as an argument vector: items ends with NULL. */
struct hcc_list {
    char **items;
    size_t count, capacity;
};

void hcc_add(struct hcc_list *list, const char *item); /* a copy */
void hcc_add_all(struct hcc_list *list, const struct hcc_list *more);
void hcc_list_free(struct hcc_list *list);

/* Whether text begins with prefix. */
bool hcc_begins(const char *text, const char *prefix);

#endif
