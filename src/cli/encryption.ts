/** `keelson encryption status|rotate`: the keys of encryption at rest. Upstream: k3s secrets-encrypt. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import type { Platform } from '../platform/platform.ts';
import type { StoredEntry } from '../storage/store.ts';
import { dataDirOption } from './cluster-options.ts';
import { columns } from './columns.ts';
import { withPlatform } from './run-once.ts';
import { snapshotConfigOption } from './snapshot/schedule-options.ts';
import { UserError } from './usage-error.ts';

interface RawEncryption {
  readonly dataDir: string;
  readonly encryptionProviderConfig?: string;
}

export function encryptionCommand(): Command {
  const withFile = (command: Command): Command =>
    command
      .addOption(dataDirOption())
      .addOption(snapshotConfigOption())
      .option('--encryption-provider-config <file>', 'EncryptionConfiguration that the server was started with');
  return new Command('encryption')
    .description('the keys of encryption at rest')
    .addCommand(withFile(new Command('status').description('show with which keys values are stored')).action(status))
    .addCommand(
      withFile(
        new Command('rotate').description(
          'a new key, everything written anew with it, the old keys dropped; goes on where it was cut short',
        ),
      ).action(rotate),
    );
}

async function status(raw: RawEncryption): Promise<void> {
  const { readKeys, readRotation } = await import('../cluster/store/rotation/rotate-keys.ts');
  const { storedKeys } = await import('../cluster/store/rotation/stored-keys.ts');
  await withPlatform(async (platform) => {
    const { config, names } = await readKeys(platform, fileOf(raw));
    const { counts, stale } = storedKeys(await readStore(platform, raw), config);
    const rotation = await readRotation(platform.files, resolve(raw.dataDir));
    const stage = rotation === undefined ? 'none' : `${rotation.stage} since ${rotation.time} (${rotation.key})`;
    process.stdout.write(`rotation   ${stage}\nkeys       ${names.join(', ')}\n`);
    if (stale.length > 0)
      process.stdout.write(`to write   ${stale.length} values are not written with the first key\n`);
    const rows = [...counts].map(([prefix, count]) => [prefix === '' ? 'not encrypted' : prefix, String(count)]);
    process.stdout.write(
      rows.length === 0 ? 'no values of encrypted resources\n' : columns([['STORED AS', 'VALUES'], ...rows]),
    );
  });
}

async function rotate(raw: RawEncryption): Promise<void> {
  const { rotateKeys } = await import('../cluster/store/rotation/rotate-keys.ts');
  const { removeProbe } = await import('../cluster/store/rotation/write-anew.ts');
  const { requestControl } = await import('../cluster/instance/control-client.ts');
  const { openKubeClient } = await import('./kube-client.ts');
  const dataDir = resolve(raw.dataDir);
  const file = fileOf(raw);
  if ((await requestControl(dataDir, 'pid')) === undefined)
    throw new UserError(`no cluster runs on ${dataDir}: a key is rotated while it runs`);
  const kube = await openKubeClient({ dataDir, kubeconfig: `${dataDir}/admin.kubeconfig` }, 'keelson-encryption');
  const report = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  try {
    await withPlatform(async (platform) => {
      const deps = { platform, client: kube.client, read: () => readStore(platform, raw), report };
      const key = await rotateKeys(deps, { file, dataDir });
      await removeProbe(kube.client);
      report(`${key} is the only key of ${file}; backups made before need the former one`);
    });
  } finally {
    kube.close();
  }
}

function fileOf({ encryptionProviderConfig }: RawEncryption): string {
  if (encryptionProviderConfig === undefined) throw new UserError('--encryption-provider-config is needed', 2);
  return resolve(encryptionProviderConfig);
}

/** The entries on disk, whether the cluster runs or not. */
async function readStore(platform: Platform, { dataDir }: RawEncryption): Promise<readonly StoredEntry[]> {
  const { saveSnapshot } = await import('../cluster/store/snapshots.ts');
  const { readSnapshot } = await import('../cluster/snapshots/verify/read-snapshot.ts');
  const folder = await mkdtemp(join(tmpdir(), 'keelson-encryption-'));
  try {
    await saveSnapshot(resolve(dataDir), join(folder, 'state'));
    return (await readSnapshot(platform, join(folder, 'state'))).entries;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
