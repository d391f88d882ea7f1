/**
 * Keeps the cluster in accordance with the manifests in `<data-dir>/manifests`: applies each new or changed file,
 * deletes objects that a file does not contain any more, and all objects of a deleted file. An annotation names the
 * file's Addon as the owner; objects without it, which another file or a user has taken over, are not deleted.
 * Upstream: k3s's deploy controller; differs: deleting a file deletes its objects.
 */
import { errorMessage } from '../../base/errors.ts';
import { isAtOrBelow } from '../../base/paths.ts';
import type { Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder, EventTarget } from '../../client/event-recorder.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  ADDON_NAMESPACE,
  addonReference,
  addonResource,
  isAddonDefined,
  saveAddon,
  type Addon,
} from './addon-record.ts';
import { addonFiles, addonObjects, type AddonFile } from './addon-files.ts';
import { readApplied, writeApplied, type AppliedFiles } from './applied-files.ts';
import { choose } from './choose-files.ts';
import { OwnedObjects } from './owned-objects.ts';
import { isSame } from './same-object.ts';

export interface AddonDeps {
  readonly platform: Pick<Platform, 'clock' | 'crypto' | 'files' | 'log'>;
  readonly client: Client;
  readonly recorder: EventRecorder;
}

export interface AddonConfig {
  readonly folder: string;
  readonly server: string;
}

/** Keeps the files of one folder applied. */
export class AddonController {
  readonly #deps: AddonDeps;
  readonly #config: AddonConfig;
  /** Warnings about skipped files; each is logged once. */
  #warned: ReadonlySet<string> = new Set();

  constructor(deps: AddonDeps, config: AddonConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Runs one pass. Resolves to whether everything was applied. */
  async sync(signal: AbortSignal): Promise<boolean> {
    const pass = new Pass(this.#deps, this.#config, this.#warned, signal);
    const done = await pass.run();
    this.#warned = pass.warnings;
    return done;
  }
}

class Pass {
  /** Warnings of this pass about skipped files. */
  readonly warnings = new Set<string>();
  readonly #deps: AddonDeps;
  readonly #config: AddonConfig;
  readonly #warned: ReadonlySet<string>;
  readonly #signal: AbortSignal;
  readonly #objects: OwnedObjects;

  constructor(deps: AddonDeps, config: AddonConfig, warned: ReadonlySet<string>, signal: AbortSignal) {
    this.#deps = deps;
    this.#config = config;
    this.#warned = warned;
    this.#signal = signal;
    this.#objects = new OwnedObjects(deps.client, signal);
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
    // Recorded before anything is created, so that an interrupted pass knows its objects.
    await this.#record(applied, next);
    let done = true;
    for (const file of kept) done = (await this.#keep(info, file, addons.get(file.name))) && done;
    for (const [name, path] of Object.entries(applied)) {
      if (found.some((file) => file.name === name) || unreadable.some((each) => isAtOrBelow(path, each.path))) continue;
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

  /** Reports once why a file is not applied. */
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
      const objects = await this.#objects.resolve(manifests);
      const wanted = objects.map(({ reference }) => reference);
      // Recorded before anything is created, so that an interrupted pass knows its objects.
      const all = [...old, ...wanted.filter((reference) => !old.some((each) => isSame(each, reference)))];
      addon = await saveAddon(client, info, { name, spec, status: { objects: all, message: 'applying' } }, signal);
      recorder.event(addon, 'Normal', 'ApplyingManifest', `Applying manifest at ${JSON.stringify(path)}`);
      for (const { object } of objects) await this.#objects.apply(name, object);
      for (const reference of old)
        if (!wanted.some((each) => isSame(each, reference))) await this.#objects.prune(name, reference);
      // Kinds that the file itself defines can be resolved now.
      const made = (await this.#objects.resolve(manifests)).map(({ reference }) => reference);
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
      for (const reference of addon.status?.objects.toReversed() ?? []) await this.#objects.prune(name, reference);
      await client.resource(info).delete({ namespace: ADDON_NAMESPACE, name }, { signal: this.#signal });
      platform.log.info('What a file of manifests made was removed with it', { file: addon.spec.source });
      return true;
    } catch (error) {
      this.#signal.throwIfAborted();
      recorder.event(addon, 'Warning', 'DeleteManifestFailed', `Deleting manifest at ${path}: ${errorMessage(error)}`);
      return false;
    }
  }
}
