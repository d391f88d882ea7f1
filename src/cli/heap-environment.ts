/**
 * Settings of the C heap for a process that runs for long, to be there when it starts. glibc gives every thread heaps of its
 * own and lets the size from which memory is the kernel's own piece grow with what is freed, so what a busy time took
 * stays in pieces between what lives on: two heaps and a fixed size give it back. Buffers that every long answer takes are
 * smaller than that size, for the kernel clears each of its pieces. Other C libraries do not know the words. Figures:
 * docs/performance-notes.md, The C heap.
 */
export const HEAP_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '2097152',
} as const;
