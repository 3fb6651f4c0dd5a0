#include "gguf_file.h"
#include "dequantize.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 24,
    MAX_KEY_BYTES = 65535,        /* the format's own limit */
    MAX_TENSOR_NAME_BYTES = 64,   /* likewise */
    MAX_ARRAY_DEPTH = 8,          /* our limit: bounds the recursion */
    MIN_KEY_BYTES = 8 + 4 + 1,    /* length, type, smallest value */
    MIN_TENSOR_BYTES = 8 + 4 + 12 /* length, rank, type and offset */
};
#define FILE_IS_CORRUPT "the file is truncated or corrupt; fetch it again"

/* A position in the file while its header is read. */
typedef struct cursor {
    const gguf *file;
    size_t at;
    char *error;
} cursor;

static size_t bytes_left(const cursor *c)
{
    return c->file->size - c->at;
}

static int need_bytes(const cursor *c, uint64_t bytes, const char *what)
{
    if (bytes <= bytes_left(c))
        return 0;
    return gguf_fail(c->error, "%s: byte %zu: %s needs %llu bytes, but only %zu are left: " FILE_IS_CORRUPT,
                     c->file->name, c->at, what, (unsigned long long)bytes, bytes_left(c));
}

static int read_uint(cursor *c, size_t bytes, const char *what, uint64_t *value)
{
    if (need_bytes(c, bytes, what))
        return -1;
    *value = gguf_load_uint(c->file->bytes + c->at, bytes);
    c->at += bytes;
    return 0;
}

static int read_string(cursor *c, uint64_t limit, const char *what, gguf_string *string)
{
    size_t start = c->at;
    uint64_t length;
    if (read_uint(c, 8, what, &length))
        return -1;
    if (length > limit)
        return gguf_fail(c->error, "%s: byte %zu: %s is %llu bytes long, more than the allowed %llu: " FILE_IS_CORRUPT,
                         c->file->name, start, what, (unsigned long long)length, (unsigned long long)limit);
    if (need_bytes(c, length, what))
        return -1;
    *string = (gguf_string){(const char *)c->file->bytes + c->at, (size_t)length};
    c->at += (size_t)length;
    return 0;
}

static int read_type(cursor *c, const char *what, gguf_type *type)
{
    size_t start = c->at;
    uint64_t number;
    if (read_uint(c, 4, what, &number))
        return -1;
    if (number >= GGUF_TYPE_COUNT)
        return gguf_fail(c->error, "%s: byte %zu: %s is %llu, and GGUF has the types 0 to %d: " FILE_IS_CORRUPT,
                         c->file->name, start, what, (unsigned long long)number, GGUF_TYPE_COUNT - 1);
    *type = (gguf_type)number;
    return 0;
}

/* ---- keys --------------------------------------------------------------------------------------- */

/* Skips a value and checks all of it, so that later readers can trust it. */
static int skip_value(cursor *c, gguf_type type, int depth)
{
    gguf_string string;
    gguf_type element;
    uint64_t count;
    size_t bytes = gguf_scalar_bytes(type);
    if (bytes) {
        if (need_bytes(c, bytes, "a value"))
            return -1;
        c->at += bytes;
        return 0;
    }
    if (type == GGUF_STRING)
        return read_string(c, UINT64_MAX, "a string value", &string);
    if (depth == MAX_ARRAY_DEPTH)
        return gguf_fail(c->error, "%s: byte %zu: arrays are nested more than %d deep: " FILE_IS_CORRUPT, c->file->name,
                         c->at, MAX_ARRAY_DEPTH);
    if (read_type(c, "an array's element type", &element) || read_uint(c, 8, "an array's length", &count))
        return -1;
    bytes = gguf_scalar_bytes(element);
    if (count > bytes_left(c) / (bytes ? bytes : 8)) /* a string takes at least 8 bytes, an array 12 */
        return gguf_fail(
            c->error,
            "%s: byte %zu: an array of %llu %s does not fit into the %zu bytes that are left: " FILE_IS_CORRUPT,
            c->file->name, c->at, (unsigned long long)count, gguf_type_name(element), bytes_left(c));
    if (bytes) {
        c->at += (size_t)count * bytes;
        return 0;
    }
    for (uint64_t i = 0; i < count; i++)
        if (skip_value(c, element, depth + 1))
            return -1;
    return 0;
}

