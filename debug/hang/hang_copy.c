#include "hang.h"
#include "hang_copies.h"

#include <cudaTypedefs.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t bg__hang_copies_lock = PTHREAD_MUTEX_INITIALIZER;
bg__hang_copy *bg__hang_copies;

/* ---- graphs that come and go ------------------------------------------------------------------------------------ */

static bool have_launches_ended(const bg__hang_copy *w)
{
    return w->broken || w->marked.marks.words[BG__MARK_ENDED] == atomic_load(&w->launched);
}

static void free_hang_copy(bg__hang_copy *w)
{
    bg__marked_graph_free(&w->marked);
    bg__marked_node_free(&w->self);
    free(w->name);
    free(w->graph);
    free(w);
}

/* Frees released copies whose launches have ended. */
static void free_released_copies(void)
{
    bg__hang_copy *over = NULL;

    pthread_mutex_lock(&bg__hang_copies_lock);
    for (bg__hang_copy **at = &bg__hang_copies; *at != NULL;) {
        bg__hang_copy *w = *at;
        if (!w->gone || !have_launches_ended(w) || w->place > 0) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->next = over;
        over = w;
    }
    pthread_mutex_unlock(&bg__hang_copies_lock);
    while (over != NULL) {
        bg__hang_copy *w = over;
        over = w->next;
        free_hang_copy(w);
    }
}

static void add_hang_copy(bg__hang_copy *w)
{
    pthread_mutex_lock(&bg__hang_copies_lock);
    w->next = bg__hang_copies;
    bg__hang_copies = w;
    pthread_mutex_unlock(&bg__hang_copies_lock);
}

static bg_status copy_target_names(bg__hang_copy *w, const bg__hang_target *what)
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

bg_status bg__hang_copy_create(bg__hang_copy **watched, const bg__hang_target *what, const char **why)
{
    bg__hang_copy *w = calloc(1, sizeof *w);
    bg_status status = BG_OK;

    *watched = NULL;
    free_released_copies();
    if (w == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the launches of %s", what->name);
    BG__TRY(copy_target_names(w, what));
    w->key = what->key;
    w->earlier = what->launches;
    w->moved = bg__now_ms();
    if (what->source == NULL && what->key != NULL)
        snprintf(w->why, sizeof w->why, "CUDA cannot copy it");
    status = bg__marked_graph_create(&w->marked, what->graph, what->segment, what->source);
    if (status != BG_OK && w->marked.marks.words == NULL)
        goto done;
    if (status != BG_OK)
        snprintf(w->why, sizeof w->why, "%s", bg_last_error());
    add_hang_copy(w);
    *why = w->why[0] != '\0' ? w->why : NULL;
    *watched = w;
    w = NULL;
done:
    if (w != NULL)
        free_hang_copy(w);
    return status;
}

void bg__hang_copy_release(bg__hang_copy *watched)
{
    pthread_mutex_lock(&bg__hang_copies_lock);
    watched->gone = true;
    pthread_mutex_unlock(&bg__hang_copies_lock);
    free_released_copies();
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

static void write_mark(bg__hang_copy *w, size_t word, uint32_t value, cudaStream_t stream)
{
    static PFN_cuMemsetD32Async_v3020 fill;
    const CUdeviceptr at = (CUdeviceptr)w->marked.marks.device + word * sizeof(uint32_t);

    if (w->broken)
        return;
    if (fill == NULL && bg__driver_get_entry_point("cuMemsetD32Async", 3020, (void *)&fill) != BG_OK)
        w->broken = true;
    else
        w->broken = fill(at, value, 1, stream) != CUDA_SUCCESS;
}

void bg__hang_copy_mark_begin(bg__hang_copy *w, cudaStream_t stream)
{
    const uint32_t number = atomic_load(&w->launched) + 1;

    write_mark(w, BG__MARK_BEGUN, number, stream);
    if (!w->broken)
        atomic_store(&w->launched, number);
}

cudaGraphExec_t bg__hang_copy_exec(const bg__hang_copy *w, cudaGraph_t *source)
{
    *source = w->marked.graph;
    return w->marked.exec;
}

cudaError_t bg__hang_copy_run(bg__hang_copy *w, cudaStream_t stream)
{
    cudaError_t error = cudaErrorUnknown;

    if (w->marked.exec != NULL) {
        error = cudaGraphLaunch(w->marked.exec, stream);
        bg__clear_cuda_error(error);
    }
    if (error != cudaSuccess)
        error = cudaGraphLaunch(w->key, stream);
    bg__clear_cuda_error(error); /* the caller returns it */
    return error;
}

void bg__hang_copy_mark_end(bg__hang_copy *w, cudaStream_t stream)
{
    write_mark(w, BG__MARK_ENDED, atomic_load(&w->launched), stream);
}

cudaError_t bg__hang_copy_launch(bg__hang_copy *w, cudaStream_t stream)
{
    cudaError_t error;

    bg__hang_copy_mark_begin(w, stream);
    error = bg__hang_copy_run(w, stream);
    bg__hang_copy_mark_end(w, stream);
    return error;
}
