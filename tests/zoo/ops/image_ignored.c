/* The embeddings of an image come with the request, and are no input of the runner. The graph is captured with zeros in
 * their place, and reads these for each request.
 *
 * expect: [unstable-pointer] | [frozen-argument] image
 * culprit: merge#0
 * innocent: -
 * source: sgl-project/sglang#30765
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { TOKENS = 8, BYTES = TOKENS * sizeof(float) };

BG_OP(merge, BG_IN(text), BG_IN(image), BG_OUT(y))
{
    return checked(zoo_add(args->y.data, args->text.data, args->image.data, (int)args->y.dim[0], stream));
}

typedef struct model {
    bg_tensor text, image, y; /* the runner's static buffers; the image's in the twin */
    float *zeros;
} model;

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const int n = context->padded_tokens;
    float *image = context->user; /* the request's */
    model *m = user;
    if (zoo.correct)
        image = m->image.data;
    else if (image == NULL)
        image = m->zeros;
    /* CULPRIT */
    return BG_CALL(merge, stream, .text = floats(m->text.data, n), .image = floats(image, n),
                   .y = floats(m->y.data, n));
}

int main(int argc, char **argv)
{
    const bg_batch batch = {.tokens = TOKENS, .requests = 1, .max_query_len = TOKENS};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_tensor inputs[2];
    bg_runner *runner;
    float *text, *image;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&text, BYTES));
    CHECK(cudaMalloc((void **)&image, BYTES));
    CHECK(cudaMalloc((void **)&m.zeros, BYTES));
    CHECK(zoo_fill(text, 1, TOKENS, zoo.stream));
    CHECK(zoo_fill(image, 4, TOKENS, zoo.stream));
    CHECK(zoo_fill(m.zeros, 0, TOKENS, zoo.stream));
    config.schedule = "8";
    config.max_tokens = TOKENS;
    BG(bg_runner_create(&runner, &config, forward, &m, zoo.stream));
    BG(bg_runner_add_input(runner, "text", BG_F32, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &m.text));
    if (zoo.correct)
        BG(bg_runner_add_input(runner, "image", BG_F32, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &m.image));
    BG(bg_runner_add_output(runner, "y", BG_F32, 1, (int64_t[]){0}, &m.y));
    BG(bg_runner_capture(runner));
    inputs[0] = floats(text, TOKENS);
    inputs[1] = floats(image, TOKENS);
    BG(bg_runner_run(runner, &batch, inputs, NULL, image));
    result = zoo_end(m.y.data, TOKENS, 5);
    bg_runner_destroy(runner);
    return result;
}
