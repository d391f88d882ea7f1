/**
 * The names of cluster DNS: services and their endpoints, indexed by name and by address. Pure: built from objects,
 * queried by the resolver. Upstream: the DNS specification for service discovery, as CoreDNS's kubernetes plugin
 * implements it.
 */
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { deepEqual } from '../base/equal.ts';
import { StepMeter, type Steps } from '../base/steps.ts';
import { RecordIndex } from './record-index.ts';
import {
  addressRecord,
  type BuiltRecords,
  type DnsRecord,
  EMPTY,
  isHeadless,
  podRecords,
  serviceName,
  serviceRecords,
  sourcesOf,
} from './service-records.ts';
import { sliceRecords } from './slice-records.ts';

/** The records for queries. */
export interface Zone {
  readonly domain: string;
  /** Grows with every change of a record. */
  readonly version: number;
  /**
   * Records of exactly this name and type, or of all types for `ANY`, at most as many as an answer holds. Undefined when the
   * name does not exist; empty where only names below it, or other types, exist.
   */
  lookup(name: string, type: string): readonly DnsRecord[] | undefined;
  /** Names of an address, for PTR queries. */
  reverse(address: string): readonly string[];
}

/** A zone that follows objects. A change shows in answers when `takeChanges` has come to it. */
export interface MutableZone extends Zone {
  setService(service: Stored<Service>): void;
  removeService(namespace: string, name: string): void;
  setSlice(slice: Stored<EndpointSlice>): void;
  removeSlice(slice: Stored<EndpointSlice>): void;
  /** Brings the records up to date with the objects, those that change meanwhile included. */
  takeChanges(): Steps<void>;
  /** Whether all changes are taken. */
  isSettled(): boolean;
}

/** Something in the index: a service, or one of its slices. */
interface Part<T extends KubernetesObject> {
  object: Stored<T> | undefined;
  built: BuiltRecords;
}

interface ServiceEntry extends Part<Service> {
  readonly slices: Map<string, Part<EndpointSlice>>;
  isHeadless: boolean;
}

const SERVICE_LABEL = 'kubernetes.io/service-name';
const DNS_VERSION = '1.1.0';
/** Names that are changed before other work gets a turn. */
const NAMES_PER_STEP = 2000;

/** Creates an empty zone for `domain` (`cluster.local`). `nameservers` are the addresses of `ns.dns.<domain>`. */
export function createZone(domain: string, nameservers: readonly string[] = []): MutableZone {
  return new ServiceZone(domain, nameservers);
}

class ServiceZone implements MutableZone {
  readonly domain: string;
  version = 1;
  readonly #services = new Map<string, ServiceEntry>();
  readonly #changed = { services: new Set<string>(), slices: new Map<string, [key: string, name: string]>() };
  readonly #index: RecordIndex;
  readonly #existsAnyway: ReadonlySet<string>;
  readonly #meter = new StepMeter(NAMES_PER_STEP);
  #isTaking = false;

  constructor(domain: string, nameservers: readonly string[]) {
    this.domain = domain;
    this.#index = new RecordIndex(domain);
    this.#existsAnyway = new Set([domain, `svc.${domain}`, `pod.${domain}`]);
    const fixed: readonly DnsRecord[] = [
      { type: 'TXT', name: `dns-version.${domain}`, text: DNS_VERSION },
      ...nameservers.map((address) => addressRecord(`ns.dns.${domain}`, address)),
    ];
    this.#index.replace(this, EMPTY, { names: sourcesOf(fixed), addresses: [] });
  }

