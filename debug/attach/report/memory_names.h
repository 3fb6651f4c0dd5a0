/* Names that the program gives to its memory. */
#ifndef BG_ATTACH_MEMORY_NAMES_H
#define BG_ATTACH_MEMORY_NAMES_H

#include <breakgraph/attach.h>

/* From now on, texts of findings contain the names. */
void bg__memory_names_begin(void);
/* Names the memory. The name replaces the names of all memory that this memory overlaps. Errors: OUT_OF_MEMORY. */
bg_status bg__memory_name_set(uintptr_t base, size_t bytes, const char *name);
/* Returns false if no name begins at base. */
bool bg__memory_name_remove(uintptr_t base);

/* Finds the name of the memory that contains address, and the offset in it. Returns false if it has no name. */
bool bg__memory_name_find(uintptr_t address, char name[BG_ATTACH_NAME_BYTES], size_t *offset);

/* Writes names beside the addresses in text: "kv+256 (0x7f...)". bytes: the room of text; the rest is cut off. */
void bg__memory_names_insert(char *text, size_t bytes);

#endif
