/**
 * Keeps the cluster as the files of `<data-dir>/manifests` say: applies each when it comes or changes, removes what is gone
 * from it, and all of it when the file goes. What a file made is known by an annotation: an object that another file or a
 * user took over is not removed. Upstream: k3s's deploy controller; differs: a deleted file takes its objects along.
 */
import { errorMessage } from '../../base/errors.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';
import type { EventRecorder, EventTarget } from '../../client/event-recorder.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  ADDON_NAMESPACE,
  addonReference,
  addonResource,
  isAddonDefined,
  saveAddon,
  type Addon,
  type ObjectReference,
} from './addon-record.ts';
import { addonFiles, addonObjects, type AddonFile } from './addon-files.ts';
import { readApplied, writeApplied, type AppliedFiles } from './applied-files.ts';
import { choose } from './choose-files.ts';
import { isOfKind, isSame } from './same-object.ts';

export interface AddonDeps {
  readonly platform: Pick<Platform, 'clock' | 'crypto' | 'files' | 'log'>;
  readonly client: Client;
  readonly recorder: EventRecorder;
}

export interface AddonConfig {
  readonly folder: string;
  readonly server: string;
}

/** Which addon made an object. */
const OWNER_ANNOTATION = 'keelson.dev/addon';
const FIELD_MANAGER = 'keelson-addons';

/** Keeps the files of one folder applied. */
export class AddonController {
  readonly #deps: AddonDeps;
  readonly #config: AddonConfig;
  /** What was said of files that are passed over: once each. */
  #warned: ReadonlySet<string> = new Set();

