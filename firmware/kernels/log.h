// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/exp2.h"

#define LN_2 0x1.62e430p-1f

/// ln(x) for normal x > 0, within 2e-7 absolute or relative, whichever is larger: x = 2^e * m with m in
/// [sqrt(1/2), sqrt(2)), ln m = 2 atanh(s) with s = (m - 1) / (m + 1), by its series. No fused operations.
static inline float natural_log(float x) {
    uint32_t bits = float_bits(x) - 0x3f3504f3u; // sqrt(1/2): the exponent of what is left tells e
    int32_t e = (int32_t)bits >> 23;
    float m = float_from_bits((bits & 0x007fffffu) + 0x3f3504f3u);
    float s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
    float series = s2 * 0x1.c71c72p-3f + 0x1.24924ap-2f; // 2/9, 2/7
    series = series * s2 + 0x1.99999ap-2f;               // 2/5
    series = series * s2 + 0x1.555556p-1f;               // 2/3
    series = series * s2 * s + 2.0f * s;
    return (float)e * LN_2 + series;
}
