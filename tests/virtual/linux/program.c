// SPDX-License-Identifier: Apache-2.0
// A Linux program whose cost is known. Usage: program WHAT [THREADS]
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 8, TURNS = 10, LINES = 1 << 14 };

static unsigned threads = 1;
static atomic_uint waiting, turn;
static atomic_bool posted;
static jmp_buf back;
static char memory[THREADS_MAX][LINES][64];

// Two instructions a turn, and one to return.
uint64_t spin(uint64_t turns);
__asm__(".globl spin\n.type spin, %function\n.balign 32\n"
        "spin: subs x0, x0, #1\n b.ne spin\n ret\n.size spin, . - spin");

__attribute__((noinline)) void barrier(void) {
    const unsigned before = atomic_load(&turn);
    if (atomic_fetch_add(&waiting, 1) == threads - 1) {
        atomic_store(&waiting, 0);
        atomic_fetch_add(&turn, 1);
        return;
    }
    while (atomic_load(&turn) == before)
        __asm__ volatile("yield");
}

/// Work that grows with the thread's number: 20000 instructions times number + 1.
__attribute__((noinline)) void share(unsigned number) {
    spin(10000 * (number + 1));
}

__attribute__((noinline)) uint64_t stream(unsigned number) {
    uint64_t sum = 0;
    for (unsigned line = 0; line < LINES; line++)
        sum += *(volatile uint64_t *)memory[number][line];
    return sum;
}

__attribute__((noinline)) unsigned recurse(unsigned depth) {
    spin(100);
    return depth ? recurse(depth - 1) + 1 : 0;
}

__attribute__((noinline)) void jump_out(void) {
    spin(1000);
    longjmp(back, 1);
}

__attribute__((noinline)) void jump(void) {
    if (!setjmp(back))
        jump_out();
}

static void *meet(void *number) {
    for (unsigned t = 0; t < TURNS; t++) {
        share((unsigned)(uintptr_t)number);
        barrier();
    }
    return NULL;
}

static void *read_memory(void *number) {
    for (unsigned t = 0; t < TURNS; t++) {
        stream((unsigned)(uintptr_t)number);
        barrier();
    }
    return NULL;
}

__attribute__((noinline)) void work(void) {
    spin(5000);
}

/// Waits for main in a loop, then works.
__attribute__((noinline)) void *wait_for_work(void *nothing) {
    while (!atomic_load(&posted))
        __asm__ volatile("yield");
    work();
    return nothing;
}

static void in_parallel(void *(*run)(void *)) {
    pthread_t thread[THREADS_MAX];
    for (uintptr_t t = 1; t < threads; t++)
        pthread_create(&thread[t], NULL, run, (void *)t);
    run(NULL);
    for (unsigned t = 1; t < threads; t++)
        pthread_join(thread[t], NULL);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (argc > 2)
        threads = (unsigned)atoi(argv[2]);
    if (!strcmp(what, "spin")) {
        spin(100000);
    } else if (!strcmp(what, "recurse")) {
        return recurse(9) != 9;
    } else if (!strcmp(what, "jump")) {
        jump();
        spin(100000);
    } else if (!strcmp(what, "meet")) {
        in_parallel(meet);
    } else if (!strcmp(what, "stream")) {
        in_parallel(read_memory);
    } else if (!strcmp(what, "idle")) {
        pthread_t worker;
        pthread_create(&worker, NULL, wait_for_work, NULL);
        spin(1000000);
        atomic_store(&posted, true);
        pthread_join(worker, NULL);
    } else {
        fprintf(stderr, "no such part: %s\n", what);
        return 3;
    }
    puts("done");
    return 0;
}
