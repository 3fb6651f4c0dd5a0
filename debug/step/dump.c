#include "dump.h"

#include "dump_index.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/files/files.h"
#include "debug/files/json.h"
#include "debug/report/report.h"
#include "npy.h"
#include "debug/memory/tensors.h"

enum { FILE_BYTES = 256 };

struct bg__dump {
    char *directory;
    cJSON *index, *tensors;
    cJSON *ranges; /* of the last node */
    int calls;     /* dumped calls; each file's name begins with its call's number */
    bool given_up;
    bool continues_stopped; /* it continues a stopped dump */
    int64_t replay;         /* -1: not known */
    int total;              /* total: number of indices of the walk; hash: hash of its nodes */
    uint64_t hash;
};

static bg_status dump_out_of_memory(void)
{
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a dump");
}

/* ---- the directory ---- */

static char *join_path(const char *directory, const char *file)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, file) >= 0 ? path : NULL;
}

bg_status bg__dump_check_directory(const char *directory)
{
    cJSON *stopped;
    bg_status status = bg__dump_index_read(directory, &stopped);
    cJSON_Delete(stopped);
    return status;
}

static bool create_index(bg__dump *dump, const char *graph)
{
    dump->index = cJSON_CreateObject();
    if (dump->index == NULL || !cJSON_AddStringToObject(dump->index, "breakgraph", bg_version()) ||
        !cJSON_AddNumberToObject(dump->index, "dump_version", BG__DUMP_VERSION) ||
        !cJSON_AddStringToObject(dump->index, "graph", graph))
        return false;
    dump->tensors = cJSON_AddArrayToObject(dump->index, "tensors");
    return dump->tensors != NULL;
}

static bool is_other_replay(const bg__dump *dump, double *replay)
{
    *replay = bg__json_number(cJSON_GetObjectItemCaseSensitive(dump->index, "next"), "replay");
    return *replay != (double)dump->replay;
}

/* Continues the dump that was stopped. */
static bg_status adopt_stopped_index(bg__dump *dump, const char *graph)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(dump->index, "graph"));
    double replay;

    dump->continues_stopped = true;
    dump->tensors = cJSON_GetObjectItemCaseSensitive(dump->index, "tensors");
    if (strcmp(name, graph) != 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "%s holds the first part of a dump of %s, and this is %s; name another directory",
                        dump->directory, name, graph);
    if (is_other_replay(dump, &replay))
        return bg__fail(
            BG_ERROR_INVALID_ARGUMENT,
            "%s holds the first part of a dump of replay %.0f of %s, and this is %lld; name another directory",
            dump->directory, replay, name, (long long)dump->replay);
    return bg__dump_index_verify(dump->directory, dump->index);
}

bg_status bg__dump_create(bg__dump **result, const char *directory, const char *graph, int64_t replay)
{
    bg__dump *dump = NULL;
    cJSON *stopped = NULL;
    bg_status status;

    BG__TRY(bg__dump_index_read(directory, &stopped));
    BG__TRY(bg__directory_make(directory));
    dump = calloc(1, sizeof *dump);
    if (dump != NULL)
        dump->directory = strdup(directory);
    if (dump == NULL || dump->directory == NULL || (stopped == NULL && !create_index(dump, graph))) {
        status = dump_out_of_memory();
        goto done;
    }
    dump->replay = replay;
    if (stopped != NULL) {
        dump->index = stopped;
        stopped = NULL;
        BG__TRY(adopt_stopped_index(dump, graph));
    }
    *result = dump;
    dump = NULL;
done:
    cJSON_Delete(stopped);
    bg__dump_free(dump);
    return status;
}

static void format_hash(const bg__dump *dump, char text[17])
{
    snprintf(text, 17, "%016llx", (unsigned long long)dump->hash);
}

/* Returns a number of "next"; -1: it has none. */
static int read_next_number(const cJSON *next, const char *name)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(next, name);
    return cJSON_IsNumber(number) && number->valueint >= 0 ? number->valueint : -1;
}

