/* bg_compile: a forward pass that replays its compiled graph or runs itself, as the calling thread's flag says. */
#include "compile/compile.h"

#include <stdlib.h>

struct bg_compiled {
    bg_forward forward;
    void *user;
    bg_capture_options options;
    bg_graph *graph;
};

static _Thread_local bool runs_compiled;

bool bg_compiled_set(bool on)
{
    bool before = runs_compiled;
    runs_compiled = on;
    return before;
}

bg_status bg_compile(bg_compiled **compiled, bg_forward forward, void *user, const bg_capture_options *options)
{
    bg_compiled *made;
    bg_status status;

    BG__NEED(compiled);
    *compiled = NULL;
    BG__NEED(forward);
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a compiled pass");
    made->forward = forward;
    made->user = user;
    BG__TRY(bg__capture_options_copy(&made->options, options));
    BG__TRY(bg__capture_options_check(&made->options));
    if (options == NULL && bg__env_value("BG_COMPILE") == NULL)
        made->options.level = BG_LEVEL_PIECEWISE;
    *compiled = made;
    made = NULL;
done:
    free(made);
    return status;
}

/* Inside a capture or an eager pass, of this library or another, the calls belong to that capture or pass. */
static bg_status is_inside_capture(cudaStream_t stream, bool *inside)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    bg_status status = BG_OK;

    *inside = bg_current_phase() != BG_PHASE_PLAIN || bg__thread_self()->pass != NULL;
    if (*inside || stream == cudaStreamLegacy)
        return BG_OK;
    BG__TRY_CUDA(cudaStreamIsCapturing(stream, &capturing));
    *inside = capturing != cudaStreamCaptureStatusNone;
done:
    return status;
}

bg_status bg_compiled_run(void *user, cudaStream_t stream)
{
    bg_compiled *compiled = user;
    bool inside = true;
    bg_status status;

    BG__NEED(compiled);
    if (runs_compiled) {
        bg__foreign_error_note();
        BG__TRY(is_inside_capture(stream, &inside));
    }
    if (inside)
        return compiled->forward(compiled->user, stream);
    if (compiled->graph == NULL) {
        BG__TRY(bg_capture_forward(&compiled->graph, compiled->forward, compiled->user, stream, &compiled->options));
        if (compiled->options.launch_segments) /* the capture has run the pass */
            return BG_OK;
    }
    return bg_replay(compiled->graph, stream);
done:
    return status;
}

bg_graph *bg_compiled_graph(const bg_compiled *compiled)
{
    return compiled != NULL ? compiled->graph : NULL;
}

void bg_compiled_destroy(bg_compiled *compiled)
{
    if (compiled == NULL)
        return;
    bg_graph_destroy(compiled->graph);
    free(compiled);
}
