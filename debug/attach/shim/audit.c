/* libbreakgraph_audit.so, for LD_AUDIT: a program that opens the driver by its path gets the shim all the same. The
 * loader asks here before it looks for a library, with the name that the program gave. The shim itself opens the
 * driver by path, too, and gets it. */
#include <link.h>
#include <stdbool.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* The shim, which the loader maps before the program runs: its mark there, and its path. */
static uintptr_t *shim;
static const char *shim_path;

EXPORTED unsigned int la_version(unsigned int version);
EXPORTED unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie);
EXPORTED char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag);

unsigned int la_version(unsigned int version)
{
    return version;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
    (void)lmid;
    if (strcmp(file_name(map->l_name), "libbreakgraph_attach.so") == 0) {
        shim = cookie;
        shim_path = map->l_name;
    }
    return 0; /* no symbol bindings are asked for */
}

/* A name without a path finds the shim by its SONAME. */
char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
    bool driver = strchr(name, '/') != NULL && strncmp(file_name(name), "libcuda.so", strlen("libcuda.so")) == 0;
    const char *found = flag == LA_SER_ORIG && driver && shim != NULL && cookie != shim ? shim_path : name;
    return (char *)(uintptr_t)found;
}
