#include "case_memory.h"

#include "case_scene.h"

#include <stdio.h>

enum { BYTES_MAX = 1024 };

static cudaError_t read_back(unsigned char *host, const void *memory, size_t bytes)
{
    cudaError_t error = bytes <= BYTES_MAX ? cudaDeviceSynchronize() : cudaErrorInvalidValue;
    return error ? error : cudaMemcpy(host, memory, bytes, cudaMemcpyDefault);
}

void case_rows(struct scene *s, const char *what, const void *memory, size_t pitch, size_t width, size_t height)
{
    unsigned char host[BYTES_MAX];
    char text[CASE_ANSWER_MAX] = "";
    size_t length = 0;
    if (s->wrong[0])
        return;
    scene_must(s, "reading memory back", read_back(host, memory, pitch * (height - 1) + width));
    for (size_t i = 0; !s->wrong[0] && i < width * height && length + 4 < sizeof text; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%02x", i && i % width == 0 ? " " : "",
                                   host[i / width * pitch + i % width]);
    case_note(s, what, "%s", text);
}

cudaError_t case_make_memory(struct scene *s, size_t bytes)
{
    cudaError_t error = cudaMalloc(&s->memory, bytes);
    if (!error)
        error = cudaMemset(s->memory, 0, bytes);
    return error ? error : cudaDeviceSynchronize();
}

cudaError_t case_free_memory(struct scene *s)
{
    cudaError_t error = cudaFree(s->memory);
    s->memory = NULL;
    return error;
}
