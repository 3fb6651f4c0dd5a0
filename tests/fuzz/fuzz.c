#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "debug/cli/output/cli_files.h"

static FILE *real_errors;

void fuzz_fail(const char *condition, const char *file, int line)
{
    FILE *errors = real_errors != NULL ? real_errors : stderr;
    fprintf(errors, "%s:%d: not so: %s; bg_last_error(): \"%s\"\n", file, line, condition, bg_last_error());
    (void)fflush(errors);
    abort();
}

void fuzz_forget_error(void)
{
    (void)bg__error_set_aside();
}

void fuzz_expect_refused(bg_status status)
{
    FUZZ_EXPECT(status != BG_OK);
    FUZZ_EXPECT(status != BG_ERROR_OUT_OF_MEMORY);
    FUZZ_EXPECT(strlen(bg_last_error()) > 10);
}

uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    FUZZ_EXPECT(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_EXPECT(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int descriptor = -1;
    if (descriptor < 0)
        descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_EXPECT(descriptor >= 0 && ftruncate(descriptor, 0) == 0);
    FUZZ_EXPECT(size == 0 || pwrite(descriptor, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return path;
}

static char *directory;

static void remove_directory(void)
{
    cli_temporary_directory_remove(directory);
    free(directory);
    directory = NULL;
}

const char *fuzz_directory(void)
{
    if (directory == NULL) {
        directory = cli_temporary_directory_create();
        FUZZ_EXPECT(directory != NULL && atexit(remove_directory) == 0);
    }
    return directory;
}

static char said[4096];

void fuzz_hush(void)
{
    static FILE *keeper;
    if (keeper == NULL) {
        keeper = fmemopen(said, sizeof said, "w");
        FUZZ_EXPECT(keeper != NULL);
    }
    rewind(keeper);
    memset(said, 0, sizeof said);
    real_errors = stderr;
    stderr = keeper;
}

const char *fuzz_unhush(void)
{
    (void)fflush(stderr); /* what does not fit is dropped */
    clearerr(stderr);
    stderr = real_errors;
    real_errors = NULL;
    said[sizeof said - 1] = '\0';
    return said;
}
