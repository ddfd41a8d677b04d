// SPDX-License-Identifier: Apache-2.0
// Macros that open and close an assembly function. For .S files only.
// clang-format off
#pragma once

// Opens a global function: its own section (so that the linker can drop it), 16-byte alignment (one fetch line).
.macro func name
        .section .text.\name, "ax", %progbits
        .p2align 4
        .global \name
        .type   \name, %function
\name:
.endm

.macro endfunc name
        .size   \name, . - \name
.endm
