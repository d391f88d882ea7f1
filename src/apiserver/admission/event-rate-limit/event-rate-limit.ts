/**
 * EventRateLimit: limits the events accepted per second, in total, per namespace, per user, or per source and object.
 * Upstream: plugin/pkg/admission/eventratelimit.
 */
import { Lru } from '../../../base/lru.ts';
import type { Event } from '../../../api/gen/core-v1.ts';
import { tooManyRequests } from '../../../api/status-error.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { isOn } from '../refusal.ts';

/** The groups in which events are counted. */
export const LIMIT_TYPES = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const;

export interface EventLimit {
  readonly type: (typeof LIMIT_TYPES)[number];
  /** Per second. */
  readonly qps: number;
  readonly burst: number;
  /** How many buckets are kept. Default 4096. */
  readonly cacheSize?: number;
}

const DEFAULT_CACHE_SIZE = 4096;

export function createEventRateLimit(clock: Clock, limits: readonly EventLimit[]): AdmissionPlugin {
  const enforcers = limits.map((limit) => ({
    limit,
    buckets: new Lru<string, Bucket>(limit.cacheSize || DEFAULT_CACHE_SIZE),
  }));
  return {
    name: 'EventRateLimit',
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') &&
      (isOn(resource, subresource, { resource: 'events' }) ||
        isOn(resource, subresource, { group: 'events.k8s.io', resource: 'events' })),
    validate(attributes) {
      if (attributes.dryRun) return;
      const nowMs = clock.monotonicMs();
      let refused: string | undefined;
      // Every limit counts the event, whatever the other limits decide.
      for (const { limit, buckets } of enforcers) {
        const key = keyOf(limit.type, attributes);
        if (!take(buckets, { key, limit, nowMs })) refused ??= `limit reached on type ${limit.type} for key ${key}`;
      }
      if (refused !== undefined) throw tooManyRequests(refused, 0);
    },
  };
}

interface Bucket {
  tokens: number;
  atMs: number;
}

function take(
  buckets: Lru<string, Bucket>,
  { key, limit, nowMs }: { key: string; limit: EventLimit; nowMs: number },
): boolean {
  let bucket = buckets.get(key);
  if (bucket === undefined) {
    bucket = { tokens: limit.burst, atMs: nowMs };
    buckets.set(key, bucket);
  }
  bucket.tokens = Math.min(limit.burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * limit.qps);
  bucket.atMs = nowMs;
  if (bucket.tokens < 1) return false;
  bucket.tokens--;
  return true;
}

function keyOf(type: EventLimit['type'], { namespace, context, object }: AdmissionAttributes): string {
  switch (type) {
    case 'Server':
      return '';
    case 'Namespace':
      return namespace;
    case 'User':
      return context.user.name;
    case 'SourceAndObject': {
      const { source, involvedObject: about } = object as Event;
      return [
        source?.component,
        source?.host,
        about?.kind,
        about?.namespace,
        about?.name,
        about?.uid,
        about?.apiVersion,
      ].join('');
    }
  }
}
