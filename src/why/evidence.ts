/**
 * The reads of explainers, made through any client with the caller's rights: objects, lists, events, each once. Reads that are
 * forbidden are recorded and listed in the explanation.
 */
import { fieldSelectorOf } from '../api/field-selector.ts';
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

/** An object that was looked up. With neither `object` nor `missing` the caller may not read it. */
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
  /** Explains the objects behind causes. */
  readonly explain: Explain;
}

/** A sub-resource, and its name in the explanation. */
interface SubresourceRead {
  readonly name: string;
  readonly what: string;
  readonly query?: Readonly<Record<string, string>>;
}

/** Real chains of causes are shorter; cycles end before that. */
const MAX_DEPTH = 8;
const MAX_LISTED = 500;
const MAX_PAGES = 40;
/** Keelson's own views, and what remains unknown without them. */
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
  /** Sorted events by the list that was read. */
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

  /** The first few hundred objects; empty when the caller may not list them. An object that is not among them may still exist. */
  async list<T extends KubernetesObject>(info: ResourceInfo<T>, options: ListOptions = {}): Promise<readonly T[]> {
    return (await this.listed(info, options)) ?? [];
  }

  /** As `list`, but undefined when the caller may not list the objects, so that none is reported as missing. */
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

  /** All objects; undefined when the caller may not list them, or when there are too many to search. */
  listAll<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    options: Pick<ListOptions, 'namespace'> = {},
  ): Promise<readonly Stored<T>[] | undefined> {
    const what = `all ${groupResourceOf(info)}${options.namespace === undefined ? '' : ` in ${options.namespace}`}`;
    return this.#reads.once<readonly Stored<T>[] | undefined>(what, undefined, () => this.#pages(info, options));
  }

  /** The kinds that the server serves, including custom kinds; empty when discovery fails. */
  served(): Promise<readonly ResourceInfo<KubernetesObject>[]> {
    return this.#reads.once<readonly ResourceInfo<KubernetesObject>[]>('the kinds that are served', [], async () => {
      const { resources } = await discoverResources(this.client, this.#reads.signal);
      return resources;
    });
  }

  /** The server's response to a review, which is never stored; undefined when the caller may not create it. */
  create<T extends KubernetesObject>(what: string, info: ResourceInfo<T>, review: T): Promise<T | undefined> {
    return this.#reads.once<T | undefined>(what, undefined, () =>
      this.client.resource(info).create(review, this.#options()),
    );
  }

  /** Records that part of an already read object was examined. */
  note(what: string): void {
    this.#reads.note(what);
  }

  /** The events about an object, the newest first. */
  async events({ metadata }: KubernetesObject): Promise<readonly Event[]> {
    const { uid = '', namespace = 'default' } = metadata;
    const events = await this.list(Events, {
      namespace,
      fieldSelector: fieldSelectorOf({ 'involvedObject.uid': uid }),
    });
    let sorted = this.#sortedEvents.get(events);
    if (sorted === undefined) {
      sorted = events.toSorted((a, b) => timeOfEvent(b) - timeOfEvent(a));
      this.#sortedEvents.set(events, sorted);
    }
    return sorted;
  }

  /** A sub-resource, read by GET; undefined when the server does not have it, or the caller may not read it. */
  subresource<S>(
    info: ResourceInfo<KubernetesObject>,
    key: ObjectKey,
    { name: subresource, what, query }: SubresourceRead,
  ): Promise<S | undefined> {
    return this.#reads.once<S | undefined>(what, undefined, async () => {
      try {
        return await this.client.resource(info).getSubresource<S>(key, subresource, { query, ...this.#options() });
      } catch (error) {
        // A 404 without an object's name means that the server does not have the sub-resource.
        if (!isReason(error, 'NotFound') || isAbsent(error)) throw error;
        this.#reads.isAbsent(what, what);
        return undefined;
      }
    });
  }

  /** The text at a raw path; undefined when it cannot be read. */
  text(what: string, path: string): Promise<string | undefined> {
    return this.#reads.once<string | undefined>(what, undefined, async () => {
      const { body } = await this.client.raw({ path, ...this.#options() });
      return Buffer.from(body).toString('utf8');
    });
  }

  /** Keelson's own view of an object; undefined on other servers, where the explanation lists what they do not provide. */
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

  /** Explains one object at a time. An object that is already being explained yields no causes. */
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

  /** The causes of the object that another cause refers to. */
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

/**
 * Whether the error means that the object does not exist. The 404 of a kind that is not served has no name, and nothing follows
 * from it.
 */
function isAbsent(error: unknown): boolean {
  if (!(error instanceof StatusError) || error.reason !== 'NotFound') return false;
  return (error.status.details?.name ?? '') !== '';
}

/** The time of an event's last occurrence, in milliseconds since 1970. */
export function timeOfEvent({ lastTimestamp, eventTime, series, metadata }: Event): number {
  return parseTime(series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp) || 0;
}
