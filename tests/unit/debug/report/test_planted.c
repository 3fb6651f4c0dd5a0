/* What others left where a file is written or read: pipes, links, directories, other users' files. */
#include "tests/support/tools/report_support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debug/report/report_data.h"
#include "op/op.h"

enum { LIMIT_S = 60, NOBODY = 65534 };

static char secret[96];
static bg_report *report;

/* The limit ends a test that waits for a pipe. The directory is like /tmp: all may write, and take away their own. */
static int setup(void **state)
{
    (void)alarm(LIMIT_S);
    if (directory_setup(state) != 0 || chmod(test_directory, 01777) != 0)
        return 1;
    snprintf(secret, sizeof secret, "%s/secret", test_directory);
    write_file(secret, "secret", 6);
    report = make_report();
    return chmod(secret, 0640);
}

static int teardown(void **state)
{
    (void)alarm(0);
    bg_report_destroy(report);
    return remove(secret) != 0 || directory_teardown(state) != 0;
}

/* As it was made. */
static void expect_secret(void)
{
    struct stat about;
    OWN_TEXT(text, read_file(secret, NULL));
    assert_string_equal(text, "secret");
    assert_int_equal(stat(secret, &about), 0);
    assert_int_equal(about.st_mode, S_IFREG | 0640);
}

/* Writes under a name that the tool makes: that is a report of this user's then, and no link, which it takes away. */
static void expect_made(void)
{
    OWNED_REPORT(read);
    struct stat about;
    EXPECT_OK(bg__report_write(report, BG_JSON, test_file, BG__FILE_GENERATED));
    assert_int_equal(lstat(test_file, &about), 0);
    assert_true(S_ISREG(about.st_mode));
    assert_int_equal(about.st_uid, geteuid());
    EXPECT_OK(bg_report_read(&read, test_file));
    assert_int_equal(remove(test_file), 0);
}

static void need_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("skipped: only root can make a file another user's\n");
    skip();
}

#define PLANTED_TEST(name) TEST_F(name, setup, teardown, void *state)

PLANTED_TEST(test_made_names)
{
    assert_int_equal(symlink(secret, test_file), 0);
    expect_made();
    assert_int_equal(link(secret, test_file), 0);
    expect_made();
    assert_int_equal(mkfifo(test_file, 0600), 0);
    expect_made();
    assert_int_equal(symlink("nowhere", test_file), 0);
    EXPECT_STATUS(bg__report_write(report, BG_JSON, test_file, BG__FILE_EXCLUSIVE), BG_ERROR_IO);
    EXPECT_ERROR("File exists");
    assert_int_equal(remove(test_file), 0);
    assert_int_equal(mkdir(test_file, 0700), 0);
    EXPECT_STATUS(bg__report_write(report, BG_JSON, test_file, BG__FILE_GENERATED), BG_ERROR_IO);
    EXPECT_ERROR("Is a directory");
    expect_secret();
}

PLANTED_TEST(test_made_descriptors)
{
    struct stat about;
    assert_int_equal(symlink(secret, test_file), 0);
    int descriptor = bg__file_create(test_file);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, "x", 1), 1);
    assert_int_equal(fcntl(descriptor, F_GETFL) & (O_APPEND | O_ACCMODE), O_APPEND | O_RDWR);
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(lstat(test_file, &about), 0);
    assert_true(S_ISREG(about.st_mode) && about.st_size == 1);
    assert_int_equal(remove(test_file), 0);
    assert_int_equal(mkdir(test_file, 0700), 0);
    assert_int_equal(bg__file_create(test_file), -1);
    expect_secret();
}

/* A pipe that the user names is written into, and stays one. */
PLANTED_TEST(test_given_pipe)
{
    char text[256] = "";
    struct stat about;
    assert_int_equal(mkfifo(test_file, 0600), 0);
    int descriptor = open(test_file, O_RDWR | O_CLOEXEC);
    assert_true(descriptor >= 0);
    EXPECT_OK(bg_report_write(report, BG_TEXT, test_file));
    assert_true(read(descriptor, text, sizeof text - 1) > 0);
    assert_string_equal(text, "check of decode: 0 findings\n");
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(lstat(test_file, &about), 0);
    assert_true(S_ISFIFO(about.st_mode));
}

