/** The record of further nodes in use: changes take effect at once and are written one after the other. */
import type { Files } from '../../platform/files.ts';
import { nodesFile, writeNodesFile, type NodeEntry, type NodesFile } from './nodes-file.ts';

/** The marks that a node's record may have. */
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

  /** Undefined for an unknown name. */
  entry(name: string): NodeEntry | undefined {
    return this.#file.nodes.find((each) => each.name === name);
  }

  /** The nodes that should run. */
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

  /** Removes the record, for a cluster that no longer has further nodes. */
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
