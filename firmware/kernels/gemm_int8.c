// SPDX-License-Identifier: Apache-2.0
#include "arch/string.h"
#include "kernels/int8_linear.h"

// gemm_int8.S, which reads these fields at these offsets.
typedef void gemm_int8_kernel(const struct int8_panel *panel, const struct int8_activations *a, size_t tiles,
                              float *y, size_t stride);
gemm_int8_kernel gemm_int8_tiles, gemm_int8_tiles_to_panel, gemm_int8_half_tiles;

_Static_assert(offsetof(struct int8_panel, weights) == 0, "");
_Static_assert(offsetof(struct int8_panel, columns) == 8, "");
_Static_assert(offsetof(struct int8_panel, k) == 72, "");
_Static_assert(offsetof(struct int8_activations, values) == 0, "");
_Static_assert(offsetof(struct int8_activations, steps) == 8, "");
_Static_assert(offsetof(struct int8_activations, row_scales) == 16, "");
_Static_assert(offsetof(struct int8_activations, block) == 28, "");

// Rows [from, to) of one tile, `row` its first.
static void partial_tile(const struct int8_panel *panel, const struct int8_activations *a, unsigned row,
                         unsigned from, unsigned to, float *y, size_t stride) {
    const struct int8_activations tile = int8_activations_from(a, row);
    float all[TILE_ROWS][PANEL_COLUMNS] __attribute__((aligned(64)));
    gemm_int8_kernel *kernel = to - row <= TILE_ROWS / 2 ? gemm_int8_half_tiles : gemm_int8_tiles;
    kernel(panel, &tile, 1, all[0], PANEL_COLUMNS);
    for (unsigned i = from; i < to; i++, y += stride)
        memcpy(y, all[i - row], sizeof all[0]);
}

void gemm_int8_panel(const struct int8_panel *panel, const struct int8_activations *a, unsigned from,
                     unsigned to, float *y, size_t stride) {
    for (unsigned row = from, next; row < to; y += (next - row) * stride, row = next) {
        const unsigned first = row / TILE_ROWS * TILE_ROWS, tiles = (to - first) / TILE_ROWS;
        if (row == first && tiles != 0) {
            const struct int8_activations whole = int8_activations_from(a, row);
            (stride == PANEL_COLUMNS ? gemm_int8_tiles_to_panel : gemm_int8_tiles)(panel, &whole, tiles, y,
                                                                                   stride);
            next = row + tiles * TILE_ROWS;
        } else {
            next = first + TILE_ROWS < to ? first + TILE_ROWS : to;
            partial_tile(panel, a, first, row, next, y, stride);
        }
    }
}
