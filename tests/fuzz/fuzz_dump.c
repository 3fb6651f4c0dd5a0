/* Dumps of op calls: the names of files follow the calls' and fields' names, their headers the tensors. The input's
 * first bytes are a dtype, a rank and how many tensors the last field has; then lines: the call, and its fields. Each
 * tensor has a file of its own in the directory, and a header that NumPy reads. */
#include "fuzz.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"
#include "debug/step/dump.h"
#include "debug/step/npy.h"

enum { FIELDS = 4, OUTS = 3, TENSORS = FIELDS - 1 + OUTS };

typedef struct dumped {
    bg_tensor tensors[TENSORS];
    bg_field fields[FIELDS];
    bg_op op;
    bg__call call;
    int count; /* of tensors */
} dumped;

/* Names that ops and fields can have: identifiers, and of calls also what is between them. */
static char *keep(char *line, const char *also)
{
    char *to = line;
    for (const char *c = line; *c != '\0'; c++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *c) != NULL ||
            strchr(also, *c) != NULL)
            *to++ = *c;
    *to = '\0';
    return line;
}

static bool is_new(const dumped *d, uint32_t fields, const char *name)
{
    for (uint32_t i = 0; i < fields; i++)
        if (strcmp(d->fields[i].name, name) == 0)
            return false;
    return name[0] != '\0';
}

/* Tensors without elements, which need no memory. */
static void make(dumped *d, const uint8_t head[3], char *lines)
{
    char *name = strsep(&lines, "\n"), *line;
    uint32_t fields = 0, outs = 1 + head[2] % OUTS;
    for (int i = 0; i < TENSORS; i++) {
        d->tensors[i] = (bg_tensor){.dtype = (bg_dtype)(head[0] % (BG_BOOL + 1)), .rank = 1 + head[1] % BG_MAX_RANK};
        for (int k = 1; k < d->tensors[i].rank; k++)
            d->tensors[i].dim[k] = head[0] + k;
    }
    while (fields < FIELDS && (line = strsep(&lines, "\n")) != NULL)
        if (is_new(d, fields, keep(line, ""))) {
            d->fields[fields] =
                (bg_field){line, BG_ROLE_IN, fields * (uint32_t)sizeof(bg_tensor), sizeof(bg_tensor), NULL};
            fields++;
        }
    if (fields > 0) {
        d->fields[fields - 1].role = BG_ROLE_OUTS;
        d->fields[fields - 1].size = outs * (uint32_t)sizeof(bg_tensor);
        d->count = (int)(fields - 1 + outs);
    }
    d->op = (bg_op){.struct_size = sizeof d->op, .name = "fuzzed", .fields = d->fields, .field_count = fields};
    d->call = (bg__call){.op = &d->op, .name = keep(name, "#/")};
}

/* What numpy.lib.format asks of a header of version 1.0, and the shape in it. */
static void expect_header(const bg_tensor *tensor)
{
    char header[BG__NPY_HEADER_BYTES + 1] = "", *at;
    size_t bytes = bg__npy_write_header(tensor, header);
    FUZZ_EXPECT(bytes % 64 == 0 && bytes <= BG__NPY_HEADER_BYTES && memcmp(header, "\x93NUMPY\1", 8) == 0);
    FUZZ_EXPECT((size_t)(unsigned char)header[8] + 256 * (size_t)(unsigned char)header[9] == bytes - 10);
    FUZZ_EXPECT(header[10] == '{' && header[bytes - 1] == '\n');
    at = strstr(header + 10, bg__npy_dtype(tensor->dtype));
    FUZZ_EXPECT(at != NULL && (at = strstr(at, "'shape': (")) != NULL);
    at += strlen("'shape': (");
    for (int i = 0; i < tensor->rank; i++) {
        FUZZ_EXPECT(strtoll(at, &at, 10) == tensor->dim[i]);
        at += strspn(at, ", ");
    }
    FUZZ_EXPECT(*at == ')');
}

static bool is_plain(const char *name)
{
    return strlen(name) < 256 && name[0] >= '0' && name[0] <= '9' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == strlen(name);
}

static int count_files(const char *directory)
{
    DIR *stream = opendir(directory);
    const struct dirent *entry;
    int count = 0;
    FUZZ_EXPECT(stream != NULL);
    while ((entry = readdir(stream)) != NULL)
        count += entry->d_name[0] != '.';
    (void)closedir(stream);
    return count;
}

/* The index has the calls' tensors, each with a file that no other has. */
static void expect_dump(const char *directory, int tensors)
{
    char *path = cli_join_path(directory, "index.json"), *text;
    size_t bytes = 0;
    cJSON *index;
    const cJSON *item;

    FUZZ_EXPECT(path != NULL && (text = cli_file_read(path, true, &bytes)) != NULL);
    index = cJSON_Parse(text);
    FUZZ_EXPECT(cJSON_GetArraySize(cJSON_GetObjectItem(index, "tensors")) == tensors);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(index, "tensors"))
    {
        FUZZ_EXPECT(is_plain(cli_json_text(item, "file")));
    }
    FUZZ_EXPECT(count_files(directory) == tensors + 1);
    cJSON_Delete(index);
    free(text);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *directory = cli_join_path(fuzz_directory(), "dump"), *text;
    dumped d = {0};
    bg__dump *dump = NULL;

    if (size < 3) {
        free(directory);
        return 0;
    }
    text = fuzz_text(data + 3, size - 3);
    make(&d, data, text);
    expect_header(&d.tensors[0]);
    cli_temporary_directory_remove(directory);
    FUZZ_EXPECT(bg__dump_create(&dump, directory, "fuzz", -1) == BG_OK);
    for (int i = 0; i < 2; i++)
        FUZZ_EXPECT(bg__dump_call(dump, &d.call, d.tensors, NULL) == BG_OK);
    FUZZ_EXPECT(bg__dump_finish(dump, true, 0) == BG_OK);
    bg__dump_free(dump);
    expect_dump(directory, 2 * d.count);
    FUZZ_EXPECT(bg__dump_check_directory(directory) == BG_ERROR_INVALID_ARGUMENT);
    free(directory);
    free(text);
    return 0;
}
