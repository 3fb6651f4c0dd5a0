/* Kernels that wait for others, by their names. */
#include "tests/support/test.h"
#include <stdint.h>
#include "debug/graph/waiting_kernels.h"

TEST(test_that_wait)
{
    static const char *const names[] = {
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "void ncclSymkDevKernel_AllReduce_AGxLL_R_f16(ncclSymkDevWorkArgs)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*, vllm::RankSignals)",
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 4, true>(tensorrt_llm::kernels::AllReduceParams)",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(int)1, __half, 8, true>()",
        "void at::native::two_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**, unsigned long)",
        "void deep_ep::internode_ll::dispatch<false, true, 7168>(void*)",
        "nvshmemi_barrier_kernel(int)",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(bg__kernel_waits_for_others(names[i]));
}

TEST(test_that_do_not)
{
    static const char *const names[] = {
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
        "void cub::DeviceReduceKernel<float>(float const*)",
        "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)",
        "nvjet_tst_128x64_64x8_1x2_h_bz_TNT",
        "",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(bg__kernel_waits_for_others(names[i]));
    assert_null(bg__kernel_waits_for_others(NULL));
}
