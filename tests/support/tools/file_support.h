/* What tests of files share: a directory to write to, and what lies in it. */
#ifndef BG_TESTS_FILE_SUPPORT_H
#define BG_TESTS_FILE_SUPPORT_H

#include "json_support.h"
#include "owned.h"

/* cmocka's setup and teardown: a directory, which goes only where nothing is left beside that file. */
extern char test_directory[64], test_file[96];
int directory_setup(void **state);
int directory_teardown(void **state);
#define FILE_TEST(name) TEST_F(name, directory_setup, directory_teardown, void *state)

/* What a file holds, with a 0 behind; the caller frees it. bytes may be NULL. */
char *read_file(const char *path, size_t *bytes);
cJSON *parse_file(const char *path); /* the caller deletes it */
void write_file(const char *path, const char *bytes, size_t count);
int count_files(const char *directory);

/* Runs a command of the shell, made as by printf; gives its status. */
int run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Standard output goes to that file, up to end_stdout, which takes what this gives. */
int begin_stdout(const char *path);
void end_stdout(int kept);

#endif
