/* soak_ranks: ranks of a job, each a process with a device of its own, that replay graphs with sums in them ten
 * thousand times on GPUs, and then do what seeds tell: exchanges, captures, replays, ends in any order. Each result is
 * compared with the host's, and memory may not grow. Prints a line for each. */
#include "rank.h"

#ifdef SOAK_NCCL
#include "soak.h"
#include "tests/support/ranks/fork_ranks.h"
#include "tests/support/growth.h"

#include <stdio.h>

enum { OPERATIONS = 40, REPLAY_SECONDS = 900, SEED_SECONDS = 150 };

typedef struct soak {
    int ranks; /* 0: what there is */
    long replays;
    int seeds;
    const char *plant; /* a defect of the last rank's, to see that it is found; NULL: none */
    shape shape;       /* of the replays */
    unsigned seed;     /* of the operations; 0: of nothing */
    bool (*work)(rank *r, const struct soak *s);
} soak;

static bool plants(const soak *s, const rank *r, const char *what)
{
    return s->plant != NULL && r->rank == r->size - 1 && strcmp(s->plant, what) == 0;
}

/* ---- many replays --------------------------------------------------------------------------------------------- */

/* Of the rank where it grew most. */
static bool did_not_grow(rank *r, const char *what, size_t first, size_t last, size_t slack)
{
    int64_t most = 0;
    GOOD(bg_comm_max(r->comm, what, (int64_t)last - (int64_t)first, &most));
    if (r->rank == 0)
        printf("; %s %+.1f KiB", what, (double)most / 1024);
    return most <= (int64_t)slack || rank_complain(r, "on some rank its %s grew by %.1f KiB, allowed are %.1f", what,
                                                   (double)most / 1024, (double)slack / 1024);
}

static bool replay_all(rank *r, const soak *s)
{
    growth_look first = {0}, last = {0};
    void *volatile lost = NULL; /* volatile: the compiler must not see that nobody wants it */

    r->spoilt_round = plants(s, r, "result") ? s->replays / 2 : -1;
    if (!rank_capture(r, &r->made[0], s->shape, true))
        return false;
    while (r->round < s->replays) {
        if (!rank_replay(r, &r->made[0], 1) || (r->round == s->replays / LOOKS && !growth_take(&first)))
            return false;
        if (plants(s, r, "host"))
            lost = malloc(1024);
    }
    (void)lost;
    if (!growth_take(&last))
        return false;
    if (r->rank == 0)
        printf("%d ranks, a sum %s: %ld replays, all results exact", r->size,
               s->shape.eager ? "as an eager op between two segments" : "in the graph", s->replays);
    if (!did_not_grow(r, "resident set", first.resident, last.resident, growth_slack.resident) ||
        !did_not_grow(r, "host heap", first.heap, last.heap, growth_slack.heap) ||
        !did_not_grow(r, "device memory", first.device, last.device, growth_slack.device))
        return false;
    if (r->rank == 0)
        printf("\n");
    return true;
}

/* ---- what a seed tells ---------------------------------------------------------------------------------------- */

static unsigned draw(uint64_t *state, unsigned below)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((x ^ x >> 31) % below);
}

static bool barrier(rank *r, uint64_t *random)
{
    (void)random;
    GOOD(bg_comm_barrier(r->comm, "a barrier"));
    return true;
}

static bool gather(rank *r, uint64_t *random)
{
    unsigned given[FORK_RANKS_MAX], all[FORK_RANKS_MAX];
    for (int i = 0; i < r->size; i++)
        given[i] = draw(random, 1000);
    GOOD(bg_comm_gather(r->comm, "numbers", &given[r->rank], sizeof *all, all));
    return memcmp(all, given, (size_t)r->size * sizeof *all) == 0 || rank_complain(r, "gathered something else");
}

static bool agree(rank *r, uint64_t *random)
{
    char text[32];
    snprintf(text, sizeof text, "bucket %u", draw(random, 1000));
    GOOD(bg_comm_agree(r->comm, "the choice", text));
    return true;
}

static bool largest(rank *r, uint64_t *random)
{
    int64_t most = -1, mine = 0, found = 0;
    for (int i = 0; i < r->size; i++) {
        int64_t number = draw(random, 1000);
        most = number > most ? number : most;
        mine = i == r->rank ? number : mine;
    }
    GOOD(bg_comm_max(r->comm, "the largest", mine, &found));
    return found == most || rank_complain(r, "the largest is %lld, expected %lld", (long long)found, (long long)most);
}

/* In a place that a graph may have to leave. */
static bool capture_one(rank *r, uint64_t *random)
{
    struct made *made = &r->made[draw(random, GRAPHS)];
    shape s = {.breaks = (int)draw(random, BREAKS_MAX + 1), .eager = draw(random, 2)};
    bg_graph_destroy(made->graph);
    made->graph = NULL;
    return rank_capture(r, made, s, draw(random, 2));
}

static bool replay_one(rank *r, uint64_t *random)
{
    const struct made *made = &r->made[draw(random, GRAPHS)];
    int times = 1 + (int)draw(random, TIMES_MAX);
    return made->graph == NULL || rank_replay(r, made, times);
}

