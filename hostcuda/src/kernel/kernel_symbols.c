/* Reads .symtab, which is not loaded into memory: dladdr finds only exported symbols, and kernels rarely are exported.
 */
#include "hostcuda/src/kernel/kernel_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    const unsigned char *bytes;
    size_t size;
};

static bool open_file(struct file *file, const char *path)
{
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    file->bytes = MAP_FAILED;
    if (fstat(descriptor, &info) == 0 && info.st_size > 0) {
        file->size = (size_t)info.st_size;
        file->bytes = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    close(descriptor);
    return file->bytes != MAP_FAILED;
}

static bool is_inside_file(const struct file *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->size && bytes <= file->size - offset;
}

/* Returns NULL if it is not an ELF file of this machine's word size, or is damaged. */
static const ElfW(Shdr) * sections_of(const struct file *file, size_t *count)
{
    if (file->size < sizeof(ElfW(Ehdr)) || memcmp(file->bytes, ELFMAG, SELFMAG) != 0)
        return NULL;
    const ElfW(Ehdr) *header = (const void *)file->bytes;
    bool native = header->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
    *count = header->e_shnum;
    if (!native || header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff % sizeof(void *))
        return NULL;
    return is_inside_file(file, header->e_shoff, *count * sizeof(ElfW(Shdr)))
               ? (const void *)(file->bytes + header->e_shoff)
               : NULL;
}

struct symbol {
    const ElfW(Sym) * entry, *first, *end; /* the symbol, and its table */
    const char *names;
    size_t names_bytes;
};

static bool find_in_table(const struct file *file, const ElfW(Shdr) * table, const ElfW(Shdr) * names, uint64_t value,
                          unsigned type, struct symbol *found)
{
    if (!is_inside_file(file, table->sh_offset, table->sh_size) || table->sh_offset % sizeof(void *))
        return false;
    if (!is_inside_file(file, names->sh_offset, names->sh_size))
        return false;
    const ElfW(Sym) *symbols = (const void *)(file->bytes + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if ((symbols[i].st_info & 15) != type || symbols[i].st_value != value || symbols[i].st_name >= names->sh_size)
            continue;
        *found = (struct symbol){&symbols[i], symbols, symbols + table->sh_size / sizeof *symbols,
                                 (const char *)file->bytes + names->sh_offset, names->sh_size};
        return true;
    }
    return false;
}

static bool find_symbol(const struct file *file, uint64_t value, unsigned type, struct symbol *found)
{
    size_t count = 0;
    const ElfW(Shdr) *sections = sections_of(file, &count);
    for (size_t i = 0; sections && i < count; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < count &&
            find_in_table(file, &sections[i], &sections[sections[i].sh_link], value, type, found))
            return true;
    return false;
}

/* In the list of loaded files, the program itself has no name. */
static bool open_file_of(struct file *file, const struct link_map *map)
{
    return open_file(file, map->l_name && *map->l_name ? map->l_name : "/proc/self/exe");
}

static void close_file(const struct file *file)
{
    munmap((void *)(uintptr_t)file->bytes, file->size);
}

/* ---- kernel marks ----------------------------------------------------------------------------------------------- */

static bool section_has_name(const struct file *file, const ElfW(Shdr) * names, size_t name, const char *wanted)
{
    size_t bytes = strlen(wanted) + 1;
    return is_inside_file(file, names->sh_offset, names->sh_size) && name <= names->sh_size &&
           bytes <= names->sh_size - name && memcmp(file->bytes + names->sh_offset + name, wanted, bytes) == 0;
}

/* For a marked function, the compiler lists its first address, or the one behind an instruction that permits indirect
 * jumps. */
static bool is_mark_of(uintptr_t entry, const void *function)
{
    static const unsigned char landing[][4] = {
        {0xf3, 0x0f, 0x1e, 0xfa}, /* endbr64 */
        {0x5f, 0x24, 0x03, 0xd5}, /* bti c */
    };
    if (entry != (uintptr_t)function + sizeof landing[0])
        return entry == (uintptr_t)function;
    return memcmp(function, landing[0], sizeof landing[0]) == 0 || memcmp(function, landing[1], sizeof landing[1]) == 0;
}

/* Whether the address lies in this loaded library. The offsets come from the file, which may have been overwritten
 * since, so the address may lie elsewhere. */
static bool is_loaded(const struct link_map *map, const void *address)
{
    Dl_info info;
    struct link_map *found = NULL;
    return dladdr1(address, &info, (void **)&found, RTLD_DL_LINKMAP) && found == map;
}

static bool find_mark(const struct link_map *map, const ElfW(Shdr) * section, const void *function)
{
    const uintptr_t *entries = (const void *)(map->l_addr + section->sh_addr);
    size_t count = section->sh_size / sizeof *entries;
    if (!count || section->sh_addr % sizeof *entries || !is_loaded(map, entries) ||
        !is_loaded(map, entries + count - 1))
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_mark_of(entries[i], function))
            return true;
    return false;
}

