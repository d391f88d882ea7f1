/**
 * What explainers read, over any client with the caller's own rights: objects, lists, events, each once. What may not be read
 * is remembered, so that an answer says what it cannot know.
 */
import { Events } from '../api/gen/resources.ts';
import type { Event } from '../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import { groupResourceOf, type ResourceInfo } from '../api/resource-info.ts';
import { isReason, StatusError } from '../api/status-error.ts';
import { parseTime } from '../api/time.ts';
import type { Client, ListOptions, ObjectKey } from '../client/client.ts';
import { discoverResources } from '../client/discovery.ts';
import { objectPath } from '../client/request-path.ts';
import type { Cause, Diagnosis } from './explanation.ts';
import { objectText } from './explanation.ts';
import { nameOf, nameOfObject } from './object-name.ts';
import { Reads, type ReadLimits } from './reads.ts';
import { appendAll } from '../base/lists.ts';

/** An object that was asked for. Neither there nor `missing`: the caller may not read it. */
export interface Lookup<T> {
  readonly object?: T;
  readonly missing: boolean;
}

/** Explains an object of a resource. */
export type Explain = (
  info: ResourceInfo<KubernetesObject>,
  object: KubernetesObject,
  evidence: Evidence,
) => Promise<Diagnosis>;

export interface EvidenceOptions extends ReadLimits {
  readonly client: Client;
  readonly nowMs: number;
  /** Explains objects that causes lead to. */
  readonly explain: Explain;
}

/** A sub-resource to read, and how the answer names it. */
interface SubresourceRead {
  readonly name: string;
  readonly what: string;
  readonly query?: Readonly<Record<string, string>>;
}

/** Longer chains than any real one; a cycle ends sooner. */
const MAX_DEPTH = 8;
const MAX_LISTED = 500;
const MAX_PAGES = 40;
/** Views, and what is not known without them. */
const VIEWS = {
  state: 'what its kubelet knows: when it tries again, what registries and probes answered, which volumes it waits for',
  refusals: 'which part of the API server refused its pods',
} as const;
const nothingKnown: Diagnosis = { state: 'Unknown', summary: '', causes: [] };

export class Evidence {
  readonly nowMs: number;
  readonly client: Client;
  readonly #explain: Explain;
  readonly #reads: Reads;
  readonly #underWay: string[] = [];
  /** By the list that was read. */
  readonly #sortedEvents = new WeakMap<readonly Event[], readonly Event[]>();

  constructor({ client, nowMs, explain, ...limits }: EvidenceOptions) {
    this.client = client;
    this.nowMs = nowMs;
    this.#explain = explain;
    this.#reads = new Reads(limits);
  }

  get lookedAt(): readonly string[] {
    return this.#reads.made;
  }

  get notReadable(): readonly string[] {
    return this.#reads.notReadable;
  }

  get<T extends KubernetesObject>(info: ResourceInfo<T>, key: ObjectKey): Promise<Lookup<T>> {
    const what = objectText(nameOf(info, key));
    return this.#reads.once<Lookup<T>>(what, { missing: false }, async () => {
      try {
        return { object: await this.client.resource(info).get(key, this.#options()), missing: false };
      } catch (error) {
        if (isAbsent(error)) return { missing: true };
        throw error;
      }
    });
  }

  /** Objects, the first few hundred of them; none where the caller may not list them. What is not among them may yet be there. */
  async list<T extends KubernetesObject>(info: ResourceInfo<T>, options: ListOptions = {}): Promise<readonly T[]> {
    return (await this.listed(info, options)) ?? [];
  }