  constructor(deps: AddonDeps, config: AddonConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Brings the cluster to what the files say, once. Resolves to whether all of it is done. */
  async sync(signal: AbortSignal): Promise<boolean> {
    const pass = new Pass(this.#deps, this.#config, this.#warned, signal);
    const done = await pass.run();
    this.#warned = pass.warnings;
    return done;
  }
}

class Pass {
  /** What this pass says of files that are passed over. */
  readonly warnings = new Set<string>();
  readonly #deps: AddonDeps;
  readonly #config: AddonConfig;
  readonly #warned: ReadonlySet<string>;
  readonly #signal: AbortSignal;

  constructor(deps: AddonDeps, config: AddonConfig, warned: ReadonlySet<string>, signal: AbortSignal) {
    this.#deps = deps;
    this.#config = config;
    this.#warned = warned;
    this.#signal = signal;
  }

  async run(): Promise<boolean> {
    const { platform, client } = this.#deps;
    const { folder, server } = this.#config;
    const { found, unreadable } = await addonFiles(platform.files, folder);
    const applied = await readApplied(platform, folder);
    for (const { path, reason } of unreadable) this.#refuse(path, reason);
    if (found.length === 0 && !(await isAddonDefined(client, this.#signal))) return true;
    const info = await addonResource(client, platform.clock, this.#signal);
    const { items } = await client.resource(info).list({ namespace: ADDON_NAMESPACE, signal: this.#signal });
    const addons = new Map(items.map((addon) => [addon.metadata.name, addon]));
    const { kept, refused } = choose(found, { applied, addons, server });
    for (const { file, reason } of refused)
      this.#refuse(file.path, reason, addons.get(file.name) ?? addonReference(file.name));
    for (const { metadata, spec } of items)
      if (spec.server === server && !(metadata.name in applied) && !found.some(({ name }) => name === metadata.name))
        this.#refuse(spec.source, `it was never in this folder: what is left of Addon ${metadata.name} stays`);
    const next = { ...applied, ...Object.fromEntries(kept.map(({ name, path }) => [name, path])) };
    // Before anything is made: what is cut short is known to be of this folder.
    await this.#record(applied, next);
    let done = true;
    for (const file of kept) done = (await this.#keep(info, file, addons.get(file.name))) && done;
    for (const [name, path] of Object.entries(applied)) {
      if (found.some((file) => file.name === name) || unreadable.some((each) => isAt(path, each.path))) continue;
      const addon = addons.get(name);
      if (addon?.spec.server !== server || (await this.#remove(info, addon))) delete next[name];
      else done = false;
    }
    await this.#record({ ...applied, ...next }, next);
    return done;
  }

  async #record(before: AppliedFiles, after: AppliedFiles): Promise<void> {
    if (JSON.stringify(before) !== JSON.stringify(after))
      await writeApplied(this.#deps.platform.files, this.#config.folder, after);
  }

  /** Says once that a file is not applied, and why. */
  #refuse(path: string, reason: string, addon?: Stored<Addon> | EventTarget): void {
    const { platform, recorder } = this.#deps;
    const key = `${path}: ${reason}`;
    this.warnings.add(key);
    if (this.#warned.has(key)) return;
    platform.log.warn('A file of manifests is not applied', { file: path, reason });
    if (addon !== undefined)
      recorder.event(
        addon,
        'Warning',
        'ManifestRefused',
        `Not applying manifest at ${JSON.stringify(path)}: ${reason}`,
      );
  }

  async #keep(
    info: ResourceInfo<Addon>,
    { name, path }: AddonFile,
    before: Stored<Addon> | undefined,
  ): Promise<boolean> {
    const { platform, client, recorder } = this.#deps;
    const signal = this.#signal;
    const old = before?.status?.objects ?? [];
    const spec = { source: path, checksum: before?.spec.checksum ?? '', server: this.#config.server };
    let addon: Stored<Addon> | undefined = before;
    try {
      const text = await platform.files.readText(path);
      spec.checksum = platform.crypto.sha256Hex(text);
      const isSameFile = before?.spec.checksum === spec.checksum && before.spec.source === path;
      if (isSameFile && before.status?.message === undefined) return true;
      const manifests = await addonObjects(text);
      const objects = await this.#resolved(manifests);
      const wanted = objects.map(({ reference }) => reference);
      // Before anything is made: what is cut short here is still known to the next pass.
      const all = [...old, ...wanted.filter((reference) => !old.some((each) => isSame(each, reference)))];
      addon = await saveAddon(client, info, { name, spec, status: { objects: all, message: 'applying' } }, signal);
      recorder.event(addon, 'Normal', 'ApplyingManifest', `Applying manifest at ${JSON.stringify(path)}`);
      for (const { object } of objects) await this.#apply(name, object);
      for (const reference of old)
        if (!wanted.some((each) => isSame(each, reference))) await this.#prune(name, reference);
      // Kinds that the file itself defined are known now.
      const made = (await this.#resolved(manifests)).map(({ reference }) => reference);
      await saveAddon(client, info, { name, spec, status: { objects: made } }, signal);
      recorder.event(addon, 'Normal', 'AppliedManifest', `Applied manifest at ${JSON.stringify(path)}`);
      platform.log.info('A file of manifests was applied', { file: path, objects: wanted.length });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const message = errorMessage(error);
      platform.log.warn('A file of manifests cannot be applied', { file: path, reason: message });
      const objects = addon?.status?.objects ?? old;
      const failed = await saveAddon(client, info, { name, spec, status: { objects, message } }, signal);
      recorder.event(
        failed,
        'Warning',
        'ApplyManifestFailed',
        `Applying manifest at ${JSON.stringify(path)}: ${message}`,
      );
      return false;
    }
  }

  async #remove(info: ResourceInfo<Addon>, addon: Stored<Addon>): Promise<boolean> {
    const { client, platform, recorder } = this.#deps;
    const { name } = addon.metadata;
    const path = JSON.stringify(addon.spec.source);
    try {
      recorder.event(addon, 'Normal', 'DeletingManifest', `Deleting manifest at ${path}`);
      for (const reference of addon.status?.objects.toReversed() ?? []) await this.#prune(name, reference);
      await client.resource(info).delete({ namespace: ADDON_NAMESPACE, name }, { signal: this.#signal });
      platform.log.info('What a file of manifests made was removed with it', { file: addon.spec.source });
      return true;
    } catch (error) {
      this.#signal.throwIfAborted();
      recorder.event(addon, 'Warning', 'DeleteManifestFailed', `Deleting manifest at ${path}: ${errorMessage(error)}`);
      return false;
    }
  }

  /** Objects with the namespace they are in. A kind that the same file defines is looked up when its turn comes. */
  async #resolved(objects: readonly KubernetesObject[]): Promise<readonly ResolvedObject[]> {
    const { resources } = await discoverResources(this.#deps.client, this.#signal);
    return objects.map((object) => {
      const { name, namespace = 'default' } = object.metadata;
      if (name === undefined) throw new Error(`${object.kind}: metadata.name is missing`);
      const info = resources.find((each) => isOfKind(each, object));
      const isScoped = info === undefined ? object.metadata.namespace !== undefined : info.namespaced;
      const complete = isScoped ? { ...object, metadata: { ...object.metadata, namespace } } : object;
      const reference = { apiVersion: object.apiVersion ?? '', kind: object.kind ?? '', name };
      return { object: complete, reference: isScoped ? { ...reference, namespace } : reference };
    });
  }

  async #apply(addon: string, object: KubernetesObject): Promise<void> {
    const { client } = this.#deps;
    const info = await this.#infoOf(object);
    const { name = '', namespace = 'default', annotations } = object.metadata;
    const metadata = { ...object.metadata, annotations: { ...annotations, [OWNER_ANNOTATION]: addon } };
    const complete = { ...object, metadata: info.namespaced ? { ...metadata, namespace } : metadata };
    const patch = { type: 'apply', object: complete, fieldManager: FIELD_MANAGER, force: true } as const;
    await client
      .resource(info)
      .patch(info.namespaced ? { namespace, name } : { name }, patch, { signal: this.#signal });
  }

  /** Removes an object that this addon still owns. A kind that is gone took its objects along. */
  async #prune(addon: string, reference: ObjectReference): Promise<void> {
    const { client } = this.#deps;
    const info = await this.#infoOf(reference).catch(() => undefined);
    if (info === undefined) return;
    const { name, namespace } = reference;
    const key = namespace === undefined ? { name } : { namespace, name };
    try {
      const object = await client.resource(info).get(key, { signal: this.#signal });
      if (object.metadata.annotations?.[OWNER_ANNOTATION] !== addon) return;
      const { uid } = object.metadata;
      const preconditions = { uid };
      await client.resource(info).delete(key, { propagationPolicy: 'Background', preconditions, signal: this.#signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  async #infoOf(object: Pick<KubernetesObject, 'apiVersion' | 'kind'>): Promise<ResourceInfo<KubernetesObject>> {
    const { resources } = await discoverResources(this.#deps.client, this.#signal);
    const info = resources.find((each) => isOfKind(each, object));
    if (info === undefined) throw new Error(`the server has no kind ${object.kind} in ${object.apiVersion}`);
    return info;
  }
}

function isAt(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

interface ResolvedObject {
  readonly object: KubernetesObject;
  readonly reference: ObjectReference;
}
