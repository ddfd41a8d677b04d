// SPDX-License-Identifier: Apache-2.0
#include "arch/string.h"
#include "kernels/int8_linear.h"

// gemm_int8.S, which reads these fields at these offsets.
void gemm_int8_tiles(const struct int8_panel *panel, const struct int8_activations *a, size_t tiles, float *y,
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
    const unsigned whole = rows / TILE_ROWS * TILE_ROWS;
    if (whole != 0)
        gemm_int8_tiles(panel, a, whole / TILE_ROWS, y, stride);
    if (whole == rows)
        return;
    const struct int8_activations rest = int8_activations_from(a, whole);
    float last[TILE_ROWS][PANEL_COLUMNS];
    gemm_int8_tiles(panel, &rest, 1, last[0], PANEL_COLUMNS);
    for (unsigned row = whole; row < rows; row++)
        memcpy(y + row * stride, last[row - whole], sizeof last[0]);
}
