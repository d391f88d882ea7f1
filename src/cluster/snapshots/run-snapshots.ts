/** Composes a server's scheduled snapshots from its store and its client for events. */
import type { Principal } from '../../api/transport.ts';
import type { Client } from '../../client/client.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import type { EventRecorder, EventTarget } from '../../client/event-recorder.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Store } from '../../storage/store.ts';
import { readLogPosition } from '../../storage/sqlite/change-log/log-files.ts';
import { partialBeside, publish } from '../store/publish-file.ts';
import { saveEtcdSnapshot } from '../store/snapshots.ts';
import type { EtcdStoreChoice } from '../store/store-options.ts';
import { defaultSnapshotDir } from './snapshot-folder.ts';
import { LogKeeper } from './log/log-keeper.ts';
import type { SnapshotOptions } from './snapshot-options.ts';
import { SnapshotSchedule } from './snapshot-schedule.ts';
import type { openS3 } from './s3/open-s3.ts';
import type { S3Bucket } from './s3/s3-bucket.ts';

/** The source of a snapshot: a store that copies itself, or an etcd. */
export interface SnapshotSource {
  readonly store: Pick<Store, 'backup' | 'changeLog'>;
  readonly etcd: EtcdStoreChoice | undefined;
}

export interface SnapshotDeps {
  readonly platform: Platform;
  clientFor(principal: Principal, userAgent: string): Client;
  readonly source: SnapshotSource;
}

interface Config {
  readonly options: SnapshotOptions;
  readonly dataDir: string;
  readonly nodeName: string;
}

interface LogDeps {
  readonly platform: Platform;
  readonly recorder: EventRecorder;
  readonly remote: ((signal: AbortSignal) => Promise<S3Bucket>) | undefined;
}

/** Runs until the signal aborts. */
export type Snapshots = Pick<SnapshotSchedule, 'run' | 'status'>;

const SERVER: Principal = { name: 'keelson:snapshots', groups: ['system:masters', 'system:authenticated'] };

/** Starts nothing before `run`. */
export function createSnapshots({ platform, clientFor, source }: SnapshotDeps, config: Config): Snapshots {
  const { clock, random, log } = platform;
  const client = clientFor(SERVER, 'snapshots');
  const events = createEventBroadcaster({ client, clock, random, log });
  const recorder = events.recorderFor('snapshots', config.nodeName);
  const save = (path: string): Promise<void> => saveCopy(platform, source, path);
  const { s3 } = config.options;
  const remote =
    s3 && ((signal: AbortSignal) => openBucket({ ...platform, log: log.child('snapshots'), client, signal }, s3));
  const dir = config.options.dir ?? defaultSnapshotDir(config.dataDir);
  const deps = { platform: { ...platform, log: log.child('snapshots') }, recorder, remote };
  const keeper = createLogKeeper(deps, source.store, { ...config, dir });
  const schedule = new SnapshotSchedule({ ...deps, save, log: keeper }, { ...config, dir });
  return {
    run: (signal) => {
      events.start(signal);
      return schedule.run(signal);
    },
    status: () => schedule.status(),
  };
}

/** Undefined where no log is configured. */
function createLogKeeper(
  { platform, recorder, remote }: LogDeps,
  { changeLog }: Pick<Store, 'changeLog'>,
  { options, dir, dataDir, nodeName }: Config & { readonly dir: string },
): LogKeeper | undefined {
  if (options.log === undefined) return undefined;
  if (changeLog === undefined) throw new Error('this store keeps no log of changes');
  const node: EventTarget = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName };
  const onFailure = (message: string): void =>
    recorder.event(node, 'Warning', 'SnapshotLogFailed', `The log of changes cannot be kept: ${message}`);
  const series = { base: options.name, nodeName };
  return new LogKeeper(
    { platform, changeLog, positionOf: readLogPosition, onFailure, remote },
    { dir, dataDir, series, ...options.log },
  );
}

/** Loads the S3 client with the first snapshot that needs it. */
async function openBucket(
  deps: Parameters<typeof openS3>[0],
  options: Parameters<typeof openS3>[1],
): Promise<S3Bucket> {
  const { openS3: open } = await import('./s3/open-s3.ts');
  return open(deps, options);
}

/** Writes a complete file of mode 0600, or none. */
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
