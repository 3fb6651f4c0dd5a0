/* Records which threads wait for the device. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hang.h"
#include "hang_copies.h"

enum { WAITS_MAX = 32, FUNCTION_BYTES = 48 };

static struct {
    pthread_mutex_t lock;
    struct waiting {
        pid_t thread; /* 0: none */
        char function[FUNCTION_BYTES];
        bg_site site;
    } list[WAITS_MAX];
} wait_table = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local int waiting; /* index in waits.list, from 1; 0: none */

void bg__hang_wait_begin(const char *function, bg_site site)
{
    pthread_mutex_lock(&wait_table.lock);
    for (int i = 0; i < WAITS_MAX && waiting == 0; i++) {
        struct waiting *w = &wait_table.list[i];
        if (w->thread != 0)
            continue;
        w->thread = (pid_t)syscall(SYS_gettid);
        w->site = site;
        snprintf(w->function, sizeof w->function, "%s", function);
        waiting = i + 1;
    }
    pthread_mutex_unlock(&wait_table.lock);
}

void bg__hang_wait_end(void)
{
    if (waiting == 0)
        return;
    pthread_mutex_lock(&wait_table.lock);
    wait_table.list[waiting - 1].thread = 0;
    waiting = 0;
    pthread_mutex_unlock(&wait_table.lock);
}

static void read_thread_name(pid_t thread, char name[16])
{
    char path[64];
    FILE *file;
    snprintf(path, sizeof path, "/proc/self/task/%ld/comm", (long)thread);
    file = fopen(path, "re");
    if (file == NULL || fgets(name, 16, file) == NULL)
        memcpy(name, "?", 2);
    name[strcspn(name, "\n")] = '\0';
    if (file != NULL)
        (void)fclose(file);
}

void bg__hang_format_waits(char *text, size_t bytes)
{
    enum { MOST = 2 };
    size_t used = 0;
    int told = 0;

    text[0] = '\0';
    pthread_mutex_lock(&wait_table.lock);
    for (int i = 0; i < WAITS_MAX && used < bytes && told < MOST; i++) {
        const struct waiting *w = &wait_table.list[i];
        char name[16], line[24] = "";
        if (w->thread == 0)
            continue;
        read_thread_name(w->thread, name);
        if (w->site.line > 0)
            snprintf(line, sizeof line, ":%d", w->site.line);
        used += (size_t)snprintf(text + used, bytes - used, "%sthread %ld (%s) waits in %s%s%.120s%s",
                                 told++ == 0 ? "" : ", ", (long)w->thread, name, w->function,
                                 w->site.file != NULL ? " at " : "", w->site.file != NULL ? w->site.file : "", line);
    }
    pthread_mutex_unlock(&wait_table.lock);
}
