// SPDX-License-Identifier: Apache-2.0
#include "kernels/embed.h"

#include "kernels/activations.h"

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
    for (unsigned i = 0; i < k; i++) {
        const int32_t *group = scales + i / GROUP * 8;
        int32_t scale = group[0], minimum = 0;
        if (scratch->kind == PANEL_TWO_SCALES)
            scale = group[i % GROUP / 16 * 4];
        else if (scratch->kind == PANEL_SCALE_MINIMUM)
            minimum = group[4];
        x[i] = column * (float)(scale * q[i / 4 * 16 + i % 4] + minimum);
    }
}
