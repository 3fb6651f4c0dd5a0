#include "rows.h"

#include "kernels/launch.h"

namespace
{
/* A launch copies its parameters, so few moves use a kernel with few. */
enum { FEW = 4, THREADS = 256 };

template <int Count>
struct all_moves {
    bgk_rows move[Count];
};

struct chunk {
    unsigned long long low, high;
};

/* Copies whole Words from byte `done` on, if the addresses are aligned. Returns how many bytes are done then. */
template <class Word>
__device__ size_t copy_words(const bgk_rows &m, size_t done, size_t first, size_t step)
{
    uintptr_t target = reinterpret_cast<uintptr_t>(m.target), source = reinterpret_cast<uintptr_t>(m.source);
    size_t words = m.copied / sizeof(Word);
    if ((target | source | done) % sizeof(Word) != 0)
        return done;
    for (size_t i = done / sizeof(Word) + first; i < words; i += step)
        reinterpret_cast<Word *>(target)[i] = reinterpret_cast<const Word *>(source)[i];
    return words * sizeof(Word);
}

__device__ unsigned char tail_byte(const bgk_rows &m, size_t at)
{
    if (m.kind == BGK_TAIL_PATTERN)
        return (unsigned char)(m.pattern >> (at % 8 * 8));
    size_t in_row = (at - m.copied) % m.row, last = m.copied - m.row;
    const unsigned char *from = static_cast<const unsigned char *>(m.source ? m.source : m.target);
    return from[last + in_row];
}

/* Blocks (i, m) share move m. */
template <int Count>
__global__ void move_rows(all_moves<Count> moves)
{
    const bgk_rows &m = moves.move[blockIdx.y];
    size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x, step = (size_t)gridDim.x * blockDim.x;

    if (m.source != nullptr) {
        size_t done = copy_words<chunk>(m, 0, first, step);
        done = copy_words<unsigned>(m, done, first, step);
        copy_words<unsigned char>(m, done, first, step);
    }
    for (size_t i = first; i < m.tail; i += step)
        static_cast<unsigned char *>(m.target)[m.copied + i] = tail_byte(m, m.copied + i);
}

template <int Count>
cudaError_t launch_moves(const bgk_rows *moves, int count, cudaStream_t stream)
{
    all_moves<Count> all = {};
    for (int i = 0; i < count; i++)
        all.move[i] = moves[i];
    return bgk::launch(move_rows<Count>, dim3(bgk_rows_blocks(moves, count), (unsigned)count), dim3(THREADS), 0, stream,
                       all);
}
} // namespace

extern "C" unsigned bgk_rows_blocks(const bgk_rows *moves, int count)
{
    const size_t blocks_max = 256, a_thread = 64; /* bytes that one thread moves, where there are many */
    size_t most = 1;

    for (int i = 0; i < count; i++) {
        size_t bytes = moves[i].copied + moves[i].tail;
        most = bytes > most ? bytes : most;
    }
    size_t blocks = (most / a_thread + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks > blocks_max ? blocks_max : blocks);
}

extern "C" cudaError_t bgk_move_rows(const bgk_rows *moves, int count, cudaStream_t stream)
{
    if (count < 1 || count > BGK_ROWS_MAX)
        return cudaErrorInvalidValue;
    if (count == 1)
        return launch_moves<1>(moves, count, stream);
    if (count <= FEW)
        return launch_moves<FEW>(moves, count, stream);
    return launch_moves<BGK_ROWS_MAX>(moves, count, stream);
}
