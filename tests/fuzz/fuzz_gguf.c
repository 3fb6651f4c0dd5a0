/* The reader of GGUF files: what opens lies within the file, and can be read. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "examples/llama/weights/dequantize.h"
#include "examples/llama/weights/gguf.h"

typedef struct bytes {
    const uint8_t *begin;
    size_t size;
} bytes;

static bool lies_in(const bytes *file, const void *at, uint64_t count)
{
    const uint8_t *begin = at;
    return begin >= file->begin && begin <= file->begin + file->size &&
           count <= (uint64_t)(file->begin + file->size - begin);
}

static void expect_tensor(const gguf *file, const bytes *all, size_t index)
{
    const gguf_tensor *t = gguf_tensor_at(file, index);
    const dequantize_type *type = dequantize_find(t->type);
    char error[GGUF_ERROR_SIZE] = "", *name = fuzz_text((const uint8_t *)t->name.text, t->name.length);
    float *values = type != NULL ? malloc(t->elements * sizeof *values) : NULL;
    uint64_t elements = 1;

    FUZZ_EXPECT(lies_in(all, t->name.text, t->name.length));
    FUZZ_EXPECT(t->rank >= 1 && t->rank <= GGUF_MAX_RANK);
    for (int i = 0; i < GGUF_MAX_RANK; i++)
        elements *= t->dim[i];
    FUZZ_EXPECT(elements == t->elements && elements > 0);
    FUZZ_EXPECT(type == NULL || t->bytes == elements / type->elements * type->bytes);
    FUZZ_EXPECT(lies_in(all, t->data, t->bytes));
    FUZZ_EXPECT(type == NULL || values != NULL);
    FUZZ_EXPECT(gguf_read_tensor(file, t, values, error) == (type != NULL ? 0 : -1));
    FUZZ_EXPECT(type != NULL || strlen(error) > 20);
    if (strlen(name) == t->name.length)
        FUZZ_EXPECT(gguf_find_tensor(file, name) == t);
    free(values);
    free(name);
}

static void expect_array(const gguf *file, const bytes *all, const char *key, gguf_type type)
{
    char error[GGUF_ERROR_SIZE] = "";
    gguf_array array;
    if (gguf_get_array(file, key, type, &array, error) != 0) {
        FUZZ_EXPECT(strstr(error, key) != NULL);
        return;
    }
    if (type == GGUF_I32) {
        FUZZ_EXPECT(array.count <= all->size / 4 && lies_in(all, array.next, 4 * array.count));
        for (uint64_t i = 0; i < array.count; i++)
            (void)gguf_array_i32(&array, i);
        return;
    }
    for (; array.count > 0; array.count--) {
        gguf_string string = gguf_next_string(&array);
        FUZZ_EXPECT(lies_in(all, string.text, string.length));
    }
}

static void expect_key(const gguf *file, const bytes *all, const char *key)
{
    char error[GGUF_ERROR_SIZE] = "";
    int64_t number;
    double ratio;
    bool flag;
    gguf_string string;

    if (gguf_get_int(file, key, -5, 1000, &number, error) == 0)
        FUZZ_EXPECT(number >= -5 && number <= 1000);
    if (gguf_get_float(file, key, &ratio, error) == 0)
        FUZZ_EXPECT(ratio - ratio == 0);
    if (gguf_get_string(file, key, &string, error) == 0)
        FUZZ_EXPECT(lies_in(all, string.text, string.length));
    if (gguf_get_bool(file, key, &flag, error) != 0)
        FUZZ_EXPECT(strstr(error, key) != NULL);
    expect_array(file, all, key, GGUF_I32);
    expect_array(file, all, key, GGUF_STRING);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"general.alignment", "general.name", "count", "ratio", "flag", "words",
                                       "numbers",           "absent"};
    bytes all = {data, size};
    char error[GGUF_ERROR_SIZE] = "";
    gguf *file = NULL;

    if (gguf_open_memory(&file, data, size, "fuzz.gguf", error) != 0) {
        FUZZ_EXPECT(file == NULL && strncmp(error, "fuzz.gguf: ", 11) == 0 && strlen(error) > 30);
        return 0;
    }
    for (size_t i = 0; i < gguf_tensor_count(file); i++)
        expect_tensor(file, &all, i);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        expect_key(file, &all, keys[i]);
    gguf_close(file);
    return 0;
}
