/**
 * Limits what clients can cause to be logged, so that a thousand refused requests per second do not fill the disk.
 * Each message of a component has a burst and a rate; omitted lines are counted in the next line with the same
 * message.
 */

/** Lines of one message at once, and per second after that. */
const BURST = 200;
const PER_SECOND = 10;
/** How many messages are tracked. They are constants of the program; above that the oldest is dropped. */
const MAX_MESSAGES = 1024;

interface Bucket {
  tokens: number;
  lastMs: number;
  suppressed: number;
}

/** Decides which lines are written. */
export interface LineLimits {
  /** How many lines with this message were omitted since the last; undefined when this one is omitted too. */
  admit(component: string, message: string): number | undefined;
}

/** Makes the limits of one log. */
export function createLineLimits(nowMs: () => number): LineLimits {
  const buckets = new Map<string, Bucket>();
  return {
    admit(component, message) {
      const key = `${component}\n${message}`;
      const now = nowMs();
      let bucket = buckets.get(key);
      if (bucket === undefined) {
        const [oldest] = buckets.size >= MAX_MESSAGES ? buckets.keys() : [];
        if (oldest !== undefined) buckets.delete(oldest);
        bucket = { tokens: BURST, lastMs: now, suppressed: 0 };
        buckets.set(key, bucket);
      }
      bucket.tokens = Math.min(BURST, bucket.tokens + ((now - bucket.lastMs) / 1000) * PER_SECOND);
      bucket.lastMs = now;
      if (bucket.tokens < 1) {
        bucket.suppressed++;
        return undefined;
      }
      bucket.tokens--;
      const { suppressed } = bucket;
      bucket.suppressed = 0;
      return suppressed;
    },
  };
}
