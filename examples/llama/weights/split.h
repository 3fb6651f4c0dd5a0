/* Tensor parallelism: which part of each layer is a rank's. The query heads, with the key heads that they read, and the
 * hidden units of the MLP lie on one rank each; after the attention and after the MLP the ranks' results are summed.
 *
 * The embedding, the norms and the output matrix are whole on every rank: so all ranks hold the same residual stream
 * and logits, and choose the same token without another collective. A table that serves as embedding and as output, as
 * many models have it, would have to be whole anyway. */
#ifndef LLAMA_SPLIT_H
#define LLAMA_SPLIT_H
#include "weights.h"
#include <breakgraph/breakgraph.h>

typedef struct llama_range {
    int first, count;
} llama_range;

typedef struct llama_part {
    int rank, ranks;
    llama_range heads;    /* query heads */
    llama_range kv_heads; /* those that they read: neighbours have one twice where their border cuts a group */
    llama_range hidden;
    int group; /* query heads of the whole model that read one key head */
} llama_part;

/* The part of rank 0 <= rank < ranks: of heads and of hidden units as many as any other rank has, or one more or less.
 * INVALID_ARGUMENT where a rank would be left without. */
bg_status llama_split(llama_part *part, const llama_config *config, int rank, int ranks);

/* How many query heads before the part's first read the same key head. */
int llama_first_in_group(const llama_part *part);

/* The shape of a rank's part: its heads, kv_heads and hidden, the rest as it was. heads need not be a multiple. */
llama_config llama_part_config(const llama_config *whole, const llama_part *part);
#endif
