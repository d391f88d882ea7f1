/**
 * Parts of Keelson that `keelson addons` enables and disables: each is a flag of `keelson up` that the data directory
 * remembers, so a change takes effect at the next start. Upstream: the packaged components of k3s.
 */
import type { Files } from '../platform/files.ts';
import { readSettings, writeSettings, type REMEMBERED_FLAGS, type Settings } from './arguments/settings-file.ts';

type Flag = (typeof REMEMBERED_FLAGS)[number];

interface Addon {
  readonly on: string;
  readonly off: string;
  /** Whether it runs in a cluster that was started without the flag. */
  readonly byDefault: boolean;
  /** Flags that enable it as well. */
  readonly impliedBy?: readonly Flag[];
}

const OURS: Addon = { on: 'keelson', off: 'none', byDefault: true };

/** Parts by name, which is that of their flag. */
const PARTS = {
  console: { on: 'true', off: 'false', byDefault: true },
  dns: OURS,
  gateway: { ...OURS, byDefault: false, impliedBy: ['gateway-http-port', 'gateway-https-port'] },
  'load-balancer': OURS,
  'local-path': OURS,
  metrics: OURS,
} satisfies Partial<Record<Flag, Addon>>;

type PartName = keyof typeof PARTS;

export const PART_NAMES = Object.keys(PARTS) as readonly PartName[];

export function isPart(name: string): name is PartName {
  return Object.hasOwn(PARTS, name);
}

/** The flags that enable or disable a part. */
export function flagsOfPart(name: PartName): readonly string[] {
  const { impliedBy = [] }: Addon = PARTS[name];
  return [name, ...impliedBy];
}

/** The parts and whether each is enabled or disabled, and whether that is so only from the next start on. */
export function listParts(dataDir: string): readonly { readonly name: string; readonly state: string }[] {
  const settings = readSettings(dataDir);
  const changed = settings['changed-parts'] ?? [];
  return PART_NAMES.map((name) => {
    const state = isOn(name, settings) ? 'enabled' : 'disabled';
    return { name, state: changed.includes(name) ? `${state} from the next start` : state };
  });
}

/** Enables or disables a part from the next start on; false: it is so already. */
export async function switchPart(files: Files, dataDir: string, name: PartName, enabled: boolean): Promise<boolean> {
  const settings = readSettings(dataDir);
  if (isOn(name, settings) === enabled) return false;
  const changed = settings['changed-parts'] ?? [];
  await writeSettings(files, dataDir, {
    ...settings,
    [name]: enabled ? PARTS[name].on : PARTS[name].off,
    // A part that is changed back is as it runs.
    'changed-parts': changed.includes(name) ? changed.filter((one) => one !== name) : [...changed, name],
  });
  return true;
}

function isOn(name: PartName, settings: Settings): boolean {
  const { on, byDefault, impliedBy = [] }: Addon = PARTS[name];
  const setting = settings[name];
  if (setting !== undefined) return setting === on;
  return byDefault || impliedBy.some((other) => settings[other] !== undefined);
}
