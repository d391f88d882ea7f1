/** The images of all nodes on this machine: an archive is read once and loaded on each node. */
import type { Image } from '../../cri/gen/cri-types.ts';
import type { LoadOutcome } from '../../cri/images/load-archive.ts';
import type { Images, LoadOptions } from './machine-images.ts';
import { shareChunks } from './share-chunks.ts';

export class SeveralMachinesImages implements Images {
  readonly #machines: readonly Images[];

  constructor(machines: readonly Images[]) {
    this.#machines = machines;
  }

  async load(chunks: AsyncIterable<Uint8Array>, options?: LoadOptions): Promise<LoadOutcome> {
    const shared = shareChunks(chunks, this.#machines.length);
    const outcomes = await this.#all(async (machine, at) => {
      try {
        return await machine.load(shared[at]!, options);
      } finally {
        await shared[at]!.return(); // a node that fails before reading must not block the others
      }
    });
    return {
      ...outcomes[0]!,
      writtenBytes: outcomes.reduce((most, { writtenBytes }) => Math.max(most, writtenBytes), 0),
    };
  }

  async list(): Promise<readonly Image[]> {
    return mergeById(await this.#all((machine) => machine.list()));
  }

  async remove(text: string): Promise<boolean> {
    return (await this.#all((machine) => machine.remove(text))).includes(true);
  }

  async pull(text: string): Promise<string> {
    return (await this.#all((machine) => machine.pull(text)))[0]!;
  }

  async prune(): Promise<readonly Image[]> {
    return mergeById(await this.#all((machine) => machine.prune()));
  }

  /** Waits for all nodes before it rejects with the first failure. */
  async #all<T>(work: (machine: Images, at: number) => Promise<T>): Promise<readonly T[]> {
    const outcomes = this.#machines.map(work);
    await Promise.allSettled(outcomes);
    return Promise.all(outcomes);
  }
}

/** Each image once, with all its names. */
function mergeById(lists: readonly (readonly Image[])[]): readonly Image[] {
  const byId = Map.groupBy(lists.flat(), ({ id }) => id);
  return [...byId.values()].map((same) => ({
    ...same[0]!,
    repoTags: [...new Set(same.flatMap(({ repoTags }) => repoTags))],
  }));
}