static bool destroy_one(rank *r, uint64_t *random)
{
    struct made *made = &r->made[draw(random, GRAPHS)];
    if (made->graph != NULL && draw(random, 2)) /* with a replay in flight */
        GOOD(bg_replay(made->graph, r->stream));
    bg_graph_destroy(made->graph);
    made->graph = NULL;
    return true;
}

/* The graphs and the communicator, in the same order on all ranks or in each rank's own. */
static bool end_in_any_order(rank *r, uint64_t random)
{
    bg_comm *comm = r->comm;
    if (draw(&random, 2))
        random += (uint64_t)r->rank;
    for (unsigned left = (1u << (GRAPHS + 1)) - 1; left != 0;) {
        unsigned which = draw(&random, GRAPHS + 1);
        if (!(left >> which & 1))
            continue;
        left &= ~(1u << which);
        if (which < GRAPHS) {
            bg_graph_destroy(r->made[which].graph);
            r->made[which].graph = NULL;
        } else {
            r->comm = NULL;
            bg_comm_destroy(comm);
        }
    }
    GOOD_CUDA(cudaStreamSynchronize(r->stream));
    return true;
}

static bool operate(rank *r, const soak *s)
{
    static const struct {
        const char *name;
        bool (*run)(rank *r, uint64_t *random);
    } all[] = {{"barrier", barrier},     {"gather", gather},       {"agree", agree},       {"largest", largest},
               {"capture", capture_one}, {"capture", capture_one}, {"replay", replay_one}, {"replay", replay_one},
               {"replay", replay_one},   {"destroy", destroy_one}};
    uint64_t random = s->seed;

    for (int i = 0; i < OPERATIONS; i++) {
        unsigned which = draw(&random, sizeof all / sizeof *all);
        bool good = plants(s, r, "operation") && i == OPERATIONS / 2 ? agree(r, &random) && barrier(r, &random)
                                                                     : all[which].run(r, &random);
        if (!good)
            return rank_complain(r, "that was seed %u, operation %d (%s)", s->seed, i, all[which].name);
    }
    return end_in_any_order(r, random);
}

static int run_rank(const bg_comm_options *options, void *user)
{
    const soak *s = user;
    char seed[16];
    rank r;
    bool good;

    snprintf(seed, sizeof seed, "%u", s->seed);
    if (s->seed > 0 && setenv("HOSTCUDA_SEED", seed, 1) != 0)
        return 1;
    good = rank_open(&r, options) && s->work(&r, s);
    rank_close(&r);
    return good ? 0 : 1;
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

static bool soak_ranks(soak *s, int size)
{
    bool good = true;
    s->seed = 0;
    s->work = replay_all;
    for (int eager = 0; eager < 2 && good && s->replays > 0; eager++) {
        s->shape = (shape){.breaks = eager, .eager = eager};
        good = fork_ranks(size, REPLAY_SECONDS, run_rank, s);
    }
    s->work = operate;
    for (s->seed = 1; s->seed <= (unsigned)s->seeds && good; s->seed++)
        good = fork_ranks(size, SEED_SECONDS, run_rank, s);
    if (good && s->seeds > 0)
        printf("%d ranks, seeds 1 to %d: %d random operations each, all as they must be\n", size, s->seeds, OPERATIONS);
    fflush(stdout);
    return good;
}

static bool parse(int argc, char **argv, soak *s)
{
    static const char *const plants[] = {"host", "result", "operation", NULL};
    long number;
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *flag = argv[i], *value = argv[i + 1];
        if (strcmp(flag, "--ranks") == 0 && soak_number(value, 2, FORK_RANKS_MAX, &number))
            s->ranks = (int)number;
        else if (strcmp(flag, "--replays") == 0 && soak_number(value, 0, 1000000000, &number) &&
                 (number == 0 || number >= LOOKS))
            s->replays = number;
        else if (strcmp(flag, "--seeds") == 0 && soak_number(value, 0, 1000000, &number))
            s->seeds = (int)number;
        else if (strcmp(flag, "--plant") != 0 || !soak_plant(value, plants, &s->plant))
            return false;
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv)
{
    bool on_gpu = strcmp(bg_device_kind(), "cuda") == 0;
    soak s = {.replays = on_gpu ? 10000 : 1000, .seeds = on_gpu ? 10 : 50};
    int possible;

    if (!parse(argc, argv, &s)) {
        fprintf(stderr, "usage: soak_ranks [--ranks 2..4] [--replays N] [--seeds N] [--plant host|result|operation]\n"
                        "N: 0, or replays from 10 on; --plant: a defect of one rank that must be found\n");
        return 2;
    }
    possible = fork_ranks_possible();
    if (possible < (s.ranks ? s.ranks : 2)) {
        printf("soak_ranks: skipped: %d ranks need as many GPUs, and there are %d\n", s.ranks ? s.ranks : 2, possible);
        return 0;
    }
    if (s.ranks || on_gpu)
        return soak_ranks(&s, s.ranks ? s.ranks : possible) ? 0 : 1;
    return soak_ranks(&s, 2) && (possible < 4 || soak_ranks(&s, 4)) ? 0 : 1;
}
#else
#include <stdio.h>

int main(void)
{
    printf("soak_ranks: skipped: this was built without NCCL\n");
    return 0;
}
#endif