bg_status bg__dump_begin(bg__dump *dump, int total, uint64_t hash, bool given, int *from)
{
    const cJSON *next = cJSON_GetObjectItemCaseSensitive(dump->index, "next");
    const char *other = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(next, "nodes"));
    int index = read_next_number(next, "index"), calls = read_next_number(next, "file");
    char text[17];

    dump->total = total;
    dump->hash = hash;
    format_hash(dump, text);
    if (!dump->continues_stopped && *from > 0 && cJSON_AddNumberToObject(dump->index, "from", *from) == NULL)
        return dump_out_of_memory();
    if (!dump->continues_stopped)
        return BG_OK;
    if (read_next_number(next, "of") != total || other == NULL || strcmp(other, text) != 0 || index < 0 ||
        index >= total || calls < 0)
        return bg__fail(
            BG_ERROR_INVALID_ARGUMENT,
            "%s holds the first part of a dump of a graph with other nodes, calls or shapes; name another directory",
            dump->directory);
    if (given && *from != index)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "%s holds the first part of a dump, which goes on with index %d, not with index %d",
                        dump->directory, index, *from);
    *from = index;
    dump->calls = calls;
    cJSON_DeleteItemFromObjectCaseSensitive(dump->index, "next");
    cJSON_DeleteItemFromObjectCaseSensitive(dump->index, "complete");
    return BG_OK;
}

void bg__dump_free(bg__dump *dump)
{
    if (dump == NULL)
        return;
    cJSON_Delete(dump->index);
    free(dump->directory);
    free(dump);
}

/* ---- tensors ---- */

/* Whether one of the last `so_far` tensors in the list, which are those of this call, has a file of that name. */
static bool is_file_name_used(const bg__dump *dump, int so_far, const char *name)
{
    const cJSON *tensor = dump->tensors->child;
    for (; so_far > 0; so_far--) {
        const char *file;
        tensor = tensor->prev; /* prev of the first item is the last one */
        file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tensor, "file"));
        if (file != NULL && strcmp(file, name) == 0)
            return true;
    }
    return false;
}

/* Writes "0007_attention_0.rope_1.x.npy" for "attention#0/rope#1". Names have only characters that every file system
 * allows, and at most 255 bytes, including the suffix of an unfinished file. If two names become equal, they get "_2",
 * "_3" and so on. */
static void make_file_name(const bg__dump *dump, int so_far, const bg__call *call, const char *field,
                           char name[FILE_BYTES])
{
    size_t stem;
    snprintf(name, FILE_BYTES, "%04d_%.150s.%.70s", dump->calls, call->name, field);
    for (char *c = name; *c != '\0'; c++) {
        if (*c == '/')
            *c = '.';
        else if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-')
            *c = '_';
    }
    stem = strlen(name);
    snprintf(name + stem, FILE_BYTES - stem, ".npy");
    for (int other = 2; is_file_name_used(dump, so_far, name); other++)
        snprintf(name + stem, FILE_BYTES - stem, "_%d.npy", other);
}

static bg_status write_tensor(const bg__dump *dump, const bg_tensor *tensor, const char *name, cudaStream_t stream)
{
    size_t bytes = bg_tensor_bytes(tensor), header_bytes;
    char header[BG__NPY_HEADER_BYTES];
    void *host = malloc(bytes + 1);
    char *path = join_path(dump->directory, name);
    bg_status status = BG_OK;

    if (host == NULL || path == NULL) {
        status = dump_out_of_memory();
        goto done;
    }
    if (bytes > 0)
        BG__TRY_CUDA(cudaMemcpyAsync(host, tensor->data, bytes, cudaMemcpyDefault, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
    header_bytes = bg__npy_write_header(tensor, header);
    BG__TRY(bg__file_write_bytes(path, BG__FILE_GENERATED, header, header_bytes, host, bytes));
done:
    free(path);
    free(host);
    return status;
}

static const char *role_name(bg_role role)
{
    static const char *const names[] = {"in", "out", "inout", "outs", "value"};
    return names[role];
}

static bool add_tensor_row(const bg__dump *dump, const bg__call *call, const bg__field_tensor *t, const char *file,
                           const char *note)
{
    cJSON *item = bg__json_add_object(dump->tensors), *shape;

    if (item == NULL || !cJSON_AddStringToObject(item, "call", call->name) ||
        !cJSON_AddStringToObject(item, "field", t->name) ||
        !cJSON_AddStringToObject(item, "role", role_name(t->field->role)) ||
        !cJSON_AddStringToObject(item, "dtype", bg_dtype_name(t->tensor->dtype)))
        return false;
    shape = cJSON_AddArrayToObject(item, "shape");
    for (int i = 0; shape != NULL && i < t->tensor->rank; i++)
        if (!cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)t->tensor->dim[i])))
            return false;
    if (shape == NULL || (note != NULL && !cJSON_AddStringToObject(item, "note", note)))
        return false;
    return file != NULL ? cJSON_AddStringToObject(item, "file", file) != NULL
                        : cJSON_AddNullToObject(item, "file") != NULL;
}

