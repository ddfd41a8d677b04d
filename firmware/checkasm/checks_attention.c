// SPDX-License-Identifier: Apache-2.0
// KV cache and attention, through several turns of a small ring.
#include "arch/string.h"
#include "checkasm/checkasm.h"
#include "kernels/attention.h"
#include "kernels/kv_cache.h"
#include "kernels/reference/reference.h"
#include "kernels/rope.h"

// whole(), as the procedure call standard passes it: two words in one register.
#define WHOLE (UINT64_C(1) << 32)

#define BATCH         9
#define HEADS         6
#define LAYERS        2
#define SPEED_CONTEXT 256
#define FORM_VARIANTS 1000 // a variant is this times the form, and head_dim or rows
#define HALVES_APART  32   // values that rows of halves are farther apart than they are long
#define LAYER         1    // the one that is used: the other must stay untouched

// A ring for the kernels and, with the same map, its twin for the references.
struct rings {
    struct kv_ring fast, reference;
    struct memory_pool pools[2];
    float *rope, *sink_rope, *keys, *values, *queries, *out, *expected;
    uint16_t *half_keys, *half_values;
    uint32_t step[ROPE_PAIRS_MAX];
    unsigned query_width, kv_width;
};

static bool make_rings(struct rings *r, unsigned head_dim, unsigned kv_heads, unsigned context,
                       unsigned batch) {
    struct kv_shape shape = {LAYERS, kv_heads, head_dim, context, batch};
    for (unsigned i = 0; i < 2; i++)
        r->pools[i] = guarded_pool(kv_ring_bytes(&shape));
    if (!kv_ring_init(&r->fast, &shape, &r->pools[0])) {
        fail("no ring for %u tokens: this build is for %d", context, BOARD_CONTEXT);
        return false;
    }
    r->reference = r->fast;
    r->reference.pages = r->pools[1].base;
    r->query_width = HEADS * head_dim;
    r->kv_width = kv_heads * head_dim;
    r->rope = guarded((size_t)batch * head_dim * sizeof(float));
    r->sink_rope = guarded(head_dim * sizeof(float));
    r->keys = guarded((size_t)batch * r->kv_width * sizeof(float));
    r->values = guarded((size_t)batch * r->kv_width * sizeof(float));
    r->queries = guarded((size_t)batch * r->query_width * sizeof(float));
    r->half_keys = guarded((size_t)batch * (r->kv_width + HALVES_APART) * sizeof(uint16_t));
    r->half_values = guarded((size_t)batch * (r->kv_width + HALVES_APART) * sizeof(uint16_t));
    r->out = guarded((size_t)batch * r->query_width * sizeof(float));
    r->expected = guarded((size_t)batch * r->query_width * sizeof(float));
    for (unsigned i = 0; i < head_dim / 2; i++)
        r->step[i] = (uint32_t)(random_bits() >> (32 + i % 20));
    rope_row(r->step, head_dim / 2, context - 1, r->sink_rope);
    return true;
}

// Opens slots for `rows` tokens and writes their keys and values into both rings.
static void append(struct rings *r, unsigned rows, bool timed) {
    static const uint32_t ids[BATCH];
    unsigned head_dim = r->fast.shape.head_dim;
    uint32_t position = r->fast.length;
    kv_ring_append(&r->fast, ids, rows);
    r->reference.length = r->fast.length;
    r->reference.first_page = r->fast.first_page;
    random_activations(r->keys, (size_t)rows * r->kv_width);
    random_activations(r->values, (size_t)rows * r->kv_width);
    for (unsigned i = 0; i < rows; i++)
        rope_row(r->step, head_dim / 2, position + i, r->rope + (size_t)i * head_dim);
    const struct kv_update update = {r->keys, r->values, r->kv_width, r->rope, position, rows, false};
    struct kv_update given = update;
    if (!timed && random_below(2)) {
        narrow(r->keys, rows, r->kv_width, r->half_keys, HALVES_APART);
        narrow(r->values, rows, r->kv_width, r->half_values, HALVES_APART);
        given = (struct kv_update){
            r->half_keys, r->half_values, r->kv_width + HALVES_APART, r->rope, position, rows, true};
    }
    struct call call = {.x = {POINTER(&r->fast), ARG(LAYER), POINTER(&given), WHOLE}};
    call_kernel((const void *)kv_cache_update, &call, timed);
    call.x[2] = POINTER(&update);
    call.x[0] = POINTER(&r->reference);
    call_reference((const void *)reference_kv_cache_update, &call, timed, 2 * (uint64_t)rows * r->kv_width);
}

