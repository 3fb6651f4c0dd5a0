#include "attach.h"

#include <breakgraph/breakgraph.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/process/gpu.h"
#include "preloadable.h"

/* Folders that have the libraries, relative to the command's folder, in a build and in an installation. */
#define SHIM "libbreakgraph_attach.so"
#ifdef __aarch64__
#define MULTIARCH "../lib/aarch64-linux-gnu" /* Debian's */
#else
#define MULTIARCH "../lib/x86_64-linux-gnu"
#endif
static const char *const library_folders[] = {"attach", "../lib/breakgraph", "../lib64/breakgraph",
                                              MULTIARCH "/breakgraph"};

const cli_flag cli_attach_flags[] = {
    {"--attach", "preload|audit", "preload", NULL,
     "attach to a program that does not use libbreakgraph, by a preloaded library between it and the CUDA driver; "
     "audit: also where the program opens the driver by its path"},
    {0},
};

/* ---- places ---- */

/* The folder of the running command; false with errno. */
static bool find_command_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length < 0)
        return false;
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    return true;
}

/* Writes the path of the file in the first folder of the list that has it. */
static bool find_file(const char *command, const char *const *list, size_t count, const char *file, char path[PATH_MAX])
{
    char full[3 * PATH_MAX];
    for (size_t i = 0; i < count; i++) {
        snprintf(full, sizeof full, "%s/%s/%s", command, list[i], file);
        if (realpath(full, path) != NULL)
            return true;
    }
    return false;
}

/* The driver that the program would get: the host device's library, or what the loader finds. */
static bool find_driver(const char *command, char path[PATH_MAX])
{
    static const char *const libraries[] = {".", "../lib", "../lib64", MULTIARCH};
    struct link_map *map;
    void *driver;

    if (strcmp(bg_device_kind(), "host") == 0)
        return find_file(command, libraries, sizeof libraries / sizeof *libraries, "libhostcuda.so." BG_SOVERSION,
                         path);
    driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); /* stays open: it cannot be unloaded safely */
    return driver != NULL && dlinfo(driver, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, path) != NULL;
}

/* ---- the environment ---- */

/* Sets the variable to "first:last". One of them may be its value in the environment. */
static bool set_list_variable(const char *name, const char *first, const char *last)
{
    char *list = NULL;
    bool both = first != NULL && first[0] != '\0' && last != NULL && last[0] != '\0';
    bool set = asprintf(&list, "%s%s%s", first != NULL ? first : "", both ? ":" : "", last != NULL ? last : "") >= 0 &&
               setenv(name, list, 1) == 0;
    free(list);
    return set;
}

/* Puts `first` before the program's own list. */
static bool prepend_to_variable(const char *name, const char *first)
{
    return set_list_variable(name, first, getenv(name));
}

static bool set_environment(const char *folder, const char *driver, bool audit)
{
    char *preload = NULL, *tools = NULL, *auditor = NULL;
    bool set = asprintf(&preload, "%s/" SHIM ":%s/libbreakgraph_attach_alias.so", folder, folder) >= 0 &&
               asprintf(&tools, "%s/libbreakgraph_tools.so", folder) >= 0 &&
               asprintf(&auditor, "%s/libbreakgraph_audit.so", folder) >= 0;

    set = set && prepend_to_variable("LD_PRELOAD", preload) && (!audit || prepend_to_variable("LD_AUDIT", auditor)) &&
          setenv("BG_ATTACH_DRIVER", driver, 1) == 0 && setenv("BG_ATTACH_TOOLS", tools, 1) == 0 &&
          set_list_variable("PYTHONPATH", getenv("PYTHONPATH"),
                            folder); /* breakgraph.py; the program's own modules come first */
    if (set && strcmp(bg_device_kind(), "host") == 0)
        set = setenv("HOSTCUDA_THROUGH_DRIVER", "1", 1) == 0;
    free(preload);
    free(tools);
    free(auditor);
    return set;
}

bool cli_attach_find(char folder[PATH_MAX], char driver[PATH_MAX], char why[CLI_ATTACH_WHY])
{
    char command[PATH_MAX];

    why[0] = '\0';
    if (!find_command_folder(command)) {
        snprintf(why, CLI_ATTACH_WHY, "/proc/self/exe cannot be read: %s", strerror(errno));
        return false;
    }
    if (!find_file(command, library_folders, sizeof library_folders / sizeof *library_folders, SHIM, folder)) {
        snprintf(why, CLI_ATTACH_WHY,
                 SHIM " is not in %s/attach, nor installed beside this command; install breakgraph with make install",
                 command);
        return false;
    }
    *strrchr(folder, '/') = '\0';
    if (strpbrk(folder, ": ") != NULL) /* the loader splits the list of preloaded libraries there */
        snprintf(why, CLI_ATTACH_WHY, "the path %s has a blank or a colon; install breakgraph elsewhere", folder);
    else if (!find_driver(command, driver))
        snprintf(why, CLI_ATTACH_WHY,
                 "no CUDA driver: libcuda.so.1 cannot be opened; install it, or use a breakgraph that was built "
                 "with DEVICE=host");
    return why[0] == '\0';
}

bool cli_attach_bypasses_gpu(char why[CLI_ATTACH_WHY])
{
    cli_gpu gpu;

    why[0] = '\0';
    if (strcmp(bg_device_kind(), "host") == 0 && cli_gpu_find(&gpu))
        snprintf(why, CLI_ATTACH_WHY,
                 "this breakgraph is built for the host device, so the program's CUDA calls run on a CPU and not on "
                 "%s; for the GPU, build with make DEVICE=cuda (make wheel DEVICE=cuda)",
                 gpu.name);
    return why[0] != '\0';
}

cli_status cli_attach_prepare(const cli_arguments *arguments)
{
    const char *how = cli_given_value(arguments, "--attach");
    char folder[PATH_MAX], driver[PATH_MAX], why[CLI_ATTACH_WHY];
    cli_status status;

    if (how == NULL)
        return CLI_OK;
    if (!cli_attach_find(folder, driver, why))
        return cli_print_message(CLI_NOT_STARTED, "--attach: %s", why);
    status = cli_program_check_preload(arguments->rest[0]);
    if (status != CLI_OK)
        return status;
    if (cli_attach_bypasses_gpu(why))
        (void)cli_print_message(CLI_OK, "--attach: %s", why);
    if (!set_environment(folder, driver, strcmp(how, "audit") == 0))
        return cli_print_message(CLI_FAILED, "out of host memory");
    return CLI_OK;
}
