/* libbreakgraph_audit.so, for LD_AUDIT: a program that opens the driver by its path gets the shim, too. Before the
 * loader searches for a library, it calls la_objsearch with the name that the program gave. The shim itself also opens
 * the driver by its path, and gets the driver. */
#include <link.h>
#include <stdbool.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* The shim's cookie and path. The loader maps the shim before the program runs. */
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
    return 0; /* no audit of symbol bindings */
}

/* A name without a path needs nothing: it finds the shim by its SONAME. */
char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
    bool driver = strchr(name, '/') != NULL && strncmp(file_name(name), "libcuda.so", strlen("libcuda.so")) == 0;
    const char *found = flag == LA_SER_ORIG && driver && shim != NULL && cookie != shim ? shim_path : name;
    return (char *)(uintptr_t)found;
}