PLANTED_TEST(test_reading)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg__override *override = NULL;
    bg_report *read = NULL;
    char *text = NULL, list[128];
    size_t size = 0;
    assert_int_equal(mkfifo(test_file, 0600), 0);
    EXPECT_STATUS(bg_report_read(&read, test_file), BG_ERROR_IO);
    EXPECT_ERROR("report cannot be read: it is a pipe, not a file; name a regular file");
    EXPECT_STATUS(bg_runner_config_read(&config, test_file), BG_ERROR_IO);
    EXPECT_ERROR("it is a pipe");
    snprintf(list, sizeof list, "@%s", test_file);
    assert_int_equal(setenv("BG_EAGER_OPS", list, 1), 0);
    EXPECT_STATUS(bg__override_create(&override, NULL), BG_ERROR_IO);
    EXPECT_ERROR("BG_EAGER_OPS: ");
    EXPECT_ERROR("it is a pipe");
    assert_int_equal(unsetenv("BG_EAGER_OPS"), 0);
    assert_int_equal(remove(test_file), 0);
    assert_int_equal(symlink(secret, test_file), 0);
    EXPECT_STATUS(bg__file_read(test_file, false, 100, &text, &size), BG_ERROR_IO);
    EXPECT_ERROR("report cannot be read: it is a symbolic link, which is not allowed here; remove it");
    EXPECT_OK(bg__file_read(test_file, true, 100, &text, &size));
    assert_int_equal(size, 6);
    assert_string_equal(text, "secret");
    free(text);
    EXPECT_OK(bg__file_read(test_file, true, 3, &text, &size));
    assert_int_equal(size, 4);
    assert_string_equal(text, "secr");
    free(text);
}

/* In a directory that all share, what another user put under a name that the user gave is not written through. */
PLANTED_TEST(test_given_names_of_others)
{
    char beside[128];
    need_root();
    snprintf(beside, sizeof beside, "%s/", test_file);
    assert_int_equal(symlink(secret, test_file), 0);
    EXPECT_OK(bg_report_write(report, BG_TEXT, test_file)); /* this user's own */
    assert_int_equal(remove(test_file), 0);
    assert_int_equal(truncate(secret, 0), 0);
    assert_int_equal(symlink(test_directory, test_file), 0);
    EXPECT_OK(bg__directory_make(test_file));
    assert_int_equal(lchown(test_file, NOBODY, NOBODY), 0);
    EXPECT_STATUS(bg__directory_make(test_file), BG_ERROR_IO);
    EXPECT_STATUS(bg__directory_make(beside), BG_ERROR_IO);
    EXPECT_ERROR("it belongs to another user, in a shared directory");
    assert_int_equal(remove(test_file), 0);
    assert_int_equal(symlink(secret, test_file), 0);
    assert_int_equal(lchown(test_file, NOBODY, NOBODY), 0);
    EXPECT_STATUS(bg_report_write(report, BG_TEXT, test_file), BG_ERROR_IO);
    EXPECT_ERROR("it belongs to another user, in a shared directory");
    assert_int_equal(remove(test_file), 0);
    assert_int_equal(mkfifo(test_file, 0666), 0);
    assert_int_equal(lchown(test_file, NOBODY, NOBODY), 0);
    EXPECT_STATUS(bg_report_write(report, BG_TEXT, test_file), BG_ERROR_IO);
    EXPECT_ERROR("it belongs to another user, in a shared directory");
    expect_made();
    assert_int_equal(chmod(test_directory, 0700), 0); /* nobody else's */
    assert_int_equal(symlink(secret, test_file), 0);
    assert_int_equal(lchown(test_file, NOBODY, NOBODY), 0);
    EXPECT_OK(bg_report_write(report, BG_TEXT, test_file));
}

/* In a process without rights over the file: it stays, and the sentence says so. */
PLANTED_TEST(test_a_file_of_another_user)
{
    int status = -1;
    need_root();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
            _exit(2);
        if (bg__report_write(report, BG_JSON, secret, BG__FILE_GENERATED) != BG_ERROR_IO)
            _exit(3);
        _exit(strstr(bg_last_error(), "secret cannot be written: Operation not permitted") != NULL ? 0 : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    expect_secret();
}
