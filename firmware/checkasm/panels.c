// SPDX-License-Identifier: Apache-2.0
#include "checkasm/panels.h"

#include "arch/string.h"
#include "checkasm/checkasm.h"

bool has_blocks_of_256(enum tensor_format format) {
    return pack_geometry(format).k == K_PACK;
}

static void put_int16s(uint8_t *to, unsigned count, int32_t limit, enum filling filling) {
    for (unsigned i = 0; i < count; i++) {
        int32_t value = (int32_t)random_below((uint32_t)(2 * limit + 1)) - limit;
        int16_t stored = (int16_t)(filling == RANDOM ? value : filling == HIGHEST ? limit : -limit);
        memcpy(to + 2 * i, &stored, sizeof stored);
    }
}

void fill_panel(uint8_t *panel, enum tensor_format format, unsigned k, enum filling filling) {
    struct pack_geometry pack = pack_geometry(format);
    const bool minimum = format == TENSOR_FORMAT_Q4_1 || format == TENSOR_FORMAT_Q5_1;
    unsigned packs = k / pack.k, scales = (minimum ? 4 : 2) * COLUMN_INT16;
    for (unsigned i = 0; i < packs; i++) {
        uint8_t *p = panel + (size_t)i * pack.bytes;
        if (filling == RANDOM)
            random_bytes(p, pack.bytes);
        else
            memset(p, filling == HIGHEST ? 0xff : format == TENSOR_FORMAT_Q8_0 ? 0x80 : 0x00, pack.bytes);
        if (format == TENSOR_FORMAT_Q6_K) {
            put_int16s(p, PANEL_COLUMNS, 4095, filling);
            if (filling != RANDOM)
                memset(p + COLUMN_INT16, filling == HIGHEST ? 0x7f : 0x80, Q6_K_SUBBLOCKS * PANEL_COLUMNS);
        } else if (has_blocks_of_256(format)) {
            put_int16s(p, PANEL_COLUMNS, 4160, filling);
            put_int16s(p + COLUMN_INT16, PANEL_COLUMNS, 32767, filling);
            if (filling != RANDOM)
                memset(p + 2 * COLUMN_INT16, 0xff, K_HEADER_BYTES - 2 * COLUMN_INT16);
        } else {
            uint8_t *line = p + pack.bytes - scales;
            int32_t limit = format == TENSOR_FORMAT_Q8_0 ? 2047 : 4095;
            for (unsigned g = 0; g < 2; g++, line += COLUMN_INT16) {
                put_int16s(line, PANEL_COLUMNS, limit, filling);
                if (minimum)
                    put_int16s(line += COLUMN_INT16, PANEL_COLUMNS, 32767, filling);
            }
        }
    }
    float *columns = (float *)(panel + panel_scales_offset(format, k));
    for (unsigned i = 0; i < PANEL_COLUMNS; i++)
        columns[i] = random_float(1e-3f);
}

uint8_t *make_panel(enum tensor_format format, unsigned k, enum filling filling) {
    uint8_t *panel = guarded(panel_bytes(format, k));
    fill_panel(panel, format, k, filling);
    return panel;
}
