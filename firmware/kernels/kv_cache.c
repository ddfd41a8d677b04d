// SPDX-License-Identifier: Apache-2.0
#include "kernels/kv_cache.h"

#include <stdbool.h>

#include "kernels/elementwise.h"
#include "kernels/neon.h"
#include "kernels/rope.h"
#include "schema/image.h"

// Slots that one core fills: their scales are a cache line, and so are the dims of their key quads.
#define SHARED_SLOTS 16

#define QUAD 4 // slots whose keys, or values, are interleaved

// One token of one head.
struct slot {
    uint8_t *page;
    unsigned number; // in the page
    unsigned row, head;
};

typedef int8_t head[2 * ROPE_PAIRS_MAX];

// A head of half precision as floats. It comes straight from the NPU's memory, as will those of the next
// quad.
static const float *widen_ahead(const uint16_t *from, size_t stride, unsigned head_dim, float *wide) {
    for (unsigned i = 0; i < head_dim; i += 32)
        __builtin_prefetch(from + QUAD * stride + i);
    widen(from, head_dim, wide);
    return wide;
}

// Keys of one slot: 4 dims lie side by side, 16 bytes from the next 4.
static void store_key(int8_t *to, const int8_t *key, unsigned head_dim) {
    for (unsigned i = 0; i < head_dim; i += 16, to += 64) {
        int32x4_t v = vreinterpretq_s32_s8(vld1q_s8(key + i));
        vst1q_lane_s32((int32_t *)to, v, 0);
        vst1q_lane_s32((int32_t *)(to + 16), v, 1);
        vst1q_lane_s32((int32_t *)(to + 32), v, 2);
        vst1q_lane_s32((int32_t *)(to + 48), v, 3);
    }
}

// Values of one slot: every dim lies 4 bytes from the next. Merged into the quad, which takes half the time
// of storing byte by byte.
static void store_value(int8_t *quad, unsigned lane, const int8_t *value, unsigned head_dim) {
    const uint8x16_t mask = vreinterpretq_u8_u32(vdupq_n_u32(0xffu << 8 * lane));
    for (unsigned i = 0; i < head_dim; i += 16, quad += 64) {
        int8x16_t v = vld1q_s8(value + i);
        int16x8_t low = vreinterpretq_s16_s8(vzip1q_s8(v, v)), high = vreinterpretq_s16_s8(vzip2q_s8(v, v));
        int16x8_t four[4] = {vzip1q_s16(low, low), vzip2q_s16(low, low), vzip1q_s16(high, high),
                             vzip2q_s16(high, high)}; // times each byte, for 4 dims
        UNROLL
        for (unsigned j = 0; j < 4; j++)
            vst1q_s8(quad + 16 * j, vbslq_s8(mask, vreinterpretq_s8_s16(four[j]), vld1q_s8(quad + 16 * j)));
    }
}

// A whole quad: keys interleave words of four slots, values bytes.
static void store_quad(int8_t *keys, int8_t *values, const head *q, unsigned head_dim) {
    for (unsigned i = 0; i < head_dim; i += 16) {
        int32x4x4_t k;
        int8x16x4_t v;
        UNROLL
        for (unsigned slot = 0; slot < QUAD; slot++) {
            k.val[slot] = vreinterpretq_s32_s8(vld1q_s8(q[slot] + i));
            v.val[slot] = vld1q_s8(q[QUAD + slot] + i);
        }
        vst4q_s32((int32_t *)(keys + QUAD * i), k);
        vst4q_s8(values + QUAD * i, v);
    }
}

static bool is_quad(const struct slot *slots, unsigned count) {
    return count == QUAD && slots[0].number % QUAD == 0 && slots[QUAD - 1].page == slots[0].page &&
           slots[QUAD - 1].number == slots[0].number + QUAD - 1;
}

// What a single slot is merged into: it comes while the head is rotated.
static void prefetch_quad(const struct slot *slot, unsigned head_dim) {
    const size_t before = (size_t)(slot->number / QUAD) * QUAD * head_dim;
    for (size_t line = 0; line < QUAD * head_dim; line += 64) {
        __builtin_prefetch(kv_keys(slot->page) + before + line, 1);
        __builtin_prefetch(kv_values(slot->page, head_dim) + before + line, 1);
    }
}

