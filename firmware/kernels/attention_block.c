// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_block.h"

#include "arch/string.h"
#include "kernels/activations.h"
#include "kernels/attention.h"
#include "kernels/attention_stage.h"
#include "kernels/neon.h"

_Static_assert(BLOCK_GROUPS *GROUP_KEYS == ATTENTION_BLOCK, "a block is whole groups");

// Of the default form and with queries of 16 bits.
static attention_scores *const plain[2][KERNEL_ROWS] = {
    {attention_scores_1, attention_scores_2, attention_scores_3, attention_scores_4},
    {attention_scores16_1, attention_scores16_2, attention_scores16_3, attention_scores16_4}};
static attention_scores *const masked[2][KERNEL_ROWS] = {
    {attention_scores_masked_1, attention_scores_masked_2, attention_scores_masked_3,
     attention_scores_masked_4},
    {attention_masked16_1, attention_masked16_2, attention_masked16_3, attention_masked16_4}};
// Of probabilities of 15 and of 7 bits.
static attention_values *const values[2][KERNEL_ROWS] = {
    {attention_values_1, attention_values_2, attention_values_3, attention_values_4},
    {attention_values_int8_1, attention_values_int8_2, attention_values_int8_3, attention_values_int8_4}};

static const float nothing[2 * ROPE_PAIRS_MAX]; // what a row's first block adds to

// Up to four rows of the tile, and the groups of the block that any of them sees. In vectors, lane r is row r
// of the strip.
struct strip {
    unsigned row, rows;
    unsigned first, count;
    unsigned keys; // from the first group on, up to the last one that any row sees
    const struct key_group *groups;
    int32x4_t tops[KERNEL_ROWS];
    struct row_weights weights[KERNEL_ROWS];
    float32x4_t factors[2]; // alpha and unit; both over l in a row's last block
    struct out_row out[KERNEL_ROWS];
};

// What a block means to a tile, between the steps. They are taken for all rows in turn, so that what one
// waits for at its end is there by the time that the next one begins.
struct block {
    struct attention_tile *tile;
    unsigned which, strips;
    struct strip strip[ATTENTION_ROWS / KERNEL_ROWS];
    uint32_t scores[ATTENTION_ROWS][ATTENTION_BLOCK];
    int8_t halves[ATTENTION_ROWS][BLOCK_GROUPS][2][GROUP_KEYS];
    uint32_t floor[ATTENTION_ROWS + KERNEL_ROWS];
    float factor[ATTENTION_ROWS + KERNEL_ROWS];
} __attribute__((aligned(64)));

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

// Keys below `end` among the 16 from `start` on, as bits.
static uint32_t bits_below(unsigned end, unsigned start) {
    return end <= start ? 0 : (1u << least(end - start, GROUP_KEYS)) - 1;
}

// Four vectors of four lanes to the largest of each.
static int32x4_t largest_of(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
    return vpmaxq_s32(vpmaxq_s32(a, b), vpmaxq_s32(c, d));
}

// Scores of groups [from, to) of the strip. Masks are made where a row does not see a whole group.
static void score_groups(struct block *b, struct strip *s, unsigned from, unsigned to, bool whole) {
    const struct attention_tile *t = b->tile;
    uint32_t visible[BLOCK_GROUPS][KERNEL_ROWS];
    if (from >= to)
        return;
    for (unsigned g = from; g < to && !whole; g++)
        for (unsigned r = 0; r < s->rows; r++) {
            unsigned start = (s->first + g) * GROUP_KEYS, row = s->row + r;
            visible[g - from][r] = bits_below(t->to[row], start) & ~bits_below(t->from[row], start);
        }
    const bool int16 = t->form == ATTENTION_FORM_INT16;
    attention_scores *kernel = (whole ? plain : masked)[int16][s->rows - 1];
    kernel(s->groups + from, to - from, t->query[b->which] + (s->row << int16), t->head_dim,
           t->scale[b->which] + s->row, (void *)&b->scores[s->row][from * GROUP_KEYS], s->tops, visible);
}

// Steps t and m of attention.h. The groups that all rows see whole lie together.
static void score(struct block *b, struct strip *s) {
    struct attention_tile *t = b->tile;
    unsigned last = s->row + s->rows - 1;
    unsigned from = (t->from[last] + GROUP_KEYS - 1) / GROUP_KEYS, to = t->to[s->row] / GROUP_KEYS;
    from = from < s->first ? 0 : least(from - s->first, s->count);
    to = to < s->first + from ? from : least(to - s->first, s->count);
    memset(s->tops, 0, sizeof s->tops);
    score_groups(b, s, 0, from, false);
    score_groups(b, s, from, to, true);
    score_groups(b, s, to, s->count, false);
    const int32x4_t before = vld1q_s32((const int32_t *)t->top + s->row);
    const int32x4_t here = largest_of(s->tops[0], s->tops[1], s->tops[2], s->tops[3]);
    const uint32x4_t now = vreinterpretq_u32_s32(vmaxq_s32(here, before));
    const uint32x4_t floor = vsubq_u32(now, vdupq_n_u32(EXP2_ZERO_STEPS));
    s->factors[0] = exp2_steps_u32x4(vqsubq_u32(vreinterpretq_u32_s32(before), floor));
    vst1q_u32(b->floor + s->row, floor);
    uint32_t top[KERNEL_ROWS];
    vst1q_u32(top, now);
    for (unsigned r = 0; r < s->rows; r++) {
        const unsigned row = s->row + r;
        s->out[r] = (struct out_row){.from = t->top[row] == 0 ? nothing : t->out[row],
                                     .to = t->last[row] ? t->result[row] : t->out[row]};
        t->top[row] = top[r];
    }
}

