/** What a user wants of further nodes on this machine, checked. */

/** Makes a whole command line of the arguments of `keelson`. */
export type KeelsonCommand = (args: readonly string[]) => readonly string[];

export interface NodesOptions {
  /** With the machine itself: at least 1. */
  readonly count: number;
  /** The range that connects them, where the user chose one. */
  readonly network?: string | undefined;
  /** Data directories of the clusters of this machine, also of those that are stopped. */
  readonly clusters: () => Promise<readonly string[]>;
  readonly command: KeelsonCommand;
  /** Arguments of `keelson agent` that hold for all of them. */
  readonly agentArgs: readonly string[];
}
