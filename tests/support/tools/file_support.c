#include "file_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char test_directory[64], test_file[96];

int directory_setup(void **state)
{
    (void)state;
    snprintf(test_directory, sizeof test_directory, "/tmp/breakgraph-test.XXXXXX");
    if (mkdtemp(test_directory) == NULL)
        return 1;
    snprintf(test_file, sizeof test_file, "%s/report", test_directory);
    return 0;
}

int directory_teardown(void **state)
{
    (void)state;
    (void)remove(test_file);
    return rmdir(test_directory);
}

char *read_file(const char *path, size_t *bytes)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &about), 0);
    char *text = calloc(1, (size_t)about.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)about.st_size, file), about.st_size);
    assert_int_equal(fclose(file), 0);
    if (bytes != NULL)
        *bytes = (size_t)about.st_size;
    return text;
}

cJSON *parse_file(const char *path)
{
    OWN_TEXT(text, read_file(path, NULL));
    return parsed(text);
}

void write_file(const char *path, const char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

int count_files(const char *directory)
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

int run_command(const char *format, ...)
{
    char command[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command);
}

int begin_stdout(const char *path)
{
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), target = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(kept >= 0 && target >= 0 && dup2(target, STDOUT_FILENO) >= 0);
    assert_int_equal(close(target), 0);
    return kept;
}

void end_stdout(int kept)
{
    clearerr(stdout);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
}
