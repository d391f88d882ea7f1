/**
 * Matchers for `expect.extend` of vitest and jest. Of a cluster they wait, as `waitFor` does, and fail with its report; of an
 * object they look at what it says. Behind `.not` they look at how it is now.
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

/** What a matcher answers to `expect`. */
export interface MatcherResult {
  readonly pass: boolean;
  message(): string;
}

/** What `expect` gives a matcher as `this`. */
export interface MatcherContext {
  readonly isNot?: boolean | undefined;
}

/** Which event is expected: that of `cluster.events`, and what its message is like. */
export interface ExpectedEvent extends EventFilter {
  readonly message?: string | RegExp;
}

/**
 * The matchers as types, for the declaration that makes them known: in vitest
 * `declare module 'vitest' { interface Matchers<R, T> extends ClusterMatchers {} }`.
 */
export interface ClusterMatchers {
  /** An object is ready; the object of a cluster that is named gets ready. */
  toBeReady(object?: ObjectReference, options?: WaitOptions): Promise<void>;
  /** Takes type and status (default True) of a condition; of a cluster, the object before these. */
  toHaveCondition(...expected: readonly (ObjectReference | WaitOptions)[]): Promise<void>;
  /** Such an event happens in the cluster, or has happened. */
  toHaveEvent(event: ExpectedEvent, options?: WaitOptions): Promise<void>;
  /** Takes the owner, an object; of a cluster, the names of the owned one and of the owner. */
  toBeOwnedBy(owner: ObjectReference, ofOwned?: ObjectReference, options?: WaitOptions): Promise<void>;
}

/** Hand them to `expect.extend`. */
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
        // `search` begins at the start of each text, whatever the flags.
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
      message: () => `expected ${this.isNot === true ? 'no' : 'an'} event ${expected}\nevents:\n${shown || '  none'}`,
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

/** Behind `.not` nothing is waited for; options are checked all the same. */
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
    // Only the end of the time is an answer: a misspelt kind or option, or a stopped cluster, passes no test behind `.not`.
    if (!(error instanceof WaitError) || error.cause !== undefined) throw error;
    return { pass: false, message: () => error.message };
  }
}

function lineOf({ type, reason, involvedObject, message, count = 1 }: Event): string {
  return `  ${type} ${reason} ${involvedObject.kind}/${involvedObject.name}${count > 1 ? ` (x${count})` : ''}: ${message}`;
}
