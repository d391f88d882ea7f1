/** Records the settings of a start once it has succeeded, and keeps what `keelson addons` has changed meanwhile. */
import type { InstanceStatus } from '../cluster/cluster-status.ts';
import { VERSION } from '../base/version.ts';
import type { Files } from '../platform/files.ts';
import { PART_NAMES } from './addon-parts.ts';
import { readSettings, writeSettings, type Settings } from './arguments/settings-file.ts';

export class SettingsWriter {
  readonly #files: Files;
  readonly #dataDir: string;
  /** What the parts had in the file when this start took it up; after the first write, what they run with. */
  #known: Settings;

  constructor(files: Files, dataDir: string) {
    this.#files = files;
    this.#dataDir = dataDir;
    this.#known = readSettings(dataDir);
  }

  async write(settings: Settings, { server, role }: Pick<InstanceStatus, 'server' | 'role'>): Promise<void> {
    const port = role === 'agent' ? {} : { 'https-port': new URL(server).port || '443' };
    const present = readSettings(this.#dataDir);
    const changed = PART_NAMES.filter((part) => present[part] !== this.#known[part]);
    const kept = ['record-file', 'ran-unrecorded', ...changed] as const;
    this.#known = settings;
    await writeSettings(this.#files, this.#dataDir, {
      ...settings,
      ...port,
      ...Object.fromEntries(kept.map((name) => [name, present[name]])),
      'changed-parts': changed.length === 0 ? undefined : changed,
      version: VERSION,
    });
  }
}