static bg_status dump_tensor(const bg__dump *dump, int so_far, const bg__call *call, const bg__field_tensor *t,
                             cudaStream_t stream)
{
    const char *note = t->tensor->dtype == BG_BF16 ? "bf16, as unsigned integers of the same bits" : NULL;
    bool empty = bg__tensor_is_valid(t->tensor) && bg_tensor_bytes(t->tensor) == 0, reached;
    char name[FILE_BYTES];
    bg_status status;

    BG__TRY(bg__tensor_is_accessible(t->tensor, &reached));
    if (reached || empty) {
        make_file_name(dump, so_far, call, t->name, name);
        BG__TRY(write_tensor(dump, t->tensor, name, stream));
    } else {
        note = t->tensor->data == NULL ? "no memory" : "not in memory that the device can access";
    }
    if (!add_tensor_row(dump, call, t, reached || empty ? name : NULL, note))
        status = dump_out_of_memory();
done:
    return status;
}

bg_status bg__dump_call(bg__dump *dump, const bg__call *call, const void *args, cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg__field_tensor t = {0};
    bg_status status;
    int so_far = 0;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    while (bg__field_tensor_next(call->op, args, &t))
        BG__TRY(dump_tensor(dump, so_far++, call, &t, stream));
    dump->calls++;
done:
    bg__relaxed_mode_end(relaxed);
    if (status != BG_OK)
        bg__error_add_location("dump of call %s", call->name);
    return status;
}

/* ---- nodes without tensors ---- */

static cJSON *add_node_row(cJSON *nodes, const bg__call *call, const char *kernel, const char *place, const char *note)
{
    cJSON *item = nodes != NULL ? bg__json_add_object(nodes) : NULL;

    if (item == NULL || !cJSON_AddStringToObject(item, "node", call != NULL ? call->name : "") ||
        !cJSON_AddStringToObject(item, "kernel", kernel) || !cJSON_AddStringToObject(item, "place", place) ||
        (note != NULL && !cJSON_AddStringToObject(item, "note", note)))
        return NULL;
    if (call != NULL && call->site.file != NULL &&
        (!cJSON_AddStringToObject(item, "file", call->site.file) ||
         !cJSON_AddNumberToObject(item, "line", call->site.line)))
        return NULL;
    return cJSON_AddArrayToObject(item, "ranges");
}

bg_status bg__dump_begin_node(bg__dump *dump, const bg__call *call, const char *kernel, const char *place,
                              const char *note)
{
    cJSON *nodes = cJSON_GetObjectItemCaseSensitive(dump->index, "nodes");
    if (nodes == NULL)
        nodes = cJSON_AddArrayToObject(dump->index, "nodes");
    dump->calls += dump->ranges != NULL;
    dump->ranges = add_node_row(nodes, call, kernel, place, note);
    return dump->ranges != NULL ? BG_OK : dump_out_of_memory();
}

