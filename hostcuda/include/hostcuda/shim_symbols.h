/* Calls that take variables of kernels. CUDA's headers define these calls only for nvcc. All devices share one instance
 * of a variable. */
#ifndef HOSTCUDA_SHIM_SYMBOLS_H
#define HOSTCUDA_SHIM_SYMBOLS_H

template <class T>
cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, std::size_t count, std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaMemcpyToSymbol(static_cast<const void *>(&symbol), src, count, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *src, std::size_t count, std::size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr)
{
    return ::cudaMemcpyToSymbolAsync(static_cast<const void *>(&symbol), src, count, offset, kind, stream);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, std::size_t count, std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaMemcpyFromSymbol(dst, static_cast<const void *>(&symbol), count, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const T &symbol, std::size_t count, std::size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr)
{
    return ::cudaMemcpyFromSymbolAsync(dst, static_cast<const void *>(&symbol), count, offset, kind, stream);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void **address, const T &symbol)
{
    return ::cudaGetSymbolAddress(address, static_cast<const void *>(&symbol));
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t *size, const T &symbol)
{
    return ::cudaGetSymbolSize(size, static_cast<const void *>(&symbol));
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

template <class T>
cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                                           std::size_t before_count, const T &symbol, const void *src,
                                           std::size_t count, std::size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeToSymbol(node, graph, before, before_count, static_cast<const void *>(&symbol), src,
                                            count, offset, kind);
}
template <class T>
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                                             std::size_t before_count, void *dst, const T &symbol, std::size_t count,
                                             std::size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeFromSymbol(node, graph, before, before_count, dst,
                                              static_cast<const void *>(&symbol), count, offset, kind);
}
template <class T>
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const T &symbol, const void *src,
                                                 std::size_t count, std::size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, static_cast<const void *>(&symbol), src, count, offset, kind);
}
template <class T>
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const T &symbol, std::size_t count,
                                                   std::size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, dst, static_cast<const void *>(&symbol), count, offset, kind);
}
template <class T>
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const T &symbol,
                                                     const void *src, std::size_t count, std::size_t offset,
                                                     cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, static_cast<const void *>(&symbol), src, count,
                                                      offset, kind);
}
template <class T>
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst,
                                                       const T &symbol, std::size_t count, std::size_t offset,
                                                       cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, dst, static_cast<const void *>(&symbol), count,
                                                        offset, kind);
}

#endif
