// SPDX-License-Identifier: Apache-2.0
// Test program: reads instruction words (little-endian) from standard input and prints what the plug-in's
// decoder makes of each, one line a word. Fields as in a64_decode.h. With an argument: the port bound of all
// of them together, in hundredths of a cycle.
#include <stdio.h>

#include "virtual/a64_decode.h"

static void print_registers(const uint8_t *list, size_t places) {
    for (size_t i = 0; i < places; i++)
        if (list[i] != A64_NO_REGISTER)
            printf(" %d", list[i]);
}

int main(int argc, char **argv) {
    (void)argv;
    uint32_t word;
    struct a64_cost sum = {0};
    a64_init();
    while (fread(&word, sizeof word, 1, stdin) == 1) {
        const struct a64_insn insn = a64_decode(word);
        a64_cost_add(&sum, &insn.cost, 1);
        if (argc > 1)
            continue;
        const struct a64_access *a = &insn.access;
        printf("%s %d %d %d %d %d %d %d %d %d %llx %d %d %lld", a64_class_name[insn.class], a->kind, a->base,
               a->literal, a->indexed, a->bytes, a->offset, a->writeback, a->moved_known, a->moved,
               (unsigned long long)insn.writes, insn.sum_to, insn.sum_of, (long long)insn.addend);
        printf(" read");
        print_registers(insn.operands.source, sizeof insn.operands.source);
        print_registers(insn.operands.data, sizeof insn.operands.data);
        print_registers(&insn.operands.accumulator, 1);
        printf(" written");
        print_registers(insn.operands.target, sizeof insn.operands.target);
        printf("\n");
    }
    if (argc > 1)
        printf("%llu\n", (unsigned long long)(a64_port_bound(&sum) * 100 / TICKS_PER_CYCLE));
    return 0;
}
