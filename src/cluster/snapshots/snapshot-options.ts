/** The options of a server's scheduled snapshots. */
import type { S3Options } from './s3/s3-options.ts';

export interface SnapshotOptions {
  /** A cron expression in the machine's time zone. */
  readonly schedule: string;
  readonly timeZone: string;
  /** The number of snapshots kept; 0: all. */
  readonly retention: number;
  /** Default: `snapshots` in the data directory. */
  readonly dir?: string | undefined;
  /** The base name of the snapshots. */
  readonly name: string;
  /** Options of the log of changes; absent: no log is kept. */
  readonly log?: SnapshotLogOptions | undefined;
  /** Options of the bucket; absent: snapshots are kept only in the folder. */
  readonly s3?: S3Options | undefined;
}

export interface SnapshotLogOptions {
  /** The size limit of the log's files, beyond which the oldest are removed. */
  readonly maxBytes: number;
  /** How often the log is written. */
  readonly intervalMs: number;
}
