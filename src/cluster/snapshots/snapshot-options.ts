/** Snapshots that a server makes by itself, as the user chose them. */

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
}
