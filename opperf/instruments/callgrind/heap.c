/* An allocator for processes whose instructions are counted.

   A C library's allocator searches, splits and joins blocks, so that what a call takes in it depends on all that was
   allocated before. Here a block comes from a list of free blocks of its size class or from the end of its chunk, and
   goes back to that list: a call of malloc or free takes the same few instructions every time. Blocks are aligned to
   64 bytes, so that vector code takes the same path in each, but for those that are smaller than that. */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LINE = 64,             /* Of a cache, and the alignment of blocks. */
    STEPS = 4,             /* Size classes from one power of two to the next: at most a quarter is unused. */
    LARGEST_CLASS = 1 << 20, /* Bytes from which a block is mapped by itself, and returned to the system. */
    CLASSES = 15 * STEPS,
    PAGE = 4096,
};

#define CHUNK ((size_t)64 << 20) /* Bytes by which a size class grows. They take no memory before they are used. */

/* Lies before each block. */
struct header {
    size_t whole; /* Bytes of the block's slot, or of its mapping. */
    char *start;  /* Where that begins. */
};

#define LEAST_ALIGNMENT sizeof(struct header) /* That of any type. */

struct free_block {
    struct free_block *next;
};

static struct free_block *free_blocks[CLASSES];

/* Each size class has chunks of its own, so that a block's address depends on the blocks of its class alone. A program
   may hash addresses, as NumPy does to find a kernel: two processes should have the same ones, though one has a longer
   path or another variable. */
static struct {
    char *end, *end_of_chunk;
} used[CLASSES];
static volatile char locked;

/* By this symbol a process finds that it has this allocator. */
const char opperf_heap = 1;

static void lock(void)
{
    while (__atomic_test_and_set(&locked, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock(void) { __atomic_clear(&locked, __ATOMIC_RELEASE); }

/* A child process begins with a consistent heap. */
__attribute__((constructor)) static void prepare_forks(void) { pthread_atfork(lock, unlock, unlock); }

static void *map(size_t bytes)
{
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

/* Begins a chunk of a size class; without memory it is NULL. The first chunks of all classes lie together, so that
   their addresses do not depend on which class is used first. */
static void begin_chunk(unsigned class)
{
    static char *first;
    static char begun[CLASSES];
    char *chunk;
    if (first == NULL)
        first = map(CLASSES * CHUNK);
    if (first != NULL && !begun[class])
        chunk = first + class * CHUNK;
    else
        chunk = map(CHUNK);
    begun[class] = 1;
    used[class].end = chunk;
    used[class].end_of_chunk = chunk == NULL ? NULL : chunk + CHUNK;
}

/* Returns the size class of some bytes, a multiple of LINE, and sets them to the class's size. */
static unsigned size_class(size_t *bytes)
{
    size_t lines = (*bytes + LINE - 1) / LINE;
    if (lines <= STEPS) {
        *bytes = lines * LINE;
        return (unsigned)lines - 1;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(lines - 1), shift = power - 2;
    size_t step = (lines - 1) >> shift; /* 4 to 7 */
    *bytes = (step + 1) << shift << 6;
    return STEPS * (shift + 1) + (unsigned)step - STEPS;
}

static struct header *header_of(void *block) { return (struct header *)block - 1; }

/* Returns a block with an alignment, a power of two, or NULL if there is no memory. */
static void *allocate(size_t bytes, size_t alignment)
{
    size_t whole;
    char *start;
    /* A slot begins at a line. A small block, as of an object of Python's, shares the line with its header. */
    if (alignment <= LEAST_ALIGNMENT && bytes <= LINE - sizeof(struct header))
        alignment = LEAST_ALIGNMENT;
    else if (alignment < LINE)
        alignment = LINE;
    /* The header lies in the bytes before the block, so the alignment is room for it. */
    if (__builtin_add_overflow(bytes, alignment, &whole) || whole > PTRDIFF_MAX - PAGE) {
        errno = ENOMEM;
        return NULL;
    }
    if (whole > LARGEST_CLASS) {
        whole = (whole + PAGE - 1) & ~(size_t)(PAGE - 1);
        start = map(whole);
    } else {
        unsigned class = size_class(&whole);
        lock();
        struct free_block *found = free_blocks[class];
        if (found != NULL) {
            free_blocks[class] = found->next;
            start = (char *)found;
        } else {
            if ((size_t)(used[class].end_of_chunk - used[class].end) < whole)
                begin_chunk(class);
            start = used[class].end;
            if (start != NULL)
                used[class].end += whole;
        }
        unlock();
    }
    if (start == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    char *block = (char *)(((uintptr_t)start + sizeof(struct header) + alignment - 1) & ~(uintptr_t)(alignment - 1));
    *header_of(block) = (struct header){whole, start};
    return block;
}

static void release(void *block)
{
    struct header found = *header_of(block);
    if (found.whole > LARGEST_CLASS) {
        int kept = errno;
        munmap(found.start, found.whole);
        errno = kept;
        return;
    }
    unsigned class = size_class(&found.whole);
    struct free_block *released = (struct free_block *)found.start;
    lock();
    released->next = free_blocks[class];
    free_blocks[class] = released;
    unlock();
}

static size_t usable_size(void *block)
{
    struct header *found = header_of(block);
    return (size_t)(found->start + found->whole - (char *)block);
}

/* The functions of a C library. None calls another, which may be of another library. */

void *malloc(size_t bytes) { return allocate(bytes, LEAST_ALIGNMENT); }

void free(void *block)
{
    if (block != NULL)
        release(block);
}

size_t malloc_usable_size(void *block) { return block == NULL ? 0 : usable_size(block); }

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = allocate(bytes, LEAST_ALIGNMENT);
    /* A mapping is zero. A new slot is so too, but takes what a used one takes. */
    if (block != NULL && header_of(block)->whole <= LARGEST_CLASS)
        memset(block, 0, bytes);
    return block;
}

void *realloc(void *block, size_t bytes)
{
    if (block == NULL)
        return allocate(bytes, LEAST_ALIGNMENT);
    if (bytes == 0) {
        release(block);
        return NULL;
    }
    size_t usable = usable_size(block);
    if (bytes <= usable && bytes >= usable / 2)
        return block;
    void *moved = allocate(bytes, LEAST_ALIGNMENT);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, bytes < usable ? bytes : usable);
    release(block);
    return moved;
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    int kept = errno;
    void *found = allocate(bytes, alignment);
    errno = kept;
    if (found == NULL)
        return ENOMEM;
    *block = found;
    return 0;
}

/* With any alignment, as the C library does. */
static void *allocate_aligned(size_t alignment, size_t bytes)
{
    size_t power = LEAST_ALIGNMENT;
    while (power < alignment && power <= PTRDIFF_MAX / 2)
        power *= 2;
    return allocate(bytes, power);
}

void *memalign(size_t alignment, size_t bytes) { return allocate_aligned(alignment, bytes); }

void *aligned_alloc(size_t alignment, size_t bytes) { return allocate_aligned(alignment, bytes); }

void *valloc(size_t bytes) { return allocate(bytes, PAGE); }

void *pvalloc(size_t bytes) { return allocate((bytes + PAGE - 1) & ~(size_t)(PAGE - 1), PAGE); }
