// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_stage.h"

#include <arm_neon.h>

#include "arch/cache.h"
#include "arch/string.h"
#include "kernels/attention.h"
#include "kernels/attention_block.h"
#include "kernels/neon.h"

_Static_assert(STAGE_KEYS == ATTENTION_BLOCK, "the NPU sums what a block sums");
_Static_assert(NPU_PAGE_KEYS == KV_PAGE_TOKENS, "the NPU reads the ring's pages");

struct stage_keys stage_keys(const struct attention_stage *stage, unsigned block) {
    if (stage->sinks && block-- == 0)
        return (struct stage_keys){0, KV_PAGE_TOKENS};
    const uint32_t start = stage->start + block * STAGE_KEYS;
    const uint32_t from = stage->oldest > start ? stage->oldest - start : 0, to = stage->end - start;
    return (struct stage_keys){
        from / KV_PAGE_TOKENS * KV_PAGE_TOKENS,
        to >= STAGE_KEYS ? STAGE_KEYS : (to + KV_PAGE_TOKENS - 1) / KV_PAGE_TOKENS * KV_PAGE_TOKENS};
}

void stage_row(const struct attention_stage *stage, unsigned row, unsigned block, unsigned first,
               unsigned count, const int8_t (*halves)[2][16], const float factors[2]) {
    const struct stage_keys keys = stage_keys(stage, block);
    const size_t bytes = stage_block_bytes(stage->int8), key = bytes / STAGE_KEYS;
    int8_t *const start = stage->values + ((size_t)row * stage->blocks + block) * bytes;
    int8_t *const asked = start + keys.from * key, *const values = start + first * GROUP_KEYS * key;
    float *to = stage->factors[(size_t)row * stage->blocks + block];
    to[0] = factors[0];
    to[1] = factors[1];
    cache_zero(asked, (keys.to - keys.from) * key);
    if (!stage->int8)
        memcpy(values, halves, count * sizeof *halves);
    for (unsigned g = 0; stage->int8 && g < count; g++)
        vst1q_s8(values + g * GROUP_KEYS, vld1q_s8(halves[g][0]));
    cache_begin_clean(asked, (keys.to - keys.from) * key);
}

void stage_finish(const struct attention_stage *stage, unsigned row, const float *sums, unsigned head_dim,
                  float *to) {
    const float(*factors)[2] = (const float(*)[2])stage->factors + (size_t)row * stage->blocks;
    for (unsigned dim = 0; dim < head_dim; dim += 16) {
        float32x4_t o[4] = {vdupq_n_f32(0.0f), vdupq_n_f32(0.0f), vdupq_n_f32(0.0f), vdupq_n_f32(0.0f)};
        for (unsigned block = 0; block < stage->blocks; block++) {
            UNROLL
            for (unsigned i = 0; i < 4; i++)
                o[i] =
                    vfmaq_n_f32(vmulq_n_f32(o[i], factors[block][0]),
                                vld1q_f32(sums + (size_t)block * head_dim + dim + 4 * i), factors[block][1]);
        }
        UNROLL
        for (unsigned i = 0; i < 4; i++)
            vst1q_f32(to + dim + 4 * i, o[i]);
    }
}
