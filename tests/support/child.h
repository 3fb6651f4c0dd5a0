/* Programs in a process of their own, for what is read once in a process or ends it. */
#ifndef BG_TESTS_CHILD_H
#define BG_TESTS_CHILD_H

/* In such a program: the line of the first broken expectation, as its exit status. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return __LINE__ % 250 + 1;                                                                                 \
    } while (0)

enum { CHILD_KILLED = 1000 };

struct child {
    const char *value; /* of the variable */
    int (*run)(void);
    int status;       /* that is expected: an exit status, or CHILD_KILLED + a signal's number */
    const char *said; /* on stderr; NULL: nothing at all */
};

extern char child_said[4096]; /* what the last one wrote to stderr */

/* Runs the program where the variable has that value (NULL: no variable is set), and fails the test when it ends
 * otherwise. Call it before this process calls CUDA. On a GPU, where the variable means nothing, it skips the test. */
void expect_child(const char *variable, const struct child *child);

#endif
