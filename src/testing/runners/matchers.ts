/**
 * Matchers for `expect.extend` of vitest and jest. For a cluster they wait, as `waitFor` does, and fail with its report; for an
 * object they check its fields. After `.not` they check the current state.
 */
import { nameOf } from '../agreement/comparisons.ts';
import type { Event } from '../../api/gen/core-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Cluster } from '../cluster.ts';
import type { EventFilter } from '../find-events.ts';
import type { ObjectReference } from '../references.ts';
import { WaitError } from '../wait-error.ts';
import type { WaitOptions } from '../wait.ts';
import { conditionOf, isReady } from './readiness.ts';

/** A matcher's result for `expect`. */
export interface MatcherResult {
  readonly pass: boolean;
  message(): string;
}

/** The `this` of a matcher. */
export interface MatcherContext {
  readonly isNot?: boolean | undefined;
}

/** An expected event: the filter of `cluster.events`, and the text or pattern of its message. */
export interface ExpectedEvent extends EventFilter {
  readonly message?: string | RegExp;
}

/**
 * The matchers as types, for the declaration in vitest: `declare module 'vitest' { interface Matchers<R, T> extends
 * ClusterMatchers {} }`.
 */
export interface ClusterMatchers {
  /** The object is ready; with a cluster, the named object becomes ready. */
  toBeReady(object?: ObjectReference, options?: WaitOptions): Promise<void>;
  /** The arguments are type and status (default True) of a condition; with a cluster, the object comes first. */
  toHaveCondition(...expected: readonly (ObjectReference | WaitOptions)[]): Promise<void>;
  /** Such an event occurs in the cluster, or has occurred. */
  toHaveEvent(event: ExpectedEvent, options?: WaitOptions): Promise<void>;
  /** The argument is the owner, an object; with a cluster, the names of the dependent and of the owner. */
  toBeOwnedBy(owner: ObjectReference, ofOwned?: ObjectReference, options?: WaitOptions): Promise<void>;
}

/** The argument for `expect.extend`. */
export const matchers = {
  toBeReady(
    this: MatcherContext,
    subject: Cluster | KubernetesObject,
    reference?: ObjectReference,
    options?: WaitOptions,
  ): MatcherResult | Promise<MatcherResult> {
    if (!isCluster(subject)) return result(isReady(subject), `${nameOf(subject)} to be ready`, subject);
    return waited(this, subject, { reference: needed(reference), expected: isReady, what: 'ready' }, options);
  },

  toHaveCondition(
    this: MatcherContext,
    subject: Cluster | KubernetesObject,
    ...expected: readonly unknown[]
  ): MatcherResult | Promise<MatcherResult> {
    if (!isCluster(subject)) {
      const [type, status = 'True'] = expected as [string, string?];
      return result(conditionOf(subject, type) === status, `${nameOf(subject)} to have ${type}=${status}`, subject);
    }
    const [reference, type, status = 'True'] = expected as [ObjectReference, string, (string | WaitOptions)?];
    const [wanted, options] =
      typeof status === 'string' ? [status, expected[3] as WaitOptions | undefined] : ['True', status];
    const holds = (object: KubernetesObject): boolean => conditionOf(object, type) === wanted;
    return waited(this, subject, { reference, expected: holds, what: `${type}=${wanted}` }, options);
  },

  async toHaveEvent(
    this: MatcherContext,
    cluster: Cluster,
    { message, ...filter }: ExpectedEvent,
    options?: WaitOptions,
  ): Promise<MatcherResult> {
    const matching = (): Event[] =>
      cluster.events(filter).filter(({ message: text = '' }) =>
        // `search` starts at the beginning of each text, whatever the pattern's flags are.
        typeof message === 'string' ? text.includes(message) : message === undefined || text.search(message) >= 0,
      );
    const none = new Error('no such event yet');
    try {
      await cluster.eventually(
        () => {
          if (matching().length === 0) throw none;
        },
        limitsOf(this, options),
      );
    } catch (error) {
      if (!(error instanceof WaitError) || error.cause !== none) throw error;
    }
    const found = matching();
    const expected = JSON.stringify({ ...filter, message: message === undefined ? undefined : String(message) });
    const shown = (this.isNot === true ? found : cluster.events()).slice(-MAX_EVENTS).map(lineOf).join('\n');
    return {
      pass: found.length > 0,
      message: () => `expected ${this.isNot === true ? 'no' : 'an'} event ${expected}\nevents:\n${shown || NO_EVENTS}`,
    };
  },

  toBeOwnedBy(
    this: MatcherContext,
    subject: Cluster | KubernetesObject,
    ...names: readonly unknown[]
  ): MatcherResult | Promise<MatcherResult> {
    if (!isCluster(subject)) {
      const owner = names[0] as KubernetesObject;
      return result(isOwnedBy(subject, owner.metadata.uid), `${nameOf(subject)} to be owned by ${nameOf(owner)}`, {
        metadata: { ownerReferences: subject.metadata.ownerReferences },
      });
    }
    const [owned, owner, options] = names as [ObjectReference, ObjectReference, WaitOptions?];
    const { info, namespace, name } = subject.resolve(owner);
    const ownerNow = (): KubernetesObject | undefined =>
      subject
        .peek(info)
        .find(
          ({ metadata }) => metadata.name === name && metadata.namespace === (info.namespaced ? namespace : undefined),
        );
    const expected = (object: KubernetesObject): boolean => isOwnedBy(object, ownerNow()?.metadata.uid);
    return waited(this, subject, { reference: owned, expected, what: `owned by ${info.singular} ${name}` }, options);
  },
};

