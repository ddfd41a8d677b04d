// SPDX-License-Identifier: Apache-2.0
#include "link/cobs.h"

#include <arm_neon.h>
#include <stdbool.h>

#define STEP 16u
#define FAR  255u // a position that does not fit into a byte

/// Minimum over each byte and the ones above it.
static inline uint8x16_t suffix_minimum(uint8x16_t v) {
    uint8x16_t fill = vdupq_n_u8(FAR);
    v = vminq_u8(v, vextq_u8(v, fill, 1));
    v = vminq_u8(v, vextq_u8(v, fill, 2));
    v = vminq_u8(v, vextq_u8(v, fill, 4));
    return vminq_u8(v, vextq_u8(v, fill, 8));
}

/// Kernel events are half zeros, at places that no branch predictor guesses. So: from the last 16 bytes to
/// the first, without a branch, find for each byte where the next zero is, and take the distance in place of
/// the byte where it is zero. False when a distance may be too long for one code byte; `out` is garbage then.
static bool encode_short(uint8_t *out, const uint8_t *data, size_t bytes) {
    static const uint8_t numbers[STEP] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint8x16_t index = vld1q_u8(numbers), far = vdupq_n_u8(FAR);
    // Position of the first zero above these 16 bytes, counted from their start, in every lane. Above the
    // last ones none matters: they hold the end of the frame, which is the padding's first zero.
    uint8x16_t next = vdupq_n_u8(STEP);
    uint8x16_t too_far = vdupq_n_u8(0);
    for (size_t at = (bytes + STEP) / STEP * STEP; at != 0;) {
        at -= STEP;
        uint8x16_t v = vld1q_u8(data + at);
        uint8x16_t zero = vceqzq_u8(v);
        uint8x16_t here_or_above = vminq_u8(suffix_minimum(vbslq_u8(zero, index, far)), next);
        uint8x16_t above = vextq_u8(here_or_above, next, 1);
        too_far = vorrq_u8(too_far, vandq_u8(zero, vceqq_u8(above, far)));
        vst1q_u8(out + 1 + at, vbslq_u8(zero, vsubq_u8(above, index), v));
        next = vqaddq_u8(vdupq_laneq_u8(here_or_above, 0), vdupq_n_u8(STEP));
    }
    // `next` is now counted from 16 bytes before the data: the code byte in front is 15 bytes behind that.
    uint8_t first = vgetq_lane_u8(next, 0);
    out[0] = (uint8_t)(first - (STEP - 1));
    return first != FAR && vmaxvq_u8(too_far) == 0;
}

static size_t encode_any(uint8_t *out, const uint8_t *data, size_t bytes) {
    size_t code_at = 0, to = 1;
    for (size_t from = 0; from < bytes;) {
        bool full = to - code_at == 0xff; // ends without a zero, and only because more follows
        if (full || data[from] == 0) {
            out[code_at] = (uint8_t)(to - code_at);
            code_at = to++;
            from += !full;
        } else {
            out[to++] = data[from++];
        }
    }
    out[code_at] = (uint8_t)(to - code_at);
    return to;
}

size_t cobs_encode(uint8_t *out, const uint8_t *data, size_t bytes) {
    return encode_short(out, data, bytes) ? bytes + 1 : encode_any(out, data, bytes);
}

size_t cobs_decode(uint8_t *data, size_t bytes) {
    size_t from = 0, to = 0;
    while (from < bytes) {
        uint8_t code = data[from++];
        if (code == 0 || code - 1u > bytes - from)
            return COBS_BAD;
        for (unsigned i = 1; i < code; i++)
            data[to++] = data[from++];
        if (code != 0xff && from < bytes)
            data[to++] = 0;
    }
    return to;
}
