#include "hang.h"
#include "watched_graphs.h"

#include <cudaTypedefs.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t bg__watched_lock = PTHREAD_MUTEX_INITIALIZER;
bg__watched *bg__watched_list;

/* ---- graphs that come and go ------------------------------------------------------------------------------------ */

static bool has_ended(const bg__watched *w)
{
    return w->broken || w->marked.marks.words[BG__MARK_ENDED] == atomic_load(&w->launched);
}

static void free_watched(bg__watched *w)
{
    bg__marked_free(&w->marked);
    bg__marked_node_free(&w->self);
    free(w->name);
    free(w->graph);
    free(w);
}

/* Frees released copies whose launches have ended. */
static void sweep(void)
{
    bg__watched *over = NULL;

    pthread_mutex_lock(&bg__watched_lock);
    for (bg__watched **at = &bg__watched_list; *at != NULL;) {
        bg__watched *w = *at;
        if (!w->gone || !has_ended(w) || w->place > 0) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->next = over;
        over = w;
    }
    pthread_mutex_unlock(&bg__watched_lock);
    while (over != NULL) {
        bg__watched *w = over;
        over = w->next;
        free_watched(w);
    }
}

static void add_watched(bg__watched *w)
{
    pthread_mutex_lock(&bg__watched_lock);
    w->next = bg__watched_list;
    bg__watched_list = w;
    pthread_mutex_unlock(&bg__watched_lock);
}

static bg_status describe_self(bg__watched *w, const bg__watched_what *what)
{
    bg_status status = BG_OK;

    w->name = strdup(what->name);
    w->graph = strdup(bg__graph_name(what->graph));
    if (what->call != NULL) {
        w->self.name = strdup(what->call->name);
        w->self.site = what->call->site;
    }
    if (w->name == NULL || w->graph == NULL || (what->call != NULL && w->self.name == NULL))
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the launches of %s", what->name);
done:
    return status;
}

bg_status bg__watched_create(bg__watched **watched, const bg__watched_what *what, const char **why)
{
    bg__watched *w = calloc(1, sizeof *w);
    bg_status status = BG_OK;

    *watched = NULL;
    sweep();
    if (w == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the launches of %s", what->name);
    BG__TRY(describe_self(w, what));
    w->key = what->key;
    w->earlier = what->launches;
    w->moved = bg__now_ms();
    if (what->source == NULL && what->key != NULL)
        snprintf(w->why, sizeof w->why, "CUDA cannot copy it");
    status = bg__marked_make(&w->marked, what->graph, what->segment, what->source);
    if (status != BG_OK && w->marked.marks.words == NULL)
        goto done;
    if (status != BG_OK)
        snprintf(w->why, sizeof w->why, "%s", bg_last_error());
    add_watched(w);
    *why = w->why[0] != '\0' ? w->why : NULL;
    *watched = w;
    w = NULL;
done:
    if (w != NULL)
        free_watched(w);
    return status;
}

void bg__watched_drop(bg__watched *watched)
{
    pthread_mutex_lock(&bg__watched_lock);
    watched->gone = true;
    pthread_mutex_unlock(&bg__watched_lock);
    sweep();
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

static void write_mark(bg__watched *w, size_t word, uint32_t value, cudaStream_t stream)
{
    static PFN_cuMemsetD32Async_v3020 fill;
    const CUdeviceptr at = (CUdeviceptr)w->marked.marks.device + word * sizeof(uint32_t);

    if (w->broken)
        return;
    if (fill == NULL && bg__driver_entry("cuMemsetD32Async", 3020, (void *)&fill) != BG_OK)
        w->broken = true;
    else
        w->broken = fill(at, value, 1, stream) != CUDA_SUCCESS;
}

void bg__watched_begin(bg__watched *w, cudaStream_t stream)
{
    const uint32_t number = atomic_load(&w->launched) + 1;

    write_mark(w, BG__MARK_BEGUN, number, stream);
    if (!w->broken)
        atomic_store(&w->launched, number);
}

cudaGraphExec_t bg__watched_copy(const bg__watched *w, cudaGraph_t *source)
{
    *source = w->marked.graph;
    return w->marked.exec;
}

cudaError_t bg__watched_run(bg__watched *w, cudaStream_t stream)
{
    cudaError_t error = cudaErrorUnknown;

    if (w->marked.exec != NULL) {
        error = cudaGraphLaunch(w->marked.exec, stream);
        bg__ignore(error);
    }
    if (error != cudaSuccess)
        error = cudaGraphLaunch(w->key, stream);
    bg__ignore(error); /* the caller returns it */
    return error;
}

void bg__watched_end(bg__watched *w, cudaStream_t stream)
{
    write_mark(w, BG__MARK_ENDED, atomic_load(&w->launched), stream);
}

cudaError_t bg__watched_launch(bg__watched *w, cudaStream_t stream)
{
    cudaError_t error;

    bg__watched_begin(w, stream);
    error = bg__watched_run(w, stream);
    bg__watched_end(w, stream);
    return error;
}