static int compare_strings(gguf_string a, gguf_string b)
{
    int order = memcmp(a.text, b.text, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

int gguf_compare_keys(const void *a, const void *b)
{
    return compare_strings(((const gguf_key *)a)->name, ((const gguf_key *)b)->name);
}

static int read_key(cursor *c, gguf_key *k)
{
    if (read_string(c, MAX_KEY_BYTES, "a key's name", &k->name) || read_type(c, "a key's type", &k->type))
        return -1;
    k->value = c->file->bytes + c->at;
    return skip_value(c, k->type, 0);
}

static int read_keys(cursor *c, gguf *file)
{
    for (size_t i = 0; i < file->key_count; i++)
        if (read_key(c, &file->keys[i]))
            return -1;
    qsort(file->keys, file->key_count, sizeof *file->keys, gguf_compare_keys);
    for (size_t i = 1; i < file->key_count; i++)
        if (gguf_compare_keys(&file->keys[i - 1], &file->keys[i]) == 0)
            return gguf_fail(c->error, "%s: the key %.*s occurs twice: " FILE_IS_CORRUPT, file->name,
                             (int)file->keys[i].name.length, file->keys[i].name.text);
    return 0;
}

/* ---- tensors ------------------------------------------------------------------------------------ */

static int fail_tensor(const cursor *c, const gguf_tensor *t, const char *what)
{
    return gguf_fail(c->error, "%s: byte %zu: tensor %.*s: %s: " FILE_IS_CORRUPT, c->file->name, c->at,
                     (int)t->name.length, t->name.text, what);
}

static int read_shape(cursor *c, gguf_tensor *t)
{
    uint64_t rank;
    if (read_uint(c, 4, "a tensor's rank", &rank))
        return -1;
    if (rank < 1 || rank > GGUF_MAX_RANK)
        return fail_tensor(c, t, "its rank is not 1 to 4");
    t->rank = (int)rank;
    t->elements = 1;
    for (int i = 0; i < GGUF_MAX_RANK; i++) {
        t->dim[i] = 1;
        if (i < t->rank && read_uint(c, 8, "a tensor's dimension", &t->dim[i]))
            return -1;
        if (t->dim[i] == 0)
            return fail_tensor(c, t, "a dimension is 0");
        if (t->elements > INT64_MAX / t->dim[i])
            return fail_tensor(c, t, "the product of its dimensions overflows");
        t->elements *= t->dim[i];
    }
    return 0;
}

/* Reads one directory entry; `offset` counts from the start of the data, which is not known yet. */
static int read_tensor_entry(cursor *c, gguf_tensor *t, uint64_t *offset)
{
    uint64_t type;
    const dequantize_type *known;
    if (read_string(c, MAX_TENSOR_NAME_BYTES, "a tensor's name", &t->name) || read_shape(c, t) ||
        read_uint(c, 4, "a tensor's type", &type) || read_uint(c, 8, "a tensor's offset", offset))
        return -1;
    t->type = (uint32_t)type;
    known = dequantize_find(t->type);
    if (!known)
        return 0; /* an error only if the program reads it */
    if (t->dim[0] % known->elements)
        return fail_tensor(c, t, "its row is not a whole number of blocks");
    if (t->elements / known->elements > INT64_MAX / known->bytes)
        return fail_tensor(c, t, "its size overflows");
    t->bytes = t->elements / known->elements * known->bytes;
    return 0;
}

static int read_alignment(const gguf *file, size_t *alignment, char *error)
{
    int64_t value = 32;
    if (gguf_has_key(file, "general.alignment") && gguf_get_int(file, "general.alignment", 8, 1 << 30, &value, error))
        return -1;
    if (value & (value - 1))
        return gguf_fail(error, "%s: the key general.alignment is %lld, not a power of two: " FILE_IS_CORRUPT,
                         file->name, (long long)value);
    *alignment = (size_t)value;
    return 0;
}

static int locate_tensor(const cursor *c, gguf_tensor *t, uint64_t offset, size_t start, size_t alignment)
{
    size_t space = c->file->size - start;
    if (offset % alignment)
        return fail_tensor(c, t, "its offset is not a multiple of general.alignment");
    if (offset > space || t->bytes > space - offset)
        return fail_tensor(c, t, "its data runs past the end of the file");
    t->data = c->file->bytes + start + offset;
    return 0;
}

static int compare_tensors(const void *a, const void *b)
{
    return compare_strings(((const gguf_tensor *)a)->name, ((const gguf_tensor *)b)->name);
}

static int read_tensors(cursor *c, gguf *file)
{
    uint64_t *offsets = calloc(file->tensor_count ? file->tensor_count : 1, sizeof *offsets);
    size_t alignment = 32, start;
    int result = -1;
    if (!offsets) {
        gguf_set_error(c->error, "%s: out of host memory for %zu tensors; free some memory", file->name,
                       file->tensor_count);
        goto done;
    }
    for (size_t i = 0; i < file->tensor_count; i++)
        if (read_tensor_entry(c, &file->tensors[i], &offsets[i]))
            goto done;
    if (read_alignment(file, &alignment, c->error))
        goto done;
    start = c->at + (alignment - c->at % alignment) % alignment;
    if (start > file->size) {
        if (file->tensor_count) {
            need_bytes(c, start - c->at + 1, "the tensor data");
            goto done;
        }
        start = file->size;
    }
    for (size_t i = 0; i < file->tensor_count; i++)
        if (locate_tensor(c, &file->tensors[i], offsets[i], start, alignment))
            goto done;
    qsort(file->tensors, file->tensor_count, sizeof *file->tensors, compare_tensors);
    for (size_t i = 1; i < file->tensor_count; i++)
        if (compare_tensors(&file->tensors[i - 1], &file->tensors[i]) == 0) {
            fail_tensor(c, &file->tensors[i], "another tensor has the same name");
            goto done;
        }
    result = 0;
done:
    free(offsets);
    return result;
}

size_t gguf_tensor_count(const gguf *file)
{
    return file->tensor_count;
}

const gguf_tensor *gguf_tensor_at(const gguf *file, size_t index)
{
    return &file->tensors[index];
}

const gguf_tensor *gguf_find_tensor(const gguf *file, const char *name)
{
    gguf_tensor wanted = {.name = {name, strlen(name)}};
    return file->tensor_count ? bsearch(&wanted, file->tensors, file->tensor_count, sizeof wanted, compare_tensors)
                              : NULL;
}

int gguf_read_tensor(const gguf *file, const gguf_tensor *t, float *out, char *error)
{
    const dequantize_type *type = dequantize_find(t->type);
    if (!type)
        return gguf_fail(error, "%s: tensor %.*s has the type number %u, which is not supported; supported are %s",
                         file->name, (int)t->name.length, t->name.text, t->type, dequantize_names());
    for (uint64_t i = 0, blocks = t->elements / type->elements; i < blocks; i++)
        type->block(t->data + i * type->bytes, out + i * type->elements);
    return 0;
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int check_version(cursor *c)
{
    uint64_t version;
    if (memcmp(c->file->bytes, "GGUF", 4) != 0)
        return gguf_fail(c->error, "%s: byte 0: this is not a GGUF file, which starts with the letters GGUF",
                         c->file->name);
    c->at = 4;
    if (read_uint(c, 4, "the version", &version))
        return -1;
    if (version == 0x02000000 || version == 0x03000000)
        return gguf_fail(c->error, "%s: byte 4: the file is big-endian; convert it to little-endian", c->file->name);
    if (version != 2 && version != 3)
        return gguf_fail(c->error, "%s: byte 4: GGUF version %llu is not supported; supported are 2 and 3",
                         c->file->name, (unsigned long long)version);
    return 0;
}

static int read_count(cursor *c, size_t smallest, const char *what, size_t *count)
{
    size_t start = c->at;
    uint64_t value;
    if (read_uint(c, 8, what, &value))
        return -1;
    if (value > bytes_left(c) / smallest)
        return gguf_fail(c->error, "%s: byte %zu: %s is %llu, more than a file of %zu bytes can hold: " FILE_IS_CORRUPT,
                         c->file->name, start, what, (unsigned long long)value, c->file->size);
    *count = (size_t)value;
    return 0;
}

static int read_file(gguf *file, char *error)
{
    cursor c = {file, 0, error};
    if (need_bytes(&c, HEADER_BYTES, "the header") || check_version(&c))
        return -1;
    if (read_count(&c, MIN_TENSOR_BYTES, "the number of tensors", &file->tensor_count) ||
        read_count(&c, MIN_KEY_BYTES, "the number of keys", &file->key_count))
        return -1;
    file->keys = calloc(file->key_count ? file->key_count : 1, sizeof *file->keys);
    file->tensors = calloc(file->tensor_count ? file->tensor_count : 1, sizeof *file->tensors);
    if (!file->keys || !file->tensors)
        return gguf_fail(error, "%s: out of host memory for %zu keys and %zu tensors; free some memory", file->name,
                         file->key_count, file->tensor_count);
    return read_keys(&c, file) || read_tensors(&c, file) ? -1 : 0;
}

static gguf *new_file(const char *name, char *error)
{
    gguf *file = calloc(1, sizeof *file);
    if (file && (file->name = strdup(name)))
        return file;
    free(file);
    gguf_set_error(error, "%s: no memory to open it", name);
    return NULL;
}

int gguf_open_memory(gguf **file, const void *bytes, size_t size, const char *name, char *error)
{
    gguf *opened = new_file(name, error);
    *file = NULL;
    if (!opened)
        return -1;
    opened->bytes = bytes;
    opened->size = size;
    if (read_file(opened, error)) {
        gguf_close(opened);
        return -1;
    }
    *file = opened;
    return 0;
}

static int map_file(gguf *file, int descriptor, char *error)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return gguf_fail(error, "%s: cannot read its size: %s", file->name, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return gguf_fail(error, "%s: this is not a regular file", file->name);
    if (status.st_size < HEADER_BYTES)
        return gguf_fail(error, "%s: the file has %lld bytes, less than a GGUF header of %d bytes: " FILE_IS_CORRUPT,
                         file->name, (long long)status.st_size, HEADER_BYTES);
    file->size = (size_t)status.st_size;
    file->mapping = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (file->mapping == MAP_FAILED) {
        file->mapping = NULL;
        return gguf_fail(error, "%s: cannot map %zu bytes: %s", file->name, file->size, strerror(errno));
    }
    file->bytes = file->mapping;
    return 0;
}

int gguf_open(gguf **file, const char *path, char *error)
{
    int descriptor = -1, result = -1;
    gguf *opened = new_file(path, error);
    *file = NULL;
    if (!opened)
        goto done;
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        gguf_set_error(error, "%s: cannot open it: %s", path, strerror(errno));
        goto done;
    }
    if (map_file(opened, descriptor, error) || read_file(opened, error))
        goto done;
    *file = opened;
    opened = NULL;
    result = 0;
done:
    if (descriptor >= 0)
        close(descriptor);
    gguf_close(opened);
    return result;
}

void gguf_close(gguf *file)
{
    if (!file)
        return;
    if (file->mapping)
        munmap(file->mapping, file->size);
    free(file->keys);
    free(file->tensors);
    free(file->name);
    free(file);
}

const char *gguf_name(const gguf *file)
{
    return file->name;
}
