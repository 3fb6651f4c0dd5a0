/* An exported function for each of the driver's names. It jumps to the target in its slot: at first to `bind`, which
 * opens the driver; later to the driver's own function, or to `observe` if the name has a hook. It leaves all other
 * registers and the stack as they are, so it needs no signature. */
#if defined(__x86_64__)

        .macro  ENTRY name
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
jump_\name:
        endbr64
        movl    $index, %r11d
        jmp     *slots + 8 * index(%rip)
        .size   \name, . - \name
        .set    index, index + 1
        .endm

        .text
        .set    index, 0
#define NAME(name) ENTRY name
#include "debug/attach/shim/names.inc"
#undef NAME

/* r11 has the index of the name. Saves all registers that may hold arguments: six, and eight of floating point. */
        .type   bind, @function
bind:   .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        pushq   %rax
        pushq   %r11
        subq    $128, %rsp
        movups  %xmm0, (%rsp)
        movups  %xmm1, 16(%rsp)
        movups  %xmm2, 32(%rsp)
        movups  %xmm3, 48(%rsp)
        movups  %xmm4, 64(%rsp)
        movups  %xmm5, 80(%rsp)
        movups  %xmm6, 96(%rsp)
        movups  %xmm7, 112(%rsp)
        movl    %r11d, %edi
        leaq    table(%rip), %rsi
        call    bg__driver_bind
        movups  (%rsp), %xmm0
        movups  16(%rsp), %xmm1
        movups  32(%rsp), %xmm2
        movups  48(%rsp), %xmm3
        movups  64(%rsp), %xmm4
        movups  80(%rsp), %xmm5
        movups  96(%rsp), %xmm6
        movups  112(%rsp), %xmm7
        addq    $128, %rsp
        movq    %rax, %r10
        popq    %r11
        popq    %rax
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rsi
        popq    %rdi
        popq    %rbp
        .cfi_def_cfa rsp, 8
        jmp     *%r10
        .cfi_endproc
        .size   bind, . - bind

/* A call with a hook. Builds a struct bg__driver_call on the stack, and calls bg__driver_begin, the driver's function
 * unless that returned NULL, and bg__driver_end. The driver's function gets the arguments of the struct: six registers,
 * and as many words of the caller's stack as any function of the driver takes. A few functions take floats. */
        .type   observe, @function
observe:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        subq    $288, %rsp
        movups  %xmm0, -288(%rbp)
        movups  %xmm1, -272(%rbp)
        movups  %xmm2, -256(%rbp)
        movups  %xmm3, -240(%rbp)
        movups  %xmm4, -224(%rbp)
        movups  %xmm5, -208(%rbp)
        movups  %xmm6, -192(%rbp)
        movups  %xmm7, -176(%rbp)
        movq    %rdi, -160(%rbp)
        movq    %rsi, -152(%rbp)
        movq    %rdx, -144(%rbp)
        movq    %rcx, -136(%rbp)
        movq    %r8, -128(%rbp)
        movq    %r9, -120(%rbp)
        .irp    word, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
        movq    16 + 8 * \word(%rbp), %rax
        movq    %rax, -112 + 8 * \word(%rbp)
        .endr
        movl    %r11d, -32(%rbp)
        leaq    -160(%rbp), %rdi
        call    bg__driver_begin
        testq   %rax, %rax
        jz      1f
        movq    %rax, %r11
        subq    $80, %rsp
        .irp    word, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
        movq    -112 + 8 * \word(%rbp), %rax
        movq    %rax, 8 * \word(%rsp)
        .endr
        movq    -160(%rbp), %rdi
        movq    -152(%rbp), %rsi
        movq    -144(%rbp), %rdx
        movq    -136(%rbp), %rcx
        movq    -128(%rbp), %r8
        movq    -120(%rbp), %r9
        movups  -288(%rbp), %xmm0
        movups  -272(%rbp), %xmm1
        movups  -256(%rbp), %xmm2
        movups  -240(%rbp), %xmm3
        movups  -224(%rbp), %xmm4
        movups  -208(%rbp), %xmm5
        movups  -192(%rbp), %xmm6
        movups  -176(%rbp), %xmm7
        call    *%r11
        movl    %eax, -28(%rbp)
        leaq    -160(%rbp), %rdi
        call    bg__driver_end
1:      movl    -28(%rbp), %eax
        leave
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   observe, . - observe
#define WORD .quad

#elif defined(__aarch64__)

        .macro  ENTRY name
        .globl  \name
        .type   \name, %function
        .p2align 4
