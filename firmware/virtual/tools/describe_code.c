// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Host program: what the timing model knows of a piece of code, as JSON on standard output. Reads instruction
// words (little-endian) from standard input. Each argument is a loop: "FIRST-LAST[,FIRST-LAST...]", indices
// of its instructions; for it, the port slots and the bound of one pass through all of them are printed.
//
//   {"instructions": [{"class", "access", "base", "sum_to", "sum_of", "accumulator", "read", "written"}],
//    "loops": [{"bound_ticks", "resources": [{"name", "slots", "ticks"}]}],
//    "ticks_per_cycle"}
//
// Registers are numbered as in a64_decode.h; A64_NO_REGISTER is printed as -1.
#include <stdio.h>
#include <stdlib.h>

#include "virtual/a64_decode.h"

enum { WORDS_MAX = 1 << 20 };

static const char *const access_name[] = {
    [ACCESS_NONE] = "none",
    [ACCESS_LOAD] = "load",
    [ACCESS_STORE] = "store",
    [ACCESS_PREFETCH_L1] = "prefetch",
    [ACCESS_PREFETCH_L2] = "prefetch",
    [ACCESS_ZERO_LINE] = "zero_line",
    [ACCESS_CLEAN] = "clean",
    [ACCESS_INVALIDATE] = "invalidate",
    [ACCESS_ATOMIC] = "atomic",
};

static int shown(unsigned reg) {
    return reg == A64_NO_REGISTER ? -1 : (int)reg;
}

static const char *print_registers(const uint8_t *list, size_t places, const char *separator) {
    for (size_t i = 0; i < places; i++)
        if (list[i] != A64_NO_REGISTER) {
            printf("%s%d", separator, list[i]);
            separator = ", ";
        }
    return separator;
}

static void print_instruction(uint32_t word) {
    const struct a64_insn insn = a64_decode(word);
    const struct a64_operands *operands = &insn.operands;
    printf("{\"class\": \"%s\", \"access\": \"%s\", \"base\": %d, \"sum_to\": %d, "
           "\"sum_of\": %d, \"accumulator\": %d, \"read\": [",
           a64_class_name[insn.class], access_name[insn.access.kind], shown(insn.access.base),
           shown(insn.sum_to), shown(insn.sum_of), shown(operands->accumulator));
    const char *separator = print_registers(operands->source, sizeof operands->source, "");
    print_registers(operands->data, sizeof operands->data, separator);
    printf("], \"written\": [");
    print_registers(operands->target, sizeof operands->target, "");
    printf("]}");
}

/// Adds the instructions of one argument to `sum`. Returns false where it is not understood.
static bool add_ranges(const char *text, const uint32_t *words, size_t count, struct a64_cost *sum) {
    for (;;) {
        char *end;
        const unsigned long first = strtoul(text, &end, 10);
        if (end == text || *end != '-')
            return false;
        text = end + 1;
        const unsigned long last = strtoul(text, &end, 10);
        if (end == text || last < first || last >= count)
            return false;
        for (unsigned long n = first; n <= last; n++) {
            const struct a64_insn insn = a64_decode(words[n]);
            a64_cost_add(sum, &insn.cost, 1);
        }
        if (!*end)
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

static void print_loop(const struct a64_cost *sum) {
    struct a64_resource resources[A64_RESOURCES];
    a64_resources(sum, resources);
    printf("{\"bound_ticks\": %llu, \"resources\": [", (unsigned long long)a64_port_bound(sum));
    for (unsigned r = 0; r < A64_RESOURCES; r++)
        printf("%s{\"name\": \"%s\", \"slots\": %llu, \"ticks\": %llu}", r ? ", " : "", resources[r].name,
               (unsigned long long)resources[r].slots, (unsigned long long)resources[r].ticks);
    printf("]}");
}

int main(int argc, char **argv) {
    static uint32_t words[WORDS_MAX];
    const size_t count = fread(words, sizeof words[0], WORDS_MAX, stdin);
    a64_init();
    printf("{\"instructions\": [");
    for (size_t n = 0; n < count; n++) {
        printf(n ? ",\n" : "\n");
        print_instruction(words[n]);
    }
    printf("],\n\"loops\": [");
    for (int n = 1; n < argc; n++) {
        struct a64_cost sum = {0};
        if (!add_ranges(argv[n], words, count, &sum)) {
            fprintf(stderr, "not a loop of these %zu instructions: %s\n", count, argv[n]);
            return 1;
        }
        printf(n > 1 ? ",\n" : "\n");
        print_loop(&sum);
    }
    printf("],\n\"ticks_per_cycle\": %d}\n", TICKS_PER_CYCLE);
    return 0;
}
