/* Tensor parallelism: which part of each layer a rank has. Each query head, with the key head that it reads, and each
 * hidden unit of the MLP is on one rank. The ranks sum their results after the attention and after the MLP.
 *
 * Every rank has the whole embedding, norms and output matrix. So all ranks have the same residual stream and logits,
 * and choose the same token without another collective. A table that serves as embedding and as output, as many models
 * have it, would have to be whole anyway. */
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
    llama_range kv_heads; /* the key heads that they read; two ranks both have one whose query heads they share */
    llama_range hidden;
    int group; /* query heads of the whole model that read one key head */
} llama_part;

/* Computes the part of rank 0 <= rank < ranks. The ranks' numbers of heads and of hidden units differ by at most one.
 * Errors: BG_ERROR_INVALID_ARGUMENT if a rank would get none. */
bg_status llama_split(llama_part *part, const llama_config *config, int rank, int ranks);

/* Returns how many query heads before the part's first one read the same key head. */
int llama_first_in_group(const llama_part *part);

/* Returns the config of a rank's part: *whole with the part's heads, kv_heads and hidden. heads need not be a multiple
 * of kv_heads. */
llama_config llama_part_config(const llama_config *whole, const llama_part *part);
#endif
