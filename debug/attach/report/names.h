/* Names that the program gives to its memory. */
#ifndef BG_ATTACH_NAMES_H
#define BG_ATTACH_NAMES_H

#include <breakgraph/attach.h>

/* The texts of findings have the names from now on. */
void bg__names_begin(void);
/* Takes the place of the names of all memory that it overlaps. Errors: OUT_OF_MEMORY. */
bg_status bg__name_memory(uintptr_t base, size_t bytes, const char *name);
/* false: there is no name for memory that begins at base. */
bool bg__name_forget(uintptr_t base);

/* The name of what has address, and where that is in it. false: nothing there has one. */
bool bg__name_find(uintptr_t address, char name[BG_ATTACH_NAME_BYTES], size_t *offset);

/* Writes names beside the addresses in text, which has room for that many bytes: "kv+256 (0x7f...)". What finds no room
 * is cut off. */
void bg__names_edit(char *text, size_t bytes);

#endif
