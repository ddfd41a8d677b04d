// SPDX-License-Identifier: Apache-2.0
#include <arm_neon.h>

#include "kernels/linear.h"

// Arguments as in gemm_tile.S.
typedef void gemm_tile(const int8_t *weights, const int32_t *scales, const int8_t *values,
                       const struct group_scale *groups, uint64_t k, float *y, uint64_t y_stride,
                       const float *row_scales, float32x4_t columns);

gemm_tile gemm_tile_8_scale, gemm_tile_8_minimum, gemm_tile_8_two_scales;
gemm_tile gemm_tile_4_scale, gemm_tile_4_minimum, gemm_tile_4_two_scales;
gemm_tile gemm_tile_1_scale, gemm_tile_1_minimum, gemm_tile_1_two_scales;

// All four quads for the rows of a tile, which stay in the L1 cache meanwhile.
static void row_block(gemm_tile *tile, const struct panel *panel, const struct activations *a, float *y,
                      size_t stride) {
    for (unsigned quad = 0; quad < 4; quad++)
        tile(panel->weights + (size_t)quad * 4 * panel->k,
             panel->scales + (size_t)quad * (panel->k / GROUP) * 8, a->values, a->groups, panel->k,
             y + 4 * quad, stride * sizeof(float), a->row_scales, vld1q_f32(panel->columns + 4 * quad));
}

void gemm_panel(const struct panel *panel, const struct activations *a, unsigned rows, float *y,
                size_t stride) {
    static const struct {
        unsigned rows;
        gemm_tile *by_kind[3];
    } tiles[] = {
        {8, {gemm_tile_8_scale, gemm_tile_8_minimum, gemm_tile_8_two_scales}},
        {4, {gemm_tile_4_scale, gemm_tile_4_minimum, gemm_tile_4_two_scales}},
        {1, {gemm_tile_1_scale, gemm_tile_1_minimum, gemm_tile_1_two_scales}},
    };
    unsigned row = 0;
    for (unsigned i = 0; i < 3; i++)
        for (; row + tiles[i].rows <= rows; row += tiles[i].rows) {
            struct activations at = activations_from(a, row);
            row_block(tiles[i].by_kind[panel->kind], panel, &at, y + row * stride, stride);
        }
}
