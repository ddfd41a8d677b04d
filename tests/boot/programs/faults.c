// SPDX-License-Identifier: Apache-2.0
// Takes the place of engine/main.c: does the one wrong thing whose number the test has put at the start of
// the weight pool. After HELLO, so that the console's side has something to wait for.
#include <stdint.h>

#include "arch/cpu.h"
#include "arch/exception.h"
#include "board_config.h"
#include "hal/board.h"
#include "hal/uart.h"
#include "link/channel.h"
#include "memory/pools.h"

int main(void);

#define NOINLINE __attribute__((noinline))

enum fault_number {
    WRITE_CODE = 1,
    WRITE_RODATA,
    WRITE_WEIGHTS,
    EXECUTE_DATA,
    EXECUTE_STACK,
    OVERFLOW_STACK,
    READ_NULL,
    WRITE_UNMAPPED,
    UNDEFINED_INSTRUCTION,
    PANIC,
    LEAF_FAULT,
    BROKEN_STACK_POINTER,
    FAULT_IN_SINK,
    PANIC_BEFORE_LINK,
};

static const uint32_t constant = 7;
static uint32_t data_code[4] __attribute__((aligned(16)));

/// The compiler must not know the address, or it refuses to make the mistake.
static volatile uint32_t *at(uintptr_t address) {
    __asm__("" : "+r"(address));
    return (volatile uint32_t *)address;
}

NOINLINE int overflow(int depth) {
    volatile char frame[512];
    frame[0] = (char)depth;
    if (depth == 1 << 20) // more than any stack holds
        return 0;
    return overflow(depth + 1) + frame[0];
}

// Without a frame record: the caller is in x30 only.
void leaf_fault(uintptr_t at);
__asm__(".pushsection .text.leaf_fault, \"ax\"\n"
        ".global leaf_fault\n"
        ".type leaf_fault, %function\n"
        "leaf_fault:\n"
        "        ldr x0, [x0]\n"
        "        ret\n"
        ".size leaf_fault, . - leaf_fault\n"
        ".popsection");

static void broken_sink(const struct fault_report *report) {
    (void)report;
    *at(16) = 1;
}

NOINLINE void misbehave(unsigned number) {
    uint32_t stack_code[4] = {0xd65f03c0};
    switch (number) {
    case WRITE_CODE:
        *at((uintptr_t)main) = 0;
        break;
    case WRITE_RODATA:
        *at((uintptr_t)&constant) = 0;
        break;
    case WRITE_WEIGHTS:
        *at((uintptr_t)weight_pool.base) = 0;
        break;
    case EXECUTE_DATA:
        data_code[0] = 0xd65f03c0; // ret
        ((void (*)(void))data_code)();
        break;
    case EXECUTE_STACK:
        __asm__ volatile("" ::"r"(stack_code) : "memory");
        ((void (*)(void))stack_code)();
        break;
    case OVERFLOW_STACK:
        overflow(0);
        break;
    case READ_NULL:
        (void)*at(8);
        break;
    case WRITE_UNMAPPED:
        *at(0x50000000) = 1;
        break;
    case UNDEFINED_INSTRUCTION:
        __asm__ volatile("udf #1");
        break;
    case PANIC:
        panic("%s number %u, %s", "panic", number, "as asked");
    case LEAF_FAULT:
        leaf_fault(24);
        break;
    case BROKEN_STACK_POINTER:
        __asm__ volatile("mov x9, #0x1000\n\tmov sp, x9\n\tstr x9, [sp]");
        break;
    case FAULT_IN_SINK:
        fault_sink_add(broken_sink);
        panic("the sink after this one faults");
    }
    __asm__ volatile(""); // no tail call: this function is to be found in the backtrace
}

NOINLINE void middle(unsigned number) {
    misbehave(number);
    __asm__ volatile("");
}

int main(void) {
    board_init();
    pools_init();
    uint32_t number = *(const volatile uint32_t *)weight_pool.base;
    if (number == PANIC_BEFORE_LINK)
        panic("nobody but the UART can hear this");
    if (number == FAULT_IN_SINK)
        middle(number); // the broken sink is the second one, in the link's place
    channel_init();
    middle(number);
    uart_write("no fault happened\n");
    park();
}
