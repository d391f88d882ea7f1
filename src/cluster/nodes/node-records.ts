/** The record of further nodes while it is worked with: changes take effect at once and are written one after the other. */
import type { Files } from '../../platform/files.ts';
import { nodesFile, writeNodesFile, type NodeEntry, type NodesFile } from './nodes-file.ts';

/** What may be noted of a node. */
export type NodeMarks = Partial<Pick<NodeEntry, 'stopped' | 'partitioned' | 'joined'>>;

export class NodeRecords {
  readonly #files: Files;
  readonly #dataDir: string;
  #file: NodesFile;
  #written = '';
  #writing: Promise<void> = Promise.resolve();

  constructor(files: Files, dataDir: string, file: NodesFile) {
    this.#files = files;
    this.#dataDir = dataDir;
    this.#file = file;
  }

  get file(): NodesFile {
    return this.#file;
  }

  /** Undefined for a name that is not there. */
  entry(name: string): NodeEntry | undefined {
    return this.#file.nodes.find((each) => each.name === name);
  }

  /** Those that are to run. */
  wanted(): readonly NodeEntry[] {
    return this.#file.nodes.filter(({ stopped }) => stopped !== true);
  }

  mark(name: string, marks: NodeMarks): Promise<void> {
    const nodes = this.#file.nodes.map((entry) => (entry.name === name ? { ...entry, ...marks } : entry));
    return this.change({ nodes });
  }

  change(part: Partial<NodesFile>): Promise<void> {
    this.#file = { ...this.#file, ...part };
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#write());
    return this.#writing;
  }

  /** The cluster has had further nodes, and has none any more. */
  async remove(): Promise<void> {
    await this.#writing;
    await this.#files.remove(nodesFile(this.#dataDir));
  }

  async #write(): Promise<void> {
    const text = JSON.stringify(this.#file);
    if (text === this.#written) return;
    await writeNodesFile(this.#files, this.#dataDir, this.#file);
    this.#written = text;
  }
}
