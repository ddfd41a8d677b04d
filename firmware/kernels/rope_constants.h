// SPDX-License-Identifier: Apache-2.0
// Shared by the kernel and its reference: sine and cosine on an eighth of a turn either way, by their Taylor
// series (errors 3e-7 and 3e-8, against 6e-8 for half a unit of a float near 1).
#pragma once

#define RADIANS_PER_UNIT 0x1.921fb6p-30f // 2 pi / 2^32
#define SINE_C3          -0x1.555556p-3f // -1/6
#define SINE_C5          0x1.111112p-7f  // 1/120
#define SINE_C7          -0x1.a01a02p-13f
#define COSINE_C4        0x1.555556p-5f // 1/24
#define COSINE_C6        -0x1.6c16c2p-10f
#define COSINE_C8        0x1.a01a02p-16f
