/** Waits for objects; the errors show the last state. */
import type { KubernetesObject } from '../api/object.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';
import { errorMessage } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import { describeObject, type ReportDeps } from './describe.ts';
import { formatSpan, spanMs, type Duration } from './duration.ts';
import type { Pace } from './pace.ts';
import { customKinds } from './custom-kinds.ts';
import { referenceText, resolveReference, type ObjectReference } from './references.ts';
import { WaitError } from './wait-error.ts';

/**
 * The expected state: the name of a condition that must be True (`Ready`, `Available`), `Ready=False`, `exists`, `deleted`,
 * `jsonpath`-like `.status.phase=Running`, or a predicate, which is not called while the object does not exist.
 */
export type Expectation<T extends KubernetesObject> = string | ((object: T) => boolean);

export interface WaitOptions {
  /** Default: ten minutes of virtual time, or thirty seconds of real time. */
  readonly within?: Duration;
}

const DEFAULT_VIRTUAL_MS = 600_000;
const DEFAULT_REAL_MS = 30_000;

/** The limit of a wait. */
function withinMs(pace: Pace, { within }: WaitOptions): number {
  return within === undefined ? (pace.kind === 'virtual' ? DEFAULT_VIRTUAL_MS : DEFAULT_REAL_MS) : spanMs(within);
}

export interface WaitDeps {
  readonly pace: Pace;
  /** Read each time, because a restart replaces the store. Undefined while the server is down. */
  readonly objects: () => ObjectStore | undefined;
  readonly client: Client;
  readonly explain: ReportDeps['explain'];
}

/** Resolves to a copy of the object; to undefined for `deleted`. */
export async function waitForObject<T extends KubernetesObject>(
  { pace, objects, client, explain }: WaitDeps,
  target: { reference: ObjectReference; expectation: Expectation<T> },
  options: WaitOptions,
): Promise<T | undefined> {
  const reference = resolveReference(target.reference, customKinds(objects()));
  const expected = compile(target.expectation);
  const read = (): T | undefined =>
    objects()?.get(reference.info, reference.namespace, reference.name) as T | undefined;
  const limitMs = withinMs(pace, options);
  const held = await pace
    .until(() => objects() !== undefined && expected(read()), limitMs)
    .catch(async (error: unknown) => {
      const object = read();
      throw new WaitError(
        await failure(`while waiting for ${referenceText(reference)}: ${errorMessage(error)}`),
        object,
        { cause: error },
      );
    });
  const object = read();
  if (held) return object === undefined ? undefined : structuredClone(object);
  throw new WaitError(
    await failure(`${referenceText(reference)} ${unmet(target.expectation)} after ${formatSpan(limitMs)}`),
    object,
  );

  async function failure(head: string): Promise<string> {
    const store = objects();
    return store === undefined
      ? `${head}\nthe API server is down`
      : `${head}\n\n${await describeObject({ objects: store, client, explain }, reference)}`;
  }
}

function unmet(expectation: Expectation<never>): string {
  if (expectation === 'exists') return 'does not exist';
  const name = typeof expectation === 'string' ? expectation : expectation.name;
  return `is not ${name === '' ? 'as expected' : name}`;
}

function compile<T extends KubernetesObject>(expectation: Expectation<T>): (object: T | undefined) => boolean {
  if (typeof expectation === 'function') return (object) => object !== undefined && expectation(object);
  if (expectation === 'exists') return (object) => object !== undefined;
  if (expectation === 'deleted') return (object) => object === undefined;
  const [left = '', right = 'True'] = expectation.split('=');
  if (left.startsWith('.')) return (object) => String(valueAt(object, left)) === right;
  return (object) => conditionsOf(object).some(({ type, status }) => type === left && status === right);
}

/** The value at a path such as `.status.phase`. */
export function valueAt(object: unknown, path: string): unknown {
  return path
    .split('.')
    .slice(1)
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], object);
}

function conditionsOf(object: KubernetesObject | undefined): readonly { type: string; status: string }[] {
  const { status, metadata } = (object ?? {}) as {
    status?: { conditions?: { type: string; status: string }[]; observedGeneration?: number };
    metadata?: { generation?: number };
  };
  // A condition from before the last change of the spec does not count.
  if (status?.observedGeneration !== undefined && status.observedGeneration < (metadata?.generation ?? 0)) return [];
  return status?.conditions ?? [];
}

/** Calls `check` until it does not throw; resolves to its value. Rejects with its last error at the timeout. */
export async function eventually<T>(pace: Pace, check: () => T | Promise<T>, options: WaitOptions): Promise<T> {
  const { clock } = pace;
  const limitMs = withinMs(pace, options);
  const endMs = clock.monotonicMs() + limitMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const leftMs = endMs - clock.monotonicMs();
      if (leftMs <= 0)
        throw new WaitError(`not so after ${formatSpan(limitMs)}: ${errorMessage(error)}`, undefined, {
          cause: error,
        });
      await pace.advance(Math.min(leftMs, RETRY_MS));
    }
  }
}

const RETRY_MS = 50;
