// SPDX-License-Identifier: Apache-2.0
// What one core knows of the layer that it takes part in, and its part of the work. docs/multicore.md has the
// table.
#pragma once

#include "engine/forward.h"
#include "engine/team.h"
#include "kernels/pack.h"

struct pass {
    struct forward *f;
    const struct layer *weights;
    struct share share;
    unsigned layer;
    uint32_t position; // of row 0
    unsigned first;    // row that goes on after the keys and values; those before it end there
    unsigned rows;     // from `first` on
    bool int8;         // requantized weights instead of the packs' own: forward.h
};

// Rows are given to cores in units of 16 where there are enough: then no core writes into a line of another's
// (of the rows' scales, the narrowest). Below, balance is worth more than those few lines; but a tile has 8
// rows.
#define ROW_UNIT       16
#define SMALL_ROW_UNIT 4

static inline struct interval rows_of(const struct pass *p, unsigned rows) {
    const unsigned small = p->int8 ? TILE_ROWS : SMALL_ROW_UNIT;
    return share_of(p->share, rows, rows >= ROW_UNIT * p->share.parts ? ROW_UNIT : small);
}

static inline unsigned panels_in(const struct matrix *m) {
    return (m->rows + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
}

static inline struct interval panels_of(const struct pass *p, const struct matrix *m) {
    return share_of(p->share, panels_in(m), 1);
}

static inline void meet(const struct pass *p) {
    team_meet(p->share, p->layer);
}
