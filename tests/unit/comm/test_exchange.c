/* What the ranks exchange, of more ranks than fit on a machine: one of them, and what rank 0 would answer. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "comm/exchange.h"

enum { SIZE = 4096, LONG = 1 << 20 };

struct pair {
    bg__link link;
    int zero; /* rank 0's end */
};

static void open_pair(struct pair *p)
{
    const bg__job job = {.rank = 1, .size = SIZE, .timeout = 5};
    int ends[2];
    assert_int_equal(bg__link_init(&p->link, &job), BG_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    p->link.peers[0].work = ends[0];
    p->zero = ends[1];
}

static void close_pair(struct pair *p)
{
    bg__close_fd(&p->zero);
    bg__link_free(&p->link);
}

/* A text is compared by its beginning and a hash, however long it is, and however many the ranks are. */
TEST(test_long_text)
{
    const bg__frame same = {.type = BG__RESULT};
    char *text = malloc(LONG);
    struct pair p;
    assert_non_null(text);
    memset(text, 'x', LONG - 1);
    text[LONG - 1] = '\0';
    open_pair(&p);
    assert_true(bg__frame_send(p.zero, &same, bg__now_ms() + 1000));
    if (bg__agree(&p.link, "the configuration", text) != BG_OK)
        fail_msg("%s", bg_last_error());
    close_pair(&p);
    free(text);
}

/* What is gathered has to fit into one answer. The rank has done nothing then. */
TEST(test_too_much)
{
    const bg__frame all = {.type = BG__RESULT};
    struct pair p;
    char byte = 0;
    open_pair(&p);
    assert_int_equal(bg__exchange(&p.link, BG__GATHER, "names", &byte, BG__BODY_MAX / SIZE + 1, &byte),
                     BG_ERROR_INVALID_ARGUMENT);
    assert_string_equal(
        bg_last_error(),
        "names: 16385 bytes from each of 4096 ranks are too many; allowed are 67108864 in total, 16384 from each");
    assert_true(bg__frame_send(p.zero, &all, bg__now_ms() + 1000));
    assert_int_equal(bg__exchange(&p.link, BG__BARRIER, "and it goes on", NULL, 0, NULL), BG_OK);
    close_pair(&p);
}
#endif