  /** The same; undefined where the caller may not list them, so that nothing is said of what is not there. */
  listed<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    options: ListOptions = {},
  ): Promise<readonly T[] | undefined> {
    const { namespace, labelSelector, fieldSelector } = options;
    const parts = [labelSelector, fieldSelector].filter((part) => part !== undefined && part !== '');
    const place = namespace === undefined || namespace === '' ? '' : ` in ${namespace}`;
    const what = `${groupResourceOf(info)}${place}${parts.length === 0 ? '' : ` with ${parts.join(' and ')}`}`;
    return this.#reads.once<readonly T[] | undefined>(what, undefined, async () => {
      const list = await this.client.resource(info).list({ ...options, limit: MAX_LISTED, ...this.#options() });
      return list.items;
    });
  }

  /** Every object there is; undefined where the caller may not list them, or where there are more than can be looked through. */
  listAll<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    options: Pick<ListOptions, 'namespace'> = {},
  ): Promise<readonly Stored<T>[] | undefined> {
    const what = `all ${groupResourceOf(info)}${options.namespace === undefined ? '' : ` in ${options.namespace}`}`;
    return this.#reads.once<readonly Stored<T>[] | undefined>(what, undefined, () => this.#pages(info, options));
  }

  /** What the server serves, custom kinds included; none where it does not say. */
  served(): Promise<readonly ResourceInfo<KubernetesObject>[]> {
    return this.#reads.once<readonly ResourceInfo<KubernetesObject>[]>('the kinds that are served', [], async () => {
      const { resources } = await discoverResources(this.client, this.#reads.signal);
      return resources;
    });
  }

  /** The server's answer to a review, which is never stored; undefined where the caller may not ask. */
  create<T extends KubernetesObject>(what: string, info: ResourceInfo<T>, review: T): Promise<T | undefined> {
    return this.#reads.once<T | undefined>(what, undefined, () =>
      this.client.resource(info).create(review, this.#options()),
    );
  }

  /** Notes what was looked at in objects that had been read already. */
  note(what: string): void {
    this.#reads.note(what);
  }

  /** Events about an object, the newest first. */
  async events({ metadata }: KubernetesObject): Promise<readonly Event[]> {
    const { uid = '', namespace = 'default' } = metadata;
    const events = await this.list(Events, { namespace, fieldSelector: `involvedObject.uid=${uid}` });
    let sorted = this.#sortedEvents.get(events);
    if (sorted === undefined) {
      sorted = events.toSorted((a, b) => timeOfEvent(b) - timeOfEvent(a));
      this.#sortedEvents.set(events, sorted);
    }
    return sorted;
  }

  /** A sub-resource of a GET; undefined where the server has none, or the caller may not read it. */
  subresource<S>(
    info: ResourceInfo<KubernetesObject>,
    key: ObjectKey,
    { name: subresource, what, query }: SubresourceRead,
  ): Promise<S | undefined> {
    return this.#reads.once<S | undefined>(what, undefined, async () => {
      try {
        return await this.client.resource(info).getSubresource<S>(key, subresource, { query, ...this.#options() });
      } catch (error) {
        // A 404 that names no object: the server has no such sub-resource.
        if (!isReason(error, 'NotFound') || isAbsent(error)) throw error;
        this.#reads.isAbsent(what, what);
        return undefined;
      }
    });
  }

  /** A text of a raw path; undefined where it cannot be read. */
  text(what: string, path: string): Promise<string | undefined> {
    return this.#reads.once<string | undefined>(what, undefined, async () => {
      const { body } = await this.client.raw({ path, ...this.#options() });
      return Buffer.from(body).toString('utf8');
    });
  }

  /** Keelson's own view of an object; undefined on servers of others, of which the answer says what they do not tell. */
  view<S>(name: keyof typeof VIEWS, info: ResourceInfo, key: ObjectKey): Promise<S | undefined> {
    const what = `${name} of ${objectText(nameOf(info, key))}`;
    return this.#reads.once<S | undefined>(what, undefined, async () => {
      try {
        const { body } = await this.client.raw({
          path: `/keelson/v1/${name}${objectPath(info, key)}`,
          ...this.#options(),
        });
        return JSON.parse(Buffer.from(body).toString('utf8')) as S;
      } catch {
        this.#reads.isAbsent(what, VIEWS[name]);
        return undefined;
      }
    });
  }

  /** Explains an object; one at a time. Nothing is said of one that is being explained already. */
  async explain<T extends KubernetesObject>(info: ResourceInfo<T>, object: T): Promise<Diagnosis> {
    const key = objectText(nameOfObject(info, object));
    if (this.#underWay.includes(key) || this.#underWay.length >= MAX_DEPTH) return nothingKnown;
    this.#underWay.push(key);
    try {
      return await this.#explain(info as ResourceInfo<KubernetesObject>, object, this);
    } finally {
      this.#underWay.pop();
    }
  }

  /** What is wrong with an object that a cause leads to. */
  async causesOf<T extends KubernetesObject>(info: ResourceInfo<T>, object: T): Promise<readonly Cause[]> {
    return (await this.explain(info, object)).causes;
  }

  async #pages<T extends KubernetesObject>(info: ResourceInfo<T>, options: ListOptions): Promise<readonly Stored<T>[]> {
    const all: Stored<T>[] = [];
    let page: ListOptions = { ...options, limit: MAX_LISTED, ...this.#options() };
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const { items, metadata } = await this.client.resource(info).list(page);
      appendAll(all, items);
      if (metadata.continue === undefined || metadata.continue === '') return all;
      page = { ...page, continue: metadata.continue };
    }
    throw new Error(`there are more than ${all.length}`);
  }

  #options(): { signal?: AbortSignal } {
    const { signal } = this.#reads;
    return signal === undefined ? {} : { signal };
  }
}

/** Whether the object is not there. A kind that the server does not serve has a 404 without a name: nothing is known then. */
function isAbsent(error: unknown): boolean {
  if (!(error instanceof StatusError) || error.reason !== 'NotFound') return false;
  return (error.status.details?.name ?? '') !== '';
}

/** When an event was seen last, in milliseconds since the Unix epoch. */
export function timeOfEvent({ lastTimestamp, eventTime, series, metadata }: Event): number {
  return parseTime(series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp) || 0;
}
