/** `keelson addons`: lists the manifest files that a server keeps applied and the parts of Keelson; enables and disables them. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import type { Client } from '../client/client.ts';
import { discoverResources } from '../client/discovery.ts';
import { ADDON_NAMESPACE, type Addon } from '../cluster/addons/addon-record.ts';
import { addonFiles, addonName } from '../cluster/addons/addon-files.ts';
import { isPackaged, PACKAGED_ADDONS, writePackaged, type PackagedAddon } from '../cluster/addons/packaged-addons.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { flagsOfPart, isPart, listParts, switchPart } from './addon-parts.ts';
import type { Platform } from '../platform/platform.ts';
import { columns } from './columns.ts';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

interface RawOptions {
  readonly dataDir: string;
}

/** A file and its state. */
interface ListedAddon {
  readonly name: string;
  readonly state: string;
  readonly objects: number;
  readonly file: string;
}

export function addonsCommand(): Command {
  return new Command('addons')
    .description('manifests that are kept applied and parts of Keelson (DNS, metrics …): list, enable, disable them')
    .addCommand(
      new Command('ls')
        .description('list them')
        .addOption(dataDirOption())
        .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
        .action(async ({ dataDir, output }: RawOptions & { output: string }) => {
          const list = await listed(resolve(dataDir));
          if (output === 'json') process.stdout.write(`${JSON.stringify(list, undefined, 2)}\n`);
          else {
            const rows = list.map(({ name, state, objects, file }) => [name, state, String(objects), file]);
            process.stdout.write(columns([['NAME', 'STATE', 'OBJECTS', 'FILE'], ...rows]));
          }
        }),
    )
    .addCommand(
      switching(
        'disable',
        'remove the objects of a file and skip it, or leave a part out from the next start on',
        true,
      ),
    )
    .addCommand(
      switching('enable', 'apply a file, or gateway-api or helm; or run a part from the next start on', false),
    );
}

function switching(word: string, description: string, skipped: boolean): Command {
  return new Command(word)
    .description(description)
    .argument('<name>', 'as listed')
    .addOption(dataDirOption())
    .action(async (name: string, { dataDir }: RawOptions) => {
      const folder = `${resolve(dataDir)}/manifests`;
      const known = (await filesOf(resolve(dataDir))).find((each) => each.name === name)?.path;
      if (known === undefined && isPart(name)) return changePart(resolve(dataDir), name, !skipped);
      const file = known ?? (skipped || !isPackaged(name) ? undefined : await writeAddon(folder, name));
      if (file === undefined) throw new UserError(`there is no addon ${name} (keelson addons ls)`);
      if (skipped) writeFileSync(`${file}.skip`, '');
      else rmSync(`${file}.skip`, { force: true });
    });
}

async function changePart(dataDir: string, name: Parameters<typeof switchPart>[2], enabled: boolean): Promise<void> {
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  try {
    const isChanged = await switchPart(platform.files, dataDir, name, enabled);
    const state = enabled ? 'enabled' : 'disabled';
    process.stdout.write(
      isChanged
        ? `${name} is ${state} from the next start on: keelson down, then keelson up\n`
        : `${name} is ${state} already\n`,
    );
    if (isChanged) await warnOfUnit(platform, dataDir, name);
  } finally {
    platform.close();
  }
}

/** A service's own flags win over the settings of the data directory at every start. */
async function warnOfUnit(
  platform: Pick<Platform, 'files' | 'exec'>,
  dataDir: string,
  name: Parameters<typeof switchPart>[2],
): Promise<void> {
  const { overridingFlag } = await import('./service/overriding-flag.ts');
  const { unit, flag } = (await overridingFlag(platform, dataDir, flagsOfPart(name))) ?? {};
  if (unit === undefined || flag === undefined) return;
  const what = flag.startsWith('--config=')
    ? `${unit} has ${flag}: what that file says about --${name} takes precedence`
    : `${unit} has ${flag}, which takes precedence: install the service again without it`;
  process.stderr.write(`keelson: ${what}\n`);
}

async function writeAddon(folder: string, name: PackagedAddon): Promise<string> {
  const { createNodeFiles } = await import('../platform/node/files.ts');
  return writePackaged(createNodeFiles(), folder, name);
}

/** Includes files that are skipped. */
async function filesOf(dataDir: string): Promise<readonly { readonly name: string; readonly path: string }[]> {
  const folder = `${dataDir}/manifests`;
  if (!existsSync(folder)) throw new UserError(`${folder} is not there: no server ran on ${dataDir}`);
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  try {
    const { found, folders } = await addonFiles(platform.files, folder);
    const skipped: { name: string; path: string }[] = [];
    for (const each of folders)
      for (const name of await platform.files.readDir(each))
        if (name.endsWith('.skip'))
          skipped.push({ name: addonName(name.slice(0, -5)), path: `${each}/${name.slice(0, -5)}` });
    return [...found, ...skipped].sort((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    platform.close();
  }
}

async function listed(dataDir: string): Promise<readonly ListedAddon[]> {
  const files = await filesOf(dataDir);
  const { openKubeClient } = await import('./kube-client.ts');
  const kubeconfig = `${dataDir}/admin.kubeconfig`;
  const { client, close } = await openKubeClient({ dataDir, kubeconfig }, 'keelson-addons');
  try {
    const addons = await addonsOf(client);
    const absent = PACKAGED_ADDONS.filter((name) => !files.some((file) => file.name === name));
    const available = absent.map((name) => ({ name, state: 'available', objects: 0, file: '' }));
    const present = files.map(({ name, path }) => {
      const { objects = [], message } = addons.find((addon) => addon.metadata.name === name)?.status ?? {};
      const applied = addons.some((addon) => addon.metadata.name === name) ? 'applied' : 'waiting';
      const state = existsSync(`${path}.skip`) ? 'disabled' : (message ?? applied);
      return { name, state, objects: objects.length, file: path };
    });
    const parts = listParts(dataDir).map((part) => ({ ...part, objects: 0, file: '' }));
    return [...present, ...available, ...parts];
  } finally {
    close();
  }
}

async function addonsOf(client: Client): Promise<readonly Addon[]> {
  const { resources } = await discoverResources(client);
  const info = resources.find(({ group, kind }) => group === 'k3s.cattle.io' && kind === 'Addon');
  if (info === undefined) return [];
  return (await client.resource(info as ResourceInfo<Addon>).list({ namespace: ADDON_NAMESPACE })).items;
}