  lookup(name: string, type: string): readonly DnsRecord[] | undefined {
    return (
      this.#index.lookup(name, type) ??
      podRecords(name, this.domain)?.filter((record) => type === 'ANY' || record.type === type) ??
      (this.#existsAnyway.has(name) ? [] : undefined)
    );
  }

  reverse(address: string): readonly string[] {
    return this.#index.reverse(address);
  }

  setService(service: Stored<Service>): void {
    const key = `${service.metadata.namespace}/${service.metadata.name}`;
    this.#entryOf(key).object = service;
    this.#changed.services.add(key);
  }

  removeService(namespace: string, name: string): void {
    const entry = this.#services.get(`${namespace}/${name}`);
    if (entry === undefined) return;
    entry.object = undefined;
    this.#changed.services.add(`${namespace}/${name}`);
  }

  setSlice(slice: Stored<EndpointSlice>): void {
    const key = sliceKey(slice);
    if (key === undefined) return;
    const { slices } = this.#entryOf(key);
    const { name } = slice.metadata;
    const part = slices.get(name);
    if (part === undefined) slices.set(name, { object: slice, built: EMPTY });
    else {
      const same = deepEqual([part.object?.endpoints, part.object?.ports], [slice.endpoints, slice.ports]);
      part.object = slice;
      if (same) return;
    }
    this.#sliceChanged(key, name);
  }

  removeSlice(slice: Stored<EndpointSlice>): void {
    const key = sliceKey(slice);
    const part = key === undefined ? undefined : this.#services.get(key)?.slices.get(slice.metadata.name);
    if (key === undefined || part === undefined) return;
    part.object = undefined;
    this.#sliceChanged(key, slice.metadata.name);
  }

  isSettled(): boolean {
    return !this.#isTaking && this.#changed.services.size + this.#changed.slices.size === 0;
  }

  *takeChanges(): Steps<void> {
    this.#isTaking = true;
    const { services, slices } = this.#changed;
    try {
      while (services.size + slices.size > 0) {
        // What is added during the iteration is visited as well.
        for (const key of services) {
          services.delete(key);
          if (this.#takeService(key)) yield;
        }
        for (const [id, [key, name]] of slices) {
          slices.delete(id);
          if (this.#takeSlice(key, name)) yield;
          if (services.size > 0) break;
        }
      }
    } finally {
      this.#isTaking = false;
    }
  }

  #entryOf(key: string): ServiceEntry {
    let entry = this.#services.get(key);
    if (entry === undefined)
      this.#services.set(key, (entry = { object: undefined, built: EMPTY, slices: new Map(), isHeadless: false }));
    return entry;
  }

  #sliceChanged(key: string, name: string): void {
    this.#changed.slices.set(`${key}/${name}`, [key, name]);
  }

  #takeService(key: string): boolean {
    const entry = this.#services.get(key);
    if (entry === undefined) return false;
    const service = entry.object;
    const wasHeadless = entry.isHeadless;
    entry.isHeadless = service !== undefined && isHeadless(service);
    if (entry.isHeadless !== wasHeadless) for (const name of entry.slices.keys()) this.#sliceChanged(key, name);
    if (service === undefined && entry.slices.size === 0) this.#services.delete(key);
    return this.#put(entry, service === undefined || entry.isHeadless ? EMPTY : serviceRecords(service, this.domain));
  }

  #takeSlice(key: string, name: string): boolean {
    const entry = this.#services.get(key);
    const part = entry?.slices.get(name);
    if (entry === undefined || part === undefined) return false;
    const isServed = entry.isHeadless && entry.object !== undefined && part.object !== undefined;
    if (part.object === undefined) entry.slices.delete(name);
    if (entry.object === undefined && entry.slices.size === 0) this.#services.delete(key);
    return this.#put(part, isServed ? sliceRecords(serviceName(entry.object!, this.domain), part.object!) : EMPTY);
  }

  /** Returns whether the step should end. */
  #put(part: { built: BuiltRecords }, built: BuiltRecords): boolean {
    const before = part.built;
    const names = before.names.size + built.names.size;
    if (names === 0) return this.#meter.endsStep(1);
    this.#index.replace(part, before, built);
    part.built = built;
    this.version++;
    return this.#meter.endsStep(names);
  }
}

function sliceKey(slice: Stored<EndpointSlice>): string | undefined {
  const name = slice.metadata.labels?.[SERVICE_LABEL];
  return name === undefined ? undefined : `${slice.metadata.namespace}/${name}`;
}
