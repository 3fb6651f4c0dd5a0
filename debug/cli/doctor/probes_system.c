/* Libraries, profilers, and what the system allows. */
#include <breakgraph/breakgraph.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "debug/cli/output/cli_files.h"
#include "answers.h"
#include "probes.h"

/* ---- libraries ---- */

static void *open_library(const char *what, const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *why = library == NULL ? dlerror() : NULL;
    if (library == NULL)
        cli_answers_add(what, CLI_MISSING, "%s; programs that use it do not start here", why != NULL ? why : name);
    return library;
}

static void probe_cublas(void)
{
    char name[32];
    int (*get)(int kind, int *value) = NULL;
    int version[3] = {0};
    void *library;

    snprintf(name, sizeof name, "libcublas.so.%d", CUDART_VERSION / 1000);
    library = open_library("cuBLAS", name);
    if (library == NULL)
        return;
    *(void **)&get = dlsym(library, "cublasGetProperty");
    for (int kind = 0; kind < 3 && get != NULL; kind++)
        if (get(kind, &version[kind]) != 0)
            get = NULL;
    if (get != NULL)
        cli_answers_add("cuBLAS", CLI_WORKS, "%s, version %d.%d.%d", name, version[0], version[1], version[2]);
    else
        cli_answers_add("cuBLAS", CLI_MISSING, "%s does not report its version", name);
}

static void probe_nccl(void)
{
    int (*get)(int *version) = NULL;
    int version = 0;
    void *library = open_library("NCCL", "libnccl.so.2");
    if (library == NULL)
        return;
    *(void **)&get = dlsym(library, "ncclGetVersion");
    if (get != NULL && get(&version) == 0)
        cli_answers_add("NCCL", CLI_WORKS, "libnccl.so.2, version %d.%d.%d", version / 10000, version / 100 % 100,
                        version % 100);
    else
        cli_answers_add("NCCL", CLI_MISSING, "libnccl.so.2 does not report its version");
}

void cli_probe_libraries(void)
{
    if (strcmp(bg_device_kind(), "host") == 0) {
        cli_answers_add("cuBLAS, NCCL", CLI_FACT, "the host device has its own");
        return;
    }
    probe_cublas();
    probe_nccl();
}

/* ---- profilers ---- */

/* Loads the injection library, as NVTX does in a profiled program. */
static void probe_profiler(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library;
    if (path == NULL || path[0] == '\0') {
        cli_answers_add("NVTX", CLI_FACT, "no profiler is attached: NVTX_INJECTION64_PATH is not set");
        return;
    }
    library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        cli_answers_add("NVTX", CLI_MISSING, "%s", dlerror());
    else if (dlsym(library, "InitializeInjectionNvtx2") == NULL)
        cli_answers_add("NVTX", CLI_MISSING, "%s has no InitializeInjectionNvtx2: it is not a profiler", path);
    else
        cli_answers_add("NVTX", CLI_WORKS, "%s accepts ranges", path);
}

/* ---- the system ---- */

static void probe_temporary_files(void)
{
    char *place = cli_temporary_directory_create(), *file = place != NULL ? cli_join_path(place, "probe") : NULL;
    if (file == NULL)
        cli_answers_add("temporary files", CLI_BROKEN, "cannot be written: %s; set TMPDIR", strerror(errno));
    else if (cli_file_write(file, BG__FILE_GENERATED, "probe\n"))
        cli_answers_add("temporary files", CLI_WORKS, "in %.*s", (int)(strrchr(place, '/') - place), place);
    else
        cli_answers_add("temporary files", CLI_BROKEN, "%s; set TMPDIR", bg_last_error());
    cli_temporary_directory_remove(place);
    free(place);
    free(file);
}

static void probe_maps(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int first = maps != NULL ? fgetc(maps) : EOF;
    if (first != EOF)
        cli_answers_add("/proc/self/maps", CLI_WORKS, "readable; checks can name pageable memory and stacks");
    else
        cli_answers_add("/proc/self/maps", CLI_MISSING, "%s: bg_check with BG_CHECK_HOST_MEMORY fails",
                        strerror(errno));
    if (maps != NULL)
        (void)fclose(maps);
}

static void probe_limit(const char *what, int resource, rlim_t least, const char *lack)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
        cli_answers_add(what, CLI_MISSING, "%s", strerror(errno));
    else if (limit.rlim_cur == RLIM_INFINITY)
        cli_answers_add(what, CLI_WORKS, "no limit");
    else
        cli_answers_add(what, limit.rlim_cur >= least ? CLI_WORKS : CLI_MISSING, "at most %llu%s%s",
                        (unsigned long long)limit.rlim_cur, limit.rlim_cur >= least ? "" : ": ",
                        limit.rlim_cur >= least ? "" : lack);
}

void cli_probe_system(void)
{
    probe_profiler();
    probe_temporary_files();
    probe_maps();
    probe_limit("open files", RLIMIT_NOFILE, 256, "a GPU process needs more (ulimit -n)");
    probe_limit("address space", RLIMIT_AS, RLIM_INFINITY, "pools reserve as much as the GPU has (ulimit -v)");
}
