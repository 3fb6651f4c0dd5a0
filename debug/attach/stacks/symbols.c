#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct mapped_file {
    const char *bytes;
    size_t size;
} mapped_file;

static bool map_file(const char *path, mapped_file *file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    void *mapped = MAP_FAILED;

    if (fd < 0)
        return false;
    if (fstat(fd, &about) == 0 && about.st_size > 0)
        mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (mapped == MAP_FAILED)
        return false;
    *file = (mapped_file){mapped, (size_t)about.st_size};
    return true;
}

/* Returns count elements of size bytes at offset, or NULL if the file is shorter or offset is not aligned. */
static const void *file_part(const mapped_file *file, uint64_t offset, uint64_t count, size_t size)
{
    bool inside = offset % 8 == 0 && offset <= file->size && count <= (file->size - offset) / size;
    return inside ? file->bytes + offset : NULL;
}

/* Finds the symbol table and the table of its names. Returns false if there is none. */
static bool find_symbol_tables(const mapped_file *file, const ElfW(Ehdr) * head, const ElfW(Shdr) * *symbols,
                               const ElfW(Shdr) * *names)
{
    const ElfW(Shdr) *sections = file_part(file, head->e_shoff, head->e_shnum, sizeof *sections);
    if (sections == NULL || head->e_shentsize != sizeof *sections)
        return false;
    for (int i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= head->e_shnum)
            continue;
        *symbols = &sections[i];
        *names = &sections[sections[i].sh_link];
        return true;
    }
    return false;
}

static char *find_symbol_in(const mapped_file *file, uintptr_t base, uintptr_t address, size_t *offset)
{
    const ElfW(Ehdr) *head = file_part(file, 0, 1, sizeof *head);
    const ElfW(Shdr) * symbols, *names;
    const ElfW(Sym) * table;
    uintptr_t wanted;
    size_t count;

    if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        !find_symbol_tables(file, head, &symbols, &names))
        return NULL;
    count = symbols->sh_size / sizeof *table;
    table = file_part(file, symbols->sh_offset, count, sizeof *table);
    wanted = address - (head->e_type == ET_DYN ? base : 0);
    for (size_t i = 0; table != NULL && i < count; i++) {
        const ElfW(Sym) *symbol = &table[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || wanted - symbol->st_value >= symbol->st_size ||
            symbol->st_name >= names->sh_size || names->sh_offset + names->sh_size > file->size)
            continue;
        *offset = wanted - symbol->st_value;
        return strndup(file->bytes + names->sh_offset + symbol->st_name, names->sh_size - symbol->st_name);
    }
    return NULL;
}

/* The loader's path of the program may be relative to an earlier directory, so /proc/self/exe is tried, too. */
char *bg__find_symbol(const Dl_info *about, const void *address, size_t *offset)
{
    mapped_file file;
    char *name;

    if (!map_file(about->dli_fname, &file) && !map_file("/proc/self/exe", &file))
        return NULL;
    name = find_symbol_in(&file, (uintptr_t)about->dli_fbase, (uintptr_t)address, offset);
    (void)munmap((void *)(uintptr_t)file.bytes, file.size);
    return name;
}
