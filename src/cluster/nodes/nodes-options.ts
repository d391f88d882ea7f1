/** What a user wants of further nodes on this machine, checked. */

/** Makes a whole command line of the arguments of `keelson`. */
export type KeelsonCommand = (args: readonly string[]) => readonly string[];

export interface NodesOptions {
  /** With the machine itself: at least 1. */
  readonly count: number;
  readonly command: KeelsonCommand;
  /** Arguments of `keelson agent` that hold for all of them. */
  readonly agentArgs: readonly string[];
}
