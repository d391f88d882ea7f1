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
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  ADDON_NAMESPACE,
  addonResource,
  isAddonDefined,
  saveAddon,
  type Addon,
  type ObjectReference,
} from './addon-record.ts';
import { addonFiles, addonObjects, type AddonFile } from './addon-files.ts';

export interface AddonDeps {
  readonly platform: Pick<Platform, 'clock' | 'crypto' | 'files' | 'log'>;
  readonly client: Client;
  readonly recorder: EventRecorder;
}

/** Whose files they are. */
export interface AddonConfig {
  readonly folder: string;
  readonly server: string;
}

/** Which addon made an object. */
const OWNER_ANNOTATION = 'keelson.dev/addon';
const FIELD_MANAGER = 'keelson-addons';

/** Brings the cluster to what the files say, once. Resolves to whether all of it is done. */
export async function syncAddons(deps: AddonDeps, config: AddonConfig, signal: AbortSignal): Promise<boolean> {
  return new Pass(deps, config, signal).run();
}

class Pass {
  readonly #deps: AddonDeps;
  readonly #config: AddonConfig;
  readonly #signal: AbortSignal;

  constructor(deps: AddonDeps, config: AddonConfig, signal: AbortSignal) {
    this.#deps = deps;
    this.#config = config;
    this.#signal = signal;
  }

  async run(): Promise<boolean> {
    const { platform, client } = this.#deps;
    const { found } = await addonFiles(platform.files, this.#config.folder);
    if (found.length === 0 && !(await isAddonDefined(client, this.#signal))) return true;
    const info = await addonResource(client, platform.clock, this.#signal);
    const { items } = await client.resource(info).list({ namespace: ADDON_NAMESPACE, signal: this.#signal });
    const own = new Map(
      items.filter(({ spec }) => spec.server === this.#config.server).map((addon) => [addon.metadata.name, addon]),
    );
    let done = true;
    for (const file of found) done = (await this.#keep(info, file, own.get(file.name))) && done;
    for (const [name, addon] of own)
      if (!found.some((file) => file.name === name)) done = (await this.#remove(info, addon)) && done;
    return done;
  }

  async #keep(
    info: ResourceInfo<Addon>,
    { name, path }: AddonFile,
    before: Stored<Addon> | undefined,
  ): Promise<boolean> {
    const { platform, client, recorder } = this.#deps;
    const signal = this.#signal;
    const text = await platform.files.readText(path);
    const spec = { source: path, checksum: platform.crypto.sha256Hex(text), server: this.#config.server };
    if (before?.spec.checksum === spec.checksum && before.status?.message === undefined) return true;
    const old = before?.status?.objects ?? [];
    let addon: Stored<Addon> | undefined = before;
    try {
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

interface ResolvedObject {
  readonly object: KubernetesObject;
  readonly reference: ObjectReference;
}

function isOfKind(
  info: ResourceInfo<KubernetesObject>,
  { apiVersion, kind }: Pick<KubernetesObject, 'apiVersion' | 'kind'>,
): boolean {
  const group = apiVersion?.includes('/') === true ? apiVersion.split('/')[0] : '';
  return info.kind === kind && info.group === group;
}

function isSame(a: ObjectReference, b: ObjectReference): boolean {
  return (
    a.kind === b.kind &&
    a.apiVersion.split('/')[0] === b.apiVersion.split('/')[0] &&
    a.name === b.name &&
    a.namespace === b.namespace
  );
}