const MAX_EVENTS = 15;

/** A test that lets days pass often misses the events of the first ones. */
const NO_EVENTS = '  none: events are kept for an hour of cluster time';

function isCluster(subject: Cluster | KubernetesObject): subject is Cluster {
  return typeof (subject as Cluster).waitFor === 'function';
}

function needed(reference: ObjectReference | undefined): ObjectReference {
  if (reference === undefined) throw new TypeError("name the object: expect(cluster).toBeReady('deployment/web')");
  return reference;
}

function isOwnedBy(object: KubernetesObject, uid: string | undefined): boolean {
  return uid !== undefined && object.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

function result(pass: boolean, expected: string, seen: object): MatcherResult {
  const { status, metadata } = seen as { status?: unknown; metadata?: { ownerReferences?: unknown } };
  const shown = JSON.stringify(status ?? metadata?.ownerReferences, undefined, 2) ?? 'nothing';
  return { pass, message: () => `expected ${expected}${pass ? ' not' : ''}, it has\n${shown}` };
}

/** After `.not` there is no wait; options are checked all the same. */
function limitsOf({ isNot }: MatcherContext, options: WaitOptions | undefined): WaitOptions | undefined {
  return isNot === true ? { ...options, within: 0 } : options;
}

async function waited(
  context: MatcherContext,
  cluster: Cluster,
  {
    reference,
    expected,
    what,
  }: { reference: ObjectReference; expected: (object: KubernetesObject) => boolean; what: string },
  options: WaitOptions | undefined,
): Promise<MatcherResult> {
  Object.defineProperty(expected, 'name', { value: what });
  try {
    await cluster.waitFor(reference, expected, limitsOf(context, options));
    return { pass: true, message: () => `${String(reference)} is ${what}` };
  } catch (error) {
    // Only a timeout counts as a result: a misspelt kind or option, or a stopped cluster, fails a test with `.not`, too.
    if (!(error instanceof WaitError) || error.cause !== undefined) throw error;
    return { pass: false, message: () => error.message };
  }
}

function lineOf({ type, reason, involvedObject, message, count = 1 }: Event): string {
  return `  ${type} ${reason} ${involvedObject.kind}/${involvedObject.name}${count > 1 ? ` (x${count})` : ''}: ${message}`;
}