// Attention of the last `rows` tokens, by both.
static void attend(struct rings *r, unsigned rows, enum attention_form form, bool timed) {
    uint32_t position = r->fast.length - rows;
    uint64_t visible = 0;
    for (unsigned i = 0; i < rows; i++)
        visible += kv_visible(&r->fast, position + i);
    random_activations(r->queries, (size_t)rows * r->query_width);
    struct attention job = {.queries = r->queries,
                            .stride = r->query_width,
                            .rope = r->rope,
                            .sink_rope = r->sink_rope,
                            .out = r->out,
                            .position = position,
                            .rows = rows,
                            .heads = HEADS,
                            .form = form};
    struct call call = {.x = {POINTER(&r->fast), ARG(LAYER), POINTER(&job), WHOLE}};
    job.alone = !timed && random_below(2);
    if (job.alone) // of whatever share
        call.x[3] = UINT64_C(4) << 32 | random_below(BOARD_CORES);
    call_kernel((const void *)attention, &call, timed);
    job.out = r->expected;
    call_reference((const void *)reference_attention, &call, timed, 2 * visible * r->query_width);
    expect_floats("out", r->out, r->expected, (size_t)rows * r->query_width);
}

static void check_kv_cache_update(const struct check *check) {
    struct rings r;
    if (!make_rings(&r, check->variant, 3, 40, BATCH))
        return;
    while (r.fast.length < 300)
        append(&r, 1 + random_below(BATCH), random_below(2));
    const struct kv_shape *shape = &r.fast.shape;
    size_t pages = (size_t)shape->layers * shape->kv_heads * r.fast.page_count;
    expect_bytes("ring", r.fast.pages, r.reference.pages, pages * KV_PAGE_BYTES(shape->head_dim));
}

static enum attention_form form_of(const struct check *check) {
    return (enum attention_form)(check->variant / FORM_VARIANTS);
}

// Batches of any size while the context overflows and the ring goes round, twice.
static void check_attention(const struct check *check) {
    struct rings r;
    const unsigned head_dim = (unsigned)check->variant % FORM_VARIANTS;
    if (!make_rings(&r, head_dim, head_dim % 3 ? 2 : 3, 70, BATCH))
        return;
    while (r.fast.length < 270) {
        unsigned rows = 1 + random_below(BATCH);
        append(&r, rows, false);
        attend(&r, rows, form_of(check), false);
    }
}

// What decoding and prefill cost: one query, and a batch, behind a longer context.
static void check_attention_speed(const struct check *check) {
    struct rings r;
    if (!make_rings(&r, 64, 2, SPEED_CONTEXT, BATCH))
        return;
    while (r.fast.length < SPEED_CONTEXT)
        append(&r, BATCH, false);
    static const unsigned bound[] = {856, 653, 1081}; // hundredths of a cycle a pair: docs/attention.md
    const unsigned rows = (unsigned)check->variant % FORM_VARIANTS;
    attend(&r, rows, form_of(check), true);
    for (unsigned i = 0; i < rows; i++)
        add_bound((uint64_t)kv_visible(&r.fast, r.fast.length - 1 - i) * HEADS * bound[form_of(check)] / 100);
}

// Flat and peaked scores: all keys equal, then one key that dwarfs the others.
static void check_attention_extremes(const struct check *check) {
    struct rings r;
    if (!make_rings(&r, check->variant, 1, 70, BATCH))
        return;
    for (unsigned i = 0; i < 10; i++) {
        append(&r, BATCH, false);
        for (unsigned j = 0; j < BATCH * r.query_width; j++)
            r.queries[j] = i % 2 ? 1e4f : 0.0f;
        for (unsigned form = ATTENTION_FORM_DEFAULT; form <= ATTENTION_FORM_INT16; form++)
            attend(&r, BATCH, (enum attention_form)form, false);
    }
}

const struct check checks_attention[] = {
    {"kv_cache_update_16", check_kv_cache_update, 16},
    {"kv_cache_update_64", check_kv_cache_update, 64},
    {"kv_cache_update_80", check_kv_cache_update, 80},
    {"kv_cache_update_128", check_kv_cache_update, 128},
    {"attention_16", check_attention, 16},
    {"attention_32", check_attention, 32},
    {"attention_64", check_attention, 64},
    {"attention_80", check_attention, 80},
    {"attention_96", check_attention, 96},
    {"attention_128", check_attention, 128},
    {"attention_256", check_attention, 256},
    {"attention_int8_pv_64", check_attention, FORM_VARIANTS *ATTENTION_FORM_INT8_PV + 64},
    {"attention_int8_pv_80", check_attention, FORM_VARIANTS *ATTENTION_FORM_INT8_PV + 80},
    {"attention_int16_64", check_attention, FORM_VARIANTS *ATTENTION_FORM_INT16 + 64},
    {"attention_int16_80", check_attention, FORM_VARIANTS *ATTENTION_FORM_INT16 + 80},
    {"attention_int16_256", check_attention, FORM_VARIANTS *ATTENTION_FORM_INT16 + 256},
    {"attention_extremes", check_attention_extremes, 64},
    {"attention_1_row", check_attention_speed, 1},
    {"attention_9_rows", check_attention_speed, BATCH},
    {"attention_int8_pv_9_rows", check_attention_speed, FORM_VARIANTS *ATTENTION_FORM_INT8_PV + BATCH},
    {"attention_int16_9_rows", check_attention_speed, FORM_VARIANTS *ATTENTION_FORM_INT16 + BATCH},
    {NULL, NULL, 0},
};