// Up to four slots, so that what one waits for overlaps with work on the others.
static void update_slots(const struct kv_ring *ring, const struct kv_update *update, const struct slot *slots,
                         unsigned count) {
    const unsigned head_dim = ring->shape.head_dim;
    const bool whole_quad = is_quad(slots, count);
    struct head_input heads[2 * QUAD] = {0};
    head q[2 * QUAD] __attribute__((aligned(16)));
    float wide[2 * QUAD][2 * ROPE_PAIRS_MAX]; // used of halves alone
    float scales[2 * QUAD];
    for (unsigned i = 0; i < count; i++) {
        if (!whole_quad)
            prefetch_quad(&slots[i], head_dim);
        size_t at = slots[i].row * update->stride + (size_t)slots[i].head * head_dim;
        const float *rope = update->rope + (size_t)slots[i].row * head_dim;
        const float *key = (const float *)update->keys + at, *value = (const float *)update->values + at;
        if (update->halves) {
            key = widen_ahead((const uint16_t *)update->keys + at, update->stride, head_dim, wide[i]);
            value =
                widen_ahead((const uint16_t *)update->values + at, update->stride, head_dim, wide[count + i]);
        }
        heads[i] = (struct head_input){key, rope};
        heads[count + i] = (struct head_input){value, NULL};
    }
    rotate_and_quantize(heads, 2 * count, head_dim, q, scales);
    for (unsigned i = 0; i < count; i++) {
        uint8_t *page = slots[i].page;
        unsigned number = slots[i].number, lane = number % QUAD;
        size_t before = (size_t)(number - lane) * head_dim; // bytes of the quads before, keys or values
        int8_t *keys = kv_keys(page) + before, *values = kv_values(page, head_dim) + before;
        kv_key_scales(page, head_dim)[number] = scales[i];
        kv_value_scales(page, head_dim)[number] = scales[count + i];
        if (!whole_quad) {
            store_key(keys + lane * 4, q[i], head_dim);
            store_value(values, lane, q[count + i], head_dim);
        } else if (i == 0) {
            store_quad(keys, values, q, head_dim);
        }
    }
}

// Slots of a run that are still to come: what was left in them must not reach a product with a probability
// of 0, should it have been infinite.
static void clear_scales(uint8_t *page, unsigned head_dim, unsigned slot) {
    for (; slot % SHARED_SLOTS != 0; slot++)
        kv_value_scales(page, head_dim)[slot] = 0.0f;
}

unsigned kv_cache_update(const struct kv_ring *ring, unsigned layer, const struct kv_update *update,
                         struct share share) {
    struct slot slots[QUAD];
    unsigned unit = 0, filled = 0, count = 0;
    for (unsigned row = 0, end; row < update->rows; row = end) {
        uint32_t position = update->position + row;
        end = row + SHARED_SLOTS - position % SHARED_SLOTS;
        end = end < update->rows ? end : update->rows;
        for (unsigned head = 0; head < ring->shape.kv_heads; head++) {
            if (!is_dealt(share, unit++))
                continue;
            uint8_t *page = kv_ring_page(ring, share.part, layer, head, position / KV_PAGE_TOKENS);
            for (unsigned at = row; at < end; at++) {
                unsigned number = (update->position + at) % KV_PAGE_TOKENS;
                slots[count++] = (struct slot){page, number, at, head};
                // Several rows: quads are not torn. One row: it takes several heads at once.
                if (count == QUAD || (number % QUAD == QUAD - 1 && update->rows > 1)) {
                    update_slots(ring, update, slots, count);
                    count = 0;
                }
            }
            clear_scales(page, ring->shape.head_dim, (update->position + end) % KV_PAGE_TOKENS);
            filled += end - row;
        }
    }
    if (count != 0)
        update_slots(ring, update, slots, count);
    return filled;
}
