/**
 * Settings of the C heap for a long-running process, to be set before it starts. glibc gives every thread heaps of
 * its own and raises the size from which memory is mapped separately as memory is freed, so that memory of a busy
 * time stays in use between live pieces: two heaps and a fixed size return it. Buffers of long responses are smaller
 * than that size, since the kernel clears each mapping. Other C libraries ignore the variables. Figures:
 * docs/performance-notes.md, The C heap.
 */
export const HEAP_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '2097152',
} as const;
