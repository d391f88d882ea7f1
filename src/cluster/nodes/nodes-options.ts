/** A user's checked choices for the further nodes on this machine. */

/** Builds a whole command line from arguments of `keelson`. */
export type KeelsonCommand = (args: readonly string[]) => readonly string[];

export interface NodesOptions {
  /** Includes the machine itself: at least 1. */
  readonly count: number;
  /** The range of the node network, where the user chose one. */
  readonly network?: string | undefined;
  /** The data directories of all clusters of this machine, stopped ones included. */
  readonly clusters: () => Promise<readonly string[]>;
  readonly command: KeelsonCommand;
  /** Arguments of `keelson agent` that all nodes share. */
  readonly agentArgs: readonly string[];
}
