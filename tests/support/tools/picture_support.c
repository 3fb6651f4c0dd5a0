#include "picture_support.h"
#include "tests/support/ops.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char picture_path[96];
void *picture_elsewhere;
int picture_fails;

static char directory[64];
static cudaEvent_t external;
static cudaGraph_t child;
static float *temporary;

/* ---- ops ---- */

BG_EAGER_OP(move, BG_IN(x), BG_OUT(y))
{
    if (picture_fails > 0 && --picture_fails == 0)
        return BG_ERROR_OP;
    if (picture_elsewhere != NULL)
        args->y.data = picture_elsewhere;
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

BG_OP(outer, BG_IN(x), BG_OUT(y))
{
    BG_CALL(scale, stream, .x = args->x, .y = args->y, .factor = 3);
    return BG_CALL(scale, stream, .x = args->y, .y = args->y, .factor = 0.5f);
}

static void do_nothing(void *user)
{
    (void)user;
}

BG_OP(mixed, BG_IN(x), BG_OUT(y))
{
    float *y = args->y.data;
    bg_status status = from_cuda(cudaMemsetAsync(y, 0x3f, N / 2 * sizeof *y, stream));
    if (status == BG_OK)
        status =
            from_cuda(cudaMemcpyAsync(y + N / 2, args->x.data, N / 2 * sizeof *y, cudaMemcpyDeviceToDevice, stream));
    if (status == BG_OK)
        status = from_cuda(cudaLaunchHostFunc(stream, do_nothing, NULL));
    return status == BG_OK ? from_cuda(cudaEventRecordWithFlags(external, stream, cudaEventRecordExternal)) : status;
}

BG_OP(nested, BG_INOUT(y))
{
    enum cudaStreamCaptureStatus capturing;
    const cudaGraphNode_t *before;
    cudaGraphNode_t node;
    cudaGraph_t graph;
    size_t count;
    bg_status status = from_cuda(cudaStreamGetCaptureInfo(stream, &capturing, NULL, &graph, &before, NULL, &count));
    (void)args;
    if (status == BG_OK)
        status = from_cuda(cudaGraphAddChildGraphNode(&node, graph, before, count, child));
    if (status == BG_OK)
        status =
            from_cuda(cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, cudaStreamSetCaptureDependencies));
    return status;
}

BG_OP(allocate, BG_IN(x))
{
    bg_status status = from_cuda(cudaMallocAsync((void **)&temporary, N * sizeof(float), stream));
    return status != BG_OK ? status : from_cuda(bgk_scale(temporary, args->x.data, 3, N, stream));
}

BG_OP(use, BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, temporary, 2, N, stream));
}

BG_OP(release)
{
    (void)args;
    return from_cuda(cudaFreeAsync(temporary, stream));
}

/* ---- passes ---- */

bg_status broken_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
    BG_CALL(move, stream, .x = f->y, .y = f->z);
    BG_CALL(outer, stream, .x = f->z, .y = f->y);
    bg_break(stream);
    return BG_CALL(plus, stream, .x = f->x, .y = f->y, .z = f->z);
}

bg_status ending_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
    return BG_CALL(move, stream, .x = f->y, .y = f->z);
}

static void fork_and_join(fixture *f, cudaStream_t stream)
{
    bg_stream_wait_stream(f->other, stream);
    BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 2);
    BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 3);
    BG_CALL(scale, f->other, .x = f->y, .y = f->y, .factor = 4);
    bg_stream_wait_stream(stream, f->other);
    BG_CALL(plus, stream, .x = f->y, .y = f->z, .z = f->z);
}

bg_status forked_pass(void *user, cudaStream_t stream)
{
    fork_and_join(user, stream);
    fork_and_join(user, stream);
    return BG_OK;
}

bg_status mixed_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(mixed, stream, .x = f->x, .y = f->y);
    return BG_CALL(nested, stream, .y = f->y);
}

bg_status memory_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(allocate, stream, .x = f->x);
    bg_break(stream);
    BG_CALL(use, stream, .y = f->y);
    bg_break(stream);
    return BG_CALL(release, stream);
}

bg_graph *capture_picture(fixture *f, bg_forward pass)
{
    bg_graph *graph = NULL;
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, NULL));
    return graph;
}

/* ---- setup and files ---- */

static void make_child(const fixture *f)
{
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(bgk_scale(f->y.data, f->y.data, 3, N, f->stream));
    EXPECT_CUDA(bgk_scale(f->y.data, f->y.data, 0.5f, N, f->stream));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &child));
}

int pictures_setup(void **state)
{
    int result = fixture_setup(state);
    if (result != 0)
        return result;
    picture_elsewhere = NULL;
    picture_fails = 0;
    EXPECT_CUDA(cudaEventCreateWithFlags(&external, cudaEventDisableTiming));
    make_child(*state);
    snprintf(directory, sizeof directory, "/tmp/breakgraph-picture.XXXXXX");
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(picture_path, sizeof picture_path, "%s/picture", directory);
    return 0;
}

int pictures_teardown(void **state)
{
    (void)remove(picture_path);
    EXPECT_CUDA(cudaGraphDestroy(child));
    EXPECT_CUDA(cudaEventDestroy(external));
    return rmdir(directory) != 0 || fixture_teardown(state) != 0;
}

char *read_picture(void)
{
    size_t bytes = 1 << 20, used;
    FILE *file = fopen(picture_path, "rb");
    char *text = calloc(1, bytes);
    assert_non_null(file);
    assert_non_null(text);
    used = fread(text, 1, bytes - 1, file);
    assert_true(used > 0 && used < bytes - 1);
    assert_int_equal(fclose(file), 0);
    return text;
}

int count_pictures(void)
{
    const struct dirent *entry;
    DIR *files = opendir(directory);
    int count = 0;
    assert_non_null(files);
    while ((entry = readdir(files)) != NULL)
        count += entry->d_name[0] != '.';
    assert_int_equal(closedir(files), 0);
    return count;
}

/* ---- JSON ---- */

bool has_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name) != NULL;
}

const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
    if (found == NULL)
        fail_msg("there is no \"%s\"", name);
    return found;
}

const char *string_of(const cJSON *object, const char *name)
{
    const char *value = cJSON_GetStringValue(member(object, name));
    if (value == NULL)
        fail_msg("\"%s\" is no string", name);
    return value;
}

double number_of(const cJSON *object, const char *name)
{
    const cJSON *value = member(object, name);
    if (!cJSON_IsNumber(value))
        fail_msg("\"%s\" is no number", name);
    return value->valuedouble;
}

int size_of(const cJSON *object, const char *list)
{
    const cJSON *found = member(object, list);
    if (!cJSON_IsArray(found))
        fail_msg("\"%s\" is no list", list);
    return cJSON_GetArraySize(found);
}

const cJSON *element(const cJSON *object, const char *list, int index)
{
    if (index >= size_of(object, list))
        fail_msg("\"%s\" has no element %d", list, index);
    return cJSON_GetArrayItem(member(object, list), index);
}
