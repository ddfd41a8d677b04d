// SPDX-License-Identifier: Apache-2.0
#include "arch/string.h"
#include "kernels/int8_linear.h"

// gemm_int8.S; reads these fields at these offsets.
void gemm_int8_tile(const struct int8_panel *panel, const struct int8_activations *tile, float *y,
                    size_t stride);

_Static_assert(offsetof(struct int8_panel, weights) == 0, "");
_Static_assert(offsetof(struct int8_panel, columns) == 8, "");
_Static_assert(offsetof(struct int8_panel, k) == 72, "");
_Static_assert(offsetof(struct int8_activations, values) == 0, "");
_Static_assert(offsetof(struct int8_activations, steps) == 8, "");
_Static_assert(offsetof(struct int8_activations, row_scales) == 16, "");
_Static_assert(offsetof(struct int8_activations, block) == 28, "");

void gemm_int8_panel(const struct int8_panel *panel, const struct int8_activations *a, unsigned rows,
                     float *y, size_t stride) {
    for (unsigned row = 0; row < rows; row += TILE_ROWS) {
        struct int8_activations tile = int8_activations_from(a, row);
        if (rows - row >= TILE_ROWS) {
            gemm_int8_tile(panel, &tile, y + row * stride, stride);
            continue;
        }
        float last[TILE_ROWS][PANEL_COLUMNS];
        gemm_int8_tile(panel, &tile, last[0], PANEL_COLUMNS);
        for (unsigned i = 0; row + i < rows; i++)
            memcpy(y + (row + i) * stride, last[i], sizeof last[i]);
    }
}
