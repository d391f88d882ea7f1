/** Snapshots of a server by its schedule: put together from the server's store and its client for events. */
import type { Principal } from '../../api/transport.ts';
import type { Client } from '../../client/client.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Store } from '../../storage/store.ts';
import { partialBeside, publish } from '../store/publish-file.ts';
import { saveEtcdSnapshot } from '../store/snapshots.ts';
import type { EtcdStoreChoice } from '../store/store-options.ts';
import { defaultSnapshotDir } from './snapshot-folder.ts';
import type { SnapshotOptions } from './snapshot-options.ts';
import { type RemoteSnapshots, SnapshotSchedule } from './snapshot-schedule.ts';
import type { openS3 } from './s3/open-s3.ts';

/** Where the state is: a store that copies itself, or an etcd that is asked for a copy. */
export interface SnapshotSource {
  readonly store: Pick<Store, 'backup'>;
  readonly etcd: EtcdStoreChoice | undefined;
}

export interface SnapshotDeps {
  readonly platform: Platform;
  clientFor(principal: Principal, userAgent: string): Client;
  readonly source: SnapshotSource;
}

/** Runs until the signal aborts. */
export type Snapshots = Pick<SnapshotSchedule, 'run' | 'status'>;

const SERVER: Principal = { name: 'keelson:snapshots', groups: ['system:masters', 'system:authenticated'] };

/** Makes it; nothing runs yet. */
export function createSnapshots(
  { platform, clientFor, source }: SnapshotDeps,
  config: { readonly options: SnapshotOptions; readonly dataDir: string; readonly nodeName: string },
): Snapshots {
  const { clock, random, log } = platform;
  const client = clientFor(SERVER, 'snapshots');
  const events = createEventBroadcaster({ client, clock, random, log });
  const recorder = events.recorderFor('snapshots', config.nodeName);
  const save = (path: string): Promise<void> => saveCopy(platform, source, path);
  const { s3 } = config.options;
  const remote =
    s3 && ((signal: AbortSignal) => openBucket({ ...platform, log: log.child('snapshots'), client, signal }, s3));
  const dir = config.options.dir ?? defaultSnapshotDir(config.dataDir);
  const schedule = new SnapshotSchedule(
    { platform: { ...platform, log: log.child('snapshots') }, recorder, save, remote },
    {
      ...config,
      dir,
    },
  );
  return {
    run: (signal) => {
      events.start(signal);
      return schedule.run(signal);
    },
    status: () => schedule.status(),
  };
}

/** Loaded with the first snapshot that goes to S3. */
async function openBucket(
  deps: Parameters<typeof openS3>[0],
  options: Parameters<typeof openS3>[1],
): Promise<RemoteSnapshots> {
  const { openS3: open } = await import('./s3/open-s3.ts');
  return open(deps, options);
}

/** Writes a whole file of mode 0600, or none. */
async function saveCopy(
  { clock, files }: Pick<Platform, 'clock' | 'files'>,
  { store, etcd }: SnapshotSource,
  path: string,
): Promise<void> {
  if (etcd !== undefined) {
    await saveEtcdSnapshot({ clock }, etcd, path);
    return;
  }
  if (store.backup === undefined) throw new Error('a store in memory has nothing to save');
  const partial = partialBeside(path);
  try {
    await store.backup(partial);
    await files.chmod(partial, 0o600);
    await publish(partial, path);
  } finally {
    await files.remove(partial);
  }
}