bool hc_symbol_is_kernel(const void *function)
{
    Dl_info info;
    struct link_map *map = NULL;
    struct file file;
    size_t count = 0;
    bool found = false;
    if (!dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !open_file_of(&file, map))
        return false;
    const ElfW(Shdr) *sections = sections_of(&file, &count);
    size_t names = sections ? ((const ElfW(Ehdr) *)(const void *)file.bytes)->e_shstrndx : 0;
    for (size_t i = 0; sections && names < count && i < count && !found; i++)
        found = sections[i].sh_flags & SHF_ALLOC &&
                section_has_name(&file, &sections[names], sections[i].sh_name, "__patchable_function_entries") &&
                find_mark(map, &sections[i], function);
    close_file(&file);
    return found;
}

/* ---- names and sizes --------------------------------------------------------------------------------------------- */

char *hc_symbol_name(const void *function)
{
    Dl_info info;
    struct link_map *map = NULL;
    struct file file;
    if (!dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    if (info.dli_sname && info.dli_saddr == function)
        return strdup(info.dli_sname);
    struct symbol found;
    if (!open_file_of(&file, map))
        return NULL;
    char *name = NULL;
    if (find_symbol(&file, (uintptr_t)function - map->l_addr, STT_FUNC, &found))
        name = strndup(found.names + found.entry->st_name, found.names_bytes - found.entry->st_name);
    close_file(&file);
    return name;
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

static bool is_file(const ElfW(Sym) * entry)
{
    return (entry->st_info & 15) == STT_FILE;
}

/* kernel_shim.h defines a symbol of this name in every file that includes it. */
static bool has_kernel_mark(const struct symbol *found, const ElfW(Sym) * from, const ElfW(Sym) * end)
{
    static const char mark[] = "hostcuda_device_code";
    for (; from < end; from++)
        if (from->st_name < found->names_bytes && found->names_bytes - from->st_name >= sizeof mark &&
            !memcmp(found->names + from->st_name, mark, sizeof mark))
            return true;
    return false;
}

/* Local symbols follow the name of their source file; a file without kernels has no variables of kernels. If no file
 * has the mark, the linker has dropped the marks, and any variable is accepted. */
static bool may_be_of_kernels(const struct symbol *found)
{
    const ElfW(Sym) *from = found->entry, *end = found->entry;
    if (found->entry->st_info >> 4 != STB_LOCAL)
        return true;
    while (from > found->first && !is_file(from))
        from--;
    while (end < found->end && !is_file(end))
        end++;
    return has_kernel_mark(found, from, end) || !has_kernel_mark(found, found->first, found->end);
}

size_t hc_symbol_bytes(const void *variable)
{
    Dl_info info;
    struct link_map *map = NULL;
    const ElfW(Sym) *exported = NULL;
    struct file file;
    struct symbol found;
    if (!dladdr1(variable, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return 0;
    if (dladdr1(variable, &info, (void **)(uintptr_t)&exported, RTLD_DL_SYMENT) && exported &&
        info.dli_saddr == variable)
        return exported->st_size;
    if (!open_file_of(&file, map))
        return 0;
    size_t bytes = 0;
    if (find_symbol(&file, (uintptr_t)variable - map->l_addr, STT_OBJECT, &found) && may_be_of_kernels(&found))
        bytes = found.entry->st_size;
    close_file(&file);
    return bytes;
}
