/**
 * Puts a service's unit in its place and takes it away. Both may be repeated; a unit of somebody else, or of another
 * cluster, is never touched.
 */
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { UserError } from '../usage-error.ts';
import { unitDataDir } from './unit.ts';

type Deps = Pick<Platform, 'files' | 'exec'>;

/** Where systemd reads units that administrators write. */
export const SYSTEM_UNITS = '/etc/systemd/system';

/** A unit file. */
export interface UnitPlace {
  readonly dir: string;
  readonly name: string;
}

export interface ServiceInstall extends UnitPlace {
  readonly text: string;
  readonly dataDir: string;
  /** Kept in a file beside the unit that only its owner reads. */
  readonly token?: string | undefined;
  /** Enabled and started; otherwise only written. */
  readonly start: boolean;
}

/** A start may wait for images or other servers. */
const START_TIMEOUT_MS = 15 * 60_000;

/** The file of a unit's join token. A unit names it in the folder that systemd reads, wherever the unit is written. */
export function tokenFile({ dir, name }: UnitPlace): string {
  return `${dir}/${name}.token`;
}

/** Throws `UserError` where systemd does not run the machine. */
export async function requireSystemd({ files }: Pick<Deps, 'files'>): Promise<void> {
  // As sd_booted(3) finds out.
  if (!(await files.exists('/run/systemd/system')))
    throw new UserError(
      'systemd does not run this machine: keelson up --detach starts a cluster without it, --dry-run prints the unit, --unit-dir writes it into a folder',
    );
}

/** Writes the unit and starts it. Resolves to whether anything changed in the files. */
export async function installService(deps: Deps, service: ServiceInstall): Promise<'written' | 'unchanged'> {
  const { files } = deps;
  const { dir, name, text, token, start } = service;
  const before = await readUnit(deps, service);
  const owner = before === undefined ? service.dataDir : unitDataDir(before);
  if (owner === undefined)
    throw new UserError(`${dir}/${name} was not written by keelson install: move it away, or choose another --name`);
  if (owner !== service.dataDir)
    throw new UserError(`${dir}/${name} is of the cluster in ${owner}: choose another --name`);
  await refuseSecondUnit(deps, service);
  await files.makeDir(dir);
  if (token !== undefined) await files.writeFileAtomic(tokenFile(service), `${token}\n`, { mode: 0o600 });
  const changed = before !== text;
  if (changed) await files.writeFileAtomic(`${dir}/${name}`, text, { mode: 0o644 });
  if (!text.includes(tokenFile({ dir: SYSTEM_UNITS, name }))) await files.remove(tokenFile(service));
  if (start) {
    await systemctl(deps, 'daemon-reload');
    await systemctl(deps, 'enable', name);
    // Pods outlive a restart.
    await systemctl(deps, changed ? 'restart' : 'start', name);
  }
  return changed ? 'written' : 'unchanged';
}

/** Two services of one data directory would keep each other from starting. */
async function refuseSecondUnit(deps: Deps, { dir, name, dataDir }: ServiceInstall): Promise<void> {
  for (const { name: other } of await unitsOf(deps, dir, dataDir)) {
    if (other === name) continue;
    throw new UserError(
      `${dir}/${other} is a service of ${dataDir} already: keelson uninstall --data-dir ${dataDir} takes it away`,
    );
  }
}

interface RemovedService {
  readonly name: string;
  readonly dataDir: string;
}

interface ServiceUninstall {
  readonly dir: string;
  readonly dataDir: string;
  /** Units that are of it too where `keelson install` wrote them, whatever their data directory. */
  readonly names?: readonly string[];
  readonly isRunning: boolean;
}

/** Stops and removes the units of a data directory. */
export async function uninstallServices(
  deps: Deps,
  { dir, dataDir, names = [], isRunning }: ServiceUninstall,
): Promise<readonly RemovedService[]> {
  const removed: RemovedService[] = [];
  for (const name of await unitNames(deps, dir)) {
    const place = { dir, name };
    const owner = unitDataDir((await readUnit(deps, place)) ?? '');
    if (owner === undefined || (owner !== dataDir && !names.includes(name))) continue;
    if (isRunning) await systemctl(deps, 'disable', '--now', name);
    await deps.files.remove(tokenFile(place));
    await deps.files.remove(`${dir}/${name}`);
    removed.push({ name, dataDir: owner });
  }
  if (isRunning && removed.length > 0) await systemctl(deps, 'daemon-reload');
  return removed;
}

/** The units of a data directory in a folder. */
export async function unitsOf(
  deps: Deps,
  dir: string,
  dataDir: string,
): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const units: { name: string; text: string }[] = [];
  for (const name of await unitNames(deps, dir)) {
    const text = (await readUnit(deps, { dir, name })) ?? '';
    if (unitDataDir(text) === dataDir) units.push({ name, text });
  }
  return units;
}

/** Whether systemd runs it now. */
export async function isActive({ exec }: Pick<Deps, 'exec'>, name: string): Promise<boolean> {
  return (await exec.run('systemctl', ['is-active', '--quiet', name])).exitCode === 0;
}

async function unitNames({ files }: Deps, dir: string): Promise<readonly string[]> {
  const names = await files.readDir(dir).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  });
  return names.filter((name) => /^keelson.*\.service$/.test(name));
}

async function readUnit({ files }: Deps, { dir, name }: UnitPlace): Promise<string | undefined> {
  try {
    return await files.readText(`${dir}/${name}`);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    throw new UserError(`${dir}/${name} cannot be read: ${errorMessage(error)}`);
  }
}

async function systemctl({ exec }: Deps, ...args: readonly string[]): Promise<void> {
  const { exitCode, stderr, timedOut } = await exec.run('systemctl', args, { timeoutMs: START_TIMEOUT_MS });
  if (exitCode === 0) return;
  const why = timedOut ? `no end within ${START_TIMEOUT_MS / 60_000} minutes` : stderr.trim();
  throw new UserError(`systemctl ${args.join(' ')}: ${why}`);
}
