#include "split.h"
#include <breakgraph/workspace.h>
#include <stdio.h>

/* The first total % ranks ranks have one more than the others. */
static llama_range share(int total, int rank, int ranks)
{
    int each = total / ranks, more = total % ranks;
    return (llama_range){rank * each + (rank < more ? rank : more), each + (rank < more)};
}

/* Returns the key heads that a range of query heads reads. */
static llama_range find_kv_heads(llama_range heads, int group)
{
    int first = heads.first / group, last = (heads.first + heads.count - 1) / group;
    return (llama_range){first, last - first + 1};
}

static bg_status fail_invalid(const char *what, const char *advice)
{
    return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "llama_split", what, advice);
}

static bg_status check_split(const llama_config *c, int rank, int ranks)
{
    int most = c->heads < c->hidden ? c->heads : c->hidden;
    char what[128];
    if (rank < 0 || rank >= ranks)
        return fail_invalid("rank is negative, or not less than ranks", "give a rank from 0 to ranks - 1");
    if (c->kv_heads < 1 || c->heads % c->kv_heads != 0)
        return fail_invalid("the query heads are not a multiple of the key heads", "give the shape of a whole model");
    snprintf(what, sizeof what, "%d ranks cannot share %d query heads and %d hidden units", ranks, c->heads, c->hidden);
    return ranks <= most ? BG_OK : fail_invalid(what, "use no more ranks than there are query heads");
}

bg_status llama_split(llama_part *part, const llama_config *config, int rank, int ranks)
{
    bg_status status = check_split(config, rank, ranks);
    if (status != BG_OK)
        return status;
    *part = (llama_part){.rank = rank, .ranks = ranks, .group = config->heads / config->kv_heads};
    part->heads = share(config->heads, rank, ranks);
    part->kv_heads = find_kv_heads(part->heads, part->group);
    part->hidden = share(config->hidden, rank, ranks);
    return BG_OK;
}

int llama_first_in_group(const llama_part *part)
{
    return part->heads.first % part->group;
}

llama_config llama_part_config(const llama_config *whole, const llama_part *part)
{
    llama_config config = *whole;
    config.heads = part->heads.count;
    config.kv_heads = part->kv_heads.count;
    config.hidden = part->hidden.count;
    return config;
}
