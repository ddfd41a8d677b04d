// SPDX-License-Identifier: Apache-2.0
#include "kernels/embed.h"

#include "kernels/activations.h"
#include "kernels/neon.h"

#define RUN 16 // k that share a scale in every format

// The whole panel is unpacked for one of its 16 columns: a few microseconds per token, and every format
// shares the unpacking that is tested anyway.
void embed_row(enum tensor_format format, const uint8_t *matrix, unsigned k, uint32_t token,
               struct panel *scratch, float *x) {
    unsigned padded = padded_k(k);
    size_t panel = token / PANEL_COLUMNS;
    unsigned quad = token % PANEL_COLUMNS / 4, lane = token % 4;
    dequantize_panel(format, matrix + panel * panel_bytes(format, k), padded, scratch);
    const int8_t *q = scratch->weights + (size_t)quad * 4 * padded + lane * 4;
    const int32_t *scales = scratch->scales + (size_t)quad * (padded / GROUP) * 8 + lane;
    float column = scratch->columns[token % PANEL_COLUMNS];
    for (unsigned run = 0; run < k; run += RUN) {
        const int32_t *group = scales + run / GROUP * 8;
        const int32_t scale = group[scratch->kind == PANEL_TWO_SCALES ? run % GROUP / RUN * 4 : 0];
        const int32_t minimum = scratch->kind == PANEL_SCALE_MINIMUM ? group[4] : 0;
        UNROLL
        for (unsigned i = run; i < run + RUN; i += 4) {
            const int8x8_t four = vreinterpret_s8_s32(vld1_dup_s32((const int32_t *)(q + i * 4)));
            const int32x4_t codes = vmovl_s16(vget_low_s16(vmovl_s8(four)));
            const int32x4_t weights = vmlaq_n_s32(vdupq_n_s32(minimum), codes, scale);
            vst1q_f32(x + i, vmulq_n_f32(vcvtq_f32_s32(weights), column));
        }
    }
}