// Step l, and what step u multiplies by.
static void sum_up(struct block *b, struct strip *s) {
    struct attention_tile *t = b->tile;
    const struct row_weights *w = s->weights;
    const int32x4_t bits = largest_of(w[0].largest, w[1].largest, w[2].largest, w[3].largest);
    const float32x4_t largest = vreinterpretq_f32_s32(bits);
    const uint32x4_t counts = vcgeq_s32(bits, vdupq_n_s32((int32_t)float_bits(ACTIVATION_TINY)));
    vst1q_f32(b->factor + s->row, keep(vdivq_f32(vdupq_n_f32(PROBABILITY_MAX), largest), counts));
    s->factors[1] = keep(vmulq_n_f32(largest, 1.0f / PROBABILITY_MAX), counts);
    if (t->form == ATTENTION_FORM_INT8_PV)
        s->factors[1] = vmulq_n_f32(s->factors[1], 256.0f);
    float sum[KERNEL_ROWS];
    float32x4_t sums = vpaddq_f32(vpaddq_f32(w[0].sum, w[1].sum), vpaddq_f32(w[2].sum, w[3].sum));
    sums = vfmaq_f32(sums, vld1q_f32(t->sum + s->row), s->factors[0]);
    vst1q_f32(sum, sums);
    for (unsigned r = 0; r < s->rows; r++)
        t->sum[s->row + r] = sum[r];
    const float32x4_t one = vdupq_n_f32(1.0f);
    const float32x4_t over = vbslq_f32(vld1q_u32(t->last + s->row), vdivq_f32(one, sums), one);
    s->factors[0] = vmulq_f32(s->factors[0], over);
    s->factors[1] = vmulq_f32(s->factors[1], over);
}

static bool sees(const struct attention_tile *t, unsigned row) {
    return t->from[row] < t->to[row];
}

// Cuts the rows that see something into strips.
static void cut(struct block *b, const struct key_group *groups) {
    const struct attention_tile *t = b->tile;
    unsigned row = 0, end = t->rows;
    while (row < end && !sees(t, row))
        row++;
    while (row < end && !sees(t, end - 1))
        end--;
    for (b->strips = 0; row < end; row += KERNEL_ROWS) {
        struct strip *s = &b->strip[b->strips++];
        s->row = row;
        s->rows = least(end - row, KERNEL_ROWS);
        s->first = t->from[row] / GROUP_KEYS;
        s->keys = t->to[row + s->rows - 1] - s->first * GROUP_KEYS;
        s->count = (s->keys + GROUP_KEYS - 1) / GROUP_KEYS;
        s->groups = groups + s->first;
    }
}

// The block's probabilities to where the tile wants them; of rows that see nothing, none.
__attribute__((noinline)) static void put_on_stage(struct block *b) {
    static const float neutral[2] = {1.0f, 0.0f};
    struct attention_tile *t = b->tile;
    float factors[2][KERNEL_ROWS];
    unsigned row = 0;
    const unsigned first = t->stage_row, block = t->stage_block++;
    for (const struct strip *s = b->strip; s < b->strip + b->strips; s++) {
        for (; row < s->row; row++)
            stage_row(t->stage, first + row, block, 0, 0, NULL, neutral);
        vst1q_f32(factors[0], s->factors[0]);
        vst1q_f32(factors[1], s->factors[1]);
        for (unsigned r = 0; r < s->rows; r++, row++)
            stage_row(t->stage, first + row, block, s->first, s->count, b->halves[row],
                      (const float[2]){factors[0][r], factors[1][r]});
    }
    for (; row < t->rows; row++)
        stage_row(t->stage, first + row, block, 0, 0, NULL, neutral);
}

void attention_block(struct attention_tile *tile, unsigned which, const struct key_group *groups) {
    struct block b; // not cleared: 12 KB, of which only what has been written is read
    b.tile = tile;
    b.which = which;
    cut(&b, groups);
    struct strip *const end = b.strip + b.strips;
    for (struct strip *s = b.strip; s < end; s++)
        score(&b, s);
    for (struct strip *s = b.strip; s < end; s++)
        for (unsigned r = 0; r < s->rows; r++)
            attention_exponents(s->groups, (tile->to[s->row + r] - s->first * GROUP_KEYS + 7) / 8,
                                b.scores[s->row + r], b.floor[s->row + r], &s->weights[r]);
    for (struct strip *s = b.strip; s < end; s++)
        sum_up(&b, s);
    for (struct strip *s = b.strip; s < end; s++)
        for (unsigned r = 0; r < s->rows; r++)
            attention_probabilities(b.scores[s->row + r], s->count, b.halves[s->row + r],
                                    b.factor[s->row + r]);
    if (tile->stage != NULL) {
        put_on_stage(&b);
        return;
    }
    for (struct strip *s = b.strip; s < end; s++)
        values[tile->form == ATTENTION_FORM_INT8_PV][s->rows - 1](
            s->groups, (s->keys + 3) / 4, b.halves + s->row, tile->head_dim, s->factors, s->out);
}