static bool add_range_row(cJSON *ranges, const bg__dump_range *range, const char *file)
{
    char address[32], block[32];
    cJSON *item = bg__json_add_object(ranges);

    snprintf(address, sizeof address, "%p", (const void *)range->address);
    snprintf(block, sizeof block, "%p", (const void *)range->block);
    return item != NULL && cJSON_AddStringToObject(item, "address", address) != NULL &&
           cJSON_AddNumberToObject(item, "bytes", (double)range->bytes) != NULL &&
           cJSON_AddStringToObject(item, "dtype", bg_dtype_name(range->dtype)) != NULL &&
           cJSON_AddStringToObject(item, "held_by", range->held) != NULL &&
           cJSON_AddStringToObject(item, "block", block) != NULL &&
           cJSON_AddNumberToObject(item, "block_bytes", (double)range->block_bytes) != NULL &&
           cJSON_AddNumberToObject(item, "offset", (double)(range->address - range->block)) != NULL &&
           cJSON_AddStringToObject(item, "file", file) != NULL;
}

bg_status bg__dump_write_range(bg__dump *dump, const bg__call *call, const bg__dump_range *range)
{
    const bg__call nameless = {.name = (char[]){"node"}};
    bg_tensor tensor =
        bg_tensor_1d((void *)range->address, range->dtype, (int64_t)(range->bytes / bg_dtype_bytes(range->dtype)));
    char name[FILE_BYTES], field[32], header[BG__NPY_HEADER_BYTES], *path;
    bg_status status;

    snprintf(field, sizeof field, "%zx", (size_t)range->address);
    make_file_name(dump, 0, call != NULL ? call : &nameless, field, name);
    path = join_path(dump->directory, name);
    if (path == NULL)
        return dump_out_of_memory();
    status = bg__file_write_bytes(path, BG__FILE_GENERATED, header, bg__npy_write_header(&tensor, header), range->data,
                                  range->bytes);
    free(path);
    if (status == BG_OK && !add_range_row(dump->ranges, range, name))
        status = dump_out_of_memory();
    return status;
}

void bg__dump_give_up(bg__dump *dump)
{
    dump->given_up = true;
}

bool bg__dump_is_given_up(const bg__dump *dump)
{
    return dump->given_up;
}

void bg__dump_report_missing(bg_report *report, const bg__call *call, const char *why)
{
    bg__report_add(report, "not-dumped", BG_NOTE, call, NULL, "dump into another directory (--dump=DIR)", "%s: %s",
                   call != NULL ? "the dump ends at this node" : "this launch is not dumped completely", why);
}

static bool add_next_position(const bg__dump *dump, int next)
{
    cJSON *item = cJSON_AddObjectToObject(dump->index, "next");
    char text[17];

    format_hash(dump, text);
    return item != NULL && cJSON_AddNumberToObject(item, "index", next) != NULL &&
           cJSON_AddNumberToObject(item, "of", dump->total) != NULL &&
           cJSON_AddNumberToObject(item, "replay", (double)dump->replay) != NULL &&
           cJSON_AddNumberToObject(item, "file", dump->calls + (dump->ranges != NULL)) != NULL &&
           cJSON_AddStringToObject(item, "nodes", text) != NULL;
}

bg_status bg__dump_finish(bg__dump *dump, bool complete, int next)
{
    char *text = NULL, *path = join_path(dump->directory, "index.json");
    bool all = complete && !dump->given_up && !cJSON_HasObjectItem(dump->index, "from");
    bool stopped = next > 0 && !dump->given_up;
    bg_status status = BG_OK;

    if (path == NULL || cJSON_AddBoolToObject(dump->index, "complete", all) == NULL ||
        (stopped && !add_next_position(dump, next)))
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a dump");
    if (stopped)
        BG__TRY(bg__dump_index_seal(dump->index));
    text = bg__json_text(dump->index, true);
    if (text == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a dump");
    status = bg__file_write_bytes(path, dump->continues_stopped ? BG__FILE_GENERATED : BG__FILE_EXCLUSIVE, text,
                                  strlen(text), "\n", 1);
done:
    cJSON_free(text);
    free(path);
    return status;
}
