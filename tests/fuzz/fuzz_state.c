/* The state of a bisect. What is taken over has trials of calls that are there, and is the same when it was saved and
 * loaded again; what is refused is said, and the file stays as it is. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "debug/cli/bisect/bisect_result.h"
#include "debug/cli/bisect/bisect_state.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"

static char *const program[] = {(char *)"./fuzzed/program", NULL}; /* is nowhere, so that no date of it is kept */

static cli_status load(cli_bisection *b, const char **said)
{
    cli_status status;
    fuzz_hush();
    status = cli_state_load(b);
    *said = fuzz_unhush();
    return status;
}

static void clear(cli_bisection *b)
{
    cJSON_Delete(b->root);
    free(b->names);
}

static bool is_verdict(const char *text)
{
    return strcmp(text, "good") == 0 || strcmp(text, "bad") == 0 || strcmp(text, "skip") == 0;
}

static void expect_trials(const cli_bisection *b)
{
    const cJSON *trial, *number;
    cJSON_ArrayForEach(trial, b->trials)
    {
        FUZZ_EXPECT(is_verdict(cli_json_text(trial, "verdict")));
        cJSON_ArrayForEach(number, cJSON_GetObjectItemCaseSensitive(trial, "eager"))
        {
            FUZZ_EXPECT(cJSON_IsNumber(number) && number->valuedouble >= 0);
            FUZZ_EXPECT(number->valuedouble < (double)b->name_count);
            FUZZ_EXPECT(number->valuedouble == (double)(size_t)number->valuedouble);
        }
    }
}

/* Each call's name is one of the list that the program would get. */
static void expect_names(const cli_bisection *b)
{
    FUZZ_EXPECT(b->replayed == (size_t)cJSON_GetArraySize(b->trials));
    FUZZ_EXPECT(b->name_count == (size_t)cJSON_GetArraySize(b->calls));
    FUZZ_EXPECT(b->replayed == 0 || b->name_count > 0);
    for (size_t i = 0; i < b->name_count; i++)
        FUZZ_EXPECT(b->names[i][0] != '\0' && strpbrk(b->names[i], ",!*@ \n") == NULL);
}

static void expect_same_again(const cli_bisection *b)
{
    cli_bisection again = *b;
    char *first = cJSON_Print(b->root), *second;
    const char *said;
    again.root = again.calls = again.trials = NULL;
    again.names = NULL;
    FUZZ_EXPECT(cli_state_save(b) == CLI_OK && load(&again, &said) == CLI_OK);
    second = cJSON_Print(again.root);
    FUZZ_EXPECT(first != NULL && second != NULL && strcmp(first, second) == 0);
    cJSON_free(first);
    cJSON_free(second);
    clear(&again);
}

/* The file holds nothing else, which the next save would lose. */
static void expect_whole(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    cJSON *root = cJSON_ParseWithLengthOpts(text, size + 1, NULL, true);
    FUZZ_EXPECT(strlen(text) == size && root != NULL);
    cJSON_Delete(root);
    free(text);
}

static void expect_untouched(const char *path, const uint8_t *data, size_t size)
{
    size_t bytes = 0;
    char *text = cli_file_read(path, true, &bytes);
    FUZZ_EXPECT(text != NULL && bytes == size && (size == 0 || memcmp(text, data, size) == 0));
    free(text);
}

static void write_state(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    FUZZ_EXPECT(file != NULL && (size == 0 || fwrite(data, 1, size, file) == size) && fclose(file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = cli_join_path(fuzz_directory(), "state.json");
    const cli_arguments arguments = {.count = 0};
    cli_bisection b = {.arguments = &arguments, .argv = program, .state = path, .count = 1, .base = (char *)""};
    const char *said;
    cli_status status;

    FUZZ_EXPECT(path != NULL);
    write_state(path, data, size);
    status = load(&b, &said);
    if (status == CLI_OK) {
        cJSON *trials = cli_bisect_trials(&b);
        expect_whole(data, size);
        expect_names(&b);
        expect_trials(&b);
        FUZZ_EXPECT(trials != NULL && cJSON_GetArraySize(trials) == (int)b.replayed);
        cJSON_Delete(trials);
        expect_same_again(&b);
    } else {
        FUZZ_EXPECT(status == CLI_UNREADABLE && strstr(said, path) != NULL);
        expect_untouched(path, data, size);
    }
    clear(&b);
    free(path);
    return 0;
}