\name:
jump_\name:
        hint    #34                     /* bti c */
        mov     w16, #index
        adrp    x17, slots + 8 * index
        ldr     x17, [x17, #:lo12:slots + 8 * index]
        br      x17
        .size   \name, . - \name
        .set    index, index + 1
        .endm

        .text
        .set    index, 0
#define NAME(name) ENTRY name
#include "debug/attach/shim/names.inc"
#undef NAME

/* w16 has the index of the name. Saves all registers that may hold arguments: x0 to x8, and eight of floating point. */
        .type   bind, %function
bind:   .cfi_startproc
        hint    #34
        stp     x29, x30, [sp, #-224]!
        .cfi_def_cfa_offset 224
        .cfi_offset x29, -224
        .cfi_offset x30, -216
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        mov     w0, w16
        adrp    x1, table
        add     x1, x1, #:lo12:table
        bl      bg__driver_bind
        mov     x17, x0
        ldp     q6, q7, [sp, #192]
        ldp     q4, q5, [sp, #160]
        ldp     q2, q3, [sp, #128]
        ldp     q0, q1, [sp, #96]
        ldr     x8, [sp, #80]
        ldp     x6, x7, [sp, #64]
        ldp     x4, x5, [sp, #48]
        ldp     x2, x3, [sp, #32]
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #224
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br      x17
        .cfi_endproc
        .size   bind, . - bind

/* As above, with eight arguments in registers, and room for eight more in the struct. */
        .type   observe, %function
observe:
        .cfi_startproc
        hint    #34
        stp     x29, x30, [sp, #-304]!
        .cfi_def_cfa_offset 304
        .cfi_offset x29, -304
        .cfi_offset x30, -296
        mov     x29, sp
        .cfi_def_cfa x29, 304
        stp     x0, x1, [x29, #16]
        stp     x2, x3, [x29, #32]
        stp     x4, x5, [x29, #48]
        stp     x6, x7, [x29, #64]
        stp     q0, q1, [x29, #176]
        stp     q2, q3, [x29, #208]
        stp     q4, q5, [x29, #240]
        stp     q6, q7, [x29, #272]
        ldp     x9, x10, [x29, #304]
        stp     x9, x10, [x29, #80]
        ldp     x9, x10, [x29, #320]
        stp     x9, x10, [x29, #96]
        ldp     x9, x10, [x29, #336]
        stp     x9, x10, [x29, #112]
        ldp     x9, x10, [x29, #352]
        stp     x9, x10, [x29, #128]
        str     w16, [x29, #144]
        add     x0, x29, #16
        bl      bg__driver_begin
        cbz     x0, 1f
        mov     x17, x0
        sub     sp, sp, #64
        ldp     x9, x10, [x29, #80]
        stp     x9, x10, [sp]
        ldp     x9, x10, [x29, #96]
        stp     x9, x10, [sp, #16]
        ldp     x9, x10, [x29, #112]
        stp     x9, x10, [sp, #32]
        ldp     x9, x10, [x29, #128]
        stp     x9, x10, [sp, #48]
        ldp     x0, x1, [x29, #16]
        ldp     x2, x3, [x29, #32]
        ldp     x4, x5, [x29, #48]
        ldp     x6, x7, [x29, #64]
        ldp     q0, q1, [x29, #176]
        ldp     q2, q3, [x29, #208]
        ldp     q4, q5, [x29, #240]
        ldp     q6, q7, [x29, #272]
        blr     x17
        mov     sp, x29
        str     w0, [x29, #148]
        add     x0, x29, #16
        bl      bg__driver_end
1:      ldr     w0, [x29, #148]
        ldp     x29, x30, [sp], #304
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa sp, 0
        ret
        .cfi_endproc
        .size   observe, . - observe
#define WORD .xword

#else
#error "attach: jumps are written for x86-64 and aarch64"
#endif

        .data
        .p2align 3
        .type   slots, %object
slots:
#define NAME(name) WORD bind;
#include "debug/attach/shim/names.inc"
#undef NAME
        .size   slots, . - slots

/* The addresses of the functions above. Their exported names do not serve: another library may interpose them. */
        .section .data.rel.ro, "aw", %progbits
        .p2align 3
        .type   jumps, %object
jumps:
#define NAME(name) WORD jump_##name;
#include "debug/attach/shim/names.inc"
#undef NAME
        .size   jumps, . - jumps

/* struct bg__driver_jumps, the argument of bg__driver_bind. */
table:  WORD    slots
        WORD    jumps
        WORD    observe

        .section .note.GNU-stack, "", %progbits
