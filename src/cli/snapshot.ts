/** `keelson snapshot save|restore`: a cluster's state to a file and back. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { InstanceRunningError } from '../cluster/control-socket.ts';
import { DEFAULT_DATA_DIR, parseStore, type RawStoreOptions } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

type Raw = RawStoreOptions & { readonly dataDir: string };

/** The command. */
export function snapshotCommand(): Command {
  const snapshot = new Command('snapshot').description('save the state of a cluster to a file, or restore it');
  const options = (command: Command): Command =>
    command
      .option('--data-dir <dir>', 'where the cluster keeps everything', DEFAULT_DATA_DIR)
      .option('--store <kind>', 'sqlite or etcd=URL,...', 'sqlite')
      .option('--etcd-cafile <file>', "certificate authority of etcd's servers (default: the system's)")
      .option('--etcd-certfile <file>', 'client certificate for etcd')
      .option('--etcd-keyfile <file>', 'its private key');
  snapshot.addCommand(
    options(new Command('save').description('write a snapshot, of a running or a stopped cluster'))
      .argument('<file>', 'where to')
      .action((file: string, raw: Raw) => inUsersWords(() => save(resolve(file), raw))),
  );
  snapshot.addCommand(
    options(new Command('restore').description("put a snapshot in the place of a stopped cluster's state"))
      .argument('<file>', 'the snapshot')
      .action((file: string, raw: Raw) => inUsersWords(() => restore(resolve(file), raw))),
  );
  return snapshot;
}

async function save(file: string, raw: Raw): Promise<void> {
  const choice = parseStore(raw);
  const { saveEtcdSnapshot, saveSnapshot } = await import('../cluster/snapshots.ts');
  if (choice.kind === 'memory')
    throw new UserError('a memory store is gone with its process: there is nothing to save', 2);
  if (choice.kind === 'etcd') {
    const { createNodeClock } = await import('../platform/node/clock.ts');
    const bytes = await saveEtcdSnapshot({ clock: createNodeClock() }, choice, file);
    process.stdout.write(`saved ${bytes} bytes of etcd to ${file}; restore them with etcdutl snapshot restore\n`);
    return;
  }
  const { revision, keyCount } = await saveSnapshot(resolve(raw.dataDir), file);
  process.stdout.write(`saved ${keyCount} objects at revision ${revision} to ${file}\n`);
}

async function restore(file: string, raw: Raw): Promise<void> {
  const choice = parseStore(raw);
  if (choice.kind === 'etcd')
    throw new UserError(
      'an etcd cluster is restored by its own tool: stop its members and use etcdutl snapshot restore',
      2,
    );
  if (choice.kind === 'memory') throw new UserError('a memory store cannot be restored', 2);
  const { restoreSnapshot } = await import('../cluster/snapshots.ts');
  const { revision, keyCount, keptAs } = await restoreSnapshot(resolve(raw.dataDir), file);
  const kept = keptAs === undefined ? '' : `; what was there is kept as ${keptAs}`;
  process.stdout.write(`restored ${keyCount} objects as of revision ${revision}${kept}\n`);
}

async function inUsersWords(work: () => Promise<void>): Promise<void> {
  const { PreflightError } = await import('../cluster/preflight.ts');
  try {
    await work();
  } catch (error) {
    if (error instanceof PreflightError || error instanceof InstanceRunningError) throw new UserError(error.message);
    throw error;
  }
}
