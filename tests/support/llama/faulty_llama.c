#include "faulty_llama.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 16, TOKEN = 3, OTHER_TOKEN = 7 };

void faulty_open(faulty *f, const llama_config *config)
{
    *f = (faulty){.config = config};
    EXPECT_CUDA(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking));
    f->model = random_model(config, 1, CONTEXT, f->stream);
    faulty_settle(f); /* libraries load their kernels at first use */
    f->pass = faulty_capture(f, NULL);
}

void faulty_close(faulty *f)
{
    bg_graph_destroy(f->pass);
    llama_faults_clear();
    llama_destroy(f->model);
    EXPECT_CUDA(cudaStreamDestroy(f->stream));
}

int faulty_setup(void **state)
{
    static faulty f;
    faulty_open(&f, &llama_small);
    *state = &f;
    return 0;
}

int faulty_teardown(void **state)
{
    faulty_close(*state);
    return 0;
}

void faulty_open_smollm2(faulty *f)
{
    skip_if_small("SmolLM2's shape");
    faulty_open(f, &llama_smollm2);
}

planted faulty_plant(const faulty *f, llama_fault kind, uint64_t seed)
{
    planted p;
    EXPECT_OK(llama_faults_plant(kind, seed, f->config));
    llama_faults_print(stdout);
    p.count = llama_faults_list(p.calls);
    return p;
}

bg_status faulty_forward(void *user, cudaStream_t stream)
{
    faulty *f = user;
    f->passes++;
    return llama_forward(f->model, stream);
}

static void begin_text(faulty *f, int token, int passes)
{
    EXPECT_OK(llama_reset(f->model));
    EXPECT_OK(llama_set_token(f->model, token));
    for (int i = 0; i < passes; i++)
        EXPECT_OK(llama_forward(f->model, f->stream));
}

void faulty_settle(faulty *f)
{
    begin_text(f, OTHER_TOKEN, FAULTY_POSITION + 2);
    begin_text(f, TOKEN, FAULTY_POSITION);
}

float *faulty_logits(const faulty *f)
{
    float *logits = calloc((size_t)f->config->vocabulary, sizeof *logits);
    assert_non_null(logits);
    EXPECT_OK(llama_read_logits(f->model, logits));
    return logits;
}

bool faulty_same(const faulty *f, const float *a, const float *b)
{
    return memcmp(a, b, (size_t)f->config->vocabulary * sizeof *a) == 0;
}

float *faulty_eager(faulty *f)
{
    faulty_settle(f);
    EXPECT_OK(llama_forward(f->model, f->stream));
    return faulty_logits(f);
}

bg_graph *faulty_capture(faulty *f, const char *eager)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph = NULL;

    options.launch_segments = false;
    EXPECT_OK(bg_override_eager(eager));
    EXPECT_OK(bg_capture_forward(&graph, faulty_forward, f, f->stream, &options));
    EXPECT_OK(bg_override_eager(NULL));
    return graph;
}

float *faulty_replay(faulty *f, bg_graph *graph)
{
    faulty_settle(f);
    EXPECT_OK(bg_replay(graph, f->stream));
    return faulty_logits(f);
}

bg_site faulty_site(const faulty *f, const char *call)
{
    bg_call_info info = BG_CALL_INFO_INIT;
    for (int i = 0; i < info_of(f->pass).calls; i++) {
        EXPECT_OK(bg_graph_get_call(f->pass, i, &info));
        if (strcmp(info.name, call) == 0)
            return (bg_site){info.file, info.line};
    }
    fail_msg("the pass has no call %s", call);
    return (bg_site){"", 0};
}
