/** Snapshots that a server makes by itself, as the user chose them. */
import type { S3Options } from './s3/s3-options.ts';

export interface SnapshotOptions {
  /** As cron, in the time zone of the machine. */
  readonly schedule: string;
  readonly timeZone: string;
  /** How many are kept; 0: all. */
  readonly retention: number;
  /** Absent: `snapshots` of the data directory. */
  readonly dir?: string | undefined;
  /** Base name. */
  readonly name: string;
  /** Absent: they are kept in the folder alone. */
  readonly s3?: S3Options | undefined;
}
