#include "preloadable.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

/* Scripts whose interpreters are scripts: as many as Linux follows. */
enum { SCRIPTS = 4, LINE = 256 };

/* Whether execvp would start the file. */
static bool is_program(const char *path)
{
    struct stat about;
    return access(path, X_OK) == 0 && stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static bool find_program(const char *program, char path[PATH_MAX])
{
    const char *list = getenv("PATH"), *end;

    if (strchr(program, '/') != NULL || list == NULL)
        return snprintf(path, PATH_MAX, "%s", program) < PATH_MAX && is_program(path);
    for (;; list = end + 1) {
        end = strchrnul(list, ':');
        if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - list), list, end > list ? "/" : "", program) < PATH_MAX &&
            is_program(path))
            return true;
        if (*end == '\0')
            return false;
    }
}

static bool read_at(int file, void *bytes, size_t count, off_t at)
{
    return pread(file, bytes, count, at) == (ssize_t)count;
}

/* Why the loader preloads nothing into the file (secure-execution mode); NULL: it does. */
static const char *find_privilege(int file)
{
    struct stat about;
    struct statvfs system;

    if (fstat(file, &about) != 0 || fstatvfs(file, &system) != 0 || (system.f_flag & ST_NOSUID) != 0)
        return NULL;
    if ((about.st_mode & S_ISUID) != 0 && about.st_uid != geteuid())
        return "is setuid";
    if ((about.st_mode & S_ISGID) != 0 && (about.st_mode & S_IXGRP) != 0 && about.st_gid != getegid())
        return "is setgid";
    if (geteuid() != 0 && fgetxattr(file, "security.capability", NULL, 0) >= 0)
        return "has capabilities of its own";
    return NULL;
}

/* The loader that the program asks for; "": none, it is linked statically. false: the file is damaged. */
static bool read_loader(int file, const Elf64_Ehdr *head, char loader[LINE])
{
    Elf64_Phdr part;

    loader[0] = '\0';
    for (int i = 0; i < head->e_phnum; i++) {
        if (head->e_phentsize != sizeof part ||
            !read_at(file, &part, sizeof part, (off_t)(head->e_phoff + (size_t)i * sizeof part)))
            return false;
        if (part.p_type != PT_INTERP)
            continue;
        if (part.p_filesz == 0 || part.p_filesz > LINE || !read_at(file, loader, part.p_filesz, (off_t)part.p_offset))
            return false;
        loader[part.p_filesz - 1] = '\0';
    }
    return true;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static cli_preload examine_elf(int file, const char *path, char text[CLI_PRELOAD_TEXT])
{
    const char *privilege = find_privilege(file);
    char loader[LINE];
    Elf64_Ehdr head;

    if (!read_at(file, &head, sizeof head, 0))
        return CLI_PRELOAD_WORKS;
    if (privilege != NULL) {
        snprintf(
            text, CLI_PRELOAD_TEXT,
            "%s %s: the loader preloads nothing into it, nor into what it starts; name the program that uses CUDA, "
            "and start breakgraph as the user that it runs as",
            path, privilege);
        return CLI_PRELOAD_NEVER;
    }
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != MACHINE) {
        snprintf(text, CLI_PRELOAD_TEXT,
                 "%s is for another kind of processor (ELF machine %d) than this breakgraph: nothing can be "
                 "preloaded into it, only into programs that it starts; use a breakgraph that is built for it",
                 path, head.e_machine);
        return CLI_PRELOAD_STARTED_ONLY;
    }
    if (!read_loader(file, &head, loader))
        return CLI_PRELOAD_WORKS;
    if (strncmp(file_name(loader), "ld-musl", strlen("ld-musl")) == 0) {
        snprintf(
            text, CLI_PRELOAD_TEXT,
            "%s uses another C library than glibc (its loader is %s): the libraries of --attach need glibc, and it "
            "would not start with them; use a program that is built for glibc",
            path, loader);
        return CLI_PRELOAD_NEVER;
    }
    if (loader[0] == '\0' && strncmp(file_name(path), "ld", 2) != 0) { /* the loader itself starts programs */
        snprintf(
            text, CLI_PRELOAD_TEXT,
            "%s is linked statically: nothing can be preloaded into it, only into programs that it starts; link it "
            "dynamically",
            path);
        return CLI_PRELOAD_STARTED_ONLY;
    }
    return CLI_PRELOAD_WORKS;
}

/* Writes the interpreter in a script's first line to path. */
static bool read_interpreter(const char *line, char path[PATH_MAX])
{
    size_t blanks = strspn(line + 2, " \t"), bytes = strcspn(line + 2 + blanks, " \t\r\n");
    return snprintf(path, PATH_MAX, "%.*s", (int)bytes, line + 2 + blanks) > 0;
}

cli_preload cli_program_examine(const char *program, char text[CLI_PRELOAD_TEXT])
{
    char path[PATH_MAX], line[LINE + 1];
    cli_preload answer = CLI_PRELOAD_WORKS;
    bool found = find_program(program, path);

    if (!found) {
        snprintf(text, CLI_PRELOAD_TEXT, "%s is no program that can be started", program);
        return CLI_PRELOAD_MISSING;
    }
    for (int i = 0; i <= SCRIPTS && found; i++) {
        int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t got = file >= 0 ? pread(file, line, LINE, 0) : -1;
        line[got > 0 ? got : 0] = '\0';
        if (got > SELFMAG && memcmp(line, ELFMAG, SELFMAG) == 0)
            answer = examine_elf(file, path, text);
        found = line[0] == '#' && line[1] == '!' && read_interpreter(line, path);
        if (file >= 0)
            (void)close(file);
    }
    return answer;
}

cli_status cli_program_check_preload(const char *program)
{
    char text[CLI_PRELOAD_TEXT];
    cli_preload answer = cli_program_examine(program, text);
    if (answer == CLI_PRELOAD_NEVER || answer == CLI_PRELOAD_STARTED_ONLY)
        (void)cli_print_message(CLI_NOT_LINKED, "--attach: %s", text);
    return answer == CLI_PRELOAD_NEVER ? CLI_NOT_LINKED : CLI_OK;
}
