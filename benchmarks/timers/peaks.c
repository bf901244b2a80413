// Moves two arrays of each thread's own, and counts bytes as STREAM does: peaks KERNEL BYTES, of both
// arrays of a thread. A copy reads one and writes one; a triad, over one of the two, reads both too.
// Prints the bytes per second of all threads together in the fastest round, or of small arrays, which
// threads share nothing for, in the fastest round of each.
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1024, MOST_ROUNDS = 5000, PAGE = 4096, APART = 1088, LARGE = 4 << 20 };
static double taken[MOST_ROUNDS][MAX_THREADS];

static void move(char kernel, double *restrict a, double *restrict b, long n) {
    if (kernel == 'c') {
        memcpy(a, b, n * sizeof *a);
    } else {
        for (long i = 0; i < n; i++) a[i] += 3.0 * b[i];
    }
    // The compiler may not omit what another pass overwrites.
    __asm__ volatile("" : : "r"(a) : "memory");
}

int main(int count, char **words) {
    if (count != 3) return 2;
    char kernel = words[1][0];
    int moves = kernel == 'c' ? 2 : 3;
    int is_large = atol(words[2]) >= LARGE, rounds = is_large ? 60 : MOST_ROUNDS;
    double round_s = is_large ? 5e-3 : 2e-5;
    long bytes = atol(words[2]) / 2 / 128 * 128, n = bytes / sizeof(double), passes = 1;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        long apart = (bytes + PAGE - 1) / PAGE * PAGE + APART;
        char *all = aligned_alloc(PAGE, (2 * apart + 2 * PAGE) / PAGE * PAGE);
        if (!all) exit(3);
        memset(all, 0, 2 * apart);
        double *a = (double *)all, *b = (double *)(all + apart);
        for (int round = -2; round < rounds; round++) {
#pragma omp barrier
            double begun = omp_get_wtime();
            for (long pass = 0; pass < passes; pass++) move(kernel, a, b, n);
            double seconds = (omp_get_wtime() - begun) / passes;
            if (round >= 0) taken[round][me] = seconds;
#pragma omp barrier
#pragma omp single
            if (round < 0) passes = 1 + (long)(round_s / seconds);
        }
    }
    double best = 0, each = 0;
    for (int round = 0; round < rounds; round++) {
        double rate = 0;
        for (int i = 0; i < omp_get_max_threads(); i++) rate += moves * bytes / taken[round][i];
        if (rate > best) best = rate;
    }
    for (int i = 0; i < omp_get_max_threads(); i++) {
        double fastest = taken[0][i];
        for (int round = 1; round < rounds; round++)
            if (taken[round][i] < fastest) fastest = taken[round][i];
        each += moves * bytes / fastest;
    }
    printf("%.0f\n", is_large ? best : each);
    return 0;
}
