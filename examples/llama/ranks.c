#include "ranks.h"
#include "ops.h"
#include <stdlib.h>
#include <string.h>

/* A job of one rank needs no communicator. */
static bool has_several_ranks(void)
{
    static const char *const sizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *size = getenv(sizes[i]);
        if (size && *size)
            return strcmp(size, "1") != 0;
    }
    return false;
}

#ifdef BG_NCCL
static bg_status create_communicator(llama_ranks *r)
{
    TRY(bg_comm_create(&r->comm, NULL));
    r->rank = bg_comm_rank(r->comm);
    r->size = bg_comm_size(r->comm);
    r->table = r->size > 1 ? bg_comm_ranks(r->comm) : NULL;
    return BG_OK;
}

void llama_ranks_abort(llama_ranks *r, const char *why)
{
    if (r->comm)
        bg_comm_abort(r->comm, why);
}

void llama_ranks_leave(llama_ranks *r)
{
    bg_comm_destroy(r->comm);
    memset(r, 0, sizeof *r);
}
#else
#include <breakgraph/workspace.h>

static bg_status create_communicator(llama_ranks *r)
{
    (void)r;
    return bg_report_failure(BG_ERROR_UNSUPPORTED, "llama_ranks_join",
                             "the environment asks for several ranks, and this program was built without NCCL",
                             "install NCCL and build again, or unset WORLD_SIZE, OMPI_COMM_WORLD_SIZE and "
                             "SLURM_NTASKS");
}

void llama_ranks_abort(llama_ranks *r, const char *why)
{
    (void)r;
    (void)why;
}

void llama_ranks_leave(llama_ranks *r)
{
    memset(r, 0, sizeof *r);
}
#endif

bg_status llama_ranks_join(llama_ranks *r)
{
    *r = (llama_ranks){.rank = 0, .size = 1};
    return has_several_ranks() ? create_communicator(r) : BG_OK;
}
