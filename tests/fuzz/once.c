/* Runs a fuzzer without libFuzzer: on each file of its corpus, and on damaged copies of them that a seed decides. */
#include "fuzz.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { DAMAGED = 200, LARGEST = 1 << 16, EDITS = 6 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> 33;
}

static size_t read_whole(const char *path, uint8_t *data)
{
    FILE *file = fopen(path, "rb");
    size_t size;
    FUZZ_EXPECT(file != NULL);
    size = fread(data, 1, LARGEST, file);
    FUZZ_EXPECT(ferror(file) == 0 && size < LARGEST);
    (void)fclose(file);
    return size;
}

static size_t edit(uint8_t *data, size_t size, uint64_t *state)
{
    size_t at = size > 0 ? next_random(state) % size : 0, count = 1 + next_random(state) % 8;
    if (size == 0)
        return 0;
    count = count < size - at ? count : size - at;
    switch (next_random(state) % 5) {
    case 0: data[at] = (uint8_t)next_random(state); return size;
    case 1: data[at] ^= (uint8_t)(1U << next_random(state) % 8); return size;
    case 2: return at; /* cut off */
    case 3: memmove(data + at, data + at + count, size - at - count); return size - count;
    default:
        if (size + count > LARGEST)
            return size;
        memmove(data + at + count, data + at, size - at); /* a few bytes twice */
        return size + count;
    }
}

static void run_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_damaged(const uint8_t *original, size_t size, uint64_t state)
{
    static uint8_t data[LARGEST];
    size_t left = size;
    memcpy(data, original, size);
    for (uint64_t edits = 1 + next_random(&state) % EDITS; edits > 0; edits--)
        left = edit(data, left, &state);
    run_copy(data, left);
}

static int run_corpus(const char *directory)
{
    static uint8_t data[LARGEST];
    struct dirent **files;
    int count = scandir(directory, &files, NULL, alphasort), ran = 0;
    FUZZ_EXPECT(count > 0);
    for (int i = 0; i < count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", directory, files[i]->d_name);
        if (files[i]->d_name[0] != '.') {
            size_t size = read_whole(path, data);
            run_copy(data, size);
            for (uint64_t seed = 0; seed < DAMAGED; seed++)
                run_damaged(data, size, seed * 1000003 + (uint64_t)ran);
            ran++;
        }
        free(files[i]);
    }
    free(files);
    return ran;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash != NULL ? slash + 1 : argv[0];
    char directory[256];
    int ran;
    (void)argc;
    /* "fuzz_report" has the corpus "report"; the working directory is the tree, as for every test. */
    snprintf(directory, sizeof directory, "tests/fuzz/corpus/%s", name + (strncmp(name, "fuzz_", 5) == 0 ? 5 : 0));
    run_copy(NULL, 0);
    ran = run_corpus(directory);
    FUZZ_EXPECT(ran > 0);
    printf("ok corpus of %d, each damaged in %d ways\n", ran, DAMAGED);
    return 0;
}
