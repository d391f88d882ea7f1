/** `keelson snapshot`: a cluster's state to a file and back, and the files that are kept. */
import { basename, resolve } from 'node:path';
import { Command } from 'commander';
import { dateOf } from '../api/time.ts';
import type { StoreChoice } from '../cluster/store/store-options.ts';
import { dataDirOption, parseStore, type RawStoreOptions } from './cluster-options.ts';
import {
  baseNameOption,
  deleteCommand,
  lsCommand,
  onDemandFile,
  pruneCommand,
  type RawFolder,
} from './snapshot/folder-commands.ts';
import { withPlatform } from './run-once.ts';
import { withBucket, withSnapshotFile } from './snapshot/bucket.ts';
import { fileUnlessAt, type RawMoment, restoreMoment, withMoment } from './snapshot/moment.ts';
import { withS3Options } from './snapshot/s3-options.ts';
import { snapshotConfigOption, snapshotDirOption } from './snapshot/schedule-options.ts';
import { verifyCommand } from './snapshot/verify-command.ts';
import { UserError } from './usage-error.ts';

type Raw = Omit<RawStoreOptions, 'store'> & { readonly dataDir: string; readonly store?: string };

type RawSave = Raw & RawFolder & { readonly snapshotName: string };

export function snapshotCommand(): Command {
  const snapshot = new Command('snapshot').description(
    'save the state of a cluster to a file, restore it, and keep the files in order',
  );
  const options = (command: Command): Command =>
    withS3Options(command)
      .addOption(snapshotConfigOption())
      .addOption(dataDirOption())
      .option('--store <kind>', 'sqlite or etcd=URL,... (default: where the data directory says that the state is)')
      .option('--etcd-cafile <file>', "certificate authority of etcd's servers (default: the system's)")
      .option('--etcd-certfile <file>', 'client certificate for etcd')
      .option('--etcd-keyfile <file>', 'its private key');
  snapshot.addCommand(
    options(new Command('save').description('write a snapshot, of a running or a stopped cluster'))
      .argument('[file]', 'where to (default: a new file in the folder of snapshots)')
      .addOption(snapshotDirOption())
      .addOption(baseNameOption())
      .action(async (file: string | undefined, raw: RawSave) => {
        const path = file === undefined ? await onDemandFile(raw) : resolve(file);
        await save(path, raw);
        await upload(path, raw);
      }),
  );
  snapshot.addCommand(
    withMoment(
      options(
        new Command('restore').description("put a snapshot, or any moment, in the place of a stopped cluster's state"),
      ),
    )
      .argument('[file]', 'the snapshot; with --s3 its name')
      .action(async (named: string | undefined, raw: Raw & RawMoment) => {
        const file = fileUnlessAt(named, raw);
        if (file === undefined) await restoreAt(raw);
        else await withSnapshotFile(raw, file, (path) => restore(path, raw));
      }),
  );
  for (const command of [verifyCommand(), lsCommand(), pruneCommand(), deleteCommand()]) snapshot.addCommand(command);
  return snapshot;
}

/** The platform for work with etcd's members logs their warnings too. */
const WITH_WARNINGS = { log: { level: 'warn' } } as const;

/** The store to save or restore; `own`: the etcd member of this data directory's server. */
async function storeOf(raw: Raw): Promise<{ readonly choice: StoreChoice; readonly own: boolean }> {
  if (raw.store !== undefined) return { choice: parseStore({ ...raw, store: raw.store }), own: false };
  const { controlDirOf } = await import('../cluster/instance/control-place.ts');
  controlDirOf(resolve(raw.dataDir)); // Throws for another user's, whose data directory cannot be read.
  const { ownEtcdChoice } = await import('../cluster/etcd/own-snapshots.ts');
  const choice = await withPlatform((platform) => ownEtcdChoice(platform, resolve(raw.dataDir)), WITH_WARNINGS);
  return choice === undefined ? { choice: parseStore({ ...raw, store: 'sqlite' }), own: false } : { choice, own: true };
}

async function save(file: string, raw: Raw): Promise<void> {
  const { choice, own } = await storeOf(raw);
  const { saveEtcdSnapshot, saveSnapshot } = await import('../cluster/store/snapshots.ts');
  if (choice.kind === 'memory')
    throw new UserError('a memory store is gone with its process: there is nothing to save', 2);
  if (choice.kind === 'etcd') {
    const { createNodeClock } = await import('../platform/node/clock.ts');
    const bytes = await saveEtcdSnapshot({ clock: createNodeClock() }, choice, file);
    const how = own ? 'keelson snapshot restore' : 'etcdutl snapshot restore';
    process.stdout.write(`saved ${bytes} bytes of etcd to ${file}; restore them with ${how}\n`);
    return;
  }
  const { revision, keyCount } = await saveSnapshot(resolve(raw.dataDir), file);
  process.stdout.write(`saved ${keyCount} objects at revision ${revision} to ${file}\n`);
}

async function upload(path: string, raw: RawSave): Promise<void> {
  const location = await withBucket(raw, async (bucket) => {
    await bucket.upload(path, basename(path));
    return bucket.locationOf(basename(path));
  });
  if (location !== undefined) process.stdout.write(`uploaded it to ${location}\n`);
}

async function restore(file: string, raw: Raw): Promise<void> {
  const { choice, own } = await storeOf(raw);
  if (own) return restoreOwn(file, raw);
  if (choice.kind === 'etcd')
    throw new UserError(
      'an etcd cluster is restored by its own tool: stop its members and use etcdutl snapshot restore',
      2,
    );
  if (choice.kind === 'memory') throw new UserError('a memory store cannot be restored', 2);
  const { restoreSnapshot } = await import('../cluster/store/snapshots.ts');
  const { revision, keyCount, keptAs } = await restoreSnapshot(resolve(raw.dataDir), file);
  const keptText = keptAs === undefined ? '' : `; what was there is kept as ${keptAs}`;
  process.stdout.write(`restored ${keyCount} objects as of revision ${revision}${keptText}\n`);
}

async function restoreAt(raw: Raw & RawMoment): Promise<void> {
  const { choice, own } = await storeOf(raw);
  if (own || choice.kind !== 'sqlite')
    throw new UserError('--at: only with SQLite; etcd keeps no log of its changes', 2);
  const { revision, timeMs, snapshot, keptAs, keyCount } = await restoreMoment(raw);
  const keptText = keptAs === undefined ? '' : `; what was there is kept as ${keptAs}`;
  const time = dateOf(timeMs).toISOString();
  process.stdout.write(
    `restored ${keyCount} objects as of revision ${revision} (${time}), from ${snapshot} and its log${keptText}\n`,
  );
}

async function restoreOwn(file: string, raw: Raw): Promise<void> {
  const { restoreEtcdSnapshot } = await import('../cluster/store/snapshots.ts');
  const { keptAs } = await withPlatform(
    (platform) => restoreEtcdSnapshot(platform, resolve(raw.dataDir), file),
    WITH_WARNINGS,
  );
  const keptText = keptAs === undefined ? '' : `; what was there is kept as ${keptAs}`;
  process.stdout.write(
    `restored ${file} as the state of this server alone${keptText}; other servers join it with empty data directories\n`,
  );
}
