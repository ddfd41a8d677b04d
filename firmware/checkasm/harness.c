// SPDX-License-Identifier: Apache-2.0
#include "arch/format.h"
#include "arch/string.h"
#include "checkasm/checkasm.h"
#include "hal/pmu.h"
#include "link/channel.h"
#include "memory/pools.h"

#define ARENA_BYTES (8u << 20)
#define GUARD_BYTES 128
#define GUARDS_MAX  256
#define GUARD_BYTE  0xa5

unsigned checked_call(const void *kernel, const struct call *call);

uint64_t checkasm_seed = 0x9e3779b97f4a7c15u;
char checkasm_only[64] __attribute__((section(".data"))); // where start-up clears nothing

static uint8_t *arena; // of the activation pool
static size_t arena_used;
static struct {
    uint8_t *start; // of the usable bytes
    size_t bytes;
} guards[GUARDS_MAX];
static unsigned guard_count;

static uint64_t random_state;

// The check that runs.
static struct {
    const struct check *check;
    bool failed;
    uint64_t kernel_cycles, reference_cycles, work, bound;
} current;

bool checks_init(void) {
    arena = pool_take(&activation_pool, ARENA_BYTES, 64);
    return arena != NULL;
}

uint64_t random_bits(void) { // xorshift64*
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1du;
}

uint32_t random_below(uint32_t limit) {
    return (uint32_t)((random_bits() >> 32) * limit >> 32);
}

float random_float(float limit) {
    return ((float)(random_bits() >> 40) * 0x1p-23f - 1.0f) * limit;
}

void random_activations(float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        x[i] = random_float(1.0f) * random_float(1.0f);
        if (random_below(50) == 0)
            x[i] *= 30.0f;
    }
}

void random_bytes(void *to, size_t bytes) {
    uint8_t *p = to;
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)(random_bits() >> 56);
}

void narrow(float *x, unsigned rows, unsigned width, uint16_t *halves, size_t apart) {
    for (unsigned row = 0; row < rows; row++, halves += apart)
        for (unsigned i = 0; i < width; i++, x++) {
            const __fp16 half = (__fp16)*x;
            memcpy(halves++, &half, sizeof half);
            *x = half;
        }
}

void *guarded(size_t bytes) {
    size_t at = (arena_used + GUARD_BYTES + 63) / 64 * 64, end = at + bytes + GUARD_BYTES;
    if (end > ARENA_BYTES || guard_count == GUARDS_MAX) {
        fail("needs %zu more bytes than the harness has", end);
        return arena; // the check is void, but must not crash
    }
    memset(arena + arena_used, GUARD_BYTE, end - arena_used);
    memset(arena + at, 0, bytes);
    guards[guard_count].start = arena + at;
    guards[guard_count++].bytes = bytes;
    arena_used = end;
    return arena + at;
}

struct memory_pool guarded_pool(size_t bytes) {
    return (struct memory_pool){.name = "checkasm", .base = guarded(bytes), .bytes = bytes};
}

static void check_guards(void) {
    for (unsigned i = 0; i < guard_count; i++)
        for (unsigned j = 1; j <= GUARD_BYTES; j++) {
            if (guards[i].start[-(int)j] != GUARD_BYTE)
                fail("wrote %u bytes before buffer %u", j, i);
            if (guards[i].start[guards[i].bytes + j - 1] != GUARD_BYTE)
                fail("wrote %u bytes past buffer %u of %zu", j, i, guards[i].bytes);
        }
}

// Only the first failure of a check is worth a line.
void fail(const char *format, ...) {
    if (current.failed)
        return;
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    format_list(text, sizeof text, format, arguments);
    va_end(arguments);
    current.failed = true;
    log_text(LOG_LEVEL_ERROR, "checkasm %s FAIL %s", current.check->name, text);
}

static void report_broken_promises(unsigned broken) {
    for (unsigned i = 0; i < 10; i++)
        if (broken >> i & 1)
            fail("did not preserve x%u", 19 + i);
    for (unsigned i = 0; i < 8; i++)
        if (broken >> (16 + i) & 1)
            fail("did not preserve d%u", 8 + i);
    if (broken >> 10 & 1)
        fail("did not preserve x29");
    if (broken >> 11 & 1)
        fail("did not preserve sp");
    if (broken >> 12 & 1)
        fail("wrote above its stack frame");
}

static void nothing(void) {}

// Cycles of one call without those of the trampoline, which an empty function tells.
static unsigned timed_call(const void *function, const struct call *call, uint64_t *cycles) {
    uint64_t start = pmu_cycles();
    unsigned broken = checked_call(function, call);
    uint64_t middle = pmu_cycles();
    checked_call((const void *)nothing, call);
    uint64_t total = middle - start, overhead = pmu_cycles() - middle;
    *cycles += total > overhead ? total - overhead : 0;
    return broken;
}

void call_kernel(const void *kernel, const struct call *call, bool timed) {
    unsigned broken = timed ? timed_call(kernel, call, &current.kernel_cycles) : checked_call(kernel, call);
    report_broken_promises(broken);
    check_guards();
}

void warm_up(const void *kernel, const struct call *call) {
    checked_call(kernel, call);
}

void call_reference(const void *reference, const struct call *call, bool timed, uint64_t work) {
    if (timed) {
        timed_call(reference, call, &current.reference_cycles);
        current.work += work;
    } else {
        checked_call(reference, call);
    }
}

void add_bound(uint64_t cycles) {
    current.bound += cycles;
}

void expect_bytes(const char *what, const void *got, const void *expected, size_t bytes) {
    const uint8_t *a = got, *b = expected;
    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i]) {
            fail("%s[%zu] is %02x, expected %02x", what, i, a[i], b[i]);
            return;
        }
}

void expect_ints(const char *what, const int32_t *got, const int32_t *expected, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (got[i] != expected[i]) {
            fail("%s[%zu] is %d, expected %d", what, i, got[i], expected[i]);
            return;
        }
}

void expect_floats(const char *what, const float *got, const float *expected, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t a, b;
        memcpy(&a, got + i, sizeof a);
        memcpy(&b, expected + i, sizeof b);
        bool both_nan = got[i] != got[i] && expected[i] != expected[i]; // which NaN is left open
        if (a != b && !both_nan) {
            fail("%s[%zu] has the bits %08x, expected %08x", what, i, a, b);
            return;
        }
    }
}

static bool is_wanted(const char *name) {
    const char *only = checkasm_only;
    while (*only != 0 && *only == *name)
        only++, name++;
    return *only == 0;
}

void run_checks(const struct check *table, unsigned *passed, unsigned *failed) {
    for (const struct check *check = table; check->name; check++) {
        if (!is_wanted(check->name))
            continue;
        memset(&current, 0, sizeof current);
        current.check = check;
        arena_used = guard_count = 0;
        random_state = checkasm_seed | 1;
        check->run(check);
        if (current.failed) {
            ++*failed;
            continue;
        }
        ++*passed;
        log_text(LOG_LEVEL_INFO, "checkasm %s ok cycles %llu ref %llu work %llu bound %llu", check->name,
                 (unsigned long long)current.kernel_cycles, (unsigned long long)current.reference_cycles,
                 (unsigned long long)current.work, (unsigned long long)current.bound);
    }
}
